#include <glia/data/split.hpp>
#include <glia/image.hpp>
#include <glia/io/sharded_files.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"
#include "samples/batches.hpp"
#include "samples/records.hpp"

using test::contains;
using test::message_of;
using test::whole_batch;

namespace {

/// Eleven photos as files and as three TFRecord files.
struct recorded_photos {
  test::temporary_folder folder;
  std::vector<glia::image_file> files;
  std::vector<std::filesystem::path> records;

  recorded_photos() {
    for (std::size_t i = 0; i < 11; ++i) {
      const glia::image picture = test::scrambled(20 + i, 32 - i);
      const bool jpeg = i % 3 == 2;
      const std::string name = std::to_string(10 + i) + (jpeg ? ".jpg" : ".png");
      folder.write(name, jpeg ? test::jpeg_file(picture) : test::png_file(picture));
      files.push_back({folder.path() / name, static_cast<std::int32_t>(i % 4)});
    }
    records = glia::write_tfrecords(files, folder.path() / "photos",
                                    {.shards = 3, .class_names = {"a", "b", "c", "d"}});
  }
};

const glia::augmentation recorded_changes{
    .horizontal_flip = 0.5, .rotation = 10, .brightness = {0.8, 1.2}};

template <class D>
std::vector<std::int32_t> labels_of(const D& data) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < data.size(); ++i) {
    labels.push_back(data.label(i));
  }
  return labels;
}

}  // namespace

TEST_CASE("photos in TFRecord files are the samples that they are as files") {
  const recorded_photos p;
  for (const bool augmented : {false, true}) {
    const glia::image_dataset_options options{
        .height = 16,
        .width = 12,
        .fit = glia::image_fit::crop,
        .augmentation = augmented ? recorded_changes : glia::augmentation{},
        .mean = glia::imagenet_mean,
        .std = glia::imagenet_std,
        .threads = augmented ? 3U : 1U};
    const glia::image_dataset expected(p.files, options);
    const glia::tfrecord_dataset data(p.records, {.images = options, .interleaved = true});
    CHECK(data.size() == 11);
    CHECK(data.input_shape() == glia::shape{16, 12, 3});
    CHECK(glia::varies(data) == augmented);
    CHECK(labels_of(data) == labels_of(expected));
    const auto values = whole_batch(expected);
    CHECK(whole_batch(data) == values);
    CHECK((whole_batch(data, 1) == values) == !augmented);
    CHECK(whole_batch(data, 1) == whole_batch(expected, 1));
    std::vector<float> sample(16 * 12 * 3);
    data.input(4, sample);
    CHECK(std::equal(sample.begin(), sample.end(), values.begin() + 4 * 16 * 12 * 3));
    CHECK(data.picture(5) == expected.picture(5));
  }
}

TEST_CASE("photos in TFRecord files are numbered file by file or across the files") {
  const recorded_photos p;
  const glia::tfrecord_dataset in_turn(p.records, {.interleaved = true});
  CHECK(labels_of(in_turn) == std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2});
  const glia::tfrecord_dataset by_file(p.records);
  CHECK(labels_of(by_file) == std::vector<std::int32_t>{0, 3, 2, 1, 1, 0, 3, 2, 2, 1, 0});
  CHECK(by_file.records().size() == 11);
  const glia::tf_example e = by_file.read(1);  // the fourth photo
  CHECK(bytes_list(e, "label") == std::vector<std::string>{"d"});
  CHECK(bytes_list(e, "image") == std::vector<std::string>{test::file_content(p.files[3].path)});
}

TEST_CASE("photos in TFRecord files go through a loader and can be split by their classes") {
  const recorded_photos p;
  const glia::tfrecord_dataset data(
      p.records, {.images = {.height = 8, .width = 8, .threads = 2}, .interleaved = true});
  CHECK(test::loaded_classes(data, {10, 3, 5, 0, 1}) == std::vector<std::int32_t>{2, 3, 1, 0, 1});
  const auto parts = glia::train_test_split(data, {.test_size = 4.0 / 11, .stratify = true});
  std::vector<std::int32_t> held_out = labels_of(parts.test);
  std::sort(held_out.begin(), held_out.end());
  CHECK(held_out == std::vector<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("a class is not read again") {
  const recorded_photos p;
  const glia::tfrecord_dataset data(p.records, {.images = {.height = 8, .width = 8}});
  const glia::tfrecord_dataset copy = data;
  (void)whole_batch(data);
  for (const auto& file : p.records) {
    std::filesystem::remove(file);
  }
  CHECK(labels_of(copy) == std::vector<std::int32_t>{0, 3, 2, 1, 1, 0, 3, 2, 2, 1, 0});
}

TEST_CASE("features of photos in TFRecord files may have other names") {
  const test::temporary_folder folder;
  glia::tf_example e;
  const auto file = test::png_file(test::scrambled(8, 8));
  e.features["photo/encoded"] = std::vector<std::string>{{file.begin(), file.end()}};
  e.features["photo/number"] = std::vector<std::int64_t>{7};
  folder.write("a", test::samples::tfrecord_file({encode_example(e)}));
  const glia::tfrecord_dataset data({folder.path() / "a"}, {.images = {.height = 8, .width = 8},
                                                            .image_feature = "photo/encoded",
                                                            .class_feature = "photo/number"});
  CHECK(data.label(0) == 7);
  CHECK(data.picture(0) == test::scrambled(8, 8));
}

TEST_CASE("errors of photos in TFRecord files name the record and say what is wrong") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "a";
  const auto file = test::png_file(test::scrambled(8, 8));
  const std::string picture(file.begin(), file.end());
  const auto error_of = [&](const std::string& record) {
    folder.write("a", test::samples::tfrecord_file({"abc", record}));
    const glia::tfrecord_dataset data({path}, {.images = {.height = 8, .width = 8}});
    glia::batch b;
    const std::vector<std::uint32_t> samples{1};
    const std::string error =
        message_of<glia::data_error>([&] { glia::dataset_view(data).gather(samples, b); });
    const std::string name = path.string() + ": record 1 (at byte 19): ";
    return error.starts_with(name) ? error.substr(name.size()) : "(no name) " + error;
  };
  const auto example_error = [&](const glia::tf_feature& image, const glia::tf_feature& label) {
    glia::tf_example e;
    e.features["image"] = image;
    e.features["class"] = label;
    return error_of(encode_example(e));
  };
  using integers = std::vector<std::int64_t>;
  using texts = std::vector<std::string>;
  CHECK(example_error(texts{picture}, integers{0}) == "(no name) ");
  CHECK(contains(error_of("abc"), "expected a tf.train.Example, but at byte 1: "));
  CHECK(error_of("") == "expected a feature 'class', found none");
  CHECK(example_error(texts{picture}, texts{"rose"}) ==
        "expected integers in the feature 'class', found bytes");
  CHECK(example_error(texts{picture}, integers{1, 2}) ==
        "expected one value in the feature 'class', found 2");
  CHECK(example_error(texts{picture}, integers{}) ==
        "expected one value in the feature 'class', found 0");
  for (const std::int64_t label : {std::int64_t{-1}, std::int64_t{1} << 31, INT64_MIN}) {
    CHECK(example_error(texts{picture}, integers{label}) ==
          glia::text("expected a class index from 0 to 2147483647 in the feature 'class', found ",
                     label));
  }
  CHECK(example_error(texts{picture}, integers{INT32_MAX}) == "(no name) ");
  CHECK(example_error(integers{1}, integers{1}) ==
        "expected bytes in the feature 'image', found integers");
  CHECK(example_error(texts{picture, picture}, integers{1}) ==
        "expected one value in the feature 'image', found 2");
  CHECK(contains(example_error(texts{""}, integers{1}), "expected a JPEG, which begins with"));
  CHECK(contains(example_error(texts{""}, integers{1}), "got no bytes; convert"));
  CHECK(contains(example_error(texts{picture.substr(0, picture.size() - 20)}, integers{1}),
                 "expected a complete PNG image"));

  const recorded_photos p;
  CHECK(message_of<glia::value_error>([&] {
          glia::tfrecord_dataset(p.records, {.images = {.height = 0}});
        }) == "tfrecord_dataset: expected a height and a width of at least 1, got 0 x 224");
  CHECK_THROWS_AS(glia::tfrecord_dataset({}), glia::value_error);
  CHECK_THROWS_AS(glia::tfrecord_dataset({folder.path()}), glia::data_error);
  const glia::tfrecord_dataset data(p.records, {.images = {.height = 8, .width = 8}});
  std::vector<float> small(8 * 8);
  CHECK_THROWS_AS(data.input(0, small), glia::shape_error);
}

TEST_CASE("the first photo of a batch of records that cannot be read is named") {
  const recorded_photos p;
  auto bytes = test::file_content<test::byte_vector>(p.records[0]);
  bytes.back() ^= 1U;  // the last of four records
  p.folder.write(p.records[0].filename().string(), bytes);
  for (const std::size_t threads : {1U, 3U}) {
    const glia::tfrecord_dataset data(p.records,
                                      {.images = {.height = 8, .width = 8, .threads = threads}});
    const std::string error =
        message_of<glia::data_error>([&] { static_cast<void>(whole_batch(data)); });
    CHECK(contains(error, p.records[0].string() + ": record 3 (at byte "));
    CHECK(contains(error, "do not match their checksum"));
    CHECK_THROWS_AS(data.label(3), glia::data_error);
    CHECK(data.label(2) == 2);
  }
}
