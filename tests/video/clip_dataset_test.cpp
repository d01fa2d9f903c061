#include <glia/image.hpp>
#include <glia/video.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"
#include "messages.hpp"
#include "samples/batches.hpp"
#include "temporary_folder.hpp"
#include "video/clips.hpp"

namespace {

/// Six clips of different lengths in two classes.
struct labeled_clips {
  test::temporary_folder folder;
  std::vector<glia::clip_file> files;

  labeled_clips() {
    for (std::size_t i = 0; i < 6; ++i) {
      const std::string name = std::to_string(i) + ".avi";
      test::write_numbered(folder.path() / name, 7 + 5 * i, {.b_frames = i % 2 == 0 ? 0 : 2});
      files.push_back({folder.path() / name, static_cast<std::int32_t>(i % 2)});
    }
  }
};

const glia::augmentation clip_changes{
    .horizontal_flip = 0.5, .rotation = 10, .shift = 0.1, .brightness = {0.8, 1.2}};

}  // namespace

TEST_CASE("clips are samples: frames spread over them, resized, normalized, with their classes") {
  const labeled_clips c;
  const glia::clip_dataset data(c.files, {.frames = 4,
                                          .height = 16,
                                          .width = 24,
                                          .mean = glia::imagenet_mean,
                                          .std = glia::imagenet_std});
  CHECK(data.size() == 6);
  CHECK(data.input_shape() == glia::shape{4, 16, 24, 3});
  CHECK(data.label(3) == 1);
  CHECK(data.files() == c.files);
  CHECK_FALSE(glia::varies(data));
  for (std::size_t i = 0; i < 6; ++i) {
    const auto frames = data.frames(i);
    CHECK(test::numbers_of(frames) == glia::frame_numbers(4, 7 + 5 * i));
    CHECK(frames == glia::read_frames(c.files[i].path, 4, {.height = 16, .width = 24}));
    std::vector<float> values(4 * 16 * 24 * 3);
    data.input(i, values);
    for (std::size_t index = 0; index < values.size(); ++index) {
      const std::size_t offset = index % (16 * 24 * 3);
      const std::uint8_t pixel = frames[index / (16 * 24 * 3)].pixels[offset];
      REQUIRE(values[index] ==
              (static_cast<float>(pixel) / 255.0F - glia::imagenet_mean[index % 3]) /
                  glia::imagenet_std[index % 3]);
    }
  }
  const glia::clip_dataset cropped(
      c.files, {.frames = 2, .height = 20, .width = 20, .fit = glia::image_fit::crop});
  CHECK(cropped.frames(5)[1] ==
        glia::resize_and_crop(glia::read_frames(c.files[5].path, 2)[1], 20, 20));
}

TEST_CASE("batches of clips are the same on one, two and three threads") {
  const labeled_clips c;
  for (const bool augmented : {false, true}) {
    const auto make_data = [&](std::size_t threads) {
      return glia::clip_dataset(c.files,
                                {.frames = 5,
                                 .height = 16,
                                 .width = 24,
                                 .augmentation = augmented ? clip_changes : glia::augmentation{},
                                 .threads = threads});
    };
    const auto values = test::whole_batch(make_data(1));
    CHECK(test::whole_batch(make_data(2)) == values);
    CHECK(test::whole_batch(make_data(3)) == values);
    std::vector<float> single(5 * 16 * 24 * 3);
    make_data(3).input(4, single);
    CHECK(std::equal(single.begin(), single.end(),
                     values.begin() + static_cast<std::ptrdiff_t>(4 * single.size())));
  }
}

TEST_CASE("all frames of a clip are augmented alike, another way in each epoch") {
  const test::temporary_folder folder;
  {
    const glia::detail::quiet_ffmpeg quiet;
    test::clip_writer writer(folder.path() / "still.avi", {.codec = "mjpeg"});
    for (int i = 0; i < 6; ++i) {
      writer.add(test::gradient(48, 64));
    }
    writer.finish();
  }
  const std::vector<glia::clip_file> files(8, {folder.path() / "still.avi", 0});
  const glia::clip_dataset data(
      files, {.frames = 4, .height = 48, .width = 64, .augmentation = clip_changes});
  CHECK(glia::varies(data));
  std::size_t alike = 0;
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto frames = data.frames(i, epoch);
      CHECK(frames[1] == frames[0]);
      CHECK(frames[3] == frames[0]);
      alike += frames == data.frames((i + 1) % files.size(), epoch) ? 1 : 0;
      alike += frames == data.frames(i, epoch + 1) ? 1 : 0;
    }
  }
  CHECK(alike == 0);
  // The same as a photo of that number in that epoch has.
  const glia::image still = glia::read_frames(folder.path() / "still.avi", 1)[0];
  glia::write_png(folder.path() / "still.png", still);
  const glia::image_dataset photos(
      std::vector<glia::image_file>(8, {folder.path() / "still.png", 0}),
      {.height = 48, .width = 64, .augmentation = clip_changes});
  CHECK(photos.picture(5, 2) == data.frames(5, 2)[0]);
  const glia::clip_dataset other(
      files, {.frames = 4, .height = 48, .width = 64, .augmentation = clip_changes, .seed = 2});
  CHECK_FALSE(other.frames(0) == data.frames(0));
}

TEST_CASE("the first clip of a batch that cannot be read is named") {
  const labeled_clips c;
  auto cut = test::file_content<test::byte_vector>(c.files[2].path);
  cut.resize(cut.size() - 100);
  c.folder.write("2.avi", cut);
  c.folder.write("4.avi", {});
  for (const std::size_t threads : {1U, 3U}) {
    const glia::clip_dataset data(c.files,
                                  {.frames = 3, .height = 16, .width = 24, .threads = threads});
    const auto error = [&](const std::vector<std::uint32_t>& samples) {
      glia::batch b;
      return test::message_of<glia::data_error>(
          [&] { glia::dataset_view(data).gather(samples, b); });
    };
    for (int round = 0; round < 10; ++round) {
      REQUIRE(test::contains(error({0, 1, 2, 3, 4}),
                             c.files[2].path.string() + ": the clip is truncated"));
      REQUIRE(test::contains(error({0, 4, 3, 2}),
                             c.files[4].path.string() + ": expected a video, got an empty file"));
      REQUIRE(error({0, 1, 3}).empty());
    }
  }
  const glia::clip_dataset patched(c.files,
                                   {.frames = 3, .height = 16, .width = 24, .allow_damage = true});
  CHECK(test::number_of(patched.frames(2)[0]) == 2);
}

TEST_CASE("clips go through a loader, and copies share their threads") {
  const labeled_clips c;
  const glia::clip_dataset data(c.files, {.frames = 2, .height = 8, .width = 8, .threads = 2});
  CHECK(test::loaded_classes(data, {5, 3, 0, 1, 2}) == std::vector<std::int32_t>{1, 1, 0, 1, 0});
}

TEST_CASE("options of clips outside their ranges are refused") {
  const auto error = [](const glia::clip_dataset_options& options) {
    return test::message_of<glia::value_error>([&] { (void)glia::clip_dataset({}, options); });
  };
  CHECK(test::contains(error({.frames = 0}),
                       "one or more frames and a height and a width of at least 1, got 0"));
  CHECK(test::contains(error({.width = 0}), "got 16 frames of 224 x 0"));
  CHECK(test::contains(error({.std = {1, 0, 1}}), "clip_dataset: expected finite means and"));
  CHECK(
      test::contains(error({.augmentation = {.rotation = 400}}), "expected rotation in [0, 180]"));
  const labeled_clips c;
  const glia::clip_dataset data(c.files, {.frames = 2, .height = 8, .width = 8});
  std::vector<float> small(8 * 8 * 3);
  CHECK_THROWS_AS(data.input(0, small), glia::shape_error);
  CHECK_THROWS_AS(data.inputs(std::vector<std::uint32_t>{0}, small), glia::shape_error);
}
