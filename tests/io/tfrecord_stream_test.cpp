#include <algorithm>
#include <glia/compression/gzip.hpp>
#include <glia/io/tfrecord_stream.hpp>
#include <set>

#include "catch.hpp"
#include "io/array_files.hpp"
#include "messages.hpp"
#include "samples/records.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

/// Files of 2, 5, 1 and 3 records, which say their file's number and their own.
struct streamed_files {
  test::temporary_folder folder;
  std::vector<std::filesystem::path> files;

  explicit streamed_files(const std::vector<std::size_t>& counts = {2, 5, 1, 3}) {
    for (const std::size_t count : counts) {
      std::vector<std::string> records;
      for (std::size_t i = 0; i < count; ++i) {
        records.push_back(glia::text(files.size(), i));
      }
      const std::string name = glia::text(files.size(), ".tfrecord");
      folder.write(name, test::samples::tfrecord_file(records));
      files.push_back(folder.path() / name);
    }
  }

  [[nodiscard]] std::vector<std::string> records(
      const glia::tfrecord_stream_options& options) const {
    glia::tfrecord_stream stream(files, options);
    std::vector<std::string> result;
    while (auto record = stream.next()) {
      result.push_back(std::move(*record));
    }
    CHECK_FALSE(stream.next());
    return result;
  }
  [[nodiscard]] std::string order(const glia::tfrecord_stream_options& options) const {
    std::string result;
    for (const std::string& record : records(options)) {
      result += record + ' ';
    }
    return result;
  }
};

}  // namespace

TEST_CASE("a stream of records reads files in turn as tf.data does") {
  const streamed_files f;
  // tf.data.Dataset.interleave of TensorFlow 2.21, block_length 1.
  CHECK(f.order({}) == "00 01 10 11 12 13 14 20 30 31 32 ");
  CHECK(f.order({.interleave = 2}) == "00 10 01 11 12 20 13 14 30 31 32 ");
  CHECK(f.order({.interleave = 3}) == "00 10 20 01 11 12 30 13 31 14 32 ");
  CHECK(f.order({.interleave = 4}) == "00 10 20 30 01 11 31 12 32 13 14 ");
  CHECK(f.order({.interleave = 1'000'000'000}) == "00 10 20 30 01 11 31 12 32 13 14 ");
}

TEST_CASE("a stream of records shuffles them by its seed alone") {
  const streamed_files f({40, 30, 50});
  const auto plain = f.records({.interleave = 2});
  const auto drawn = f.records({.interleave = 2, .shuffle_buffer = 16, .seed = 3});
  CHECK(drawn != plain);
  CHECK(f.records({.interleave = 2, .shuffle_buffer = 16, .seed = 3}) == drawn);
  CHECK(f.records({.interleave = 2, .shuffle_buffer = 16, .seed = 4}) != drawn);
  CHECK(std::multiset(drawn.begin(), drawn.end()) == std::multiset(plain.begin(), plain.end()));
  // None comes earlier than the buffer reaches ahead.
  std::size_t furthest = 0;
  for (std::size_t n = 0; n < drawn.size(); ++n) {
    const auto at =
        static_cast<std::size_t>(std::find(plain.begin(), plain.end(), drawn[n]) - plain.begin());
    REQUIRE(at < n + 16);
    furthest = std::max(furthest, at - std::min(at, n));
  }
  CHECK(furthest > 8);
  // A buffer that holds all: each record may come first.
  std::set<std::string> firsts;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    glia::tfrecord_stream stream(f.files, {.shuffle_buffer = SIZE_MAX, .seed = seed});
    firsts.insert(stream.next().value());
  }
  CHECK(firsts.size() > 110);  // of 120
}

TEST_CASE("a stream reads compressed files") {
  const test::temporary_folder folder;
  std::vector<std::filesystem::path> files;
  for (const std::string letter : {"a", "b"}) {
    const auto file = test::samples::tfrecord_file({letter + "1", letter + "2"});
    const std::string packed = test::deflated({file.begin(), file.end()}, 31);
    folder.write(letter, {packed.begin(), packed.end()});
    files.push_back(folder.path() / letter);
  }
  glia::tfrecord_stream stream(files, {.interleave = 2}, glia::gzip_files{});
  std::string order;
  while (const auto record = stream.next()) {
    order += *record + ' ';
  }
  CHECK(order == "a1 b1 a2 b2 ");
}

TEST_CASE("errors of a stream of records come when it is their turn, and stay") {
  const streamed_files f({2, 3, 2});
  std::vector<std::uint8_t> damaged = test::samples::tfrecord_file({"10", "11", "12"});
  damaged[18 + 12] ^= 1U;
  f.folder.write("1.tfrecord", damaged);
  const std::string expected =
      f.files[1].string() + ": record 1 (at byte 18): the 2 bytes of the record do not";
  glia::tfrecord_stream stream(f.files);
  for (const std::string record : {"00", "01", "10"}) {
    CHECK(stream.next() == record);
  }
  for (int again = 0; again < 3; ++again) {
    CHECK(contains(message_of<glia::data_error>([&] { (void)stream.next(); }), expected));
  }
  glia::tfrecord_stream shuffled(f.files, {.interleave = 3, .shuffle_buffer = 100});
  CHECK(contains(message_of<glia::data_error>([&] { (void)shuffled.next(); }), expected));
  CHECK(contains(message_of<glia::data_error>([&] { (void)shuffled.next(); }), expected));
  std::filesystem::remove(f.files[2]);
  f.folder.write("1.tfrecord", test::samples::tfrecord_file({"10"}));
  glia::tfrecord_stream missing(f.files);
  for (const std::string record : {"00", "01", "10"}) {
    CHECK(missing.next() == record);
  }
  for (int again = 0; again < 2; ++again) {
    CHECK(message_of<glia::data_error>([&] { (void)missing.next(); }) ==
          f.files[2].string() + ": the file cannot be opened for reading");
  }
  CHECK(message_of<glia::value_error>([] { glia::tfrecord_stream({}); }) ==
        "tfrecord_stream: expected one or more files, got an empty list");
  for (const glia::tfrecord_stream_options& options :
       {glia::tfrecord_stream_options{.interleave = 0},
        glia::tfrecord_stream_options{.shuffle_buffer = 0}}) {
    CHECK(contains(message_of<glia::value_error>([&] { glia::tfrecord_stream(f.files, options); }),
                   "expected an interleave and a shuffle_buffer of at least 1, got "));
  }
}
