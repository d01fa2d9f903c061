#include <glia/compression/gzip.hpp>
#include <glia/io/tfrecord.hpp>
#include <limits>

#include "catch.hpp"
#include "io/array_files.hpp"
#include "messages.hpp"
#include "posix.hpp"
#include "samples/records.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

using record_list = std::vector<std::string>;
using record_bytes = std::vector<std::uint8_t>;

template <class Reader = glia::plain_files>
record_list records_read(const std::filesystem::path& path, const Reader& reader = {},
                         const glia::tfrecord_options& options = {}) {
  record_list records;
  glia::tfrecord_reader stream(path, reader, options);
  while (const auto record = stream.next()) {
    records.emplace_back(*record);
  }
  return records;
}

struct tfrecord_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "a.tfrecord";

  template <class Reader = glia::plain_files>
  [[nodiscard]] record_list read(const record_bytes& bytes, const Reader& reader = {}) const {
    folder.write("a.tfrecord", bytes);
    return records_read(path, reader);
  }
  /// The message without the path, which it must begin with.
  template <class Reader = glia::plain_files>
  [[nodiscard]] std::string error_of(const record_bytes& bytes, const Reader& reader = {},
                                     const glia::tfrecord_options& options = {}) const {
    folder.write("a.tfrecord", bytes);
    const std::string message = message_of<glia::data_error>(
        [&] { static_cast<void>(records_read(path, reader, options)); });
    return message.starts_with(path.string() + ": ") ? message.substr(path.string().size() + 2)
                                                     : "(no path) " + message;
  }
};

record_bytes as_bytes(const std::string& text) { return {text.begin(), text.end()}; }

record_bytes gzipped(const record_bytes& bytes) {
  return as_bytes(test::deflated({bytes.begin(), bytes.end()}, 31));
}

/// The message of an example that holds three records: a short one, an empty one, a long one.
record_bytes three_records() {
  return test::samples::tfrecord_file({"abc", "", std::string(70, 'x')});
}

}  // namespace

TEST_CASE("a TFRecord file is written as TensorFlow writes it") {
  const tfrecord_scratch file;
  glia::tfrecord_writer out(file.path);
  out.write("abc");
  out.write(record_bytes{});
  out.close();
  // tf.io.TFRecordWriter of TensorFlow 2.21.
  CHECK(test::file_content(file.path) ==
        test::from_hex("0300000000000000b099490e6162636e57f1210000000000000000"
                       "29039807d8ea82a2"));
  // The same compressed, by its tf.io.TFRecordOptions("GZIP").
  CHECK(file.read(as_bytes(test::from_hex("1f8b0800000000000003636680800d333df9129392f3c23f2a4245"
                                          "18349967b0df78d5b40800234ab4ed23000000")),
                  glia::gzip_files{}) == record_list{"abc", ""});
}

TEST_CASE("TFRecords come back as they were written") {
  const tfrecord_scratch file;
  std::string large(3'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(i * i % 251);
  }
  // 35615 begins like a file of gzip does.
  const record_list records{std::string(35615, 'g'), "", large, std::string("a\0b", 3), large, "z"};
  glia::tfrecord_writer out(file.path);
  for (const std::string& record : records) {
    out.write(record);
  }
  out.close();
  CHECK(records_read(file.path) == records);
  CHECK(file.read(three_records(), glia::gzip_files{}).size() == 3);
  CHECK(file.read(gzipped(test::samples::tfrecord_file(records)), glia::gzip_files{}) == records);
}

TEST_CASE("a TFRecord file that is not closed is not there") {
  const tfrecord_scratch file;
  {
    glia::tfrecord_writer out(file.path);
    out.write("abc");
  }
  CHECK(std::filesystem::is_empty(file.folder.path()));
  file.folder.write("a.tfrecord", three_records());
  try {
    glia::tfrecord_writer out(file.path);
    out.write("abc");
    CHECK(records_read(file.path).size() == 3);
    throw std::runtime_error("something else");
  } catch (const std::runtime_error&) {
  }
  CHECK(test::file_content<record_bytes>(file.path) == three_records());
  CHECK(std::distance(std::filesystem::directory_iterator(file.folder.path()), {}) == 1);

  const std::string name = file.path.string();
  glia::tfrecord_writer out(file.path);
  CHECK(contains(message_of<glia::value_error>([&] { out.close(); }),
                 name + ": expected one or more records before close; an empty file"));
  out.write("abc");
  out.close();
  CHECK(records_read(file.path) == record_list{"abc"});
  CHECK(contains(message_of<glia::value_error>([&] { out.write("d"); }),
                 name + ": the TFRecord file is closed"));
  CHECK_THROWS_AS(out.close(), glia::value_error);
  CHECK(records_read(file.path) == record_list{"abc"});
}

TEST_CASE("errors of writing TFRecord files name the file") {
  const tfrecord_scratch file;
  CHECK(message_of<glia::data_error>([&] { glia::tfrecord_writer(file.folder.path()); }) ==
        file.folder.path().string() + ": is a folder; expected a file");
  CHECK(contains(message_of<glia::data_error>([] { glia::tfrecord_writer("/nowhere/a"); }),
                 "/nowhere/a: cannot be written"));
#if GLIA_TEST_HAS_POSIX
  CHECK(contains(message_of<glia::data_error>([] { glia::tfrecord_writer("/dev/full"); }),
                 "/dev/full: is a device or a pipe; expected a regular file"));
#endif
}

TEST_CASE("TFRecord files that cannot be read are named") {
  const tfrecord_scratch file;
  const auto error = [](const std::filesystem::path& path, const auto& reader) {
    return message_of<glia::data_error>([&] { (void)records_read(path, reader); });
  };
  const std::string folder = file.folder.path().string();
  CHECK(error(file.folder.path(), glia::plain_files{}) ==
        folder + ": is a folder; expected a file");
  CHECK(error(file.folder.path(), glia::gzip_files{}) == folder + ": is a folder; expected a file");
  CHECK(error("/nowhere", glia::plain_files{}) ==
        "/nowhere: the file cannot be opened for reading");
  const std::string empty = "expected a TFRecord file with one or more records, got an empty file";
  CHECK(file.error_of({}) == empty);
  CHECK(file.error_of({}, glia::gzip_files{}) == empty);
  CHECK(file.error_of(gzipped({}), glia::gzip_files{}) == empty);
  CHECK(contains(file.error_of(gzipped(three_records())),
                 "the file is compressed with gzip; decompress it, or read it with tfrecord_reader "
                 "and glia::gzip_files{}"));
  CHECK(contains(file.error_of(as_bytes("sepal_length,sepal_width")),
                 "record 0 (at byte 0): the length of the record does not match its checksum; the "
                 "file is damaged or is not a TFRecord file"));
}

TEST_CASE("TFRecord files cut at every byte give an error, but between two records") {
  const tfrecord_scratch file;
  const record_bytes whole = three_records();  // of 19, 16 and 86 bytes
  const auto cut = [&](std::size_t size) {
    return record_bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
  };
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO(size << " of " << whole.size() << " bytes");
    if (size == 19 || size == 35) {
      // The format cannot tell.
      CHECK(file.read(cut(size)).size() == (size == 19 ? 1 : 2));
      continue;
    }
    const std::string start = size < 19   ? "record 0 (at byte 0): the file is truncated: "
                              : size < 35 ? "record 1 (at byte 19): the file is truncated: "
                                          : "record 2 (at byte 35): the file is truncated: ";
    REQUIRE(file.error_of(cut(size)).starts_with(start));
    REQUIRE(file.error_of(gzipped(cut(size)), glia::gzip_files{}).starts_with(start));
  }
  CHECK(file.error_of(cut(20)) ==
        "record 1 (at byte 19): the file is truncated: expected a record's header of 12 bytes, got "
        "1");
  CHECK(file.error_of(cut(60)) ==
        "record 2 (at byte 35): the file is truncated: the record declares 70 bytes and a checksum "
        "of 4 bytes, but only 13 bytes follow");
}

TEST_CASE("every flipped bit of a TFRecord file is found, and nothing changed is read") {
  const tfrecord_scratch file;
  const record_bytes whole = three_records();
  for (std::size_t offset = 0; offset < whole.size(); ++offset) {
    const std::size_t record = offset < 19 ? 0 : offset < 35 ? 1 : 2;
    const std::size_t record_offset = offset - (record == 0 ? 0 : record == 1 ? 19 : 35);
    for (unsigned bit = 0; bit < 8; ++bit) {
      INFO("bit " << bit << " of byte " << offset);
      record_bytes damaged = whole;
      damaged[offset] = static_cast<std::uint8_t>(damaged[offset] ^ (1U << bit));
      const std::string error = file.error_of(damaged);
      REQUIRE(contains(error, glia::text("record ", record, " (at byte ")));
      REQUIRE(contains(error, record_offset < 12 ? "the length of the record does not match"
                                                 : "bytes of the record do not match"));
      glia::tfrecord_reader reader(file.path);
      for (std::size_t i = 0; i < record; ++i) {
        REQUIRE(reader.next() == std::vector<std::string>{"abc", ""}[i]);
      }
      REQUIRE_THROWS_AS(reader.next(), glia::data_error);
    }
  }
}

TEST_CASE("an error of a TFRecord file stays") {
  const tfrecord_scratch file;
  record_bytes damaged = three_records();
  damaged[13] ^= 1U;  // in the first record; the others are whole
  file.folder.write("a.tfrecord", damaged);
  glia::tfrecord_reader reader(file.path);
  const std::string error = message_of<glia::data_error>([&] { (void)reader.next(); });
  CHECK(contains(error,
                 "record 0 (at byte 0): the 3 bytes of the record do not match their checksum"));
  CHECK(message_of<glia::data_error>([&] { (void)reader.next(); }) == error);
}

TEST_CASE("what a TFRecord's length declares is checked before memory is taken for it") {
  const tfrecord_scratch file;
  for (const std::uint64_t length :
       {std::uint64_t{71}, std::uint64_t{1} << 40, std::uint64_t{1} << 63,
        std::numeric_limits<std::uint64_t>::max() - 3, std::numeric_limits<std::uint64_t>::max()}) {
    INFO(length);
    record_bytes lying = as_bytes(glia::detail::record_head(length));
    lying.insert(lying.end(), 74, 'x');
    CHECK(file.error_of(lying) ==
          glia::text("record 0 (at byte 0): the file is truncated: the record declares ", length,
                     " bytes and a checksum of 4 bytes, but only 74 bytes follow"));
    // Nobody knows how much is left of what is compressed.
    const std::string error = file.error_of(gzipped(lying), glia::gzip_files{});
    CHECK(contains(error, length == 71 ? "but only 74 bytes follow"
                                       : "more than the 1073741824 that are allowed; if you trust "
                                         "the file, raise tfrecord_options::max_bytes"));
    CHECK(contains(file.error_of(gzipped(lying), glia::gzip_files{},
                                 {.max_bytes = std::numeric_limits<std::uint64_t>::max()}),
                   length > std::numeric_limits<std::uint64_t>::max() - 4 ? "that are allowed"
                                                                          : "but only 74 bytes"));
  }
  const record_bytes packed = gzipped(test::samples::tfrecord_file({std::string(70, 'x')}));
  CHECK(contains(file.error_of(packed, glia::gzip_files{}, {.max_bytes = 69}),
                 "declares 70 bytes, more than the 69 that are allowed"));
  CHECK(file.error_of(packed, glia::gzip_files{}, {.max_bytes = 70}) == "(no path) ");
  // What lies on the disk is no larger than the disk.
  CHECK(file.error_of(three_records(), glia::plain_files{}, {.max_bytes = 1}) == "(no path) ");
}

TEST_CASE("damaged gzip around TFRecords is an error") {
  const tfrecord_scratch file;
  const record_bytes whole = gzipped(three_records());
  for (std::size_t size = 2; size < whole.size(); ++size) {
    record_bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    INFO(size << " of " << whole.size());
    REQUIRE(file.error_of(part, glia::gzip_files{}) != "(no path) ");
  }
}
