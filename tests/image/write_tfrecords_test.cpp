#include <algorithm>
#include <glia/image/write_tfrecords.hpp>
#include <glia/io/sharded_files.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"

using test::contains;
using test::message_of;

namespace {

struct photos_to_write {
  test::temporary_folder folder;
  std::vector<glia::image_file> files;

  explicit photos_to_write(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(10 + i) + ".png";
      folder.write(name, test::png_file(test::scrambled(2 + i, 3)));
      files.push_back({folder.path() / name, static_cast<std::int32_t>(i % 3)});
    }
  }

  /// The examples of each file.
  [[nodiscard]] std::vector<std::vector<glia::tf_example>> written(
      const glia::write_tfrecords_options& options) const {
    std::vector<std::vector<glia::tf_example>> result;
    const auto paths = glia::write_tfrecords(files, folder.path() / "all", options);
    CHECK(paths == glia::sharded_files(folder.path() / "all", options.suffix));
    for (const auto& path : paths) {
      result.emplace_back();
      {
        glia::tfrecord_reader reader(path);
        while (const auto record = reader.next()) {
          result.back().push_back(glia::decode_example(*record));
        }
      }
      std::filesystem::remove(path);
    }
    return result;
  }
  [[nodiscard]] std::size_t number_of(const glia::tf_example& e) const {
    const auto found = std::find_if(files.begin(), files.end(), [&](const glia::image_file& file) {
      return test::file_content(file.path) == bytes_list(e, "image").at(0);
    });
    return static_cast<std::size_t>(found - files.begin());
  }
};

}  // namespace

TEST_CASE("photos are written as TFRecords, in turn to each file") {
  const photos_to_write p(8);
  const auto written = p.written({.shards = 3, .class_names = {"x", "y", "z"}});
  REQUIRE(written.size() == 3);
  for (std::size_t shard = 0; shard < 3; ++shard) {
    REQUIRE(written[shard].size() == (shard < 2 ? 3 : 2));
    for (std::size_t i = 0; i < written[shard].size(); ++i) {
      const glia::tf_example& e = written[shard][i];
      const std::size_t photo = i * 3 + shard;
      CHECK(p.number_of(e) == photo);
      CHECK(int64_list(e, "class") == std::vector<std::int64_t>{p.files[photo].label});
      CHECK(bytes_list(e, "label") == std::vector<std::string>{std::string{"xyz"[photo % 3]}});
      CHECK(e.features.size() == 3);
    }
  }
  const auto plain =
      p.written({.image_feature = "image", .class_feature = "n", .suffix = ".tfrec"});
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].size() == 8);
  CHECK(plain[0][4].features.size() == 2);
  CHECK(int64_list(plain[0][4], "n") == std::vector<std::int64_t>{1});
}

TEST_CASE("TFRecord files of photos are named as TensorFlow names them") {
  const photos_to_write p(2);
  const auto paths = glia::write_tfrecords(p.files, p.folder.path() / "some", {.shards = 2});
  CHECK(paths ==
        std::vector<std::filesystem::path>{p.folder.path() / "some-00000-of-00002.tfrecord",
                                           p.folder.path() / "some-00001-of-00002.tfrecord"});
}

TEST_CASE("photos can be shuffled before they are written, by a seed") {
  const photos_to_write p(12);
  const auto order = [&](std::optional<std::uint64_t> seed) {
    std::vector<std::size_t> numbers;
    for (const auto& file : p.written({.shards = 2, .seed = seed})) {
      for (const glia::tf_example& e : file) {
        numbers.push_back(p.number_of(e));
      }
    }
    return numbers;
  };
  const auto plain = order({});
  auto shuffled = order(5);
  CHECK(plain == std::vector<std::size_t>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11});
  CHECK(shuffled != plain);
  CHECK(order(5) == shuffled);
  CHECK(order(6) != shuffled);
  std::sort(shuffled.begin(), shuffled.end());
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(shuffled[i] == i);
  }
}

TEST_CASE("photos that cannot be written as TFRecords are named, and no half file is left") {
  const photos_to_write p(4);
  const auto write = [&](const std::vector<glia::image_file>& files,
                         const glia::write_tfrecords_options& options) {
    (void)glia::write_tfrecords(files, p.folder.path() / "all", options);
  };
  const auto refusal = [&](const std::vector<glia::image_file>& files,
                           const glia::write_tfrecords_options& options) {
    return message_of<glia::value_error>([&] { write(files, options); });
  };
  CHECK(refusal(p.files, {.shards = 0}) ==
        "write_tfrecords: expected 1 to 4 shards for 4 images, got 0");
  CHECK(contains(refusal(p.files, {.shards = 5}), "1 to 4 shards for 4 images, got 5"));
  CHECK(contains(refusal({}, {}), "shards for 0 images, got 1"));
  CHECK(contains(
      refusal(p.files, {.class_names = {"a", "b"}}),
      "12.png has the label 2, expected a class index below 2, the number of class_names"));
  CHECK(contains(refusal({{p.files[0].path, -1}}, {}),
                 "10.png has the label -1, expected a class index "));
  CHECK(glia::sharded_files(p.folder.path() / "1", ".png").size() == 4);
  CHECK_THROWS_AS(glia::sharded_files(p.folder.path() / "all"), glia::data_error);

  p.folder.write("13.png", test::text_file("no picture"));
  CHECK(contains(message_of<glia::data_error>([&] { write(p.files, {.shards = 2}); }),
                 p.files[3].path.string() + ": expected a JPEG, which begins with"));
  CHECK(std::filesystem::exists(p.folder.path() / "all-00000-of-00002.tfrecord"));
  CHECK(contains(
      message_of<glia::data_error>([&] { (void)glia::sharded_files(p.folder.path() / "all"); }),
      "expected 2 files, by this file's name, but there are 1 files all*.tfrecord"));
  CHECK(std::distance(std::filesystem::directory_iterator(p.folder.path()), {}) == 5);
  CHECK_THROWS_AS(glia::write_tfrecords(p.files, p.folder.path() / "none" / "all"),
                  glia::data_error);
}
