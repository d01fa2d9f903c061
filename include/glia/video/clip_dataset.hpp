#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/augment.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_fit.hpp"
#include "glia/image/image_folder.hpp"
#include "glia/image/normalization.hpp"
#include "glia/image/sample_decoding.hpp"
#include "glia/video/read_frames.hpp"

namespace glia {

/// A video file with its class label. The type is the same as for images, so that `image_folder`
/// can also list clips.
using clip_file = image_file;

/// Options of `clip_dataset`.
struct clip_dataset_options {
  /// Number of frames in a sample, evenly spread over the clip; at least 1.
  std::size_t frames = 16;
  std::size_t height = 224;  ///< Height of the frames in pixels, at least 1.
  std::size_t width = 224;   ///< Width of the frames in pixels, at least 1.
  /// Whether to stretch or to crop frames of other proportions.
  image_fit fit = image_fit::stretch;
  glia::augmentation augmentation{};   ///< Random changes of training clips; none by default.
  std::uint64_t seed = 1;              ///< Seed of the augmentation.
  std::array<float, 3> mean{0, 0, 0};  ///< Means of red, green and blue, for values in [0, 1].
  std::array<float, 3> std{1, 1, 1};   ///< Standard deviations of red, green and blue, above 0.
  /// Number of threads; each decodes one clip at a time; 0: one per core.
  std::size_t threads = 0;
  bool allow_damage = false;            ///< Whether truncated and damaged clips are accepted.
  std::size_t max_pixels = 40'000'000;  ///< Largest frame accepted, in pixels (height x width).
};

/// A data set of video clips with class labels. Each sample has the shape (T, H, W, 3), with T
/// frames.
///
/// A clip is read with `read_frames` when its sample is needed, on one of several threads. Its
/// frames are decoded, resized, augmented, and normalized to (pixel / 255 - mean) / std.
///
///     const auto [training, validation] = glia::image_folder("UCF-101").split(0.2);
///     const glia::clip_dataset train(training, {.frames = 16,
///                                               .augmentation = {.horizontal_flip = 0.5}});
///
/// All frames of a clip get the same random augmentation. The augmentation depends only on the
/// seed, the epoch and the index of the sample. Copies of a data set share their threads and use
/// them in turn. Needs FFmpeg: link `glia::video`.
///
/// Throws `value_error` if an option is outside its range. Reading a sample throws `data_error`,
/// with the name of the file, if the clip cannot be read.
class clip_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit clip_dataset(std::vector<clip_file> files, const clip_dataset_options& options = {})
      : files_(std::move(files)),
        options_(options),
        decoders_(options.threads),
        normalization_("clip_dataset", options.mean, options.std) {
    require<value_error>(
        options.frames > 0 && options.height > 0 && options.width > 0,
        "clip_dataset: expected one or more frames and a height and a width of at least 1, got ",
        options.frames, " frames of ", options.height, " x ", options.width);
    detail::require_valid(options.augmentation);
  }

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] shape input_shape() const {
    return {options_.frames, options_.height, options_.width, 3};
  }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return files_[i].label; }
  /// The files of the samples.
  [[nodiscard]] const std::vector<clip_file>& files() const { return files_; }

  /// Whether samples differ between epochs, that is whether they are augmented.
  [[nodiscard]] bool varies() const { return options_.augmentation.varies(); }

  /// Returns the frames of sample `i` as images, resized and augmented but not normalized.
  [[nodiscard]] std::vector<image> frames(std::size_t i, std::size_t epoch = 0) const {
    auto pictures = read_frames(files_[i].path, options_.frames,
                                {.height = options_.height,
                                 .width = options_.width,
                                 .fit = options_.fit,
                                 .allow_damage = options_.allow_damage,
                                 .max_pixels = options_.max_pixels});
    if (varies()) {
      const random_key key = detail::augmentation_key(options_.seed, i, epoch);
      for (image& picture : pictures) {
        picture = augment(std::move(picture), options_.augmentation, key);
      }
    }
    return pictures;
  }

  /// Writes sample `i` of an epoch.
  void input(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    const std::size_t size = input_shape().size();
    require<shape_error>(values.size() == size, "clip_dataset: expected a span of ", size,
                         " values, got ", values.size());
    std::size_t offset = 0;
    for (const image& picture : frames(i, epoch)) {
      normalization_.apply(picture.pixels, values.subspan(offset, picture.pixels.size()));
      offset += picture.pixels.size();
    }
  }

  /// Writes the samples with the given indices one after the other, on several threads. If several
  /// samples cannot be read, the error of the first one is thrown.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    const std::size_t sample_size = input_shape().size();
    require<shape_error>(values.size() == samples.size() * sample_size,
                         "clip_dataset: expected a span of ", samples.size() * sample_size,
                         " values, got ", values.size());
    decoders_.for_each(samples.size(), [&](std::size_t n) {
      input(samples[n], values.subspan(n * sample_size, sample_size), epoch);
    });
  }

 private:
  std::vector<clip_file> files_;
  clip_dataset_options options_;
  detail::sample_decoders decoders_;
  detail::normalization normalization_;
};

static_assert(labeled_dataset<clip_dataset>);
static_assert(varying_dataset<clip_dataset>);

}  // namespace glia
