#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// A data set of images with class labels that keeps the pixels as bytes. Bytes take a quarter of
/// the memory of floats.
///
/// Reading an image converts its pixels to floats in [0, 1], pixel / 255. Copying the data set
/// copies all pixels; use `std::move` to avoid it.
///
/// Throws `data_error` if the numbers of images and labels differ.
class image_bytes {
 public:
  static constexpr bool writes_whole_rows = true;

  /// Takes the pixels (N, ...) of N images of the shape `sample`, one image after the other, and
  /// their labels (N).
  image_bytes(const shape& sample, std::vector<std::uint8_t> pixels,
              std::vector<std::uint8_t> labels)
      : sample_(sample), pixels_(std::move(pixels)), labels_(std::move(labels)) {
    require<data_error>(pixels_.size() == labels_.size() * sample_.size(),
                        "image_bytes: expected an image of the shape ", sample_, " for each of ",
                        labels_.size(), " labels, got ", pixels_.size(), " bytes in all");
  }

  [[nodiscard]] std::size_t size() const { return labels_.size(); }
  [[nodiscard]] const shape& input_shape() const { return sample_; }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels_[i]; }

  void input(std::size_t i, std::span<float> values) const {
    write_brightness(pixels_.data() + i * values.size(), values.data(), values.size());
  }

  /// Writes several images one after the other. In a shuffled order, the images are far apart in
  /// memory. Therefore each image is prefetched while the two images before it are converted, which
  /// makes this function 2.5 times as fast.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values) const {
    constexpr std::size_t ahead = 2;
    constexpr std::size_t cache_line = 64;
    const std::size_t size = sample_.size();
    for (std::size_t n = 0; n < samples.size(); ++n) {
      if (n + ahead < samples.size()) {
        const std::span<const std::uint8_t> later = pixels(samples[n + ahead]);
        // Not in a separate function, because g++ 12 would remove the calls as if they had no
        // effect.
        for (std::size_t offset = 0; offset < size; offset += cache_line) {
          __builtin_prefetch(later.data() + offset);
        }
      }
      input(samples[n], values.subspan(n * size, size));
    }
  }

  /// The bytes of image `i`.
  [[nodiscard]] std::span<const std::uint8_t> pixels(std::size_t i) const {
    return {pixels_.data() + i * sample_.size(), sample_.size()};
  }

  /// Returns the same images with another shape of equal size, such as (784) for (28, 28). Throws
  /// `shape_error` if the sizes differ.
  [[nodiscard]] image_bytes reshaped(const shape& sample) && {
    require<shape_error>(sample.size() == sample_.size(), "image_bytes: images of the shape ",
                         sample_, " cannot be reshaped to ", sample);
    sample_ = sample;
    return std::move(*this);
  }

  /// Removes all images except the first `count`.
  void keep_first(std::size_t count) {
    if (count < labels_.size()) {
      labels_.resize(count);
      pixels_.resize(count * sample_.size());
    }
  }

 private:
  /// Returns pixel / 255, correctly rounded, without a division. The first product is exact. The
  /// rounding error of the second product is too small to change the result.
  [[nodiscard]] static constexpr float brightness(std::uint8_t pixel) {
    const auto p = static_cast<float>(pixel);
    return p * 0x1.01p-8F + p * 0x1.010102p-24F;  // the factors add up to 1 / 255
  }

  /// Converts pixels to floats. g++ and clang vectorize the blocks of constant size for every
  /// instruction set.
  static void write_brightness(const std::uint8_t* __restrict source, float* __restrict destination,
                               std::size_t count) {
    constexpr std::size_t width = 32;
    std::size_t offset = 0;
    for (; offset + width <= count; offset += width) {
      for (std::size_t k = 0; k < width; ++k) {
        destination[offset + k] = brightness(source[offset + k]);
      }
    }
    for (; offset < count; ++offset) {
      destination[offset] = brightness(source[offset]);
    }
  }

  shape sample_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace glia
