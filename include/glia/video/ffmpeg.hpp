#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "glia/core/error.hpp"

// Only this header includes FFmpeg's headers, which are C and cause warnings at high warning
// levels.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/log.h>
#include <libswscale/swscale.h>
}

#if LIBAVCODEC_VERSION_MAJOR < 59
#error "glia::video needs FFmpeg 5.0 or newer"
#endif

namespace glia::detail {

// FFmpeg's constants, which are macros with casts.
inline constexpr int ffmpeg_end = AVERROR_EOF;
inline constexpr int ffmpeg_again = AVERROR(EAGAIN);
inline constexpr int ffmpeg_no_memory = AVERROR(ENOMEM);
inline constexpr std::int64_t ffmpeg_no_time = AV_NOPTS_VALUE;

/// Whether a frame was coded without reference to other frames.
[[nodiscard]] inline bool is_keyframe(const AVFrame& frame) {
#ifdef AV_FRAME_FLAG_KEY
  return (frame.flags & AV_FRAME_FLAG_KEY) != 0;
#else
  return frame.key_frame != 0;
#endif
}

}  // namespace glia::detail

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace glia::detail {

/// Returns FFmpeg's description of an error code.
[[nodiscard]] inline std::string ffmpeg_reason(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> words{};
  av_strerror(code, words.data(), words.size());
  return words.data();
}

/// Returns the four letters of a codec in a container, such as `XVID`.
[[nodiscard]] inline std::string four_letters(std::uint32_t tag) {
  std::array<char, AV_FOURCC_MAX_STRING_SIZE> letters{};
  return av_fourcc_make_string(letters.data(), tag);
}

/// A deleter that calls `Free`, a function of FFmpeg that takes the address of a pointer.
template <auto Free>
struct ffmpeg_free {
  template <class T>
  void operator()(T* object) const {
    Free(&object);
  }
};

using ffmpeg_file = std::unique_ptr<AVIOContext, ffmpeg_free<&avio_closep>>;
using ffmpeg_container = std::unique_ptr<AVFormatContext, ffmpeg_free<&avformat_close_input>>;
using ffmpeg_codec = std::unique_ptr<AVCodecContext, ffmpeg_free<&avcodec_free_context>>;
using ffmpeg_packet = std::unique_ptr<AVPacket, ffmpeg_free<&av_packet_free>>;
using ffmpeg_frame = std::unique_ptr<AVFrame, ffmpeg_free<&av_frame_free>>;

struct free_scaler {
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
using ffmpeg_scaler = std::unique_ptr<SwsContext, free_scaler>;

/// Takes ownership of an object that a function of FFmpeg returned. Throws `std::bad_alloc` for
/// null, which these functions return if memory is exhausted.
template <class Owner, class T>
[[nodiscard]] Owner owned(T* object) {
  if (object == nullptr) {
    throw std::bad_alloc();
  }
  return Owner(object);
}

[[nodiscard]] inline ffmpeg_packet new_packet() { return owned<ffmpeg_packet>(av_packet_alloc()); }
[[nodiscard]] inline ffmpeg_frame new_frame() { return owned<ffmpeg_frame>(av_frame_alloc()); }

/// Options for a function of FFmpeg. The function removes the options that it knows.
class ffmpeg_options {
 public:
  ffmpeg_options() = default;
  ffmpeg_options(const ffmpeg_options&) = delete;
  ffmpeg_options& operator=(const ffmpeg_options&) = delete;
  ~ffmpeg_options() { av_dict_free(&options_); }

  void set(const char* name, std::int64_t value) { av_dict_set_int(&options_, name, value, 0); }
  void set(const char* name, const char* value) { av_dict_set(&options_, name, value, 0); }
  [[nodiscard]] AVDictionary** get() { return &options_; }

 private:
  AVDictionary* options_ = nullptr;
};

/// Turns off FFmpeg's messages to the standard error while objects of this type exist. glia reports
/// problems of a clip as exceptions.
///
/// FFmpeg has one log level for the whole program. The first object sets it to `AV_LOG_QUIET`. The
/// last object restores the level, unless the program has changed it meanwhile. A level above
/// `AV_LOG_INFO` (FFmpeg's default) that the program has set is not changed. A callback set with
/// `av_log_set_callback` stays and receives all messages.
class quiet_ffmpeg {
 public:
  quiet_ffmpeg() {
    const std::lock_guard lock(state().changing);
    if (state().objects++ == 0) {
      state().level = av_log_get_level();
      state().changed = state().level <= AV_LOG_INFO;
      if (state().changed) {
        av_log_set_level(AV_LOG_QUIET);
      }
    }
  }
  quiet_ffmpeg(const quiet_ffmpeg&) = delete;
  quiet_ffmpeg& operator=(const quiet_ffmpeg&) = delete;
  ~quiet_ffmpeg() {
    const std::lock_guard lock(state().changing);
    if (--state().objects == 0 && state().changed && av_log_get_level() == AV_LOG_QUIET) {
      av_log_set_level(state().level);
    }
  }

 private:
  struct shared {
    std::mutex changing;
    std::size_t objects = 0;
    int level = 0;
    bool changed = false;
  };
  static shared& state() {
    static shared instance;
    return instance;
  }
};

}  // namespace glia::detail
