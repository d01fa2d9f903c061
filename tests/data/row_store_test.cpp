#include <glia/data/row_store.hpp>
#include <numeric>
#include <optional>
#include <thread>

#include "catch.hpp"
#include "messages.hpp"
#include "posix.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

std::ptrdiff_t entries_of(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

/// Seven rows of three, written one or several at a time and out of order.
glia::row_store filled(const glia::row_store::options& options) {
  glia::row_store store(7, 3, options);
  std::vector<float> values(21);
  std::iota(values.begin(), values.end(), 1.0F);
  const std::span<const float> rows(values);
  store.write(5, rows.subspan(15, 6));
  store.write(0, rows.subspan(0, 3));
  store.write(4, std::vector<float>(3, -1.0F));
  store.write(1, rows.subspan(3, 12));  // over what row 4 was before
  return store;
}

std::vector<float> read(const glia::row_store& store, std::size_t row, std::size_t rows) {
  std::vector<float> values(3 * rows);
  store.read(row, values);
  return values;
}

}  // namespace

TEST_CASE("rows come back alike from memory and from a file") {
  const test::temporary_folder folder;
  const auto memory = filled({});
  const auto file = filled({.memory_limit = 0, .folder = folder.path()});
  CHECK(memory.in_memory());
  CHECK_FALSE(file.in_memory());
  std::vector<float> expected(21);
  std::iota(expected.begin(), expected.end(), 1.0F);
  CHECK(read(memory, 0, 7) == expected);
  CHECK(read(file, 0, 7) == expected);
  for (std::size_t row = 0; row < 7; ++row) {
    CHECK(read(memory, row, 1) == read(file, row, 1));
  }
  CHECK(read(file, 5, 2) == std::vector<float>{16, 17, 18, 19, 20, 21});
}

TEST_CASE("rows go to a file when they take more than the limit, in bytes") {
  const test::temporary_folder folder;
  const auto in_memory = [&](std::size_t limit) {
    return glia::row_store(7, 3, {.memory_limit = limit, .folder = folder.path()}).in_memory();
  };
  CHECK(in_memory(84));
  CHECK_FALSE(in_memory(83));
  CHECK(glia::row_store(0, 3, {.memory_limit = 0}).in_memory());
  // Without a folder it is the system's.
  CHECK_FALSE(glia::row_store(7, 3, {.memory_limit = 0}).in_memory());
}

TEST_CASE("the file of rows has no name, from the beginning") {
#if GLIA_TEST_HAS_POSIX
  const test::temporary_folder folder;
  const auto store = filled({.memory_limit = 0, .folder = folder.path()});
  CHECK_FALSE(store.in_memory());
  CHECK(entries_of(folder.path()) == 0);
#else
  GLIA_SKIP("files of this system have names while they are open");
#endif
}

TEST_CASE("a store of rows moves, and closes its file once") {
  if (!test::lists_open_files()) {
    GLIA_SKIP("this system does not list a program's open files");
  }
  const test::temporary_folder folder;
  const std::ptrdiff_t open_files = entries_of("/proc/self/fd");
  {
    std::optional<glia::row_store> first(filled({.memory_limit = 0, .folder = folder.path()}));
    const glia::row_store second(std::move(*first));
    first.reset();
    CHECK(entries_of("/proc/self/fd") == open_files + 1);
    CHECK(read(second, 1, 1) == std::vector<float>{4, 5, 6});
    const glia::row_store memory(filled({}));
    CHECK(read(memory, 1, 1) == std::vector<float>{4, 5, 6});
  }
  CHECK(entries_of("/proc/self/fd") == open_files);
}

TEST_CASE("programs that are started do not inherit the file of rows") {
#if GLIA_TEST_HAS_POSIX
  if (!test::lists_open_files()) {
    GLIA_SKIP("this system does not list a program's open files");
  }
  const test::temporary_folder folder;
  const auto store = filled({.memory_limit = 0, .folder = folder.path()});
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const auto target = std::filesystem::read_symlink(entry.path(), closed);
    if (target.parent_path() == folder.path()) {
      ++found;
      const int flags = fcntl(std::stoi(entry.path().filename().string()), F_GETFD);
      CHECK((flags & FD_CLOEXEC) != 0);
    }
  }
  CHECK(found == 1);
#else
  GLIA_SKIP("this system does not list a program's open files");
#endif
}

TEST_CASE("rows that nothing could hold are refused before their number overflows") {
  for (const std::size_t rows : {std::size_t{1} << 32, std::size_t{1} << 40, ~std::size_t{0}}) {
    CHECK(contains(message_of<glia::value_error>(
                       [&] { (void)glia::row_store(rows, std::size_t{1} << 32, {}); }),
                   "row_store: " + std::to_string(rows) + " rows of 4294967296 floats exceed"));
  }
  CHECK(glia::row_store(~std::size_t{0}, 0, {}).in_memory());
}

TEST_CASE("threads write rows of one file side by side") {
  const test::temporary_folder folder;
  constexpr std::size_t rows = 4000;
  glia::row_store store(rows, 3, {.memory_limit = 0, .folder = folder.path()});
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&store, t] {
      for (std::size_t row = t; row < rows; row += 3) {
        store.write(row, std::vector<float>(3, static_cast<float>(row)));
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  bool right = true;
  for (std::size_t row = 0; row < rows; ++row) {
    right = right && read(store, row, 1) == std::vector<float>(3, static_cast<float>(row));
  }
  CHECK(right);
}

TEST_CASE("a file of rows that cannot be made names the folder and what to do") {
  if (!test::lists_open_files()) {
    GLIA_SKIP("this system does not list a program's open files");
  }
  const std::string advice =
      "; free disk space there, or set row_store::options::folder to another folder or a larger "
      "memory_limit";
  CHECK(message_of<glia::data_error>(
            [] { (void)glia::row_store(1, 1, {.memory_limit = 0, .folder = "/nowhere"}); }) ==
        "row_store: the temporary file in /nowhere cannot be used (No such file or directory)" +
            advice);

  // More than any file system has: noticed at once, and nothing stays open or behind.
  const test::temporary_folder folder;
  const std::ptrdiff_t open_files = entries_of("/proc/self/fd");
  const std::string error = message_of<glia::data_error>([&] {
    (void)glia::row_store(std::size_t{1} << 30, std::size_t{1} << 30, {.folder = folder.path()});
  });
  CHECK(contains(
      error, "row_store: the temporary file in " + folder.path().string() + " cannot be used ("));
  CHECK(contains(error, ")" + advice));
  CHECK_FALSE(contains(error, "(Success)"));
  CHECK(entries_of("/proc/self/fd") == open_files);
  CHECK(entries_of(folder.path()) == 0);
}

TEST_CASE("a temporary folder of the system that is not there is an error of glia's own") {
#if GLIA_TEST_HAS_POSIX
  const char* const previous = std::getenv("TMPDIR");
  const std::string saved = previous == nullptr ? "" : previous;
  setenv("TMPDIR", "/nowhere", 1);
  const std::string error =
      message_of<glia::data_error>([] { (void)glia::row_store(1, 1, {.memory_limit = 0}); });
  previous == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", saved.c_str(), 1);
  CHECK(contains(error, "row_store: the system's temporary folder cannot be used"));
  CHECK(contains(error, "set the environment variable TMPDIR to another folder"));
#else
  GLIA_SKIP("this system always has a folder for temporary files");
#endif
}
