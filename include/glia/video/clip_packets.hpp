#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/video/ffmpeg.hpp"

namespace glia::detail {

/// Limits for reading a clip.
struct clip_limits {
  std::size_t max_pixels = 0;  ///< Largest number of pixels of a frame.
  /// Whether damaged packets are accepted or skipped; if false, they are an error.
  bool allow_damage = false;

  /// Returns FFmpeg's limit on the pixels of a frame. It is larger than `max_pixels`, because
  /// FFmpeg also counts scratch memory.
  [[nodiscard]] std::int64_t ffmpeg_pixels() const {
    constexpr std::size_t maximum = std::numeric_limits<std::int32_t>::max();
    constexpr std::size_t scratch = 1 << 20;
    return static_cast<std::int64_t>(max_pixels < (maximum - scratch) / 4 ? 4 * max_pixels + scratch
                                                                          : maximum);
  }
};

/// Reads the packets (compressed frames) of a video file, in the order of decoding.
///
/// FFmpeg recognizes the format by the contents of the file, not by its name. FFmpeg must not open
/// other files. Otherwise, a playlist, which is also a format, could make it read other files or
/// use the network.
class clip_packets {
 public:
  /// Throws `data_error` if the file is not a video.
  clip_packets(const std::filesystem::path& path, const clip_limits& limits) : limits_(limits) {
    AVIOContext* file = nullptr;
    // Without the prefix, FFmpeg would take a name with a colon for a URL.
    judge(avio_open2(&file, ("file:" + path.string()).c_str(), AVIO_FLAG_READ, nullptr, nullptr),
          "the file cannot be opened for reading");
    file_.reset(file);
    AVFormatContext* container = owned<ffmpeg_container>(avformat_alloc_context()).release();
    container->pb = file;
    ffmpeg_options options;
    options.set("protocol_whitelist", "none");
    // FFmpeg frees the container after a failure.
    judge(
        avformat_open_input(&container, "", nullptr, options.get()),
        "expected a video that FFmpeg can read, such as AVI, MP4, MOV, Matroska or WebM; the file "
        "is in another format, truncated or damaged; get it again or leave it out");
    container_.reset(container);
    find_stream_info();
    choose_stream();
  }

  [[nodiscard]] const AVCodecParameters& codec() const { return *stream_->codecpar; }

  /// Whether the time of a packet is a frame number, as in AVI. A dropped frame keeps its number,
  /// so the numbers have gaps.
  [[nodiscard]] bool times_are_places() const {
    return std::string_view(container_->iformat->name) == "avi";
  }

  /// Returns the number of packets that the container declares, in AVI with the dropped frames.
  /// Returns 0 if the container does not declare a number.
  [[nodiscard]] std::size_t declared() const {
    // MP4's number includes packets that its edit list skips; FFmpeg's index does not include them.
    const bool mp4 = std::string_view(container_->iformat->name).find("mp4") != std::string::npos;
    const std::int64_t count =
        mp4 ? avformat_index_get_entries_count(stream_) : std::int64_t{stream_->nb_frames};
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  /// Reads the next packet. Returns false at the end. Throws `data_error` for a damaged packet.
  [[nodiscard]] bool next(AVPacket& packet) {
    constexpr int max_failures = 100;
    for (int failures = 0; failures < max_failures;) {
      av_packet_unref(&packet);
      const int code = av_read_frame(container_.get(), &packet);
      if (code == ffmpeg_end) {
        judge(limits_.allow_damage ? 0 : file_->error, "reading the file failed");
        return false;
      }
      if (code < 0) {
        judge(code == ffmpeg_again || limits_.allow_damage ? 0 : code, damaged);
        ++failures;
      } else if (packet.stream_index == stream_->index) {
        require<data_error>(limits_.allow_damage || (packet.flags & AV_PKT_FLAG_CORRUPT) == 0,
                            damaged);
        return true;
      }
    }
    return false;
  }

  static constexpr std::string_view damaged =
      "the clip is damaged or truncated; get the file again, leave it out, or set allow_damage to "
      "use the frames that can be read";

  /// Throws `data_error`, with FFmpeg's reason, if `code`, which a function of FFmpeg returned, is
  /// an error.
  static void judge(int code, std::string_view message) {
    if (code == ffmpeg_no_memory) {
      throw std::bad_alloc();
    }
    require<data_error>(code >= 0, message, " (", ffmpeg_reason(code), ")");
  }

 private:
  /// Finds the properties of the streams. FFmpeg decodes some frames if the header lacks
  /// information.
  void find_stream_info() {
    std::vector<ffmpeg_options> options(container_->nb_streams);
    std::vector<AVDictionary*> dictionaries;
    for (ffmpeg_options& stream_options : options) {
      stream_options.set("max_pixels", limits_.ffmpeg_pixels());
      stream_options.set("threads", 1);
      dictionaries.push_back(*stream_options.get());
    }
    const int code = avformat_find_stream_info(container_.get(), dictionaries.data());
    for (std::size_t i = 0; i < dictionaries.size(); ++i) {
      *options[i].get() = dictionaries[i];
    }
    judge(code, damaged);
  }

  void choose_stream() {
    const int number =
        av_find_best_stream(container_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    // An audio file may contain a cover image.
    const bool found = number >= 0 && (container_->streams[number]->disposition &
                                       AV_DISPOSITION_ATTACHED_PIC) == 0;
    require<data_error>(found, "expected a file with a video stream, got one with ",
                        container_->nb_streams, " other streams (format ",
                        container_->iformat->name, ")");
    for (unsigned i = 0; i < container_->nb_streams; ++i) {
      container_->streams[i]->discard =
          static_cast<int>(i) == number ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    stream_ = container_->streams[number];
  }

  clip_limits limits_;
  ffmpeg_file file_;  // declared first, so that it is closed after the container
  ffmpeg_container container_;
  AVStream* stream_ = nullptr;
};

}  // namespace glia::detail
