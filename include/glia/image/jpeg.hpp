#pragma once

#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"

namespace glia {

namespace detail {

/// Returns whether a JPEG image has a marker for which `found(marker)` is true. A marker is passed
/// without its first byte, 0xFF. Segments are skipped by their lengths, so that markers of a
/// thumbnail within a segment do not count. Compressed data are skipped byte by byte. In these
/// data, 0xFF is followed by 0 or is part of a restart marker.
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
    require<data_error>(bytes.size() <= std::numeric_limits<unsigned long>::max(),
                        "expected a JPEG image of at most 4 GiB, got ", bytes.size(), " bytes");
    int subsampling = 0;
    judge(tjDecompressHeader3(handle_.get(), bytes_.data(), byte_count(), &width_, &height_,
                              &subsampling, &colors_));
    require<data_error>(height_ > 0 && width_ > 0,
                        "expected a complete JPEG image, but it has no pixels: the data are "
                        "truncated or hold only tables; get the file again or leave it out");
  }

  [[nodiscard]] std::size_t height() const { return static_cast<std::size_t>(height_); }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(width_); }

  [[nodiscard]] image decode(const decode_options& options) const {
    require_enough_bytes();
    const auto [height, width] = scaled_extents(options);
    image result{height, width, {}};
    if (colors_ == TJCS_CMYK || colors_ == TJCS_YCCK) {
      const std::vector<std::uint8_t> inks = decompress(height, width, TJPF_CMYK);
      result.pixels.resize(height * width * 3);
      for (std::size_t i = 0; i < height * width; ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
          // All such files follow Adobe's convention: 255 means no ink.
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
  [[nodiscard]] unsigned long byte_count() const {
    return static_cast<unsigned long>(bytes_.size());
  }

  /// Throws `data_error` if the header declares more pixels than the file can hold, before memory
  /// is allocated. Huffman codes take at least one bit for each block of 8 x 8 coefficients.
  /// Arithmetic coding (markers from C9 on) has no such bound.
  void require_enough_bytes() const {
    const auto arithmetic = [](std::uint8_t marker) {
      return marker >= 0xC9 && marker <= 0xCF && marker != 0xCC;
    };
    require<data_error>(
        height() * width() / 64 / 8 <= bytes_.size() || has_jpeg_marker(bytes_, arithmetic),
        "expected a complete JPEG image, but the data are damaged or truncated (the header "
        "declares ",
        height(), " x ", width(), " pixels, more than ", bytes_.size(),
        " bytes can hold); get the file again or leave it out");
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
    // The limit excludes files with thousands of scans, because each scan would process the whole
    // image.
    judge(tjDecompress2(handle_.get(), bytes_.data(), byte_count(), values.data(),
                        static_cast<int>(width), 0, static_cast<int>(height), format,
                        TJFLAG_LIMITSCANS));
    return values;
  }

  /// Throws `data_error` for errors and for most warnings of libjpeg, because they mean that pixels
  /// are missing or wrong. Four harmless warnings are accepted if the data contain the end marker.
  /// This check is necessary because libjpeg reports only its first warning; a harmless one can
  /// hide that the data are truncated.
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
                        "expected a complete JPEG image, but the data are damaged, truncated or of "
                        "a kind that TurboJPEG does not decode (",
                        reason, "); get the file again or leave it out");
  }

  std::span<const std::uint8_t> bytes_;
  std::unique_ptr<void, int (*)(tjhandle)> handle_;
  int height_ = 0;
  int width_ = 0;
  int colors_ = 0;
};

}  // namespace detail

/// Decodes a JPEG image, sequential or progressive, to 8-bit RGB.
///
/// Gray images get three equal channels. CMYK and YCCK images are converted by R = C K / 255, G = M
/// K / 255 and B = Y K / 255, where C, M, Y and K are the stored values and 255 means no ink. Color
/// profiles are ignored. The EXIF orientation is ignored, too: a photo that was taken with a turned
/// camera is returned as it is stored. Needs the library TurboJPEG: link `glia::image`.
///
/// Throws `data_error` if the data are damaged or truncated, or if the image has more than
/// `max_pixels` pixels. Harmless irregularities, such as extra bytes between two markers or an
/// unknown revision number, are accepted.
[[nodiscard]] inline image decode_jpeg(std::span<const std::uint8_t> bytes,
                                       const decode_options& options = {}) {
  const detail::jpeg_decoder decoder(bytes);
  detail::require_allowed(decoder.height(), decoder.width(), options);
  return decoder.decode(options);
}

}  // namespace glia
