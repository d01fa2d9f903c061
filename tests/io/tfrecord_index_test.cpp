#include <glia/io/tfrecord_index.hpp>
#include <thread>

#include "catch.hpp"
#include "io/array_files.hpp"
#include "messages.hpp"
#include "samples/records.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

using path_list = std::vector<std::filesystem::path>;

/// Files of 2, 5, 1 and 3 records, which say their file's number and their own.
struct numbered_files {
  test::temporary_folder folder;
  path_list files;

  numbered_files() {
    for (const std::size_t count : {2U, 5U, 1U, 3U}) {
      std::vector<std::string> records;
      for (std::size_t i = 0; i < count; ++i) {
        records.push_back(glia::text(files.size(), i, std::string(20 * i, '.')));
      }
      const std::string name = glia::text(files.size(), ".tfrecord");
      folder.write(name, test::samples::tfrecord_file(records));
      files.push_back(folder.path() / name);
    }
  }
};

/// The first two letters of each.
std::string order_of(const glia::tfrecord_index& records) {
  std::string order;
  for (std::size_t i = 0; i < records.size(); ++i) {
    order += records.read(i).substr(0, 2) + ' ';
  }
  return order;
}

std::string index_error(const path_list& files) {
  return message_of<glia::data_error>([&] { (void)glia::tfrecord_index(files); });
}

}  // namespace

TEST_CASE("records of TFRecord files are read in any order") {
  const numbered_files n;
  const glia::tfrecord_index records(n.files);
  CHECK(records.size() == 11);
  CHECK(records.files() == n.files);
  CHECK(order_of(records) == "00 01 10 11 12 13 14 20 30 31 32 ");
  CHECK(records.read(6) == "14" + std::string(80, '.'));
  CHECK(records.read(2) == "10");
  // Four records before it, of 18, 38, 58 and 78 bytes.
  CHECK(records.name(6) == n.files[1].string() + ": record 4 (at byte 192)");
}

TEST_CASE("records of several files can be interleaved") {
  const numbered_files n;
  const glia::tfrecord_index records(n.files, {.interleaved = true});
  // As tf.data.Dataset.interleave of TensorFlow 2.21, all files at a time.
  CHECK(order_of(records) == "00 10 20 30 01 11 31 12 32 13 14 ");
  CHECK(contains(records.name(5), "1.tfrecord: record 1 (at byte 18)"));
}

TEST_CASE("several threads read records of one index") {
  const numbered_files n;
  const glia::tfrecord_index records(n.files);
  std::vector<std::string> orders(4);
  std::vector<std::thread> threads;
  for (std::string& order : orders) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        order = order_of(records);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& order : orders) {
    CHECK(order == order_of(records));
  }
}

TEST_CASE("files that no index can be made of are named") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "a";
  const auto error_of = [&](const std::vector<std::uint8_t>& bytes) {
    folder.write("a", bytes);
    const std::string error = index_error({path});
    return error.starts_with(path.string() + ": ") ? error.substr(path.string().size() + 2) : error;
  };
  CHECK(message_of<glia::value_error>([] { (void)glia::tfrecord_index({}); }) ==
        "tfrecord_index: expected one or more files, got an empty list");
  CHECK(index_error({path}) == path.string() + ": no such file");
  CHECK(index_error({folder.path()}) == folder.path().string() + ": is a folder; expected a file");
  CHECK(error_of({}) == "expected a TFRecord file with one or more records, got an empty file");
  const std::string packed = test::deflated(std::string(100, 'x'), 31);
  CHECK(contains(error_of({packed.begin(), packed.end()}),
                 "the file is compressed with gzip; decompress it"));
  auto file = test::samples::tfrecord_file({"abc", std::string(70, 'x')});
  for (std::size_t size = 1; size < file.size(); ++size) {
    if (size != 19) {
      REQUIRE(contains(error_of({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}),
                       size < 19 ? "record 0 (at byte 0): the file is truncated"
                                 : "record 1 (at byte 19): the file is truncated"));
    }
  }
  file[22] ^= 1U;
  CHECK(contains(error_of(file), "record 1 (at byte 19): the length of the record does not match"));
  for (const std::uint64_t length : {std::uint64_t{1} << 40, UINT64_MAX - 15, UINT64_MAX}) {
    const std::string head = glia::detail::record_head(length) + "0123456789";
    CHECK(contains(error_of({head.begin(), head.end()}), "but only 10 bytes follow"));
  }
}

TEST_CASE("a record that is damaged or changes behind an index's back is an error") {
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.path() / "a";
  const auto whole = test::samples::tfrecord_file({"abc", "defgh"});
  folder.write("a", whole);
  const glia::tfrecord_index records({path});
  const auto error_of = [&](const std::vector<std::uint8_t>& bytes, std::size_t i = 1) {
    folder.write("a", bytes);
    return message_of<glia::data_error>([&] { (void)records.read(i); });
  };
  CHECK(error_of(whole).empty());
  const std::string name = path.string() + ": record 1 (at byte 19)";
  for (std::size_t offset = 31; offset < whole.size(); ++offset) {
    auto damaged = whole;
    damaged[offset] ^= 0x10U;
    REQUIRE(error_of(damaged) ==
            name + ": the 5 bytes of the record do not match their checksum; the file is damaged");
    REQUIRE(error_of(damaged, 0).empty());
  }
  for (std::size_t offset = 19; offset < 31; ++offset) {
    auto damaged = whole;
    damaged[offset] ^= 0x10U;
    REQUIRE(contains(error_of(damaged), name + ": the length of the record does not match"));
  }
  CHECK(contains(error_of(test::samples::tfrecord_file({"abc", "defghi"})),
                 name + ": the record had 5 bytes when the index was made, and has 6 bytes now"));
  CHECK(contains(error_of({whole.begin(), whole.begin() + 33}),
                 name + ": reading the record failed"));
  CHECK(contains(error_of({whole.begin(), whole.begin() + 10}), name + ": the file is truncated"));
  std::filesystem::remove(path);
  CHECK(contains(message_of<glia::data_error>([&] { (void)records.read(0); }),
                 path.string() + ": record 0 (at byte 0): "));
}
