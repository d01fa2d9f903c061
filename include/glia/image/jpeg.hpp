#pragma once

#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"

namespace glia {

namespace detail {

/// Whether a JPEG image has a marker, 0xFF left out, for which `found(marker)` holds. Segments are
/// skipped by their lengths, so that those of a thumbnail inside one do not count. Compressed
/// data are passed over byte by byte: there, 0xFF is followed by 0 or is a restart marker.
template <class Found>
[[nodiscard]] bool has_jpeg_marker(std::span<const std::uint8_t> bytes, const Found& found) {
  for (std::size_t i = 2; i + 1 < bytes.size();) {
    const std::uint8_t marker = bytes[i + 1];
    if (bytes[i] != 0xFF || marker == 0 || marker == 0xFF || (marker >= 0xD0 && marker <= 0xD7)) {
      ++i;
    } else if (found(marker)) {
      return true;
    } else if (i + 3 < bytes.size()) {
      i += 2 + std::max<std::size_t>(2, bytes[i + 2] * std::size_t{256} + bytes[i + 3]);
    } else {
      break;
    }
  }
  return false;
}

[[nodiscard]] inline bool has_jpeg_end(std::span<const std::uint8_t> bytes) {
  return has_jpeg_marker(bytes, [](std::uint8_t marker) { return marker == 0xD9; });
}

class jpeg_decoder {
 public:
  explicit jpeg_decoder(std::span<const std::uint8_t> bytes)
      : bytes_(bytes), handle_(tjInitDecompress(), &tjDestroy) {
    require<error>(handle_ != nullptr, "TurboJPEG's decoder cannot be set up: ", tjGetErrorStr());
    int subsampling = 0;
    judge(tjDecompressHeader3(handle_.get(), bytes_.data(), bytes_.size(), &width_, &height_,
                              &subsampling, &colours_));
    require<data_error>(height_ > 0 && width_ > 0,
                        "expected a whole JPEG image, but there are no pixels: the data are cut "
                        "short or hold tables alone; fetch the file again or leave it out");
  }

  [[nodiscard]] std::size_t height() const { return static_cast<std::size_t>(height_); }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(width_); }

  [[nodiscard]] image decode(const decode_options& options) const {
    require_enough_bytes();
    const auto [height, width] = scaled_extents(options);
    image result{height, width, {}};
    if (colours_ == TJCS_CMYK || colours_ == TJCS_YCCK) {
      const std::vector<std::uint8_t> inks = decompress(height, width, TJPF_CMYK);
      result.pixels.resize(height * width * 3);
      for (std::size_t i = 0; i < height * width; ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
          // Adobe's convention, which all such files follow: 255 is no ink.
          result.pixels[i * 3 + c] =
              static_cast<std::uint8_t>((inks[i * 4 + c] * inks[i * 4 + 3] + 127) / 255);
        }
      }
    } else {
      result.pixels = decompress(height, width, TJPF_RGB);
    }
    return result;
  }

 private:
  /// Huffman's codes take at least a bit for the first of each 8 x 8 coefficients. So a header that
  /// declares what the file cannot hold is found out before memory is taken for it. Arithmetic
  /// coding (the markers C9 and on) has no such bound.
  void require_enough_bytes() const {
    const auto arithmetic = [](std::uint8_t marker) {
      return marker >= 0xC9 && marker <= 0xCF && marker != 0xCC;
    };
    require<data_error>(
        height() * width() / 64 / 8 <= bytes_.size() || has_jpeg_marker(bytes_, arithmetic),
        "expected a whole JPEG image, but the data are damaged or cut short (the header declares ",
        height(), " x ", width(), " pixels, more than ", bytes_.size(),
        " bytes can hold); fetch the file again or leave it out");
  }

  [[nodiscard]] std::array<std::size_t, 2> scaled_extents(const decode_options& options) const {
    std::array<std::size_t, 2> best{height(), width()};
    if (options.min_height == 0 && options.min_width == 0) {
      return best;
    }
    int count = 0;
    const tjscalingfactor* factors = tjGetScalingFactors(&count);
    for (int i = 0; i < count; ++i) {
      const std::array<std::size_t, 2> scaled{
          static_cast<std::size_t>(TJSCALED(height_, factors[i])),
          static_cast<std::size_t>(TJSCALED(width_, factors[i]))};
      if (scaled[0] >= options.min_height && scaled[1] >= options.min_width &&
          scaled[0] <= best[0] && scaled[1] <= best[1]) {
        best = scaled;
      }
    }
    return best;
  }

  [[nodiscard]] std::vector<std::uint8_t> decompress(std::size_t height, std::size_t width,
                                                     int format) const {
    std::vector<std::uint8_t> values(height * width *
                                     static_cast<std::size_t>(tjPixelSize[format]));
    // The limit stops files of thousands of scans, each of which would be a pass over the image.
    judge(tjDecompress2(handle_.get(), bytes_.data(), bytes_.size(), values.data(),
                        static_cast<int>(width), 0, static_cast<int>(height), format,
                        TJFLAG_LIMITSCANS));
    return values;
  }

  /// Most of what libjpeg only warns of means that pixels are missing or wrong. The warnings let
  /// pass leave the pixels as they were written. libjpeg words only its first warning, which may
  /// hide that the data are cut short; so the end is then looked for.
  void judge(int status) const {
    if (status == 0) {
      return;
    }
    const std::string_view reason = tjGetErrorStr2(handle_.get());
    static constexpr std::string_view harmless[] = {
        "extraneous bytes before marker", "unknown JFIF revision number",
        "Unknown Adobe color transform code", "Invalid SOS parameters for sequential JPEG"};
    const bool warning_only =
        tjGetErrorCode(handle_.get()) == TJERR_WARNING &&
        std::any_of(std::begin(harmless), std::end(harmless), [&](std::string_view part) {
          return reason.find(part) != std::string_view::npos;
        });
    require<data_error>(warning_only && has_jpeg_end(bytes_),
                        "expected a whole JPEG image, but the data are damaged, cut short or of a "
                        "kind that TurboJPEG does not decode (",
                        reason, "); fetch the file again or leave it out");
  }

  std::span<const std::uint8_t> bytes_;
  std::unique_ptr<void, int (*)(tjhandle)> handle_;
  int height_ = 0;
  int width_ = 0;
  int colours_ = 0;
};

}  // namespace detail

/// Decodes a JPEG image, sequential or progressive. Grey becomes RGB of three equal values, CMYK
/// and YCCK become RGB by R = C K / 255 of the stored, inverted inks. Colour profiles are ignored,
/// and so is EXIF's orientation: a photo taken with the camera turned comes out as it was stored.
/// Needs TurboJPEG: link `glia::image`.
///
/// Throws `data_error` for data that are damaged or cut short, and for an image of more than
/// `max_pixels`. What is no more than untidy (bytes that belong to nothing between two markers, an
/// unknown revision number) is let pass.
[[nodiscard]] inline image decode_jpeg(std::span<const std::uint8_t> bytes,
                                       const decode_options& options = {}) {
  const detail::jpeg_decoder decoder(bytes);
  detail::require_allowed(decoder.height(), decoder.width(), options);
  return decoder.decode(options);
}

}  // namespace glia
