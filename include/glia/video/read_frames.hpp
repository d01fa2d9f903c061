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

/// Reads `count` frames of a clip, spread evenly over it as `frame_numbers` says, as 8-bit RGB, in
/// any format and codec that FFmpeg's libraries were built with: link `glia::video`. A clip of
/// fewer frames has some come several times.
///
///     const auto frames = glia::read_frames("surfing.avi", 16, {.height = 224, .width = 224});
///
/// Frame k is the one that is shown as number k, from 0. How many there are is counted, whatever
/// the container declares. Where every frame has a time of its own, what stands between keyframes
/// that no wanted frame needs is not decoded; else all is. Colours are those of `ffmpeg -i CLIP
/// -pix_fmt rgb24`, to the bit. A rotation that the container asks for is not applied, nor are
/// pixels that are not square made so.
///
/// While it reads, FFmpeg's messages to the standard error are off in the whole program, unless it
/// has turned them above `AV_LOG_INFO`; a callback that it has set still gets them. Clips may be
/// read on several threads at once.
///
/// Throws `value_error` for a count of 0 or of 2^31 and more, and for more threads than FFmpeg
/// allows; `data_error`, naming the file, for one that is missing, empty, no video or without a
/// video stream, of an unknown codec, damaged where it is decoded, or cut short, for frames of more
/// than `max_pixels` and clips of more than `max_packets`, and where it takes more memory than can
/// be had. That a clip is cut shows in AVI, MP4, MOV, Matroska and WebM; streams such as MPEG-TS,
/// and MP4 in fragments, do not say where they end, and when cut between two parts are shorter
/// clips.
[[nodiscard]] inline std::vector<image> read_frames(const std::filesystem::path& path,
                                                    std::size_t count,
                                                    const read_frames_options& options = {}) {
  constexpr std::size_t most_threads = 64;
  require<value_error>(count > 0, "read_frames: expected at least 1 frame to read, got 0");
  require<value_error>(options.threads <= most_threads, "read_frames: expected at most ",
                       most_threads, " threads, got ", options.threads);
  const detail::quiet_ffmpeg quiet;
  return detail::naming_file(path, [&] { return detail::clip_reader(path, options).read(count); });
}

}  // namespace glia
