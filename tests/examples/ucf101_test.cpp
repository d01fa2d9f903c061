#include <filesystem>
#include <fstream>
#include <string>

#include "../examples/video/ucf101.hpp"
#include "catch.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"

namespace {

/// Lists of three classes with a clip each to train and to test with, and these clips.
struct small_ucf {
  test::temporary_folder clips;
  test::temporary_folder lists;

  small_ucf() {
    list("classInd.txt", "1 Archery\r\n2 Biking\r\n3 YoYo\r\n");
    list("trainlist01.txt",
         "Archery/v_Archery_g08_c01.avi 1\r\nBiking/v_Biking_g08_c01.avi 2\r\n"
         "YoYo/v_YoYo_g08_c01.avi 3\r\n");
    list("testlist01.txt",
         "Archery/v_Archery_g01_c01.avi\r\nBiking/v_Biking_g01_c01.avi\r\n"
         "YoYo/v_YoYo_g01_c01.avi\r\n");
    for (const std::string name : {"Archery", "Biking", "YoYo"}) {
      std::filesystem::create_directory(clips.path() / name);
      for (const std::string group : {"_g08", "_g01"}) {
        clips.write(name + "/v_" + name + group + "_c01.avi", {1});
      }
    }
  }

  void list(const std::string& name, const std::string& content) const {
    lists.write(name, {content.begin(), content.end()});
  }
  [[nodiscard]] ucf101_clips read(const ucf101_options& options = {}) const {
    return ucf101_split(clips.path(), lists.path(), options);
  }
  [[nodiscard]] std::string error(const ucf101_options& options = {}) const {
    return test::message_of<glia::data_error>([&] { (void)read(options); });
  }
};

}  // namespace

TEST_CASE("a split of UCF101 has its clips with their classes") {
  const small_ucf ucf;
  const auto split = ucf.read();
  CHECK(split.class_names == std::vector<std::string>{"Archery", "Biking", "YoYo"});
  const auto path_of = [&](const std::string& name) { return ucf.clips.path() / name; };
  CHECK(split.train == std::vector<glia::clip_file>{{path_of("Archery/v_Archery_g08_c01.avi"), 0},
                                                    {path_of("Biking/v_Biking_g08_c01.avi"), 1},
                                                    {path_of("YoYo/v_YoYo_g08_c01.avi"), 2}});
  CHECK(split.test == std::vector<glia::clip_file>{{path_of("Archery/v_Archery_g01_c01.avi"), 0},
                                                   {path_of("Biking/v_Biking_g01_c01.avi"), 1},
                                                   {path_of("YoYo/v_YoYo_g01_c01.avi"), 2}});
  CHECK(split.missing == 0);
  // All clips in one folder; lists with lines that end as on Unix.
  std::filesystem::rename(path_of("YoYo/v_YoYo_g01_c01.avi"), path_of("v_YoYo_g01_c01.avi"));
  ucf.list("testlist01.txt",
           "Archery/v_Archery_g01_c01.avi\nBiking/v_Biking_g01_c01.avi\nYoYo/v_YoYo_g01_c01.avi");
  CHECK(ucf.read().test[2] == glia::clip_file{path_of("v_YoYo_g01_c01.avi"), 2});
}

TEST_CASE("a clip of UCF101 that is not there is named, or left out") {
  const small_ucf ucf;
  std::filesystem::remove(ucf.clips.path() / "Biking/v_Biking_g08_c01.avi");
  CHECK(
      test::contains(ucf.error(), "trainlist01.txt, line 2: the clip " +
                                      (ucf.clips.path() / "Biking/v_Biking_g08_c01.avi").string()));
  const auto split = ucf.read({.allow_missing = true});
  CHECK(split.missing == 1);
  CHECK(split.train.size() == 2);
  CHECK(split.test.size() == 3);
  std::filesystem::remove_all(ucf.clips.path());
  CHECK(test::contains(ucf.error(), "no such folder"));
  std::filesystem::create_directory(ucf.clips.path());
  CHECK(test::contains(ucf.error({.allow_missing = true}), "has none of the clips"));
}

TEST_CASE("lists of UCF101 that are damaged are named, with the line") {
  const auto error = [](const std::string& name, const std::string& content) {
    const small_ucf ucf;
    ucf.list(name, content);
    return ucf.error();
  };
  const auto classes = [&](const std::string& content) { return error("classInd.txt", content); };
  CHECK(test::contains(classes(""), "classInd.txt: the file is empty; get UCF101's lists again"));
  CHECK(test::contains(classes("1 Archery\n3 YoYo\n"),
                       "classInd.txt, line 2: expected the class number 2, a space and its name, "
                       "got \"3 YoYo\""));
  CHECK(test::contains(classes("1 Archery\n2\n"), "line 2: expected the class number 2"));
  CHECK(test::contains(classes("1 Archery\n2 \n"), "line 2: expected the class number 2"));
  CHECK(test::contains(classes("1 Archery\n2x Biking\n"), "line 2: expected the class number 2"));
  CHECK(test::contains(classes("1 Archery\n2 Archery\n"),
                       "line 2: the class Archery is listed twice"));
  CHECK(test::contains(classes("1 Archery\n2 Biking\n"),
                       "trainlist01.txt, line 3: the class YoYo "
                       "is not in classInd.txt"));
  const auto train = [&](const std::string& content) { return error("trainlist01.txt", content); };
  CHECK(test::contains(train(""), "trainlist01.txt: the file is empty"));
  CHECK(test::contains(train("Archery/v_Archery_g08_c01.avi 2\n"),
                       "line 1: expected the number 1 of the class Archery, got \"2\""));
  CHECK(test::contains(train("Archery/v_Archery_g08_c01.avi 99999999999\n"),
                       "expected the number 1"));
  CHECK(test::contains(
      train("Archery/v_Archery_g08_c01.avi\n"),
      "line 1: expected a class, a slash and a clip, a space and the number of the class"));
  CHECK(test::contains(train("v_Archery_g08_c01.avi 1\n"), "line 1: expected a class, a slash"));
  CHECK(test::contains(train("Archery/ 1\n"), "line 1: expected a class, a slash"));
  CHECK(test::contains(train("Archery/../../secret 1\n"), "line 1: expected a class, a slash"));
  CHECK(test::contains(train("/etc/passwd 1\n"), "line 1: the class  is not in"));
  CHECK(test::contains(train("Archery/v_Archery_g08_c01.avi 1\nArchery/v_Archery_g08_c01.avi 1\n"),
                       "line 2: Archery/v_Archery_g08_c01.avi is listed twice"));
  CHECK(
      test::contains(train("Archery/v_Archery_g08_c01.avi 1\nBiking/v_Biking_g08_c01.avi 2\n"),
                     "trainlist01.txt: expected clips of all classes, got none of the class YoYo"));
  // A clip to train and to test with.
  CHECK(test::contains(error("testlist01.txt", "Archery/v_Archery_g08_c01.avi\n"),
                       "testlist01.txt, line 1: Archery/v_Archery_g08_c01.avi is listed twice, in "
                       "this list or in both"));
  CHECK(test::contains(error("testlist01.txt", "Archery/v_Archery_g01_c01.avi 1\n"),
                       "line 1: expected a class, a slash and a clip, got"));
}

TEST_CASE("lists of UCF101 that are missing are named, and other splits refused") {
  const small_ucf ucf;
  CHECK(test::contains(ucf.error({.split = 2}),
                       "trainlist02.txt: the file cannot be opened for reading"));
  CHECK_THROWS_AS(ucf.read({.split = 0}), glia::value_error);
  CHECK_THROWS_AS(ucf.read({.split = 4}), glia::value_error);
  std::filesystem::create_directory(ucf.lists.path() / "trainlist03.txt");
  CHECK(test::contains(ucf.error({.split = 3}), "trainlist03.txt: is a folder; expected a file"));
  std::filesystem::remove(ucf.lists.path() / "classInd.txt");
  CHECK(test::contains(ucf.error(),
                       "classInd.txt: the file cannot be opened for reading; expected one of "
                       "UCF101's lists"));
}

TEST_CASE("the official splits of UCF101 are read whole") {
  const std::filesystem::path folder = GLIA_SHARED_DATA "/ucf101";
  if (!std::filesystem::exists(folder)) {
    GLIA_SKIP("no UCF101 in " + folder.string());
  }
  for (int number = 1; number <= 3; ++number) {
    const auto split =
        ucf101_split(folder / "clips", folder / "splits", {.split = number, .allow_missing = true});
    CHECK(split.class_names.size() == 101);
    CHECK(split.class_names[100] == "YoYo");
    CHECK(split.train.size() + split.test.size() + split.missing == 13320);
    REQUIRE(split.train.size() + split.test.size() >= 2);
    for (const auto& list : {split.train, split.test}) {
      for (const glia::clip_file& clip : list) {
        const std::string name = split.class_names[static_cast<std::size_t>(clip.label)];
        CHECK(test::contains(clip.path.string(), "v_" + name + "_g"));
      }
    }
  }
  // All of the first one, as empty files.
  const test::temporary_folder clips;
  for (const std::string list : {"trainlist01.txt", "testlist01.txt"}) {
    std::ifstream file(folder / "splits" / list);
    for (std::string line; std::getline(file, line);) {
      const std::size_t slash = line.find('/') + 1;
      clips.write(line.substr(slash, line.find(".avi") + 4 - slash), {});
    }
  }
  const auto first_split = ucf101_split(clips.path(), folder / "splits");
  CHECK(first_split.train.size() == 9537);
  CHECK(first_split.test.size() == 3783);
  CHECK(first_split.train.front().path.filename() == "v_ApplyEyeMakeup_g08_c01.avi");
  CHECK(first_split.train.front().label == 0);
  CHECK(first_split.test.back().path.filename() == "v_YoYo_g07_c04.avi");
  CHECK(first_split.test.back().label == 100);
}
