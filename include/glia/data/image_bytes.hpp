#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// Labelled images kept as bytes, a quarter of what floats would take, and turned into floats in
/// [0, 1] as they are read. Copies share nothing; move it where you can.
///
/// Throws `data_error` when images and labels disagree in number.
class image_bytes {
 public:
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
    const auto brightness = [](int pixel) { return static_cast<float>(pixel) / 255.0F; };
    const std::uint8_t* const from = pixels_.data() + i * values.size();
    // A block of its own of a size that is known compiles to vectors: three times as fast as a
    // table of all brightnesses, with nothing but the processor's oldest instructions.
    constexpr std::size_t width = 16;
    std::size_t at = 0;
    for (; at + width <= values.size(); at += width) {
      std::array<float, width> block;
      for (std::size_t k = 0; k < width; ++k) {
        block[k] = brightness(from[at + k]);
      }
      std::copy(block.begin(), block.end(), values.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (; at < values.size(); ++at) {
      values[at] = brightness(from[at]);
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
  shape sample_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace glia
