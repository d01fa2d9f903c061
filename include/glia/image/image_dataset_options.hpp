#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "glia/image/augment.hpp"
#include "glia/image/image_fit.hpp"

namespace glia {

/// Options of `image_dataset`.
struct image_dataset_options {
  std::size_t height = 224;  ///< Height of the samples in pixels, at least 1.
  std::size_t width = 224;   ///< Width of the samples in pixels, at least 1.
  /// Whether to stretch or to crop images of other proportions.
  image_fit fit = image_fit::stretch;
  glia::augmentation augmentation{};     ///< Random changes of training images; none by default.
  std::uint64_t seed = 1;                ///< Seed of the augmentation.
  std::array<float, 3> mean{0, 0, 0};    ///< Means of red, green and blue, for values in [0, 1].
  std::array<float, 3> std{1, 1, 1};     ///< Standard deviations of red, green and blue, above 0.
  std::size_t threads = 0;               ///< Number of decoding threads; 0: one per core.
  std::size_t max_pixels = 100'000'000;  ///< Largest image accepted, in pixels (height x width).
};

}  // namespace glia
