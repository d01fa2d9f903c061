#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/thread_pool.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/augment.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_folder.hpp"
#include "glia/image/read_image.hpp"
#include "glia/image/resize.hpp"

namespace glia {

/// Mean and standard deviation of ImageNet's red, green and blue in [0, 1], which networks trained
/// on it expect their inputs to be normalised with.
inline constexpr std::array<float, 3> imagenet_mean{0.485F, 0.456F, 0.406F};
inline constexpr std::array<float, 3> imagenet_std{0.229F, 0.224F, 0.225F};

/// How a picture of other proportions is brought to the size asked for.
enum class image_fit {
  stretch,  ///< both axes on their own, as Keras does
  crop,     ///< the shorter side to its extent, the longer one cut on both sides
};

struct image_dataset_options {
  std::size_t height = 224;  ///< at least 1
  std::size_t width = 224;   ///< at least 1
  image_fit fit = image_fit::stretch;
  augmentation augment{};              ///< of training data; off by default
  std::uint64_t seed = 1;              ///< of the augmentation
  std::array<float, 3> mean{0, 0, 0};  ///< of each colour in [0, 1]
  std::array<float, 3> std{1, 1, 1};   ///< of each colour in [0, 1]; above 0
  std::size_t threads = 0;             ///< to decode on; 0: one per core
  std::size_t max_pixels = 100'000'000;
};

/// Photos with their classes as samples (H, W, 3): read from their files when they are asked for,
/// resized, augmented and normalised to (v / 255 - mean) / std.
///
///     const auto [training, validation] = glia::image_folder("flowers").split(0.2);
///     const glia::image_dataset train(training, {.mean = glia::imagenet_mean,
///                                                .std = glia::imagenet_std});
///
/// How a sample is augmented depends on the seed, the epoch and the sample's number alone. Batches
/// are decoded on several threads; copies share these and take turns.
///
/// Throws `value_error` for options outside their ranges; what cannot be read throws `data_error`,
/// naming the file, when it is asked for.
class image_dataset {
 public:
  explicit image_dataset(std::vector<image_file> files, const image_dataset_options& options = {})
      : files_(std::move(files)),
        options_(options),
        decoders_(std::make_shared<decoders>(options.threads)) {
    require<value_error>(options.height > 0 && options.width > 0,
                         "image_dataset: expected extents of at least 1, got ", options.height,
                         " x ", options.width);
    detail::require_valid(options.augment);
    for (std::size_t c = 0; c < 3; ++c) {
      require<value_error>(
          std::isfinite(options.mean[c]) && options.std[c] > 0 && std::isfinite(options.std[c]),
          "image_dataset: expected finite means and standard deviations above 0, got mean ",
          options.mean[c], " and std ", options.std[c], " for colour ", c);
      for (std::size_t value = 0; value < 256; ++value) {
        normalised_[c][value] =
            (static_cast<float>(value) / 255.0F - options.mean[c]) / options.std[c];
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] shape input_shape() const { return {options_.height, options_.width, 3}; }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return files_[i].label; }
  [[nodiscard]] const std::vector<image_file>& files() const { return files_; }

  /// Whether samples differ from epoch to epoch, because they are augmented.
  [[nodiscard]] bool varies() const { return options_.augment.varies(); }

  /// Sample i as a picture, before it is normalised.
  [[nodiscard]] image picture(std::size_t i, std::size_t epoch = 0) const {
    return detail::naming(files_[i].path, [&] {
      const image photo = detail::decode_file(files_[i].path, {.max_pixels = options_.max_pixels,
                                                               .min_height = options_.height,
                                                               .min_width = options_.width});
      image fitted = options_.fit == image_fit::stretch
                         ? resize(photo, options_.height, options_.width)
                         : resize_and_crop(photo, options_.height, options_.width);
      return varies() ? augment(std::move(fitted), options_.augment, key_of(i, epoch)) : fitted;
    });
  }

  void input(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    const image sample = picture(i, epoch);
    require<shape_error>(values.size() == sample.pixels.size(), "image_dataset: expected room for ",
                         sample.pixels.size(), " values, got ", values.size());
    for (std::size_t at = 0; at < values.size(); at += 3) {
      for (std::size_t c = 0; c < 3; ++c) {
        values[at + c] = normalised_[c][sample.pixels[at + c]];
      }
    }
  }

  /// A batch: the samples with these numbers side by side, each as `input` gives it. When several
  /// cannot be read, the first of them is the one that is thrown for.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    const std::size_t sample_size = input_shape().size();
    require<shape_error>(values.size() == samples.size() * sample_size,
                         "image_dataset: expected room for ", samples.size() * sample_size,
                         " values, got ", values.size());
    const std::lock_guard lock(decoders_->in_use);
    std::mutex failing;
    std::size_t first_failure = samples.size();
    std::exception_ptr failure;
    decoders_->pool.parallel_for(samples.size(), [&](std::size_t n, std::size_t) {
      try {
        input(samples[n], values.subspan(n * sample_size, sample_size), epoch);
      } catch (...) {
        const std::lock_guard report(failing);
        if (n < first_failure) {
          first_failure = n;
          failure = std::current_exception();
        }
      }
    });
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
  }

 private:
  struct decoders {
    explicit decoders(std::size_t threads) : pool(threads) {}
    std::mutex in_use;
    thread_pool pool;
  };

  // Each sample of each epoch has a seed of its own, so that its sequence is no other consumer's.
  [[nodiscard]] random_key key_of(std::size_t i, std::size_t epoch) const {
    constexpr std::uint32_t augmentation_stream = 0xFFFFFFFE;
    const auto words = philox({.seed = options_.seed,
                               .stream = augmentation_stream,
                               .step = static_cast<std::uint32_t>(epoch)},
                              i);
    return {.seed = words[0] | std::uint64_t{words[1]} << 32};
  }

  std::vector<image_file> files_;
  image_dataset_options options_;
  std::shared_ptr<decoders> decoders_;
  std::array<std::array<float, 256>, 3> normalised_{};  // of each colour's 256 values
};

static_assert(labelled_dataset<image_dataset>);
static_assert(varying_dataset<image_dataset>);

}  // namespace glia
