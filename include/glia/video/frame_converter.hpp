#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"
#include "glia/video/clip_packets.hpp"
#include "glia/video/ffmpeg.hpp"

namespace glia::detail {

/// Converts frames to 8-bit RGB images of the same size.
class frame_converter {
 public:
  /// Throws `data_error` if FFmpeg's scaler does not support the pixel format.
  [[nodiscard]] image operator()(const AVFrame& frame) {
    prepare(frame);
    // Not directly into the image, because FFmpeg may write beyond the ends of rows.
    sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, rgb_->data,
              rgb_->linesize);
    const auto height = static_cast<std::size_t>(frame.height);
    const auto width = static_cast<std::size_t>(frame.width);
    image picture{height, width, {}};
    picture.pixels.reserve(height * width * 3);
    for (std::size_t y = 0; y < height; ++y) {
      const std::uint8_t* row = rgb_->data[0] + static_cast<std::ptrdiff_t>(y) * rgb_->linesize[0];
      picture.pixels.insert(picture.pixels.end(), row, row + width * 3);
    }
    return picture;
  }

 private:
  /// The properties of a frame on which the conversion depends. They may change within a clip.
  struct frame_kind {
    int height = 0;
    int width = 0;
    int format = -1;
    AVColorSpace colors = AVCOL_SPC_UNSPECIFIED;
    AVColorRange range = AVCOL_RANGE_UNSPECIFIED;

    friend bool operator==(const frame_kind&, const frame_kind&) = default;
  };

  void prepare(const AVFrame& frame) {
    const frame_kind kind{frame.height, frame.width, frame.format, frame.colorspace,
                          frame.color_range};
    if (scaler_ != nullptr && kind == kind_) {
      return;
    }
    const auto format = static_cast<AVPixelFormat>(frame.format);
    require<data_error>(sws_isSupportedInput(format) != 0,
                        "FFmpeg cannot convert the pixel format of the clip, number ", frame.format,
                        "; convert the clip, for instance to H.264 in MP4");
    // The flags of the ffmpeg program, for identical colors.
    scaler_ = owned<ffmpeg_scaler>(sws_getContext(frame.width, frame.height, format, frame.width,
                                                  frame.height, AV_PIX_FMT_RGB24, SWS_BICUBIC,
                                                  nullptr, nullptr, nullptr));
    set_colors(frame);
    rgb_ = new_frame();
    rgb_->height = frame.height;
    rgb_->width = frame.width;
    rgb_->format = AV_PIX_FMT_RGB24;
    clip_packets::judge(av_frame_get_buffer(rgb_.get(), 0), "allocating a frame failed");
    kind_ = kind;
  }

  /// Sets the color matrix and the range that the frame declares. The default matrix is that of
  /// ITU-R BT.601, as in the ffmpeg program.
  void set_colors(const AVFrame& frame) {
    int* source_table = nullptr;
    int* destination_table = nullptr;
    int source_full = 0, destination_full = 0, brightness = 0, contrast = 0, saturation = 0;
    if (sws_getColorspaceDetails(scaler_.get(), &source_table, &source_full, &destination_table,
                                 &destination_full, &brightness, &contrast, &saturation) < 0) {
      return;  // a format without a color matrix
    }
    if (frame.color_range != AVCOL_RANGE_UNSPECIFIED) {
      source_full = frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0;
    }
    sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(frame.colorspace), source_full,
                             destination_table, destination_full, brightness, contrast, saturation);
  }

  frame_kind kind_;
  ffmpeg_scaler scaler_;
  ffmpeg_frame rgb_;
};

}  // namespace glia::detail
