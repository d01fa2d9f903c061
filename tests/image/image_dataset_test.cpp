#include <glia/image.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"
#include "samples/batches.hpp"

using test::contains;
using test::message_of;
using test::whole_batch;

namespace {

/// Twelve scrambled PNG photos of different sizes in two classes.
struct photos {
  test::temporary_folder folder;
  std::vector<glia::image_file> files;

  photos() {
    for (std::size_t i = 0; i < 12; ++i) {
      const std::string name = std::to_string(10 + i) + ".png";
      folder.write(name, test::png_file(picture(i)));
      files.push_back({folder.path() / name, static_cast<std::int32_t>(i % 2)});
    }
  }
  [[nodiscard]] static glia::image picture(std::size_t i) {
    return test::scrambled(20 + i, 32 - i);
  }
};

const glia::augmentation changes{.horizontal_flip = 0.5, .rotation = 10, .brightness = {0.8, 1.2}};

}  // namespace

TEST_CASE("photos are samples: resized, normalized, with their classes") {
  const photos p;
  const glia::image_dataset data(
      p.files, {.height = 16, .width = 12, .mean = glia::imagenet_mean, .std = glia::imagenet_std});
  CHECK(data.size() == 12);
  CHECK(data.input_shape() == glia::shape{16, 12, 3});
  CHECK(data.label(3) == 1);
  CHECK_FALSE(glia::varies(data));
  std::vector<float> values(16 * 12 * 3);
  data.input(5, values);
  const glia::image expected = glia::resize(photos::picture(5), 16, 12);
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(values[i] ==
            (static_cast<float>(expected.pixels[i]) / 255.0F - glia::imagenet_mean[i % 3]) /
                glia::imagenet_std[i % 3]);
  }
  const glia::image_dataset plain(p.files, {.height = 16, .width = 12});
  plain.input(5, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(values[i] == static_cast<float>(expected.pixels[i]) / 255.0F);
  }
  const glia::image_dataset cropped(p.files,
                                    {.height = 16, .width = 12, .fit = glia::image_fit::crop});
  CHECK(cropped.picture(5) == glia::resize_and_crop(photos::picture(5), 16, 12));
}

TEST_CASE("large JPEG photos are decoded small") {
  const test::temporary_folder folder;
  const glia::image photo = test::gradient(160, 240);
  folder.write("a.jpg", test::jpeg_file(photo));
  const glia::image_dataset data({{folder.path() / "a.jpg", 0}}, {.height = 40, .width = 40});
  CHECK(data.picture(0) ==
        glia::resize(glia::read_image(folder.path() / "a.jpg", {.min_height = 40, .min_width = 40}),
                     40, 40));
  CHECK(test::difference(data.picture(0), glia::resize(photo, 40, 40)) <= 4);
}

TEST_CASE("batches are the same on one thread and on three") {
  const photos p;
  for (const bool augmented : {false, true}) {
    const glia::augmentation a = augmented ? changes : glia::augmentation{};
    const glia::image_dataset serial(p.files,
                                     {.height = 16, .width = 12, .augmentation = a, .threads = 1});
    const glia::image_dataset parallel(
        p.files, {.height = 16, .width = 12, .augmentation = a, .threads = 3});
    const auto values = whole_batch(serial);
    CHECK(whole_batch(parallel) == values);
    std::vector<float> single(16 * 12 * 3);
    parallel.input(4, single);
    CHECK(std::equal(single.begin(), single.end(), values.begin() + 4 * 16 * 12 * 3));
  }
}

TEST_CASE("augmented photos differ from epoch to epoch, and come again") {
  const photos p;
  const glia::image_dataset data(p.files, {.height = 16, .width = 12, .augmentation = changes});
  CHECK(glia::varies(data));
  const auto first = whole_batch(data, 0);
  CHECK(whole_batch(data, 1) != first);
  CHECK(whole_batch(data, 0) == first);
  const glia::image_dataset repeated(p.files, {.height = 16, .width = 12, .augmentation = changes});
  CHECK(whole_batch(repeated, 0) == first);
  const glia::image_dataset other(p.files,
                                  {.height = 16, .width = 12, .augmentation = changes, .seed = 2});
  CHECK(whole_batch(other, 0) != first);
  // The same photo under two numbers is changed in two ways.
  const glia::image_dataset twice({p.files[0], p.files[0]},
                                  {.height = 16, .width = 12, .augmentation = changes});
  CHECK_FALSE(twice.picture(0) == twice.picture(1));
}

TEST_CASE("the first photo of a batch that cannot be read is named") {
  const photos p;
  p.folder.write("13.png", {1, 2, 3});
  p.folder.write("17.png", {});
  for (const std::size_t threads : {1U, 3U}) {
    const glia::image_dataset data(p.files, {.height = 16, .width = 12, .threads = threads});
    const auto error = [&](const std::vector<std::uint32_t>& samples) {
      glia::batch b;
      return message_of<glia::data_error>([&] { glia::dataset_view(data).gather(samples, b); });
    };
    for (int round = 0; round < 20; ++round) {
      REQUIRE(contains(error({0, 1, 2, 3, 4, 5, 6, 7}),
                       p.files[3].path.string() + ": expected a JPEG, which begins with"));
      REQUIRE(
          contains(error({0, 7, 6, 3}),
                   p.files[7].path.string() + ": expected a JPEG or PNG image, got an empty file"));
      REQUIRE(error({0, 1, 2}).empty());
    }
  }
}

TEST_CASE("photos go through a loader, and copies share their threads") {
  const photos p;
  const glia::image_dataset data(p.files, {.height = 8, .width = 8, .threads = 2});
  CHECK(test::loaded_classes(data, {11, 3, 5, 0, 1}) == std::vector<std::int32_t>{1, 1, 1, 0, 1});
}

TEST_CASE("options of photos outside their ranges are refused") {
  const auto error = [](const glia::image_dataset_options& options) {
    return message_of<glia::value_error>([&] { (void)glia::image_dataset({}, options); });
  };
  CHECK(contains(error({.height = 0}), "expected a height and a width of at least 1, got 0 x 224"));
  CHECK(contains(error({.std = {1, 0, 1}}),
                 "standard deviations above 0, got the mean 0 and the std 0"));
  CHECK(contains(error({.augmentation = {.rotation = 400}}),
                 "expected rotation in [0, 180], got 400"));
  const photos p;
  const glia::image_dataset data(p.files, {.height = 8, .width = 8});
  std::vector<float> small(8 * 8);
  CHECK_THROWS_AS(data.input(0, small), glia::shape_error);
}
