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

/// What a clip that is read is held to.
struct clip_limits {
  std::size_t max_pixels = 0;  ///< of a frame
  bool allow_damage = false;   ///< packets that are damaged are passed on or over

  /// What FFmpeg is told: it counts the scratch memory that it takes beside a frame, too.
  [[nodiscard]] std::int64_t ffmpeg_pixels() const {
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    constexpr std::size_t beside = 1 << 20;
    return static_cast<std::int64_t>(max_pixels < (most - beside) / 4 ? 4 * max_pixels + beside
                                                                      : most);
  }
};

/// The compressed pictures of a video file, in the order in which they are decoded.
///
/// FFmpeg tells the format by the file's content, not by its name, and may open no file but this:
/// playlists, which are formats, too, would have it read others, or ask for them over the network.
class clip_packets {
 public:
  /// Throws `data_error` for what is no video file.
  clip_packets(const std::filesystem::path& path, const clip_limits& limits) : limits_(limits) {
    AVIOContext* file = nullptr;
    // Else a name with a colon would be taken for an address.
    judge(avio_open2(&file, ("file:" + path.string()).c_str(), AVIO_FLAG_READ, nullptr, nullptr),
          "cannot be opened for reading");
    file_.reset(file);
    AVFormatContext* container = owned<ffmpeg_container>(avformat_alloc_context()).release();
    container->pb = file;
    ffmpeg_options options;
    options.set("protocol_whitelist", "none");
    // On failure FFmpeg frees the container.
    judge(avformat_open_input(&container, "", nullptr, options.get()),
          "no video that FFmpeg reads: expected a file such as AVI, MP4, MOV, Matroska or WebM; "
          "fetch it again if it is cut short or damaged, or leave it out");
    container_.reset(container);
    find_stream_info();
    choose_stream();
  }

  [[nodiscard]] const AVCodecParameters& codec() const { return *stream_->codecpar; }

  /// Whether times count places for frames, as in AVI, where a frame that was dropped leaves its
  /// place empty.
  [[nodiscard]] bool times_are_places() const {
    return std::string_view(container_->iformat->name) == "avi";
  }

  /// How many packets, or places for them, the container declares to have; 0 where it does not
  /// tell.
  [[nodiscard]] std::size_t declared() const {
    // MP4's count has those that its edit list leaves out; its index is made from that list.
    const bool mp4 = std::string_view(container_->iformat->name).find("mp4") != std::string::npos;
    const std::int64_t count =
        mp4 ? avformat_index_get_entries_count(stream_) : std::int64_t{stream_->nb_frames};
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  /// Puts the next packet there; false at the end. Throws `data_error` for a damaged one.
  [[nodiscard]] bool next(AVPacket& packet) {
    constexpr int most_failures = 100;
    for (int failures = 0; failures < most_failures;) {
      av_packet_unref(&packet);
      const int code = av_read_frame(container_.get(), &packet);
      if (code == ffmpeg_end) {
        judge(limits_.allow_damage ? 0 : file_->error, "reading failed");
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
      "the clip is damaged or cut short; fetch the file again, leave it out, or set allow_damage "
      "to take the frames that are there";

  /// Throws `data_error` with FFmpeg's reason where one of its functions failed.
  static void judge(int code, std::string_view what) {
    if (code == ffmpeg_no_memory) {
      throw std::bad_alloc();
    }
    require<data_error>(code >= 0, what, " (", ffmpeg_reason(code), ")");
  }

 private:
  /// Decodes some frames where the header does not tell all.
  void find_stream_info() {
    std::vector<ffmpeg_options> options(container_->nb_streams);
    std::vector<AVDictionary*> each;
    for (ffmpeg_options& some : options) {
      some.set("max_pixels", limits_.ffmpeg_pixels());
      some.set("threads", 1);
      each.push_back(*some.get());
    }
    const int code = avformat_find_stream_info(container_.get(), each.data());
    for (std::size_t i = 0; i < each.size(); ++i) {
      *options[i].get() = each[i];
    }
    judge(code, damaged);
  }

  void choose_stream() {
    const int number =
        av_find_best_stream(container_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    // A sound file may have a picture of its cover.
    const bool found = number >= 0 && (container_->streams[number]->disposition &
                                       AV_DISPOSITION_ATTACHED_PIC) == 0;
    require<data_error>(found, "no video stream in the file, which has ", container_->nb_streams,
                        " other streams (format ", container_->iformat->name,
                        "); expected a video, not sound alone");
    for (unsigned i = 0; i < container_->nb_streams; ++i) {
      container_->streams[i]->discard =
          static_cast<int>(i) == number ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    stream_ = container_->streams[number];
  }

  clip_limits limits_;
  ffmpeg_file file_;  // goes after the container that reads it
  ffmpeg_container container_;
  AVStream* stream_ = nullptr;
};

}  // namespace glia::detail
