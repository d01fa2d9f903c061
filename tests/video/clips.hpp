#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <glia/image/image.hpp>
#include <glia/video/ffmpeg.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// How a clip is made.
struct clip_kind {
  std::string codec = "mpeg4";  ///< FFmpeg's name of an encoder
  std::string format = "avi";   ///< FFmpeg's name of a container
  int height = 48;
  int width = 64;
  int keyframes_every = 5;
  int b_frames = 0;
  bool closed = true;  ///< whether no frame refers across a keyframe
  std::vector<std::pair<std::string, std::string>> codec_options = {};
  std::vector<std::pair<std::string, std::string>> format_options = {};
  /// Behind each so many packets one of MPEG-4 is put in that stands for no frame, up to so many.
  std::size_t frameless_every = 0;
  std::size_t most_frameless = SIZE_MAX;
  /// Times of frames, in frames; empty: 0, 1, 2, ...
  std::vector<std::int64_t> times = {};
};

/// A picture that shows a number in eight bars, each white or black above and below, so that it
/// can be read whatever a codec loses.
inline glia::image numbered(std::size_t number, std::size_t height = 48, std::size_t width = 64) {
  glia::image picture = glia::filled_image(height, width, {});
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t bit = y * 2 / height * 8 + x * 8 / width;
      const std::uint8_t level = (number >> bit & 1) != 0 ? 220 : 30;
      std::fill_n(picture.pixels.data() + (y * width + x) * 3, 3, level);
    }
  }
  return picture;
}

/// The number that a picture shows, of any size.
inline std::size_t number_of(const glia::image& picture) {
  std::size_t number = 0;
  for (std::size_t bit = 0; bit < 16; ++bit) {
    const std::size_t y = picture.height * (1 + 2 * (bit / 8)) / 4;
    const std::size_t x = picture.width * (1 + 2 * (bit % 8)) / 16;
    number |= (picture.pixels[(y * picture.width + x) * 3] > 125 ? std::size_t{1} : 0) << bit;
  }
  return number;
}

inline std::vector<std::size_t> numbers_of(const std::vector<glia::image>& pictures) {
  std::vector<std::size_t> numbers;
  for (const glia::image& picture : pictures) {
    numbers.push_back(number_of(picture));
  }
  return numbers;
}

inline bool has_encoder(const std::string& name) {
  return avcodec_find_encoder_by_name(name.c_str()) != nullptr;
}

/// Writes clips: of frames that show 0, 1, 2, ..., or of pictures given.
class clip_writer {
 public:
  clip_writer(const std::filesystem::path& path, const clip_kind& kind)
      : kind_(kind), packet_(glia::detail::new_packet()), frame_(glia::detail::new_frame()) {
    const AVCodec* codec = avcodec_find_encoder_by_name(kind.codec.c_str());
    AVFormatContext* container = nullptr;
    judge(avformat_alloc_output_context2(&container, nullptr, kind.format.c_str(), nullptr));
    container_ = container;
    container_->url = av_strdup(path.c_str());  // some containers are read again at their end
    codec_.reset(avcodec_alloc_context3(codec));
    codec_->height = kind.height;
    codec_->width = kind.width;
    codec_->time_base = {1, 25};
    codec_->framerate = {25, 1};
    codec_->pix_fmt = kind.codec == "mjpeg" ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
    codec_->gop_size = kind.keyframes_every;
    codec_->max_b_frames = kind.b_frames;
    codec_->bit_rate = 4'000'000;
    codec_->thread_count = 1;
    codec_->flags |= kind.closed ? AV_CODEC_FLAG_CLOSED_GOP : 0;
    if ((container_->oformat->flags & AVFMT_GLOBALHEADER) != 0) {
      codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    }
    AVDictionary* options = nullptr;
    av_dict_set(&options, "sc_threshold", "1000000000", 0);  // no keyframes but those asked for
    for (const auto& [name, value] : kind.codec_options) {
      av_dict_set(&options, name.c_str(), value.c_str(), 0);
    }
    judge(avcodec_open2(codec_.get(), codec, &options));
    av_dict_free(&options);
    stream_ = avformat_new_stream(container_, nullptr);
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    judge(avcodec_parameters_from_context(stream_->codecpar, codec_.get()));
    judge(avio_open(&container_->pb, path.c_str(), AVIO_FLAG_WRITE));
    for (const auto& [name, value] : kind.format_options) {
      av_dict_set(&options, name.c_str(), value.c_str(), 0);
    }
    judge(avformat_write_header(container_, &options));
    av_dict_free(&options);
    frame_->height = kind.height;
    frame_->width = kind.width;
    frame_->format = codec_->pix_fmt;
    judge(av_frame_get_buffer(frame_.get(), 0));
  }
  clip_writer(const clip_writer&) = delete;
  clip_writer& operator=(const clip_writer&) = delete;
  ~clip_writer() {
    avio_closep(&container_->pb);
    avformat_free_context(container_);
  }

  /// The picture's red becomes luma, without color.
  void add(const glia::image& picture) {
    judge(av_frame_make_writable(frame_.get()));
    for (int y = 0; y < kind_.height; ++y) {
      for (int x = 0; x < kind_.width; ++x) {
        const auto offset = static_cast<std::size_t>(y * kind_.width + x) * 3;
        frame_->data[0][y * frame_->linesize[0] + x] = picture.pixels[offset];
        frame_->data[1][y / 2 * frame_->linesize[1] + x / 2] =
            static_cast<std::uint8_t>(picture.pixels[offset + 1] / 2 + 64);
        frame_->data[2][y / 2 * frame_->linesize[2] + x / 2] =
            static_cast<std::uint8_t>(picture.pixels[offset + 2] / 2 + 64);
      }
    }
    frame_->pts =
        frames_ < kind_.times.size() ? kind_.times[frames_] : static_cast<std::int64_t>(frames_);
    ++frames_;
    judge(avcodec_send_frame(codec_.get(), frame_.get()));
    write_packets();
  }

  void finish() {
    judge(avcodec_send_frame(codec_.get(), nullptr));
    write_packets();
    judge(av_write_trailer(container_));
  }

 private:
  static void judge(int code) {
    if (code < 0) {
      throw std::runtime_error("a clip for a test cannot be made: " +
                               glia::detail::ffmpeg_reason(code));
    }
  }

  void write_packets() {
    while (avcodec_receive_packet(codec_.get(), packet_.get()) == 0) {
      ++packets_;
      packet_->stream_index = 0;
      packet_->pts += static_cast<std::int64_t>(frameless_);
      packet_->dts += static_cast<std::int64_t>(frameless_);
      const std::int64_t time = packet_->pts;
      const bool adds_frameless = kind_.frameless_every != 0 &&
                                  packets_ % kind_.frameless_every == 0 &&
                                  frameless_ < kind_.most_frameless;
      av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
      judge(av_interleaved_write_frame(container_, packet_.get()));
      if (adds_frameless) {
        // A start, type P, no full second, a mark, five bits of time, a mark, not coded, filled up.
        static constexpr std::uint8_t content[] = {0, 0, 1, 0xB6, 0b01010000, 0b01001111};
        judge(av_new_packet(packet_.get(), sizeof content));
        std::copy(std::begin(content), std::end(content), packet_->data);
        packet_->stream_index = 0;
        packet_->pts = packet_->dts = time + 1;
        av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
        judge(av_interleaved_write_frame(container_, packet_.get()));
        ++frameless_;
      }
    }
  }

  clip_kind kind_;
  glia::detail::ffmpeg_packet packet_;
  glia::detail::ffmpeg_frame frame_;
  glia::detail::ffmpeg_codec codec_;
  AVFormatContext* container_ = nullptr;
  AVStream* stream_ = nullptr;
  std::size_t frames_ = 0;
  std::size_t packets_ = 0;
  std::size_t frameless_ = 0;
};

/// A clip whose frames show 0, 1, 2, ...
inline void write_numbered(const std::filesystem::path& path, std::size_t frames,
                           const clip_kind& kind = {}) {
  const glia::detail::quiet_ffmpeg quiet;
  clip_writer writer(path, kind);
  for (std::size_t i = 0; i < frames; ++i) {
    writer.add(
        numbered(i, static_cast<std::size_t>(kind.height), static_cast<std::size_t>(kind.width)));
  }
  writer.finish();
}

}  // namespace test
