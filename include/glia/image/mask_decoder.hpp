#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"
#include "glia/image/pixel_mask.hpp"
#include "glia/image/png.hpp"
#include "glia/image/read_image.hpp"

namespace glia::detail {

/// Decodes masks from PNG files and checks their values.
///
/// Without a palette, a value is the gray level of a pixel, or its index in the palette of the
/// file. With a palette, it is the index of the pixel's color in this palette. Transparency is
/// ignored.
class mask_decoder {
 public:
  /// `name` is the data set's name in error messages, and `count` the number of valid values.
  /// Throws `value_error` if the palette has fewer colors, more than 256 colors or a color twice.
  mask_decoder(const std::string& name, std::size_t count, std::vector<rgb> palette,
               std::optional<std::uint8_t> ignored)
      : count_(count), palette_(std::move(palette)), ignored_(ignored) {
    if (palette_.empty()) {
      return;
    }
    require<value_error>(palette_.size() >= count && palette_.size() <= 256, name,
                         ": expected a palette of ", count,
                         " to 256 colors, one for each class, got ", palette_.size(), " colors");
    for (std::size_t i = 0; i < palette_.size(); ++i) {
      const std::size_t first = index_of(palette_[i]);
      require<value_error>(first == i, name, ": expected different colors in palette, but ", first,
                           " and ", i, " are both ", text_of(palette_[i]));
    }
  }

  /// Decodes the bytes of a file. Throws `data_error` if they are no PNG file of at most 8 bits per
  /// value, or for a pixel whose value is neither valid nor ignored.
  [[nodiscard]] pixel_mask decode(std::span<const std::uint8_t> file,
                                  std::size_t max_pixels) const {
    const auto head = file.first(std::min(file.size(), format_bytes));
    require<data_error>(format_of(head) == image_format::png,
                        "expected a mask in a PNG file, got a JPEG file, which does not store "
                        "exact values; save the mask as PNG");
    png_decoder decoder(file, png_chunks::values);
    require_allowed(decoder.height(), decoder.width(), {.max_pixels = max_pixels});
    require<data_error>(decoder.bit_depth() <= 8,
                        "expected a mask of at most 8 bits per value, got ", decoder.bit_depth(),
                        " bits; save the mask with 8 bits");
    pixel_mask result{decoder.height(), decoder.width(), {}};
    if (palette_.empty() && decoder.is_indexed()) {
      result.values = decoder.decode_indices();
    } else {
      // Gray levels of less than 8 bits are stretched to 8 bits.
      const int step = 255 / ((1 << decoder.bit_depth()) - 1);
      result.values = values_of(decoder.decode_rgba(), result.width, step);
    }
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      const std::uint8_t value = result.values[i];
      if (value >= count_ && value != ignored_) {
        throw data_error(text(
            "expected classes below ", count_, ", but the pixel in ", place(i, result.width),
            " has the class ", int{value}, "; raise classes, set ignore_class to ignore this value",
            palette_.empty() ? ", or set palette to the colors of the classes" : ""));
      }
    }
    return result;
  }

 private:
  [[nodiscard]] static std::string text_of(const rgb& color) {
    return text("the color (", int{color[0]}, ", ", int{color[1]}, ", ", int{color[2]}, ')');
  }
  [[nodiscard]] static std::string place(std::size_t pixel, std::size_t width) {
    return text("row ", pixel / width, ", column ", pixel % width);
  }

  /// Returns the index of a color in the palette, or the palette's size.
  [[nodiscard]] std::size_t index_of(const rgb& color) const {
    return static_cast<std::size_t>(std::find(palette_.begin(), palette_.end(), color) -
                                    palette_.begin());
  }

  [[nodiscard]] std::vector<std::uint8_t> values_of(const std::vector<std::uint8_t>& pixels,
                                                    std::size_t width, int step) const {
    std::vector<std::uint8_t> result(pixels.size() / 4);
    rgb last{};
    std::size_t value = index_of(last);  // of the last color: neighbors often have the same one
    for (std::size_t i = 0; i < result.size(); ++i) {
      const rgb color{pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]};
      if (palette_.empty()) {
        require<data_error>(color[0] == color[1] && color[1] == color[2],
                            "expected gray levels, which are the classes, but the pixel in ",
                            place(i, width), " has ", text_of(color),
                            "; set palette to the colors of the classes");
        value = static_cast<std::size_t>(color[0] / step);
      } else if (color != last || value == palette_.size()) {
        value = index_of(color);
        last = color;
        require<data_error>(value < palette_.size(),
                            "expected colors of palette, but the pixel in ", place(i, width),
                            " has ", text_of(color),
                            "; add the color to palette, or save the mask without antialiasing");
      }
      result[i] = static_cast<std::uint8_t>(value);
    }
    return result;
  }

  std::size_t count_;
  std::vector<rgb> palette_;
  std::optional<std::uint8_t> ignored_;
};

}  // namespace glia::detail
