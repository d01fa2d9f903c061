#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"
#include "glia/image/read_image.hpp"
#include "glia/video/clip_reader.hpp"
#include "glia/video/ffmpeg.hpp"

namespace glia {

/// Reads `count` frames of a video clip, evenly spread over the clip, as 8-bit RGB images.
///
/// The frames are chosen as `frame_numbers` describes. If the clip has fewer than `count` frames,
/// some frames are returned several times. The function supports all formats and codecs that your
/// build of FFmpeg's libraries supports. Needs FFmpeg 5.0 or newer: link `glia::video`.
///
///     const auto frames = glia::read_frames("surfing.avi", 16, {.height = 224, .width = 224});
///
/// **Frames.** Frames are numbered from 0 in the order in which they are shown. glia counts the
/// frames of the clip itself, because the number in the container may be wrong. If each packet is
/// one frame and all times differ, only the necessary parts between keyframes are decoded;
/// otherwise, the whole clip is decoded. Colors are exactly the same as with
/// `ffmpeg -i CLIP -pix_fmt rgb24`. A rotation that the container asks for is not applied, and
/// non-square pixels stay as they are.
///
/// **Messages and threads.** During the call, FFmpeg's messages to the standard error are turned
/// off for the whole program, unless its log level is above `AV_LOG_INFO`. A log callback of the
/// program still receives them. Several threads may read clips at the same time.
///
/// **Truncated clips.** AVI, MP4, MOV, Matroska and WebM declare their length, so that a truncated
/// file is detected. Streams such as MPEG-TS and fragmented MP4 do not declare it: a stream that
/// was cut between two parts looks like a shorter clip.
///
/// Throws `value_error` if `count` is 0 or at least 2^31, or if there are more than 64 threads.
/// Throws `data_error`, with the name of the file, if the file is missing, empty, truncated or not
/// a video, or if it has no video stream or an unknown codec. Throws `data_error`, too, if one of
/// the decoded parts is damaged, if a frame has more than `max_pixels` pixels or the clip more than
/// `max_packets` packets, or if there is not enough memory.
[[nodiscard]] inline std::vector<image> read_frames(const std::filesystem::path& path,
                                                    std::size_t count,
                                                    const read_frames_options& options = {}) {
  constexpr std::size_t max_threads = 64;
  require<value_error>(count > 0, "read_frames: expected a count of at least 1, got 0");
  require<value_error>(options.threads <= max_threads, "read_frames: expected at most ",
                       max_threads, " threads, got ", options.threads);
  const detail::quiet_ffmpeg quiet;
  return detail::naming_file(path, [&] { return detail::clip_reader(path, options).read(count); });
}

}  // namespace glia
