#pragma once

#include <cstddef>
#include <cstdint>

#include "glia/core/error.hpp"
#include "glia/video/clip_packets.hpp"
#include "glia/video/ffmpeg.hpp"

namespace glia::detail {

/// Decodes packets to frames, in the order in which the frames are shown.
class frame_decoder {
 public:
  /// Throws `data_error` if FFmpeg has no decoder for the codec.
  frame_decoder(const AVCodecParameters& parameters, const clip_limits& limits, int threads)
      : allow_damage_(limits.allow_damage), frame_(new_frame()) {
    const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
    require<data_error>(codec != nullptr, "FFmpeg has no decoder for the codec ",
                        avcodec_get_name(parameters.codec_id), " (",
                        four_letters(parameters.codec_tag),
                        "); convert the clip, for instance to H.264 in MP4");
    codec_ = owned<ffmpeg_codec>(avcodec_alloc_context3(codec));
    codec_->max_pixels = limits.ffmpeg_pixels();
    codec_->thread_count = threads;
    clip_packets::judge(avcodec_parameters_to_context(codec_.get(), &parameters),
                        clip_packets::damaged);
    clip_packets::judge(avcodec_open2(codec_.get(), codec, nullptr), clip_packets::damaged);
  }

  /// Discards the state of the decoder. The next packet has to be a keyframe.
  void restart() { avcodec_flush_buffers(codec_.get()); }

  /// Decodes a packet or, if `packet` is null, the remaining frames. Calls take(frame) for each
  /// frame that is ready. If a call returns false, stops and returns false. A frame has the time of
  /// its packet. Throws `data_error` for damaged data, unless damage is allowed. Then FFmpeg
  /// conceals the errors, as players do.
  template <class Take>
  bool decode(const AVPacket* packet, const Take& take) {
    judge(avcodec_send_packet(codec_.get(), packet));
    for (;;) {
      const int code = avcodec_receive_frame(codec_.get(), frame_.get());
      if (code < 0) {
        judge(code == ffmpeg_again || code == ffmpeg_end ? 0 : code);
        return true;
      }
      const bool whole =
          (frame_->flags & AV_FRAME_FLAG_CORRUPT) == 0 && frame_->decode_error_flags == 0;
      require<data_error>(whole || allow_damage_, clip_packets::damaged);
      if (!take(*frame_)) {
        return false;
      }
    }
  }

 private:
  void judge(int code) const {
    clip_packets::judge(allow_damage_ && code != ffmpeg_no_memory ? 0 : code,
                        clip_packets::damaged);
  }

  bool allow_damage_;
  ffmpeg_frame frame_;
  ffmpeg_codec codec_;
};

}  // namespace glia::detail
