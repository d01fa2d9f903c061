#include <zlib.h>

#include <glia/io/npz.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

/// What numpy.save writes for a vector of floats.
std::string npy_file(const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
  header.resize(117, ' ');
  std::string file = std::string("\x93NUMPY\x01\0", 8) + std::string("\x76\0", 2) + header + '\n';
  return file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

void put(std::string& to, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    to += static_cast<char>(value >> (8 * i));
  }
}

std::string deflated(const std::string& bytes) {
  std::string result(bytes.size() + 64, '\0');
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(result.data());
  z.avail_out = static_cast<uInt>(result.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  result.resize(z.total_out);
  deflateEnd(&z);
  return result;
}

struct entry {
  std::string name;
  std::string content;
  bool compressed = false;
  std::uint32_t declared = 0;  // another size than the content's
};

/// A zip archive, written by hand.
std::vector<std::uint8_t> zipped(const std::vector<entry>& entries) {
  std::string file;
  std::string directory;
  for (const entry& e : entries) {
    const std::string stored = e.compressed ? deflated(e.content) : e.content;
    const auto sum = static_cast<std::uint32_t>(crc32(
        0, reinterpret_cast<const Bytef*>(e.content.data()), static_cast<uInt>(e.content.size())));
    const auto size = static_cast<std::uint32_t>(e.content.size());
    std::string common;
    put(common, 20, 2);  // version
    put(common, 0, 2);   // flags
    put(common, e.compressed ? 8 : 0, 2);
    put(common, 0x21, 4);  // time and date
    put(common, sum, 4);
    put(common, static_cast<std::uint32_t>(stored.size()), 4);
    put(common, e.declared > 0 ? e.declared : size, 4);
    put(common, static_cast<std::uint32_t>(e.name.size()), 2);
    put(common, 0, 2);
    std::string central = "PK\x01\x02";
    put(central, 20, 2);
    central += common;
    put(central, 0, 2);
    put(central, 0, 2);
    put(central, 0, 2);
    put(central, 0, 4);
    put(central, static_cast<std::uint32_t>(file.size()), 4);
    directory += central + e.name;
    file += "PK\x03\x04" + common + e.name + stored;
  }
  std::string end = "PK\x05\x06";
  put(end, 0, 4);
  put(end, static_cast<std::uint32_t>(entries.size()), 2);
  put(end, static_cast<std::uint32_t>(entries.size()), 2);
  put(end, static_cast<std::uint32_t>(directory.size()), 4);
  put(end, static_cast<std::uint32_t>(file.size()), 4);
  put(end, 0, 2);
  file += directory + end;
  return {file.begin(), file.end()};
}

struct npz_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "arrays.npz";

  [[nodiscard]] glia::tensor_map read(const std::vector<std::uint8_t>& bytes,
                                      const glia::npz_options& options = {}) const {
    folder.write("arrays.npz", bytes);
    return glia::read_npz(path, options);
  }
  [[nodiscard]] std::string error_of(const std::vector<std::uint8_t>& bytes,
                                     const glia::npz_options& options = {}) const {
    return message_of<glia::data_error>([&] { static_cast<void>(read(bytes, options)); });
  }
};

}  // namespace

TEST_CASE("the arrays of an npz file, stored and compressed, are read by their names") {
  const npz_scratch file;
  const std::vector<float> many(1000, 2.5F);
  const auto arrays = file.read(
      zipped({{"weights.npy", npy_file({1, -2, 3})}, {"layer/bias.npy", npy_file(many), true}}));
  REQUIRE(arrays.size() == 2);
  CHECK(test::distance(arrays.at("weights"), std::vector<float>{1, -2, 3}) == 0);
  CHECK(test::distance(arrays.at("layer/bias"), many) == 0);
  CHECK(file.read(zipped({})).empty());
}

TEST_CASE("what is wrong with an npz file is said with its path and the array's name") {
  const npz_scratch file;
  CHECK(contains(message_of<glia::data_error>([] { (void)glia::read_npz("/nowhere/x.npz"); }),
                 "/nowhere/x.npz: cannot be opened for reading"));
  const std::string zip = file.path.string() + ": expected a file of numpy.savez";
  CHECK(contains(file.error_of({}), zip));
  CHECK(contains(file.error_of({'h', 'e', 'l', 'l', 'o'}), zip));
  auto whole = zipped({{"a.npy", npy_file({1, 2, 3, 4})}});
  CHECK(contains(file.error_of({whole.begin(), whole.end() - 30}), zip));
  const std::string where = file.path.string() + ": a.npy: ";
  whole[160] ^= 1;  // an element: the sum over all bytes tells
  CHECK(contains(file.error_of(whole), where + "cannot be unpacked"));
  CHECK(contains(file.error_of(zipped({{"a.npy", "no array"}})), where + "expected a file of"));
  CHECK(contains(file.error_of(zipped({{"a.txt", "text"}})), "a.txt: expected arrays only"));
  CHECK(contains(file.error_of(zipped({{"a.npy", npy_file({1}), true, 4000}})), where));
  CHECK(contains(file.error_of(zipped({{"a.npy", npy_file(std::vector<float>(100, 1)), true}}),
                               {.max_bytes = 500}),
                 where + "declares 528 bytes, more than the 500 that are allowed"));
}

TEST_CASE("the arrays of an npz file may be read as doubles") {
  const npz_scratch file;
  file.folder.write("arrays.npz", zipped({{"a.npy", npy_file({1.5F, 2})}}));
  const std::map<std::string, xt::xarray<double>> arrays = glia::read_npz<double>(file.path);
  CHECK((arrays.at("a") == xt::xarray<double>{1.5, 2}));
}

TEST_CASE("the limit of an npz file holds for all its arrays together") {
  const npz_scratch file;
  const std::string array = npy_file(std::vector<float>(93, 1));  // 500 bytes
  const auto bytes = zipped({{"a.npy", array, true}, {"b.npy", array, true}, {"c.npy", array}});
  CHECK(file.error_of(bytes, {.max_bytes = 1500}).empty());
  CHECK(file.error_of(bytes, {.max_bytes = 1499}) ==
        file.path.string() +
            ": c.npy: declares 500 bytes, with the arrays before it more than the 1499 that are "
            "allowed; raise max_bytes if the file is to be trusted");
  // Before anything is unpacked: the first array is none.
  CHECK(
      contains(file.error_of(zipped({{"a.npy", "no array"}, {"b.npy", array}}), {.max_bytes = 499}),
               "b.npy: declares"));
}

TEST_CASE("an npz file with two arrays of one name is refused, and a folder is called one") {
  const npz_scratch file;
  CHECK(file.error_of(zipped({{"a.npy", npy_file({1})}, {"a.npy", npy_file({2})}})) ==
        file.path.string() + ": a.npy: there are two arrays of this name; the file is damaged");
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_npz(file.folder.path()); }) ==
        file.folder.path().string() + ": is a folder; expected a file");
}

TEST_CASE("an array that declares more than it has is found out before memory is taken") {
  const npz_scratch file;
  CHECK(contains(file.error_of(zipped({{"a.npy", npy_file({1}), true, 0xFFFFFFF0}})),
                 "a.npy: cannot be unpacked; the file is damaged"));
}

TEST_CASE("the arrays beside a network in ONNX are read") {
  const std::filesystem::path path = GLIA_SHARED_DATA "/mnist_onnx/test_data_0.npz";
  if (!std::filesystem::exists(path)) {
    GLIA_SKIP("no " + path.string());
  }
  const auto arrays = glia::read_npz(path);
  CHECK(arrays.at("inputs").size() == 784);
  CHECK(arrays.at("outputs").size() == 10);
}
