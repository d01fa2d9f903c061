#include <glia/glia.hpp>
#include <glia/image.hpp>
#include <glia/training/checkpoints.hpp>
#include <numeric>

#include "catch.hpp"
#include "image/pictures.hpp"
#include "samples/batches.hpp"

using glia::segmentation_dataset;
using test::contains;
using test::message_of;

namespace {

/// Irregular white regions on black, some tens of pixels wide.
glia::image regions(std::size_t height, std::size_t width, double phase) {
  glia::image picture = glia::filled_image(height, width, {});
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const double value = std::sin(static_cast<double>(y) / 9 + phase) +
                           std::sin(static_cast<double>(x) / 7 + static_cast<double>(y) / 31);
      std::fill_n(picture.pixels.begin() + static_cast<std::ptrdiff_t>((y * width + x) * 3), 3,
                  value > 0.2 ? std::uint8_t{255} : std::uint8_t{0});
    }
  }
  return picture;
}

/// Images of different sizes. Each mask is the image itself, with the given value instead of white.
struct self_masked {
  static constexpr std::size_t count = 12;
  test::temporary_folder folder;
  std::vector<glia::segmentation_file> files;

  explicit self_masked(std::uint8_t value = 1) {
    for (std::size_t i = 0; i < count; ++i) {
      const glia::image picture = regions(70 + 5 * i, 110 - 4 * i, static_cast<double>(i));
      glia::image mask = picture;
      for (std::uint8_t& level : mask.pixels) {
        level = level > 0 ? value : std::uint8_t{0};
      }
      const std::string name = std::to_string(10 + i);
      folder.write(name + ".png", test::png_file(picture));
      folder.write(name + "_mask.png", test::png_file(mask));
      files.push_back({folder.path() / (name + ".png"), folder.path() / (name + "_mask.png")});
    }
  }
};

const glia::augmentation joint_changes{.horizontal_flip = 0.5,
                                       .rotation = 40,
                                       .zoom = {0.7, 1.5},
                                       .shift = 0.2,
                                       .saturation = {0.5, 1.5},
                                       .brightness = {0.5, 0.9}};

/// The targets of all samples of a data set as one batch.
std::vector<float> whole_targets(const segmentation_dataset& data, std::size_t epoch = 0) {
  std::vector<std::uint32_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), 0U);
  glia::batch b;
  glia::dataset_view(data).gather(samples, b, epoch);
  return b.targets;
}

/// The classes of a mask file of 2 x 3 pixels, with an image of the same size.
struct small_mask {
  test::temporary_folder folder;
  std::filesystem::path mask = folder.path() / "mask.png";

  explicit small_mask(const test::byte_vector& file) {
    folder.write("image.png", test::png_file(glia::filled_image(2, 3, {9, 9, 9})));
    folder.write("mask.png", file);
  }
  [[nodiscard]] segmentation_dataset data(glia::segmentation_dataset_options options) const {
    options.images.height = 2;
    options.images.width = 3;
    return segmentation_dataset({{folder.path() / "image.png", mask}}, options);
  }
  [[nodiscard]] std::vector<float> classes(
      const glia::segmentation_dataset_options& options) const {
    return whole_targets(data(options));
  }
  [[nodiscard]] std::string error(const glia::segmentation_dataset_options& options) const {
    return message_of<glia::data_error>([&] { (void)classes(options); });
  }
};

using floats = std::vector<float>;

}  // namespace

TEST_CASE("masks are resized and augmented together with their images") {
  const self_masked s;
  for (const glia::image_fit fit : {glia::image_fit::stretch, glia::image_fit::crop}) {
    for (const bool augmented : {false, true}) {
      const segmentation_dataset data(
          s.files, {.images = {.height = 48,
                               .width = 64,
                               .fit = fit,
                               .augmentation = augmented ? joint_changes : glia::augmentation{}},
                    .classes = 2});
      std::size_t clear = 0;
      std::size_t white = 0;
      for (const std::size_t epoch : {0U, 1U, 2U}) {
        const floats targets = whole_targets(data, epoch);
        for (std::size_t i = 0; i < data.size(); ++i) {
          const glia::image picture = data.picture(i, epoch);
          const std::uint8_t brightest =
              *std::max_element(picture.pixels.begin(), picture.pixels.end());
          REQUIRE(brightest > 100);
          for (std::size_t p = 0; p < 48U * 64U; ++p) {
            // A pixel is black or white if all pixels that it is interpolated from are. This
            // includes the nearest one.
            const std::uint8_t level = picture.pixels[p * 3];
            if (level == 0 || level == brightest) {
              REQUIRE(targets[i * 48 * 64 + p] == (level == 0 ? 0.0F : 1.0F));
              ++clear;
              white += level == 0 ? 0 : 1;
            }
          }
        }
      }
      const double pixels = 3.0 * self_masked::count * 48 * 64;
      CHECK(static_cast<double>(clear) > 0.7 * pixels);
      CHECK(static_cast<double>(white) > 0.2 * pixels);
      CHECK(static_cast<double>(white) < 0.6 * pixels);
    }
  }
}

TEST_CASE("the values of masks are not mixed") {
  const self_masked s(200);
  const segmentation_dataset data(
      s.files,
      {.images = {.height = 48, .width = 64, .augmentation = joint_changes}, .classes = 201});
  const floats targets = whole_targets(data);
  CHECK(std::all_of(targets.begin(), targets.end(), [](float t) { return t == 0 || t == 200; }));
  CHECK(std::count(targets.begin(), targets.end(), 200.0F) > 1000);
}

TEST_CASE("masks take the nearest pixels") {
  const glia::detail::pixel_mask mask{2, 4, {1, 2, 3, 4, 5, 6, 7, 8}};
  const auto fitted = [&](std::size_t height, std::size_t width, glia::image_fit fit) {
    return glia::detail::fitted(mask, height, width, fit).values;
  };
  CHECK(fitted(2, 4, glia::image_fit::stretch) == mask.values);
  CHECK(fitted(1, 2, glia::image_fit::stretch) == test::byte_vector{6, 8});
  CHECK(fitted(3, 4, glia::image_fit::stretch) ==
        test::byte_vector{1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8});
  CHECK(fitted(2, 2, glia::image_fit::crop) == test::byte_vector{2, 3, 6, 7});
  CHECK(fitted(4, 4, glia::image_fit::crop) ==
        test::byte_vector{2, 2, 3, 3, 2, 2, 3, 3, 6, 6, 7, 7, 6, 6, 7, 7});
  const auto augmented = [&](const glia::augmentation& options) {
    return glia::detail::augment(mask, glia::detail::draw_changes(options, {.seed = 1}, 2, 4))
        .values;
  };
  CHECK(augmented({.horizontal_flip = 1}) == test::byte_vector{4, 3, 2, 1, 8, 7, 6, 5});
  CHECK(augmented({.zoom = {2, 2}}) == test::byte_vector{2, 2, 3, 3, 6, 6, 7, 7});
  CHECK(augmented({.saturation = {0, 0}, .brightness = {2, 2}}) == mask.values);
}

TEST_CASE("samples of a segmentation have classes for the pixels") {
  const small_mask m(test::png_file(2, 3, {0, 1, 2, 2, 1, 0}, {.color_type = PNG_COLOR_TYPE_GRAY}));
  const segmentation_dataset data = m.data({.classes = 3});
  static_assert(glia::target_dataset<segmentation_dataset>);
  static_assert(!glia::labeled_dataset<segmentation_dataset>);
  CHECK(data.size() == 1);
  CHECK(data.input_shape() == glia::shape{2, 3, 3});
  CHECK(data.target_shape() == glia::shape{2, 3});
  CHECK_FALSE(glia::varies(data));
  CHECK(data.files()[0].mask == m.mask);
  floats targets(6);
  data.target(0, targets);
  CHECK(targets == floats{0, 1, 2, 2, 1, 0});
  floats inputs(18);
  data.input(0, inputs);
  CHECK(inputs == floats(18, 9.0F / 255.0F));
  const small_mask object(
      test::png_file(2, 3, {0, 1, 1, 1, 1, 0}, {.color_type = PNG_COLOR_TYPE_GRAY}));
  CHECK(object.data({.classes = 1}).target_shape() == glia::shape{2, 3, 1});
  CHECK(object.classes({.classes = 1}) == floats{0, 1, 1, 1, 1, 0});
  CHECK_THROWS_AS(data.target(0, inputs), glia::shape_error);
}

TEST_CASE("masks of all PNG formats have their stored values") {
  const floats expected{0, 1, 2, 3, 2, 0};
  const glia::segmentation_dataset_options four{.classes = 4};
  const auto classes = [](const test::byte_vector& file,
                          const glia::segmentation_dataset_options& o) {
    return small_mask(file).classes(o);
  };
  CHECK(classes(test::png_file(
                    glia::image{2, 3, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 0, 0, 0}}),
                four) == expected);
  CHECK(classes(
            test::png_file(2, 3, {0x18, 0xE0}, {.bit_depth = 2, .color_type = PNG_COLOR_TYPE_GRAY}),
            four) == expected);
  CHECK(classes(test::png_file(2, 3, {0x01, 0x20, 0x32, 0x00},
                               {.bit_depth = 4, .color_type = PNG_COLOR_TYPE_GRAY}),
                four) == expected);
  CHECK(classes(
            test::png_file(2, 3, {0x40, 0xA0}, {.bit_depth = 1, .color_type = PNG_COLOR_TYPE_GRAY}),
            four) == floats{0, 1, 0, 1, 0, 1});
  // With transparency, which does not change the values.
  CHECK(classes(test::png_file(2, 3, {0, 0, 1, 0, 2, 255, 3, 9, 2, 255, 0, 255},
                               {.color_type = PNG_COLOR_TYPE_GRAY_ALPHA}),
                four) == expected);
  // The indices of a palette, whose colors do not matter, also if two are equal.
  const std::vector<png_color> colors{{0, 0, 0}, {128, 0, 0}, {128, 0, 0}, {255, 255, 255}};
  CHECK(classes(test::png_file(2, 3, {0, 1, 2, 3, 2, 0},
                               {.color_type = PNG_COLOR_TYPE_PALETTE, .palette = colors}),
                four) == expected);
  CHECK(classes(test::png_file(
                    2, 3, {0x18, 0xE0},
                    {.bit_depth = 2, .color_type = PNG_COLOR_TYPE_PALETTE, .palette = colors}),
                four) == expected);
}

TEST_CASE("gamma and color profiles do not change the values of masks") {
  test::byte_vector file =
      test::png_file(2, 3, {0, 1, 60, 100, 60, 0}, {.color_type = PNG_COLOR_TYPE_GRAY});
  test::byte_vector gamma{0, 0, 0, 4, 'g', 'A', 'M', 'A', 0, 1, 0x86, 0xA0, 0, 0, 0, 0};  // 1.0
  test::put_big_endian(gamma, 12, 4, crc32(0, gamma.data() + 4, 8));
  file.insert(file.begin() + 33, gamma.begin(), gamma.end());
  const small_mask m(file);
  CHECK(glia::read_image(m.mask).pixels[6] != 60);
  CHECK(m.classes({.classes = 101}) == floats{0, 1, 60, 100, 60, 0});
}

TEST_CASE("colors of masks are classes in the order of a palette") {
  const std::vector<glia::rgb> palette{{0, 0, 0}, {255, 0, 0}, {0, 0, 255}, {255, 255, 255}};
  const glia::image painted{
      2, 3, {0, 0, 0, 255, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0}};
  const floats expected{0, 1, 1, 2, 3, 0};
  const small_mask m(test::png_file(painted));
  CHECK(m.classes({.classes = 4, .palette = palette}) == expected);
  CHECK(m.classes({.classes = 3, .palette = palette, .ignore_class = 3}) ==
        floats{0, 1, 1, 2, -1, 0});
  const small_mask indexed(
      test::png_file(2, 3, {3, 1, 1, 2, 0, 3},
                     {.color_type = PNG_COLOR_TYPE_PALETTE,
                      .palette = {{255, 255, 255}, {255, 0, 0}, {0, 0, 255}, {0, 0, 0}}}));
  CHECK(indexed.classes({.classes = 4, .palette = palette}) == expected);
  const small_mask object(
      test::png_file(2, 3, {0x40, 0xA0}, {.bit_depth = 1, .color_type = PNG_COLOR_TYPE_GRAY}));
  CHECK(object.classes({.classes = 1, .palette = {{0, 0, 0}, {255, 255, 255}}}) ==
        floats{0, 1, 0, 1, 0, 1});
  CHECK(m.error({.classes = 3, .palette = {palette[0], palette[1], palette[2]}}) ==
        m.mask.string() +
            ": expected colors of palette, but the pixel in row 1, column 1 has the color (255, "
            "255, 255); add the color to palette, or save the mask without antialiasing");
  CHECK(m.error({.classes = 3, .palette = palette}) ==
        m.mask.string() +
            ": expected classes below 3, but the pixel in row 1, column 1 has the class 3; raise "
            "classes, set ignore_class to ignore this value");
  CHECK(m.error({.classes = 4}) ==
        m.mask.string() +
            ": expected gray levels, which are the classes, but the pixel in row 0, column 1 has "
            "the color (255, 0, 0); set palette to the colors of the classes");
}

TEST_CASE("classes of masks that do not exist are named, or ignored") {
  const small_mask m(
      test::png_file(2, 3, {0, 1, 2, 255, 1, 0}, {.color_type = PNG_COLOR_TYPE_GRAY}));
  CHECK(m.error({.classes = 3}) ==
        m.mask.string() +
            ": expected classes below 3, but the pixel in row 1, column 0 has the class 255; raise "
            "classes, set ignore_class to ignore this value, or set palette to the colors of the "
            "classes");
  CHECK(m.classes({.classes = 3, .ignore_class = 255}) == floats{0, 1, 2, -1, 1, 0});
  CHECK(m.classes({.classes = 256}) == floats{0, 1, 2, 255, 1, 0});
  CHECK(contains(m.error({.classes = 1, .ignore_class = 255}),
                 "expected classes below 2, but the pixel in row 0, column 2 has the class 2"));
}

TEST_CASE("masks that cannot be read are named") {
  const auto error = [](const test::byte_vector& file) {
    return small_mask(file).error({.classes = 3});
  };
  CHECK(contains(error(test::jpeg_file(test::gradient(2, 3))),
                 "mask.png: expected a mask in a PNG file, got a JPEG file, which does not store "
                 "exact values; save the mask as PNG"));
  CHECK(contains(error(test::png_file(2, 3, test::byte_vector(12, 0),
                                      {.bit_depth = 16, .color_type = PNG_COLOR_TYPE_GRAY})),
                 "mask.png: expected a mask of at most 8 bits per value, got 16 bits"));
  const test::byte_vector whole = test::png_file(test::scrambled(2, 3));
  CHECK(contains(error(test::cut(whole, whole.size() - 20)),
                 "mask.png: expected a complete PNG image"));
  CHECK(contains(error({1, 2, 3}), "mask.png: expected a JPEG, which begins with"));
  CHECK(contains(error(test::png_file(glia::filled_image(3, 2, {}))),
                 "mask.png: expected a mask of 2 x 3 pixels (height x width) as the image "));
  CHECK(contains(error(test::png_file(glia::filled_image(3, 2, {}))),
                 "image.png, got 3 x 2; resize one of them"));
  const small_mask missing({});
  std::filesystem::remove(missing.mask);
  CHECK(missing.error({.classes = 3}) == missing.mask.string() + ": no such file");
  CHECK(contains(small_mask(whole).error({.images = {.max_pixels = 5}, .classes = 3}),
                 "image.png: the header declares 2 x 3 pixels"));
}

TEST_CASE("batches of images and masks are the same on one thread and on three") {
  const self_masked s;
  const auto make = [&](std::size_t threads, std::uint64_t seed) {
    return segmentation_dataset(s.files, {.images = {.height = 16,
                                                     .width = 12,
                                                     .augmentation = joint_changes,
                                                     .seed = seed,
                                                     .threads = threads},
                                          .classes = 2});
  };
  const segmentation_dataset serial = make(1, 1);
  const segmentation_dataset parallel = make(3, 1);
  CHECK(glia::varies(serial));
  const floats inputs = test::whole_batch(serial, 2);
  const floats targets = whole_targets(serial, 2);
  CHECK(test::whole_batch(parallel, 2) == inputs);
  CHECK(whole_targets(parallel, 2) == targets);
  floats single(16 * 12);
  parallel.target(4, single, 2);
  CHECK(std::equal(single.begin(), single.end(), targets.begin() + 4 * 16 * 12));
  CHECK(whole_targets(serial, 3) != targets);
  CHECK(whole_targets(make(3, 2), 2) != targets);
  // Parts of a data set are augmented as the data set itself.
  const glia::subset one(parallel, {4});
  glia::batch b;
  glia::dataset_view(one).gather(std::vector<std::uint32_t>{0}, b, 2);
  CHECK(b.targets == single);
  CHECK(std::equal(b.inputs.begin(), b.inputs.end(), inputs.begin() + 4 * 16 * 12 * 3));
  const glia::weighted_samples weighted(parallel, xt::ones<float>({self_masked::count}));
  glia::dataset_view(weighted).gather(std::vector<std::uint32_t>{4}, b, 2);
  CHECK(b.targets == single);
}

TEST_CASE("the first mask of a batch that cannot be read is named") {
  const self_masked s;
  s.folder.write("13_mask.png", {1, 2, 3});
  s.folder.write("17_mask.png", {});
  const segmentation_dataset data(
      s.files, {.images = {.height = 16, .width = 12, .threads = 3}, .classes = 2});
  for (int round = 0; round < 20; ++round) {
    floats values(4 * 16 * 12);
    REQUIRE(contains(message_of<glia::data_error>([&] {
                       data.targets(std::vector<std::uint32_t>{0, 7, 6, 3}, values);
                     }),
                     "17_mask.png: expected a JPEG or PNG image, got an empty file"));
  }
}

TEST_CASE("a training with augmented masks is resumed exactly") {
  const self_masked s;
  const segmentation_dataset data(
      s.files,
      {.images = {.height = 16, .width = 16, .augmentation = joint_changes}, .classes = 2});
  const auto fit = [&](std::vector<glia::callback> callbacks, bool resume = false) {
    glia::model net{glia::conv2d{.filters = 2, .kernel_size = 3, .padding = glia::same},
                    data.input_shape(), glia::cpu<float>({.threads = 1})};
    glia::trainer trainer{net, glia::softmax_dice{}, glia::adam{0.05}};
    const glia::history h = trainer.fit(data, {.epochs = 4,
                                               .batch_size = 5,
                                               .metrics = {glia::iou()},
                                               .progress = nullptr,
                                               .callbacks = std::move(callbacks),
                                               .resume = resume});
    return std::pair{trainer.state().tensors, h};
  };
  const auto [whole, whole_history] = fit({});
  CHECK(whole_history.epochs[3].training.loss < whole_history.epochs[0].training.loss);
  const test::temporary_folder folder;
  const glia::checkpoints keep(folder.path() / "run", {.every_steps = 1});
  const auto interrupt = glia::on_event(glia::event::train_batch_end, [](const glia::training& t) {
    return t.step == 8 ? glia::interrupt_training("the test") : glia::keep_training();
  });
  CHECK(fit({keep, interrupt}).second.interrupted);
  const auto [resumed, resumed_history] = fit({keep}, true);
  CHECK(resumed == whole);
  REQUIRE(resumed_history.epochs.size() == 4);
  CHECK(resumed_history.epochs[3].training == whole_history.epochs[3].training);
}

TEST_CASE("options of a segmentation outside their ranges are refused") {
  const auto error = [](const glia::segmentation_dataset_options& options) {
    return message_of<glia::value_error>([&] { (void)segmentation_dataset({}, options); });
  };
  CHECK(error({}) ==
        "segmentation_dataset: expected 1 to 256 classes, got 0; write .classes = 2 for objects "
        "and a background");
  CHECK(contains(error({.classes = 257}), "expected 1 to 256 classes, got 257"));
  CHECK(error({.classes = 3, .palette = {{0, 0, 0}, {1, 1, 1}}}) ==
        "segmentation_dataset: expected a palette of 3 to 256 colors, one for each class, got 2 "
        "colors");
  CHECK(error({.classes = 2, .palette = {{0, 0, 0}, {1, 2, 3}, {1, 2, 3}}}) ==
        "segmentation_dataset: expected different colors in palette, but 1 and 2 are both the "
        "color (1, 2, 3)");
  CHECK(contains(error({.classes = 2, .palette = std::vector<glia::rgb>(300)}), "got 300 colors"));
  CHECK(contains(error({.images = {.height = 0}, .classes = 2}),
                 "segmentation_dataset: expected a height and a width of at least 1"));
  CHECK(contains(error({.images = {.augmentation = {.rotation = 400}}, .classes = 2}),
                 "expected rotation in [0, 180], got 400"));
}
