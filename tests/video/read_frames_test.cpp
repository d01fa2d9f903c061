#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <glia/plot/run_program.hpp>
#include <glia/video.hpp>
#include <iostream>
#include <numeric>
#include <thread>

#include "catch.hpp"
#include "damage.hpp"
#include "image/pictures.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"
#include "video/clips.hpp"

using test::contains;
using test::message_of;

namespace {

using frame_list = std::vector<std::size_t>;

struct named_kind {
  std::string name;
  test::clip_kind kind;
};

/// Clips of every way to store and to order frames that there are encoders for here.
std::vector<named_kind> kinds_of_clips() {
  std::vector<named_kind> kinds{
      {"a.avi", {}},
      {"b.avi", {.b_frames = 2}},
      {"one keyframe.avi", {.keyframes_every = 1000, .b_frames = 1}},
      {"closed.mp4", {.format = "mp4", .b_frames = 2}},
      {"open.mp4", {.format = "mp4", .b_frames = 2, .closed = false}},
      {"fragments.mp4",
       {.format = "mp4",
        .b_frames = 2,
        .format_options = {{"movflags", "frag_keyframe+empty_moov"}}}},
      {"closed.mkv", {.format = "matroska", .b_frames = 2}},
      {"a.mov", {.codec = "mjpeg", .format = "mov"}},
      {"mjpeg.avi", {.codec = "mjpeg"}},
      {"ffv1.mkv", {.codec = "ffv1", .format = "matroska", .keyframes_every = 4}},
      {"a.ts", {.codec = "mpeg2video", .format = "mpegts", .b_frames = 2}},
      {"a.mpg", {.codec = "mpeg1video", .format = "mpeg", .b_frames = 1}},
      {"a.m4v", {.format = "m4v", .b_frames = 1}},
  };
  if (test::has_encoder("libx264")) {
    kinds.push_back({"h264.mp4", {.codec = "libx264", .format = "mp4", .b_frames = 3}});
    kinds.push_back({"h264.avi", {.codec = "libx264", .b_frames = 3}});
    kinds.push_back({"h264 open.mkv",
                     {.codec = "libx264",
                      .format = "matroska",
                      .b_frames = 3,
                      .closed = false,
                      .codec_options = {{"x264-params", "open-gop=1"}}}});
  }
#if !defined(__SANITIZE_ADDRESS__)  // which sees that libx265 leaks
  if (test::has_encoder("libx265")) {
    kinds.push_back({"hevc.mp4",
                     {.codec = "libx265",
                      .format = "mp4",
                      .b_frames = 3,
                      .codec_options = {{"x265-params", "log-level=none:pools=none"}}}});
  }
#endif
  if (test::has_encoder("libvpx")) {
    kinds.push_back({"vp8.webm",
                     {.codec = "libvpx",
                      .format = "webm",
                      .codec_options = {{"auto-alt-ref", "1"}, {"lag-in-frames", "10"}}}});
  }
  return kinds;
}

frame_list range(std::size_t count) {
  frame_list numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

std::string error_of(const std::filesystem::path& path,
                     const glia::read_frames_options& options = {}) {
  return message_of<glia::data_error>([&] { (void)glia::read_frames(path, 3, options); });
}

test::byte_vector clip_bytes(const test::temporary_folder& folder, const test::clip_kind& kind,
                             std::size_t frames) {
  test::write_numbered(folder.path() / "made", frames, kind);
  return test::file_content<test::byte_vector>(folder.path() / "made");
}

struct packet_place {
  std::size_t first = 0;
  std::size_t size = 0;
};

std::vector<packet_place> packets_of(const std::filesystem::path& path) {
  const glia::detail::quiet_ffmpeg quiet;
  std::vector<packet_place> packets;
  glia::detail::clip_packets source(path, {.max_pixels = 10000});
  const auto packet = glia::detail::new_packet();
  while (source.next(*packet)) {
    packets.push_back(
        {static_cast<std::size_t>(packet->pos), static_cast<std::size_t>(packet->size)});
  }
  return packets;
}

/// Writes other bytes over a packet, but for its beginning.
void spoil(test::byte_vector& file, const packet_place& packet) {
  for (std::size_t i = 12; i < packet.size; ++i) {
    file.at(packet.first + i) = static_cast<std::uint8_t>(i * 77);
  }
}

std::size_t place_of(const test::byte_vector& file, const std::string& letters) {
  return static_cast<std::size_t>(
      std::search(file.begin(), file.end(), letters.begin(), letters.end()) - file.begin());
}

void put_little_endian(test::byte_vector& file, std::size_t offset, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    file.at(offset + i) = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

/// An AVI whose headers declare so many frames.
test::byte_vector avi_declaring(test::byte_vector file, std::uint32_t frames) {
  put_little_endian(file, place_of(file, "avih") + 8 + 16, frames);
  put_little_endian(file, place_of(file, "strh") + 8 + 32, frames);
  return file;
}

/// All frames of a clip as the ffmpeg program gives them; nothing where there is no such program.
std::optional<std::string> frames_of_program(const std::filesystem::path& path) {
  const auto result = glia::plot::run_program(
      {"ffmpeg", "-nostdin", "-v", "error", "-noautorotate", "-i", "file:" + path.string(),
       "-fps_mode", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"});
  if (result.status == glia::plot::program_result::not_found) {
    return std::nullopt;
  }
  REQUIRE(result.status == 0);
  return result.output;
}

/// What is written to the standard error while `call` runs.
template <class Call>
std::string standard_error_of(const std::filesystem::path& path, const Call& call) {
  std::cerr.flush();
  const int original = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(file, STDERR_FILENO);
  call();
  dup2(original, STDERR_FILENO);
  close(file);
  close(original);
  return test::file_content(path);
}

}  // namespace

TEST_CASE("frames of a clip are the middle ones of equal parts") {
  CHECK(glia::frame_numbers(4, 100) == frame_list{12, 37, 62, 87});
  CHECK(glia::frame_numbers(1, 5) == frame_list{2});
  CHECK(glia::frame_numbers(5, 5) == frame_list{0, 1, 2, 3, 4});
  CHECK(glia::frame_numbers(5, 2) == frame_list{0, 0, 1, 1, 1});
  CHECK(glia::frame_numbers(3, 1) == frame_list{0, 0, 0});
  CHECK(glia::frame_numbers(2, 2147483647) == frame_list{536870911, 1610612735});
  CHECK_THROWS_AS(glia::frame_numbers(3, 0), glia::value_error);
  CHECK_THROWS_AS(glia::frame_numbers(std::size_t{1} << 31, 5), glia::value_error);
}

TEST_CASE("decoding may begin where nothing shown later needs what is before") {
  using glia::detail::order_of_frames;
  using glia::detail::packet_info;
  const auto packets = [](std::initializer_list<std::pair<int, bool>> list) {
    std::vector<packet_info> result;
    for (const auto& [time, key] : list) {
      result.push_back({.time = time, .key = key});
    }
    return result;
  };
  // I P B B I P B: the second I is shown after all before it.
  const auto closed = order_of_frames(
      packets({{0, true}, {3, false}, {1, false}, {2, false}, {4, true}, {6, false}, {5, false}}));
  REQUIRE(closed);
  CHECK(closed->entries == frame_list{0, 4});
  CHECK(closed->packet_of == frame_list{0, 2, 3, 1, 4, 6, 5});
  // I P I B: the B is shown before the second I, and refers to the P.
  const auto open = order_of_frames(packets({{0, true}, {10, false}, {30, true}, {20, false}}));
  REQUIRE(open);
  CHECK(open->entries == frame_list{0});
  CHECK(open->packet_of == frame_list{0, 1, 3, 2});
  // A keyframe that is shown before what was decoded before it.
  const auto late = order_of_frames(packets({{0, true}, {3, false}, {2, true}, {4, true}}));
  REQUIRE(late);
  CHECK(late->entries == frame_list{0, 3});
  // One that is shown in its own place, but between frames that change theirs.
  const auto interleaved = order_of_frames(packets({{0, true}, {3, false}, {2, true}, {1, false}}));
  REQUIRE(interleaved);
  CHECK(interleaved->entries == frame_list{0});
  CHECK_FALSE(order_of_frames({}));
  CHECK_FALSE(order_of_frames(packets({{0, false}, {1, true}})));
  CHECK_FALSE(order_of_frames(packets({{2, true}, {1, false}})));
  CHECK_FALSE(order_of_frames(packets({{0, true}, {1, false}, {1, false}})));
  auto untimed = packets({{0, true}, {1, false}});
  untimed[1].time.reset();
  CHECK_FALSE(order_of_frames(untimed));
}

TEST_CASE("what lies between the frames that are wanted is passed over") {
  const frame_list entries{0, 4, 8, 12};
  const auto runs = glia::detail::plan_decoding(entries, 15, frame_list{1, 1, 5, 13, 14});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].first == 0);
  CHECK(runs[0].last == 8);
  CHECK(runs[0].numbers == frame_list{1, 1, 5});
  CHECK(runs[1].first == 12);
  CHECK(runs[1].last == 15);
  CHECK(runs[1].numbers == frame_list{13, 14});
}

TEST_CASE("frames come by their numbers in the order of showing, with seeking and without") {
  const test::temporary_folder folder;
  constexpr std::size_t n = 37;
  for (const auto& [name, kind] : kinds_of_clips()) {
    const std::filesystem::path path = folder.path() / name;
    test::write_numbered(path, n, kind);
    INFO(name);
    for (const std::size_t count : {1U, 2U, 3U, 5U, 7U, 20U, 37U, 80U}) {
      INFO(count);
      const auto frames = glia::read_frames(path, count);
      REQUIRE(test::numbers_of(frames) == glia::frame_numbers(count, n));
      REQUIRE(glia::read_frames(path, count, {.seek = false}) == frames);
    }
#if !defined(__SANITIZE_THREAD__)  // which does not see how FFmpeg's own threads agree
    REQUIRE(glia::read_frames(path, 9, {.threads = 3}) == glia::read_frames(path, 9));
#endif
  }
}

TEST_CASE("what is passed over is not decoded") {
  const test::temporary_folder folder;
  for (const test::clip_kind& kind :
       {test::clip_kind{.codec = "ffv1",
       .format = "matroska",
       .keyframes_every = 4,
       .codec_options = {{"level", "3"}, {"slicecrc", "1"}}},
        test::clip_kind{.format = "mp4", .b_frames = 2}, test::clip_kind{}}) {
    INFO(kind.codec << " in " << kind.format);
    test::byte_vector file = clip_bytes(folder, kind, 20);
    // The second frame's packet is damaged: of three frames, 3, 10 and 16, the first needs it; the
    // middle one does not.
    const auto packets = packets_of(folder.path() / "made");
    spoil(file, packets.at(1));
    folder.write("damaged", file);
    const std::filesystem::path path = folder.path() / "damaged";
    CHECK(test::numbers_of(glia::read_frames(path, 1)) == frame_list{10});
    CHECK(contains(message_of<glia::data_error>([&] { (void)glia::read_frames(path, 3); }),
                   path.string() + ": the clip is damaged"));
    CHECK(contains(
        message_of<glia::data_error>([&] { (void)glia::read_frames(path, 1, {.seek = false}); }),
        path.string() + ": the clip is damaged"));
    const auto patched = glia::read_frames(path, 3, {.allow_damage = true});
    CHECK(patched.size() == 3);
    CHECK(test::number_of(patched[2]) == 16);
  }
}

TEST_CASE("the last frame before a keyframe needs nothing behind it") {
  const test::temporary_folder folder;
  test::byte_vector file = clip_bytes(folder, {.format = "mp4", .b_frames = 2}, 15);
  const auto packets = packets_of(folder.path() / "made");  // keyframes: 0, 4, 8, 12
  spoil(file, packets.at(1));
  spoil(file, packets.at(8));
  folder.write("damaged", file);
  CHECK(test::numbers_of(glia::read_frames(folder.path() / "damaged", 1)) == frame_list{7});
}

TEST_CASE("what the first frame alone says of a clip holds where it is passed over") {
  const test::temporary_folder folder;
  test::byte_vector file = clip_bytes(folder, {.codec = "mjpeg"}, 20);
  const auto whole = glia::read_frames(folder.path() / "made", 1);
  // The tables of quantization become comments in all frames but the first.
  const auto packets = packets_of(folder.path() / "made");
  for (std::size_t i = 1; i < packets.size(); ++i) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(packets[i].first);
    const test::byte_vector tables{0xFF, 0xDB};
    const auto found = std::search(begin, begin + static_cast<std::ptrdiff_t>(packets[i].size),
                                   tables.begin(), tables.end());
    REQUIRE(found[1] == 0xDB);
    found[1] = 0xFE;
  }
  folder.write("tables", file);
  CHECK(glia::read_frames(folder.path() / "tables", 1) == whole);
  CHECK(glia::read_frames(folder.path() / "tables", 1, {.seek = false}) == whole);
}

TEST_CASE("packets that stand for no frame are not counted as one") {
  const test::temporary_folder folder;
  for (const std::string format : {"avi", "matroska"}) {
    const std::filesystem::path path = folder.path() / ("frameless." + format);
    // The second time all stand before what one frame needs, where they could go unseen.
    for (const std::size_t limit : {std::size_t{100}, std::size_t{3}}) {
      test::write_numbered(
          path, 30,
          {.format = format, .frameless_every = limit == 3 ? 1U : 4U, .most_frameless = limit});
      for (const bool seek : {true, false}) {
        for (const std::size_t count : {1U, 2U, 6U, 30U}) {
          CHECK(test::numbers_of(glia::read_frames(path, count, {.seek = seek})) ==
                glia::frame_numbers(count, 30));
        }
      }
    }
  }
}

TEST_CASE("frames that were dropped when a clip was stored are none") {
  const test::temporary_folder folder;
  test::clip_kind kind;
  for (int i = 0; i < 20; ++i) {
    kind.times.push_back(i + (i > 7 ? 3 : 0) + (i > 14 ? 1 : 0));
  }
  test::write_numbered(folder.path() / "dropped.avi", 20, kind);
  CHECK(test::numbers_of(glia::read_frames(folder.path() / "dropped.avi", 20)) == range(20));
}

TEST_CASE("frames that an edit list leaves out are not shown") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "edited.mp4";
  for (const int b_frames : {0, 2}) {
    test::clip_kind kind{.format = "mp4", .b_frames = b_frames};
    for (int i = 0; i < 20; ++i) {
      kind.times.push_back(i - 7);  // shown from 0 on
    }
    test::write_numbered(path, 20, kind);
    for (const bool seek : {true, false}) {
      frame_list expected = glia::frame_numbers(5, 13);
      for (std::size_t& number : expected) {
        number += 7;
      }
      CHECK(test::numbers_of(glia::read_frames(path, 5, {.seek = seek})) == expected);
    }
  }
}

TEST_CASE("how many frames there are is counted, whatever the container declares") {
  const test::temporary_folder folder;
  for (const int b_frames : {0, 2}) {
    const test::byte_vector file = clip_bytes(folder, {.b_frames = b_frames}, 20);
    const std::filesystem::path path = folder.path() / "lies.avi";
    for (const std::uint32_t declared : {0U, 1U, 7U, 20U}) {
      INFO(declared);
      folder.write("lies.avi", avi_declaring(file, declared));
      CHECK(test::numbers_of(glia::read_frames(path, 7)) == glia::frame_numbers(7, 20));
    }
    folder.write("lies.avi", avi_declaring(file, 21));
    CHECK(contains(error_of(path), path.string() +
                                       ": the clip is truncated or damaged (its container declares "
                                       "21 frames, the file has 20); get"));
    CHECK(test::numbers_of(glia::read_frames(path, 7, {.allow_damage = true})) ==
          glia::frame_numbers(7, 20));
  }
}

TEST_CASE("colors are those of the ffmpeg program, to the bit") {
  const test::temporary_folder folder;
  std::size_t number = 0;
  for (const test::clip_kind& kind :
       {test::clip_kind{.height = 47, .width = 63}, test::clip_kind{.height = 96, .width = 130},
        test::clip_kind{.codec = "mjpeg", .height = 50, .width = 66},
        test::clip_kind{.codec = "mpeg2video",
        .format = "mpegts",
        .codec_options = {{"colorspace", "bt709"}}}}) {
    const std::filesystem::path path = folder.path() / std::to_string(number++);
    const auto height = static_cast<std::size_t>(kind.height);
    const auto width = static_cast<std::size_t>(kind.width);
    {
      const glia::detail::quiet_ffmpeg quiet;
      test::clip_writer writer(path, kind);
      for (std::size_t i = 0; i < 6; ++i) {
        glia::image picture = test::gradient(height, width);
        std::rotate(picture.pixels.begin(),
                    picture.pixels.begin() + static_cast<std::ptrdiff_t>(i * 30),
                    picture.pixels.end());
        writer.add(picture);
      }
      writer.finish();
    }
    const auto expected = frames_of_program(path);
    if (!expected) {
      GLIA_SKIP("no ffmpeg program");
    }
    std::string actual;
    for (const glia::image& picture : glia::read_frames(path, 6)) {
      REQUIRE(picture.height == height);
      REQUIRE(picture.width == width);
      actual.append(picture.pixels.begin(), picture.pixels.end());
    }
    INFO(kind.codec << ' ' << height << " x " << width);
    CHECK((actual == *expected));
  }
}

TEST_CASE("frames come in the size asked for") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "a.avi";
  test::write_numbered(path, 10);
  const auto whole = glia::read_frames(path, 4);
  const auto compare = [&](const glia::read_frames_options& options, auto resized) {
    const auto frames = glia::read_frames(path, 4, options);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK((frames[i] == resized(whole[i])));
    }
  };
  compare({.height = 20, .width = 40}, [](const auto& p) { return glia::resize(p, 20, 40); });
  compare({.height = 20}, [](const auto& p) { return glia::resize(p, 20, 64); });
  compare({.width = 100}, [](const auto& p) { return glia::resize(p, 48, 100); });
  compare({.height = 20, .width = 20, .fit = glia::image_fit::crop},
          [](const auto& p) { return glia::resize_and_crop(p, 20, 20); });
  CHECK(contains(error_of(path, {.max_pixels = 3071}),
                 path.string() + ": the header declares 48 x 64 pixels"));
  CHECK(glia::read_frames(path, 1, {.max_pixels = 3072}).size() == 1);
  CHECK(glia::read_frames(path, 1, {.max_pixels = SIZE_MAX}).size() == 1);
  CHECK(contains(error_of(path, {.max_packets = 9}),
                 "more than 9 compressed frames that are allowed"));
  CHECK(error_of(path, {.max_packets = 10}).empty());
}

TEST_CASE("files that are no clips are named, and it is said why") {
  const test::temporary_folder folder;
  const auto error = [&](const std::string& name) {
    const std::string message = error_of(folder.path() / name);
    CHECK(contains(message, (folder.path() / name).string() + ": "));
    return message;
  };
  CHECK(contains(error("missing.avi"), "no such file"));
  std::filesystem::create_directory(folder.path() / "folder.avi");
  CHECK(contains(error("folder.avi"), "is a folder; expected a file"));
  folder.write("empty.avi", {});
  CHECK(contains(error("empty.avi"), "expected a video, got an empty file"));
  for (const std::string name : {"text.txt", "text.avi", "text.mp4"}) {
    folder.write(name, test::text_file("Some notes on the clips.\nThey are good.\n"));
    CHECK(contains(error(name), "expected a video that FFmpeg can read"));
  }
  for (std::size_t size : {1U, 11U, 1000U}) {
    folder.write("zeros.avi", test::byte_vector(size));
    CHECK(contains(error("zeros.avi"), "expected a video that FFmpeg can read"));
  }

  // A WAV file: sound alone.
  test::byte_vector sound = test::text_file("RIFF....WAVEfmt ");
  for (const std::uint32_t value : {16U, 0x00010001U, 8000U, 16000U, 0x00100002U}) {
    sound.resize(sound.size() + 4);
    put_little_endian(sound, sound.size() - 4, value);
  }
  for (const char letter : std::string("data....")) {
    sound.push_back(static_cast<std::uint8_t>(letter));
  }
  put_little_endian(sound, sound.size() - 4, 3200);
  sound.resize(sound.size() + 3200);
  put_little_endian(sound, 4, static_cast<std::uint32_t>(sound.size() - 8));
  folder.write("sound.avi", sound);
  CHECK(contains(error("sound.avi"),
                 "expected a file with a video stream, got one with 1 other streams (format wav)"));

  // A FLAC file with the picture of a cover, which FFmpeg has as a video stream.
  const test::byte_vector cover = test::png_file(test::gradient(16, 16));
  test::byte_vector flac = test::text_file("fLaC");
  flac.resize(4 + 4 + 34 + 4 + 32 + 9);
  test::put_big_endian(flac, 4, 4, 34);
  test::put_big_endian(flac, 8, 4, 0x10001000);
  test::put_big_endian(flac, 18, 4, 0x0AC442F0);  // 44,100 Hz, two channels of 16 bits
  test::put_big_endian(flac, 42, 4, 0x86000000 + 32 + 9 + cover.size());
  test::put_big_endian(flac, 46, 4, 3);
  test::put_big_endian(flac, 50, 4, 9);
  std::memcpy(flac.data() + 54, "image/png", 9);
  test::put_big_endian(flac, 83, 4, cover.size());
  flac.insert(flac.end(), cover.begin(), cover.end());
  folder.write("cover.flac", flac);
  CHECK(contains(error("cover.flac"), "expected a file with a video stream"));

  // Letters of a codec that nobody knows.
  test::byte_vector unknown = clip_bytes(folder, {}, 5);
  while (place_of(unknown, "FMP4") < unknown.size()) {
    std::memcpy(unknown.data() + place_of(unknown, "FMP4"), "ZZZZ", 4);
  }
  folder.write("unknown.avi", unknown);
  CHECK(contains(error("unknown.avi"), "FFmpeg has no decoder for the codec none (ZZZZ)"));
}

TEST_CASE("a clip cannot have other files read, and names are no addresses") {
  const test::temporary_folder folder;
  struct folder_change {
    explicit folder_change(const std::filesystem::path& target) {
      std::filesystem::current_path(target);
    }
    ~folder_change() { std::filesystem::current_path(original); }
    std::filesystem::path original = std::filesystem::current_path();
  } const change(folder.path());
  test::write_numbered("secret.avi", 5);
  folder.write("list.avi", test::text_file("ffconcat version 1.0\nfile secret.avi\n"));
  folder.write("list.m3u8", test::text_file("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n"
                                            "secret.avi\n#EXT-X-ENDLIST\n"));
  CHECK(contains(error_of("list.avi"), "list.avi: "));
  CHECK(contains(error_of("list.m3u8"), "list.m3u8: "));
  std::filesystem::copy("secret.avi", "http:clip.avi");
  CHECK(glia::read_frames("http:clip.avi", 5).size() == 5);
}

TEST_CASE("counts and threads of frames outside their ranges are refused") {
  CHECK_THROWS_AS(glia::read_frames("a.avi", 0), glia::value_error);
  CHECK_THROWS_AS(glia::read_frames("a.avi", 1, {.threads = 65}), glia::value_error);
}

TEST_CASE("a clip that is cut anywhere is an error") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "cut";
  for (const test::clip_kind& kind :
       {test::clip_kind{}, test::clip_kind{.b_frames = 2},
        test::clip_kind{.format = "mp4", .b_frames = 2},
        test::clip_kind{.format = "mp4", .format_options = {{"movflags", "faststart"}}},
        test::clip_kind{.codec = "mjpeg", .format = "mov"},
        test::clip_kind{.codec = "ffv1", .format = "matroska"}}) {
    INFO(kind.codec << " in " << kind.format);
    const test::byte_vector file = clip_bytes(folder, kind, 20);
    folder.write("cut", file);
    REQUIRE(error_of(path).empty());
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t size = i < 99 ? file.size() * (i + 1) / 100 : file.size() - 1;
      INFO(size);
      folder.write("cut", test::cut(file, size));
      REQUIRE(contains(error_of(path), path.string() + ": "));
    }
    // What is there may be had all the same, where the container has told enough before.
    if (kind.format == "avi" || kind.format == "matroska") {
      folder.write("cut", file);
      folder.write("cut", test::cut(file, packets_of(path).at(11).first));
      const auto half = glia::read_frames(path, 5, {.allow_damage = true});
      REQUIRE(half.size() == 5);
      CHECK(test::number_of(half[0]) <= 2);
      CHECK(test::number_of(half[4]) >= 7);
      CHECK(test::number_of(half[4]) < 12);
    }
    // What stands behind its end is not the clip's.
    test::byte_vector longer = file;
    longer.resize(file.size() + 300);
    folder.write("cut", longer);
    CHECK(test::numbers_of(glia::read_frames(path, 20)) == range(20));
  }
}

TEST_CASE("damaged clips are read or refused, and nothing else") {
  const test::temporary_folder folder;
  std::vector<test::byte_vector> files;
  for (const test::clip_kind& kind :
       {test::clip_kind{.height = 32, .width = 48, .b_frames = 1},
        test::clip_kind{.format = "mp4", .height = 32, .width = 48, .keyframes_every = 3},
        test::clip_kind{.codec = "mjpeg", .height = 32, .width = 48},
        test::clip_kind{.codec = "ffv1", .format = "matroska", .height = 32, .width = 48},
        test::clip_kind{.codec = "mpeg2video", .format = "mpegts", .height = 32, .width = 48}}) {
    files.push_back(clip_bytes(folder, kind, 8));
  }
  const std::filesystem::path path = folder.path() / "damaged";
  std::uint32_t number = 0;
  const std::size_t read = test::damaged_copies_read(
      files,
      [&](const test::byte_vector& copy) {
        folder.write("damaged", copy);
        const bool patched = number++ % 3 == 0;
        std::vector<glia::image> frames;
        try {
          frames = glia::read_frames(
              path, 4, {.seek = number % 2 == 0, .allow_damage = patched, .max_pixels = 100'000});
        } catch (const glia::data_error& e) {
          REQUIRE(contains(e.what(), path.string()));
          throw;
        }
        REQUIRE(frames.size() == 4);
        for (const glia::image& frame : frames) {
          REQUIRE(frame.pixels.size() == frame.height * frame.width * 3);
          REQUIRE(frame.pixels.size() > 0);
        }
      },
      2000);
  CHECK(read > 100);
  CHECK(read < 900);
}

TEST_CASE("clips are read on several threads at once") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "a.mp4";
  test::write_numbered(path, 30, {.format = "mp4", .b_frames = 2});
  std::vector<int> right(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        const auto frames = glia::read_frames(path, 4 + t);
        right[t] += test::numbers_of(frames) == glia::frame_numbers(4 + t, 30) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == std::vector<int>(4, 5));
}

TEST_CASE("FFmpeg's messages are not written, and its level stays the program's") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "damaged.avi";
  test::byte_vector file = clip_bytes(folder, {}, 20);
  spoil(file, packets_of(folder.path() / "made").at(3));
  folder.write("damaged.avi", file);
  const auto written = [&] {
    return standard_error_of(folder.path() / "messages",
                             [&] { (void)glia::read_frames(path, 3, {.allow_damage = true}); });
  };
  const int level = av_log_get_level();
  CHECK(written().empty());
  CHECK(av_log_get_level() == level);
  // A program that wants to see more does.
  av_log_set_level(AV_LOG_VERBOSE);
  CHECK_FALSE(written().empty());
  CHECK(av_log_get_level() == AV_LOG_VERBOSE);
  av_log_set_level(level);
  // And one with a callback is told.
  static std::size_t told = 0;
  av_log_set_callback([](void*, int, const char*, va_list) { ++told; });
  CHECK(written().empty());
  av_log_set_callback(av_log_default_callback);
  CHECK(told > 0);
  {
    const glia::detail::quiet_ffmpeg outer;
    { const glia::detail::quiet_ffmpeg inner; }
    CHECK(av_log_get_level() == AV_LOG_QUIET);
  }
  CHECK(av_log_get_level() == level);
  {
    const glia::detail::quiet_ffmpeg quiet;
    av_log_set_level(AV_LOG_ERROR);
  }
  CHECK(av_log_get_level() == AV_LOG_ERROR);
  av_log_set_level(level);
}

TEST_CASE("clips of UCF101 are read as the ffmpeg program reads them") {
  const std::filesystem::path folder = GLIA_SHARED_DATA "/ucf101/clips";
  if (!std::filesystem::exists(folder)) {
    GLIA_SKIP("no clips in " + folder.string());
  }
  const test::temporary_folder cuts;
  std::size_t clips = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    INFO(entry.path());
    ++clips;
    const auto whole = frames_of_program(entry.path());
    const std::size_t size = std::size_t{240} * 320 * 3;
    const std::size_t n = whole ? whole->size() / size : 0;
    for (const std::size_t count : {1U, 3U, 8U, 16U, 25U}) {
      const auto frames = glia::read_frames(entry.path(), count);
      CHECK(frames.size() == count);
      CHECK(glia::read_frames(entry.path(), count, {.seek = false}) == frames);
      if (whole) {
        const auto numbers = glia::frame_numbers(count, n);
        for (std::size_t i = 0; i < count; ++i) {
          INFO(numbers[i]);
          CHECK(std::equal(frames[i].pixels.begin(), frames[i].pixels.end(),
                           whole->begin() + static_cast<std::ptrdiff_t>(numbers[i] * size),
                           [](std::uint8_t a, char b) { return a == std::uint8_t(b); }));
        }
      }
    }
    const auto file = test::file_content<test::byte_vector>(entry.path());
    for (std::size_t i = 1; i <= 20; ++i) {
      cuts.write("cut.avi", test::cut(file, file.size() * i / 21));
      CHECK(contains(error_of(cuts.path() / "cut.avi"), "cut.avi: "));
    }
  }
  CHECK(clips > 0);
}
