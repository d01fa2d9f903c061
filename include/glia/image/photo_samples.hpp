#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/thread_pool.hpp"
#include "glia/image/augment.hpp"
#include "glia/image/image.hpp"
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

namespace detail {

/// What data sets of photos have in common: how the bytes of a JPEG or PNG file become a sample
/// (H, W, 3), and the threads on which those of a batch do. Copies share the threads and take
/// turns.
class photo_samples {
 public:
  /// `what` names the data set in errors.
  photo_samples(std::string what, const image_dataset_options& options)
      : what_(std::move(what)),
        options_(options),
        decoders_(std::make_shared<decoders>(options.threads)) {
    require<value_error>(options.height > 0 && options.width > 0, what_,
                         ": expected extents of at least 1, got ", options.height, " x ",
                         options.width);
    require_valid(options.augment);
    for (std::size_t c = 0; c < 3; ++c) {
      require<value_error>(
          std::isfinite(options.mean[c]) && options.std[c] > 0 && std::isfinite(options.std[c]),
          what_, ": expected finite means and standard deviations above 0, got mean ",
          options.mean[c], " and std ", options.std[c], " for colour ", c);
      for (std::size_t value = 0; value < 256; ++value) {
        normalised_[c][value] =
            (static_cast<float>(value) / 255.0F - options.mean[c]) / options.std[c];
      }
    }
  }

  [[nodiscard]] shape sample_shape() const { return {options_.height, options_.width, 3}; }

  /// Whether samples differ from epoch to epoch, because they are augmented.
  [[nodiscard]] bool varies() const { return options_.augment.varies(); }

  /// Sample i as a picture, before it is normalised, of the bytes of its file.
  [[nodiscard]] image picture(std::span<const std::uint8_t> file, std::size_t i,
                              std::size_t epoch) const {
    const image photo = decode_image(file, {.max_pixels = options_.max_pixels,
                                            .min_height = options_.height,
                                            .min_width = options_.width});
    image fitted = options_.fit == image_fit::stretch
                       ? resize(photo, options_.height, options_.width)
                       : resize_and_crop(photo, options_.height, options_.width);
    return varies() ? augment(std::move(fitted), options_.augment, key_of(i, epoch)) : fitted;
  }

  void normalise(const image& picture, std::span<float> values) const {
    require<shape_error>(values.size() == picture.pixels.size(), what_, ": expected room for ",
                         picture.pixels.size(), " values, got ", values.size());
    for (std::size_t at = 0; at < values.size(); at += 3) {
      for (std::size_t c = 0; c < 3; ++c) {
        values[at + c] = normalised_[c][picture.pixels[at + c]];
      }
    }
  }

  /// Calls `write(sample, values)` for each of these samples, with the values side by side, on all
  /// threads. When several fail, the first of them is the one that is thrown for.
  template <class Write>
  void write_batch(std::span<const std::uint32_t> samples, std::span<float> values,
                   const Write& write) const {
    const std::size_t sample_size = sample_shape().size();
    require<shape_error>(values.size() == samples.size() * sample_size, what_,
                         ": expected room for ", samples.size() * sample_size, " values, got ",
                         values.size());
    const std::lock_guard lock(decoders_->in_use);
    std::mutex failing;
    std::size_t first_failure = samples.size();
    std::exception_ptr failure;
    decoders_->pool.parallel_for(samples.size(), [&](std::size_t n, std::size_t) {
      try {
        write(samples[n], values.subspan(n * sample_size, sample_size));
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

  std::string what_;
  image_dataset_options options_;
  std::shared_ptr<decoders> decoders_;
  std::array<std::array<float, 256>, 3> normalised_{};  // of each colour's 256 values
};

}  // namespace detail

}  // namespace glia
