#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_fit.hpp"
#include "glia/video/clip_packets.hpp"
#include "glia/video/container_extent.hpp"
#include "glia/video/ffmpeg.hpp"
#include "glia/video/frame_converter.hpp"
#include "glia/video/frame_decoder.hpp"
#include "glia/video/frame_plan.hpp"

namespace glia {

/// Options of `read_frames`.
struct read_frames_options {
  std::size_t height = 0;  ///< Height of the images in pixels; 0: height of the clip.
  std::size_t width = 0;   ///< Width of the images in pixels; 0: width of the clip.
  /// Whether to stretch or to crop frames of other proportions.
  image_fit fit = image_fit::stretch;
  /// Whether to skip the parts of the clip that the requested frames do not need. If false, the
  /// whole clip is decoded, so that damage is found everywhere. The frames are the same.
  bool seek = true;
  /// Whether truncated and damaged clips are accepted. FFmpeg then conceals errors in frames, as
  /// players do. If false, such a clip is an error.
  bool allow_damage = false;
  std::size_t threads = 1;              ///< Number of decoding threads, 0 to 64; 0: FFmpeg chooses.
  std::size_t max_pixels = 40'000'000;  ///< Largest frame accepted, in pixels (height x width).
  std::size_t max_packets = 1'000'000;  ///< Largest number of compressed frames in the file.
};

namespace detail {

/// Reads frames of one clip.
class clip_reader {
 public:
  clip_reader(const std::filesystem::path& path, const read_frames_options& options)
      : path_(path), options_(options) {
    std::error_code failure;
    require<data_error>(std::filesystem::is_regular_file(path, failure), "no such file");
    require<data_error>(std::filesystem::file_size(path, failure) > 0 && !failure,
                        "expected a video, got an empty file; get the file again or leave it out");
    if (!options.allow_damage) {
      require_whole_container(path);
    }
    list_packets();
  }

  [[nodiscard]] std::vector<image> read(std::size_t count) {
    if (options_.seek && one_frame_a_packet_) {
      if (const auto order = order_of_frames(packets_)) {
        if (auto pictures = decode_parts(*order, frame_numbers(count, packets_.size()))) {
          return std::move(*pictures);
        }
      }
    }
    // The number of frames is known only after all frames are decoded. Usually it is the expected
    // number.
    std::size_t expected = shown_;
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto [pictures, frames] = decode_all(frame_numbers(count, expected));
      if (frames == expected) {
        return std::move(pictures);
      }
      require<data_error>(
          frames > 0, "no frame of the clip can be decoded; get the file again or leave it out");
      expected = frames;
    }
    throw data_error(
        "the clip has a different number of frames each time it is read; is another program "
        "writing it?");
  }

 private:
  struct decoded {
    std::vector<image> pictures;
    std::size_t frames = 0;  // number of frames of the clip
  };

  [[nodiscard]] clip_limits limits() const {
    return {.max_pixels = options_.max_pixels, .allow_damage = options_.allow_damage};
  }

  void require_size(int height, int width) const {
    if (height > 0 && width > 0) {  // otherwise the size is not known yet
      require_allowed(static_cast<std::size_t>(height), static_cast<std::size_t>(width),
                      {.max_pixels = options_.max_pixels});
    }
  }

  /// Lists the packets of the file without decoding them, because the container's declarations may
  /// be wrong.
  void list_packets() {
    clip_packets source(path_, limits());
    const AVCodecParameters& codec = source.codec();
    require_size(codec.height, codec.width);
    const ffmpeg_packet packet = new_packet();
    std::size_t places = 0;
    for (std::size_t found = 0; source.next(*packet); ++found) {
      require<data_error>(
          found < options_.max_packets, "the clip has more than ", options_.max_packets,
          " compressed frames that are allowed; if you trust the file, raise max_packets, or leave "
          "the file out");
      const bool counts = source.times_are_places() && packet->dts > 0;
      places = std::max(places + 1, counts ? static_cast<std::size_t>(packet->dts) + 1 : 0);
      if (packet->size == 0) {
        continue;  // an empty packet marks a dropped frame
      }
      const bool shown = (packet->flags & AV_PKT_FLAG_DISCARD) == 0;
      shown_ += shown ? 1 : 0;
      packets_.push_back({.time = shown && packet->pts != ffmpeg_no_time
                                      ? std::optional(packet->pts)
                                      : std::nullopt,
                          .key = (packet->flags & AV_PKT_FLAG_KEY) != 0,
                          .bytes = static_cast<std::size_t>(packet->size)});
    }
    require<data_error>(options_.allow_damage || places >= source.declared(),
                        "the clip is truncated or damaged (its container declares ",
                        source.declared(), " frames, the file has ", places,
                        "); get the file again, leave it out, or set allow_damage to use these "
                        "frames");
    require<data_error>(shown_ > 0, "the clip has no frames; get the file again or leave it out");
    one_frame_a_packet_ = one_frame_a_packet(codec.codec_id);
  }

  /// Returns whether each packet is exactly one frame, so that frames can be counted without
  /// decoding. This is false for codecs with frames that are never shown, such as VP8.
  [[nodiscard]] bool one_frame_a_packet(AVCodecID codec) const {
    static constexpr AVCodecID known[] = {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO,
                                          AV_CODEC_ID_MPEG4,      AV_CODEC_ID_H264,
                                          AV_CODEC_ID_HEVC,       AV_CODEC_ID_FFV1};
    // MPEG-4 has packets without a frame: a header of up to 54 bits. The header of a frame has at
    // least 12 bits more (ISO/IEC 14496-2, 6.2.5).
    constexpr std::size_t min_bytes = 9;
    if (codec == AV_CODEC_ID_MPEG4 &&
        std::any_of(packets_.begin(), packets_.end(),
                    [](const packet_info& p) { return p.bytes < min_bytes; })) {
      return false;
    }
    const AVCodecDescriptor* described = avcodec_descriptor_get(codec);
    return std::find(std::begin(known), std::end(known), codec) != std::end(known) ||
           (described != nullptr && (described->props & AV_CODEC_PROP_INTRA_ONLY) != 0);
  }

  /// Appends a frame to `pictures` if `number` is the next number in `numbers`. If `numbers`
  /// repeats the number, appends the frame as often.
  void take(const AVFrame& frame, std::size_t number, std::span<const std::size_t> numbers,
            std::vector<image>& pictures) {
    const auto is_next = [&] {
      return pictures.size() < numbers.size() && numbers[pictures.size()] == number;
    };
    if (!is_next()) {
      return;
    }
    require_size(frame.height, frame.width);
    image picture = converter_(frame);
    const std::size_t height = options_.height == 0 ? picture.height : options_.height;
    const std::size_t width = options_.width == 0 ? picture.width : options_.width;
    if (height != picture.height || width != picture.width) {
      picture = fitted(picture, height, width, options_.fit);
    }
    pictures.push_back(std::move(picture));
    while (is_next()) {
      pictures.push_back(pictures.back());
    }
  }

  [[nodiscard]] decoded decode_all(const std::vector<std::size_t>& numbers) {
    decoded result;
    clip_packets source(path_, limits());
    frame_decoder decoder(source.codec(), limits(), static_cast<int>(options_.threads));
    const auto count = [&](const AVFrame& frame) {
      take(frame, result.frames++, numbers, result.pictures);
      return true;
    };
    const ffmpeg_packet packet = new_packet();
    while (source.next(*packet)) {
      if (packet->size > 0) {
        decoder.decode(packet.get(), count);
      }
    }
    decoder.decode(nullptr, count);
    return result;
  }

  /// Decodes only the parts of the clip that contain the frames in `numbers`. Each part begins at
  /// one of `order.entries`. Returns `std::nullopt` if decoding fails, or if the decoder's frames
  /// do not follow in the order of `order`.
  [[nodiscard]] std::optional<std::vector<image>> decode_parts(
      const frame_order& order, const std::vector<std::size_t>& numbers) {
    std::vector<image> pictures;
    try {
      clip_packets source(path_, limits());
      frame_decoder decoder(source.codec(), limits(), static_cast<int>(options_.threads));
      const ffmpeg_packet packet = new_packet();
      std::size_t position = 0;
      const auto next = [&] {
        do {
          if (!source.next(*packet)) {
            return false;
          }
        } while (packet->size == 0);
        packet->pts = static_cast<std::int64_t>(position++);  // identifies the frame
        packet->dts = ffmpeg_no_time;
        return true;
      };
      for (const decoding_run& run : plan_decoding(order.entries, packets_.size(), numbers)) {
        std::size_t number = run.first;
        bool in_order = true;
        const auto check = [&](const AVFrame& frame) {
          in_order = number < run.last &&
                     frame.pts == static_cast<std::int64_t>(order.packet_of[number]) &&
                     (number > run.first || is_keyframe(frame));
          if (in_order) {
            take(frame, number++, numbers, pictures);
          }
          return in_order && number <= run.numbers.back();
        };
        while (position <= run.first) {
          if (!next()) {
            return std::nullopt;
          }
          if (position == 1 && run.first > 0) {
            // The headers that decoding needs may be only in front of the first frame, so it is
            // decoded first.
            decoder.decode(packet.get(), [](const AVFrame&) { return true; });
          }
        }
        decoder.restart();
        bool unfinished = decoder.decode(packet.get(), check);
        while (unfinished && position < run.last) {
          unfinished = next() && decoder.decode(packet.get(), check);
        }
        if (unfinished) {
          unfinished = decoder.decode(nullptr, check);
        }
        if (unfinished || !in_order) {
          return std::nullopt;
        }
      }
    } catch (const data_error&) {
      return std::nullopt;  // if the clip is the cause, decoding all of it fails again
    }
    return pictures;
  }

  std::filesystem::path path_;
  read_frames_options options_;
  std::vector<packet_info> packets_;  // packets in the order of decoding
  std::size_t shown_ = 0;             // number of packets whose frames are shown
  bool one_frame_a_packet_ = false;
  frame_converter converter_;
};

}  // namespace detail

}  // namespace glia
