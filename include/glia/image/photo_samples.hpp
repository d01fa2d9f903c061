#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/image/augment.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_dataset_options.hpp"
#include "glia/image/image_fit.hpp"
#include "glia/image/normalization.hpp"
#include "glia/image/read_image.hpp"
#include "glia/image/sample_decoding.hpp"

namespace glia::detail {

/// The code that all image data sets share: converts the bytes of a JPEG or PNG file to a sample
/// (H, W, 3), and the files of a batch on several threads. Copies share the threads and use them in
/// turn.
class photo_samples {
 public:
  /// `name` is the data set's name in error messages.
  photo_samples(std::string name, const image_dataset_options& options)
      : name_(std::move(name)),
        options_(options),
        decoders_(options.threads),
        normalization_(name_, options.mean, options.std) {
    require<value_error>(options.height > 0 && options.width > 0, name_,
                         ": expected a height and a width of at least 1, got ", options.height,
                         " x ", options.width);
    require_valid(options.augmentation);
  }

  [[nodiscard]] shape sample_shape() const { return {options_.height, options_.width, 3}; }

  /// Whether samples differ between epochs, that is whether they are augmented.
  [[nodiscard]] bool varies() const { return options_.augmentation.varies(); }

  /// Converts the bytes of a file to sample `i` as an image, which is not normalized.
  [[nodiscard]] image picture(std::span<const std::uint8_t> file, std::size_t i,
                              std::size_t epoch) const {
    return picture(decode_image(file, {.max_pixels = options_.max_pixels,
                                       .min_height = options_.height,
                                       .min_width = options_.width}),
                   i, epoch);
  }
  /// Converts a decoded file.
  [[nodiscard]] image picture(const image& photo, std::size_t i, std::size_t epoch) const {
    image result = fitted(photo, options_.height, options_.width, options_.fit);
    return varies() ? augment(std::move(result), options_.augmentation,
                              augmentation_key(options_.seed, i, epoch))
                    : result;
  }

  void normalize(const image& picture, std::span<float> values) const {
    require<shape_error>(values.size() == picture.pixels.size(), name_, ": expected a span of ",
                         picture.pixels.size(), " values, got ", values.size());
    normalization_.apply(picture.pixels, values);
  }

  /// Calls `write(sample, row)` for each sample, on several threads, where `row` is the sample's
  /// range within `values`. If several calls fail, the error of the first sample is thrown.
  template <class Write>
  void write_batch(std::span<const std::uint32_t> samples, std::span<float> values,
                   const Write& write) const {
    write_batch(samples, values, sample_shape().size(), write);
  }
  /// The same for rows of another size, such as targets.
  template <class Write>
  void write_batch(std::span<const std::uint32_t> samples, std::span<float> values,
                   std::size_t sample_size, const Write& write) const {
    require<shape_error>(values.size() == samples.size() * sample_size, name_,
                         ": expected a span of ", samples.size() * sample_size, " values, got ",
                         values.size());
    decoders_.for_each(samples.size(), [&](std::size_t n) {
      write(samples[n], values.subspan(n * sample_size, sample_size));
    });
  }

 private:
  std::string name_;
  image_dataset_options options_;
  sample_decoders decoders_;
  normalization normalization_;
};

}  // namespace glia::detail
