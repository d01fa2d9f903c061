#include <atomic>
#include <glia/core/whole_file.hpp>
#include <iterator>
#include <locale>
#include <thread>

#include "catch.hpp"
#include "messages.hpp"
#include "posix.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

struct one_file {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "file";

  one_file() { folder.write("file", {'o', 'l', 'd'}); }

  [[nodiscard]] std::string content() const { return test::file_content(path); }
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(std::filesystem::directory_iterator(folder.path()), {});
  }
  [[nodiscard]] bool alone() const { return count() == 1; }
};

}  // namespace

TEST_CASE("a file is there whole, under its name, when it has been written and not before") {
  const one_file file;
  glia::write_whole_file(file.path, [&](std::ostream& out) {
    out << "new\r\n" << '\0' << '\xFF' << std::flush;
    CHECK(file.content() == "old");
    REQUIRE(file.count() == 2);
    for (const auto& entry : std::filesystem::directory_iterator(file.folder.path())) {
      CHECK((entry.path() == file.path || entry.file_size() == 7));
    }
  });
  CHECK(file.content() == std::string("new\r\n\0\xFF", 7));
  CHECK(file.alone());
  glia::write_whole_file(file.path, [](std::ostream&) {});
  CHECK(file.content().empty());
  CHECK(file.alone());
}

TEST_CASE("a file of any size is written by the descriptor that holds its lock") {
  if (!test::lists_open_files()) {
    GLIA_SKIP("this system does not list a program's open files");
  }
  const one_file file;
  std::string expected;
  const auto count_open = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code closed;
      count += std::filesystem::read_symlink(entry.path(), closed).parent_path() ==
                       std::filesystem::canonical(file.folder.path())
                   ? 1
                   : 0;
    }
    return count;
  };
  glia::write_whole_file(file.path, [&](std::ostream& out) {
    for (std::size_t size = 1; size < 300'000; size *= 3) {
      const std::string chunk(size, static_cast<char>('a' + size % 7));
      expected += chunk + '.';
      out << chunk;
      out.put('.');
    }
    CHECK(count_open() == 1);
  });
  CHECK(file.content() == expected);
}

TEST_CASE("part files are removed once nobody writes them") {
  const one_file file;
  file.folder.write(".glia-part-1-2", {'h', 'a', 'l', 'f'});
  glia::write_whole_file(file.path, [&](std::ostream& out) {
    out << "new";
    glia::detail::part_file::remove_abandoned(file.folder.path());
    CHECK(file.count() == 2);
  });
  CHECK(file.content() == "new");
  CHECK(file.alone());
}

TEST_CASE("numbers are written the same whatever the program's locale") {
  struct commas : std::numpunct<char> {
    [[nodiscard]] char do_decimal_point() const override { return ','; }
    [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  };
  const one_file file;
  const std::locale previous_locale = std::locale::global(std::locale(std::locale(), new commas));
  glia::write_whole_file(file.path, [](std::ostream& out) { out << 12345 << ' ' << 0.5; });
  const std::string message = glia::text(12345, ' ', 0.5);
  std::locale::global(previous_locale);
  CHECK(file.content() == "12345 0.5");
  CHECK(message == "12345 0.5");
}

TEST_CASE("what other programs left beside a file stays") {
  const one_file file;
  // The names that this one would take next, as far as they can be foretold.
  std::filesystem::path part;
  glia::write_whole_file(file.path, [&](std::ostream&) {
    for (const auto& entry : std::filesystem::directory_iterator(file.folder.path())) {
      part = entry.path() == file.path ? part : entry.path();
    }
  });
  const std::string name = part.filename().string();
  const std::size_t dash = name.rfind('-') + 1;
  const std::string next = name.substr(0, dash) + std::to_string(std::stoul(name.substr(dash)) + 1);
  file.folder.write(next, {'k', 'e', 'p', 't'});
  file.folder.write("file.part", {'k', 'e', 'p', 't'});
  glia::write_whole_file(file.path, [](std::ostream& out) { out << "new"; });
  CHECK(file.content() == "new");
  CHECK(file.count() == 3);
  CHECK(std::filesystem::file_size(file.folder.path() / next) == 4);
}

TEST_CASE("of many writers of one file each succeeds, and one of them is heard") {
  const one_file file;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 25; ++i) {
        try {
          glia::write_whole_file(file.path,
                                 [&](std::ostream& out) { out << std::string(20000, letter); });
        } catch (const glia::error&) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  CHECK(failures == 0);
  const std::string content = file.content();
  REQUIRE(content.size() == 20000);
  CHECK(content == std::string(20000, content.front()));
  CHECK(file.alone());
}

TEST_CASE("a file is written through symbolic links, which stay") {
#if GLIA_TEST_HAS_POSIX
  const one_file file;
  std::filesystem::create_directory(file.folder.path() / "inner");
  const auto link = file.folder.path() / "inner" / "link";
  const auto second = file.folder.path() / "second";
  std::filesystem::create_symlink("../file", link);
  std::filesystem::create_symlink(std::filesystem::absolute(link), second);
  glia::write_whole_file(second, [](std::ostream& out) { out << "new"; });
  CHECK(std::filesystem::is_symlink(second));
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(file.path)));
  CHECK(file.content() == "new");

  // To what is not there yet.
  std::filesystem::remove(file.path);
  glia::write_whole_file(second, [](std::ostream& out) { out << "again"; });
  CHECK(std::filesystem::is_symlink(link));
  CHECK(file.content() == "again");

  std::filesystem::create_symlink("circle", file.folder.path() / "circle");
  CHECK(contains(message_of<glia::data_error>([&] {
                   glia::write_whole_file(file.folder.path() / "circle", [](std::ostream&) {});
                 }),
                 "circle: its symbolic links form a loop"));
#else
  GLIA_SKIP("this system has no symbolic links for everybody");
#endif
}

TEST_CASE("a file that is replaced hands on its rights, a new one has the usual ones") {
#if GLIA_TEST_HAS_POSIX
  const one_file file;
  const auto mode = [&] {
    struct stat status {};
    REQUIRE(stat(file.path.c_str(), &status) == 0);
    return status.st_mode & 0777U;
  };
  const mode_t previous_mask = umask(027);
  for (const mode_t rights : {0600U, 0664U, 0440U}) {
    chmod(file.path.c_str(), rights);
    glia::write_whole_file(file.path, [](std::ostream& out) { out << "new"; });
    CHECK(mode() == rights);
  }
  std::filesystem::remove(file.path);
  glia::write_whole_file(file.path, [](std::ostream& out) { out << "new"; });
  CHECK(mode() == 0640U);
  umask(previous_mask);
#else
  GLIA_SKIP("this system has no permissions of this kind");
#endif
}

TEST_CASE("what write throws is passed on, and the old file stays alone") {
  const one_file file;
  CHECK_THROWS_AS(glia::write_whole_file(file.path,
                                         [](std::ostream& out) {
                                           out << "half";
                                           throw 7;
                                         }),
                  int);
  CHECK(message_of<std::logic_error>([&] {
          glia::write_whole_file(file.path, [](std::ostream&) { throw std::logic_error("no"); });
        }) == "no");
  CHECK(file.content() == "old");
  CHECK(file.alone());
}

TEST_CASE("a stream that fails leaves the old file alone") {
  const one_file file;
  CHECK(message_of<glia::data_error>([&] {
          glia::write_whole_file(file.path, [](std::ostream& out) {
            out << "half";
            out.setstate(std::ios::badbit);
          });
        }) == file.path.string() + ": writing failed; check that the disk is not full");
  CHECK(file.content() == "old");
  CHECK(file.alone());
}

TEST_CASE("files that cannot be written or replaced are named") {
  const one_file file;
  const auto error = [](const std::filesystem::path& path) {
    return message_of<glia::data_error>(
        [&] { glia::write_whole_file(path, [](std::ostream& out) { out << "new"; }); });
  };
  const auto nowhere = file.folder.path() / "missing" / "file";
  CHECK(error(nowhere) == nowhere.string() +
                              ": cannot be written (No such file or directory); check that the "
                              "folder exists and is writable");
  const auto directory = file.folder.path() / "taken";
  std::filesystem::create_directories(directory / "inside");
  CHECK(error(directory) == directory.string() + ": is a folder; expected a file");
  CHECK(std::filesystem::exists(directory / "inside"));
  CHECK(file.content() == "old");
  CHECK(file.count() == 2);
#if GLIA_TEST_HAS_POSIX
  const auto pipe = file.folder.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error(pipe) == pipe.string() + ": is a device or a pipe; expected a regular file");
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(file.count() == 3);
#endif
}

TEST_CASE("a file that cannot be replaced is named, and stays") {
  const one_file file;
  const auto target = file.folder.path() / "taken";
  CHECK(contains(message_of<glia::data_error>([&] {
                   glia::write_whole_file(
                       target, [&](std::ostream&) { std::filesystem::create_directory(target); });
                 }),
                 target.string() + ": cannot be replaced ("));
  CHECK(std::filesystem::is_directory(target));
  CHECK(file.count() == 2);
}
