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
#include "glia/image/normalisation.hpp"
#include "glia/image/sample_decoding.hpp"
#include "glia/video/read_frames.hpp"

namespace glia {

/// A video file and the class it belongs to, counted from 0. The same type as for photos:
/// `image_folder` lists folders of clips as well.
using clip_file = image_file;

/// What is taken of each clip, and how its frames become numbers.
struct clip_dataset_options {
  std::size_t frames = 16;   ///< of each clip, spread evenly over it; at least 1
  std::size_t height = 224;  ///< at least 1
  std::size_t width = 224;   ///< at least 1
  image_fit fit = image_fit::stretch;
  augmentation augment{};              ///< of training data; off by default
  std::uint64_t seed = 1;              ///< of the augmentation
  std::array<float, 3> mean{0, 0, 0};  ///< of each colour in [0, 1]
  std::array<float, 3> std{1, 1, 1};   ///< of each colour in [0, 1]; above 0
  std::size_t threads = 0;             ///< to decode on, each a clip at a time; 0: one per core
  bool allow_damage = false;           ///< takes what is left of clips that are cut or damaged
  std::size_t max_pixels = 40'000'000;
};

/// Clips with their classes as samples (T, H, W, 3) of T frames: read by `read_frames` when they
/// are asked for, resized, augmented and normalised to (v / 255 - mean) / std.
///
///     const auto [training, validation] = glia::image_folder("UCF-101").split(0.2);
///     const glia::clip_dataset train(training, {.frames = 16,
///                                               .augment = {.horizontal_flip = 0.5}});
///
/// All frames of a clip are augmented in the same way, which depends on the seed, the epoch and the
/// sample's number alone. Batches are decoded on several threads; copies share these and take
/// turns.
///
/// Throws `value_error` for options outside their ranges; what cannot be read throws `data_error`,
/// naming the file, when it is asked for.
class clip_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit clip_dataset(std::vector<clip_file> files, const clip_dataset_options& options = {})
      : files_(std::move(files)),
        options_(options),
        decoders_(options.threads),
        normalisation_("clip_dataset", options.mean, options.std) {
    require<value_error>(
        options.frames > 0 && options.height > 0 && options.width > 0,
        "clip_dataset: expected at least one frame and extents of at least 1, got ", options.frames,
        " frames of ", options.height, " x ", options.width);
    detail::require_valid(options.augment);
  }

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] shape input_shape() const {
    return {options_.frames, options_.height, options_.width, 3};
  }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return files_[i].label; }
  [[nodiscard]] const std::vector<clip_file>& files() const { return files_; }

  /// Whether samples differ from epoch to epoch, because they are augmented.
  [[nodiscard]] bool varies() const { return options_.augment.varies(); }

  /// Sample i as pictures, before they are normalised.
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
        picture = augment(std::move(picture), options_.augment, key);
      }
    }
    return pictures;
  }

  void input(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    const std::size_t size = input_shape().size();
    require<shape_error>(values.size() == size, "clip_dataset: expected room for ", size,
                         " values, got ", values.size());
    std::size_t at = 0;
    for (const image& picture : frames(i, epoch)) {
      normalisation_.apply(picture.pixels, values.subspan(at, picture.pixels.size()));
      at += picture.pixels.size();
    }
  }

  /// A batch: the samples with these numbers side by side, each as `input` gives it. When several
  /// cannot be read, the first of them is the one that is thrown for.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    const std::size_t sample_size = input_shape().size();
    require<shape_error>(values.size() == samples.size() * sample_size,
                         "clip_dataset: expected room for ", samples.size() * sample_size,
                         " values, got ", values.size());
    decoders_.for_each(samples.size(), [&](std::size_t n) {
      input(samples[n], values.subspan(n * sample_size, sample_size), epoch);
    });
  }

 private:
  std::vector<clip_file> files_;
  clip_dataset_options options_;
  detail::sample_decoders decoders_;
  detail::normalisation normalisation_;
};

static_assert(labelled_dataset<clip_dataset>);
static_assert(varying_dataset<clip_dataset>);

}  // namespace glia
