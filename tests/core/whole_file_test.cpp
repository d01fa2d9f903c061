#include <glia/core/whole_file.hpp>
#include <iterator>

#include "catch.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

struct one_file {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "file";
  std::filesystem::path part = folder.path() / "file.part";

  one_file() { folder.write("file", {'o', 'l', 'd'}); }

  [[nodiscard]] std::string content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] bool alone() const {
    return std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1;
  }
};

}  // namespace

TEST_CASE("a file is there whole, under its name, when it has been written and not before") {
  const one_file file;
  glia::write_whole_file(file.path, [&](std::ostream& out) {
    out << "new\r\n" << '\0' << '\xFF' << std::flush;
    CHECK(file.content() == "old");
    CHECK(std::filesystem::file_size(file.part) == 7);
  });
  CHECK(file.content() == std::string("new\r\n\0\xFF", 7));
  CHECK(file.alone());
  glia::write_whole_file(file.path, [](std::ostream&) {});
  CHECK(file.content().empty());
  CHECK(file.alone());
}

TEST_CASE("a .part left by an interruption is written over") {
  const one_file file;
  file.folder.write("file.part", std::vector<std::uint8_t>(1000, 'x'));
  glia::write_whole_file(file.path, [](std::ostream& out) { out << "new"; });
  CHECK(file.content() == "new");
  CHECK(file.alone());
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
        }) == file.path.string() + ": writing failed; is the disk full?");
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
                              ": cannot be written; is there such a folder, and the right to "
                              "write to it?");
  const auto taken = file.folder.path() / "taken";
  std::filesystem::create_directories(taken / "inside");
  CHECK(contains(error(taken), taken.string() + ": cannot be replaced ("));
  CHECK_FALSE(std::filesystem::exists(taken.string() + ".part"));
  CHECK(std::filesystem::exists(taken / "inside"));
  // What has the name of the part and is no part of ours is not touched.
  std::filesystem::create_directory(file.part);
  CHECK(contains(error(file.path), file.path.string() + ": cannot be written"));
  CHECK(std::filesystem::is_directory(file.part));
  CHECK(file.content() == "old");
}
