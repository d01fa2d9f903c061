#include <glia/io/sharded_files.hpp>

#include "catch.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

TEST_CASE("the files of a data set are found by their names' beginning and end, sorted") {
  const test::temporary_folder folder;
  const auto names_of = [&](const std::string& beginning, const std::string& suffix) {
    std::string names;
    for (const auto& file : glia::sharded_files(folder.path() / beginning, suffix)) {
      CHECK(file.parent_path() == folder.path());
      names += file.filename().string() + ' ';
    }
    return names;
  };
  for (const std::string name : {"train10-230.tfrec", "train02-230.tfrec", "train.tfrec.bak",
                                 "test00-230.tfrec", "rec", ".glia-part-1-2", "train.tfrecord",
                                 "of-00000-of-00002.tfrecord", "of-00001-of-00002.tfrecord"}) {
    folder.write(name, {1});
  }
  std::filesystem::create_directory(folder.path() / "train05-230.tfrec");
  CHECK(names_of("train", ".tfrec") == "train02-230.tfrec train10-230.tfrec ");
  CHECK(names_of("", ".tfrec") == "test00-230.tfrec train02-230.tfrec train10-230.tfrec ");
  CHECK(names_of("of", ".tfrecord") == "of-00000-of-00002.tfrecord of-00001-of-00002.tfrecord ");
  CHECK(glia::sharded_files(folder.path() / "of").size() == 2);
  // What begins may not overlap what ends.
  CHECK(names_of("rec", "") == "rec ");
  CHECK_THROWS_AS(names_of("rec", "ec"), glia::data_error);
}

TEST_CASE("missing files of a data set are found out by the names of the others") {
  const test::temporary_folder folder;
  const auto error = [&](const std::string& beginning) {
    return message_of<glia::data_error>(
        [&] { (void)glia::sharded_files(folder.path() / beginning); });
  };
  CHECK(error("a") == folder.path().string() + ": expected files a*.tfrecord, found none");
  CHECK(
      contains(error("none/a"), (folder.path() / "none").string() + ": the folder cannot be read"));
  folder.write("a-00000-of-00003.tfrecord", {1});
  folder.write("a-00002-of-00003.tfrecord", {1});
  CHECK(error("a") == (folder.path() / "a-00000-of-00003.tfrecord").string() +
                          ": expected 3 files, by this file's name, but there are 2 files "
                          "a*.tfrecord; some are missing or belong to another data set");
  folder.write("a-00001-of-00003.tfrecord", {1});
  CHECK(error("a").empty());
  folder.write("a-00000-of-00001.tfrecord", {1});
  CHECK(contains(error("a"), "some are missing or belong to another data set"));
  CHECK(error("a-00000-of-00001").empty());
  // No counts.
  for (const std::string name : {"b-of-.tfrecord", "b-of-x.tfrecord", "b-of-3x.tfrecord",
                                 "b-of-99999999999999999999999.tfrecord"}) {
    folder.write(name, {1});
  }
  CHECK(error("b").empty());
}
