#include <glia/io/npz.hpp>
#include <map>

#include "catch.hpp"
#include "helpers.hpp"
#include "io/array_files.hpp"

using test::contains;
using test::message_of;
using test::npy_file;
using test::zipped;

namespace {

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
                 "/nowhere/x.npz: the file cannot be opened for reading"));
  const std::string zip = file.path.string() + ": expected a file written by numpy.savez";
  CHECK(contains(file.error_of({}), zip));
  CHECK(contains(file.error_of({'h', 'e', 'l', 'l', 'o'}), zip));
  auto whole = zipped({{"a.npy", npy_file({1, 2, 3, 4})}});
  CHECK(contains(file.error_of({whole.begin(), whole.end() - 30}), zip));
  const std::string prefix = file.path.string() + ": a.npy: ";
  whole[160] ^= 1;  // an element: the sum over all bytes tells
  CHECK(contains(file.error_of(whole), prefix + "the array cannot be unpacked"));
  CHECK(contains(file.error_of(zipped({{"a.npy", "no array"}})),
                 prefix + "expected a file written by"));
  CHECK(contains(file.error_of(zipped({{"a.txt", "text"}})), "a.txt: expected only arrays"));
  CHECK(contains(file.error_of(zipped({{"a.npy", npy_file({1}), true, 4000}})), prefix));
  CHECK(contains(file.error_of(zipped({{"a.npy", npy_file(std::vector<float>(100, 1)), true}}),
                               {.max_bytes = 500}),
                 prefix + "the array declares 528 bytes, more than the 500 that are allowed"));
}

TEST_CASE("the arrays of an npz file may be read as doubles") {
  const npz_scratch file;
  file.folder.write("arrays.npz", zipped({{"a.npy", npy_file({1.5F, 2})}}));
  const std::map<std::string, xt::xarray<double>> arrays = glia::read_npz<double>(file.path);
  CHECK((arrays.at("a") == xt::xarray<double>{1.5, 2}));
}

TEST_CASE("arrays of an npz file that a float cannot hold are an error where asked for") {
  const npz_scratch file;
  const auto array = [](const char* elements, std::int64_t value) {
    const auto head = npy_file(test::npy_header(elements, "(1,)"), 0);
    return std::string(head.begin(), head.end())
        .append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto bytes = zipped({{"a.npy", npy_file({1, 2})},
                             {"id.npy", array("<i8", 16777217)},
                             {"name.npy", array("<U2", 0)}});
  const glia::tensor_map arrays = file.read(bytes);
  CHECK(test::distance(arrays.at("a"), std::vector<float>{1, 2}) == 0);
  const auto refusal = [&](const char* name) {
    return message_of<glia::data_error>([&] { (void)arrays.at(name); });
  };
  CHECK(
      contains(refusal("id"), file.path.string() + ": id.npy: element 0, 16777217 (<i8), cannot"));
  CHECK(contains(refusal("name"),
                 file.path.string() + ": name.npy: expected elements of a floating-point type"));
  CHECK(glia::read_npz<std::int64_t>(file.path).at("id")(0) == 16777217);
}

TEST_CASE("the limit of an npz file holds for all its arrays together") {
  const npz_scratch file;
  const std::string array = npy_file(std::vector<float>(93, 1));  // 500 bytes
  const auto bytes = zipped({{"a.npy", array, true}, {"b.npy", array, true}, {"c.npy", array}});
  CHECK(file.error_of(bytes, {.max_bytes = 1500}).empty());
  CHECK(file.error_of(bytes, {.max_bytes = 1499}) ==
        file.path.string() +
            ": c.npy: the array declares 500 bytes, with the arrays before it more than the 1499 "
            "that are "
            "allowed; if you trust the file, raise npz_options::max_bytes");
  // Before anything is unpacked: the first array is none.
  CHECK(
      contains(file.error_of(zipped({{"a.npy", "no array"}, {"b.npy", array}}), {.max_bytes = 499}),
               "b.npy: the array declares"));
}

TEST_CASE("an npz file with two arrays of one name is refused, and a folder is called one") {
  const npz_scratch file;
  CHECK(file.error_of(zipped({{"a.npy", npy_file({1})}, {"a.npy", npy_file({2})}})) ==
        file.path.string() + ": a.npy: two arrays have this name; the file is damaged");
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_npz(file.folder.path()); }) ==
        file.folder.path().string() + ": is a folder; expected a file");
}

TEST_CASE("an array that declares more than it has is found out before memory is taken") {
  const npz_scratch file;
  CHECK(contains(file.error_of(zipped({{"a.npy", npy_file({1}), true, 0xFFFFFFF0}})),
                 "a.npy: the array cannot be unpacked; the file is damaged"));
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
