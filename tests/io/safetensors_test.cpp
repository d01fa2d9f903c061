#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <glia/io/safetensors.hpp>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"
#include "io/array_files.hpp"

using test::contains;
using test::message_of;
using test::safetensors_file;

namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Of one tensor.
std::string header_of_w(const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

struct safetensors_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "file.safetensors";

  [[nodiscard]] glia::tensor_map read(const std::vector<std::uint8_t>& bytes) const {
    folder.write("file.safetensors", bytes);
    return glia::read_safetensors(path);
  }
  /// The elements of the tensor w, row-major.
  template <class T>
  [[nodiscard]] std::vector<float> elements(const std::string& dtype,
                                            const std::vector<T>& stored) const {
    const auto data = bytes_of(stored);
    const auto w =
        read(safetensors_file(header_of_w(dtype, "[" + std::to_string(stored.size()) + "]",
                                          "[0," + std::to_string(data.size()) + "]"),
                              data))
            .at("w");
    return {w.begin(), w.end()};
  }
  /// The message without the path, which it must begin with.
  [[nodiscard]] std::string error_of(const std::vector<std::uint8_t>& bytes) const {
    const std::string message =
        message_of<glia::data_error>([&] { static_cast<void>(read(bytes)); });
    return message.starts_with(path.string() + ": ") ? message.substr(path.string().size() + 2)
                                                     : "(no path) " + message;
  }
  [[nodiscard]] std::string error_of(const std::string& header, std::size_t data) const {
    return error_of(safetensors_file(header, std::vector<std::uint8_t>(data)));
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

constexpr float inf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("tensors written to a safetensors file come back bit by bit") {
  const safetensors_scratch file;
  const glia::tensor_map tensors{{"a scalar", xt::xarray<float>(2.5F)},
                                 {"empty", xt::zeros<float>({3, 0, 2})},
                                 {"kernel \"quoted\"", {{1, -0.0F, 1e-45F}, {inf, -inf, 3}}},
                                 {"vector", {0.1F, 0.2F}}};
  glia::write_safetensors(file.path, tensors);
  const glia::tensor_map read = glia::read_safetensors(file.path);
  REQUIRE(read.size() == 4);
  for (const auto& [name, values] : tensors) {
    INFO(name);
    const auto& actual = read.at(name);
    CHECK(actual.shape() == values.shape());
    CHECK(same_bits({actual.begin(), actual.end()}, {values.begin(), values.end()}));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(file.folder.path()), {}) == 1);

  // Another reader expects the elements at multiples of 8 bytes, the format's own to be in order.
  std::ifstream stream(file.path, std::ios::binary);
  std::uint64_t header = 0;
  stream.read(reinterpret_cast<char*>(&header), sizeof(header));
  CHECK(header % 8 == 0);
  CHECK(std::filesystem::file_size(file.path) == 8 + header + (1 + 0 + 6 + 2) * sizeof(float));

  stream.close();  // Windows replaces no file that somebody has open
  glia::write_safetensors(file.path, {});
  CHECK(glia::read_safetensors(file.path).empty());
}

TEST_CASE("safetensors that are not contiguous in memory are written row by row") {
  const safetensors_scratch file;
  const xt::xarray<float> matrix{{1, 2, 3}, {4, 5, 6}};
  glia::write_safetensors(file.path, {{"t", xt::transpose(matrix)}});
  CHECK((glia::read_safetensors(file.path).at("t") == xt::transpose(matrix)));
}

TEST_CASE("elements of other types are read as floats") {
  const safetensors_scratch file;
  CHECK(file.elements<double>("F64", {0.1, -HUGE_VAL, 1e-60, 3, 16777217}) ==
        std::vector<float>{0.1F, -inf, 0, 3, 16777216});
  CHECK(file.elements<std::int64_t>("I64", {0, -1, 1LL << 40, 16777216}) ==
        std::vector<float>{0, -1, 0x1p40F, 16777216});
  CHECK(file.elements<std::uint64_t>("U64", {1ULL << 63, 7}) == std::vector<float>{0x1p63F, 7});
  CHECK(file.elements<std::int32_t>("I32", {-5, 1 << 30}) == std::vector<float>{-5, 0x1p30F});
  CHECK(file.elements<std::uint32_t>("U32", {5, 1U << 31}) == std::vector<float>{5, 0x1p31F});
  CHECK(file.elements<std::int16_t>("I16", {-32768, 2}) == std::vector<float>{-32768, 2});
  CHECK(file.elements<std::uint16_t>("U16", {65535, 2}) == std::vector<float>{65535, 2});
  CHECK(file.elements<std::int8_t>("I8", {-128, 2}) == std::vector<float>{-128, 2});
  CHECK(file.elements<std::uint8_t>("U8", {255, 2}) == std::vector<float>{255, 2});
  CHECK(file.elements<std::uint8_t>("BOOL", {0, 1, 2}) == std::vector<float>{0, 1, 1});
  CHECK(same_bits(file.elements<float>("F32", {-0.0F, 1e-45F, 7}), {-0.0F, 1e-45F, 7}));
  // Half: signed zeros, the smallest and the largest subnormal, the smallest normal, one and the
  // next number, a third, the largest, infinities.
  CHECK(
      same_bits(file.elements<std::uint16_t>("F16", {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00,
                                                     0xBC01, 0x3555, 0x7BFF, 0x7C00, 0xFC00}),
                {0, -0.0F, 0x1p-24F, -0x1.FF8p-15F, 0x1p-14F, 1, -0x1.004p0F, 0x1.554p-2F, 65504,
                 inf, -inf}));
  // Upper halves of floats.
  CHECK(same_bits(file.elements<std::uint16_t>(
                      "BF16", {0x0000, 0x8000, 0x0001, 0x3F80, 0xC049, 0x7F80, 0xFF80}),
                  {0, -0.0F, 0x1p-133F, 1, -3.140625F, inf, -inf}));
  for (const char* dtype : {"F16", "BF16"}) {
    const auto nans = file.elements<std::uint16_t>(dtype, {0x7FC0, 0xFFFF});
    CHECK(std::isnan(nans.at(0)));
    CHECK(std::isnan(nans.at(1)));
    CHECK(std::signbit(nans.at(1)));
  }
}

TEST_CASE("every 8-bit float is the float of its value") {
  const safetensors_scratch file;
  std::vector<std::uint8_t> bits(256);
  std::iota(bits.begin(), bits.end(), std::uint8_t{0});
  const auto check = [&](const char* dtype, int fraction_bits, int bias, bool infinities) {
    INFO(dtype);
    const auto floats = file.elements(dtype, bits);
    const int last = (1 << (7 - fraction_bits)) - 1;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const int exponent = static_cast<int>(i & 0x7F) >> fraction_bits;
      const int fraction = static_cast<int>(i) & ((1 << fraction_bits) - 1);
      const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                        : std::ldexp((1 << fraction_bits) + fraction,
                                                     exponent - bias - fraction_bits);
      INFO(i);
      if (infinities ? exponent == last && fraction > 0 : (i & 0x7F) == 0x7F) {
        CHECK(std::isnan(floats[i]));
      } else {
        CHECK(static_cast<double>(std::abs(floats[i])) ==
              (infinities && exponent == last ? HUGE_VAL : size));
        CHECK(std::signbit(floats[i]) == (i >= 128));
      }
    }
  };
  check("F8_E4M3", 3, 7, false);
  check("F8_E5M2", 2, 15, true);
}

TEST_CASE("numbers of a safetensors file that a float cannot hold are an error where asked for") {
  const safetensors_scratch file;
  const auto refusal = [&](const char* dtype, auto number) {
    const std::string message = message_of<glia::data_error>([&] {
      (void)file.elements(dtype, std::vector<decltype(number)>{0, number});
    });
    return message.substr(std::min(message.size(), file.path.string().size() + 2));
  };
  CHECK(refusal("I64", std::int64_t{16777217}) ==
        "tensor 'w': element 1, 16777217 (I64), cannot be stored as a floating-point number of 32 "
        "bits; glia reads tensors as floats; leave the tensor out or convert it before saving");
  CHECK(contains(refusal("F64", 1e300), "tensor 'w': element 1, 1e+300 (F64), cannot be stored"));
  CHECK(contains(refusal("I32", std::int32_t{-16777217}), "-16777217 (I32)"));
  CHECK(contains(refusal("U32", std::uint32_t{16777217}), "16777217 (U32)"));
  CHECK(contains(refusal("U64", ~std::uint64_t{0}), "18446744073709551615 (U64)"));
  CHECK(refusal("F64", 3.4028235677e38).empty());

  // Those who want other tensors of the file get them.
  std::vector<std::uint8_t> data = bytes_of<float>({1, 2});
  const auto large = bytes_of<std::int64_t>({16777217});
  data.insert(data.end(), large.begin(), large.end());
  data.insert(data.end(), 3, 0);
  const std::string header = R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("step":{"dtype":"I64","shape":[],"data_offsets":[8,16]},)"
                             R"("packed":{"dtype":"F4","shape":[6],"data_offsets":[16,19]}})";
  glia::tensor_map tensors = file.read(safetensors_file(header, data));
  CHECK(tensors.size() == 1);
  CHECK((tensors.at("b") == xt::xarray<float>{1, 2}));
  CHECK(tensors.is_in_file("step"));
  CHECK(tensors.is_in_file("packed"));
  CHECK(tensors.is_in_file("b"));
  CHECK_FALSE(tensors.is_in_file("other"));
  CHECK_FALSE(tensors.contains("step"));
  CHECK(tensors.find("step") == tensors.end());
  CHECK(contains(message_of<glia::data_error>([&] { (void)tensors.at("step"); }), "16777217"));
  const std::string of_packed =
      file.path.string() +
      ": tensor 'packed': expected one of the dtypes F64, F32, F16, BF16, F8_E5M2, F8_E4M3, BOOL, "
      "I8 to I64 and U8 to U64, got F4; convert the tensor before saving";
  CHECK(message_of<glia::data_error>([&] { (void)tensors.at("packed"); }) == of_packed);
  CHECK(tensors.unreadable().at("packed") == of_packed);
  CHECK_THROWS_AS(glia::read_safetensors_content(file.path), glia::data_error);
  CHECK(contains(file.error_of(header, 18), "tensor 'packed'"));
}

TEST_CASE("every half is the float of its value") {
  const safetensors_scratch file;
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    halves.push_back(static_cast<std::uint16_t>(bits));
  }
  const auto floats = file.elements("F16", halves);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10);
    const int fraction = static_cast<int>(i & 0x3FF);
    const double value =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    REQUIRE(static_cast<double>(floats[i]) == value);
  }
}

TEST_CASE("metadata is no tensor, and tensors may lie in any order") {
  const safetensors_scratch file;
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                             R"("a":{"dtype":"F64","shape":[],"data_offsets":[8,16]},)"
                             R"("none":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}}   )";
  auto data = bytes_of<float>({1, 2});
  const auto last = bytes_of<double>({5});
  data.insert(data.end(), last.begin(), last.end());
  const auto read = file.read(safetensors_file(header, data));
  REQUIRE(read.size() == 3);
  CHECK(read.at("none").size() == 0);
  CHECK((read.at("b") == xt::xarray<float>{{1, 2}}));
  CHECK(read.at("a").dimension() == 0);
  CHECK(read.at("a")() == 5);
}

TEST_CASE("files that are no safetensors are refused") {
  const safetensors_scratch file;
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_safetensors(file.path); }) ==
        file.path.string() + ": the file cannot be opened for reading");
  const std::string no_length =
      "expected a safetensors file, which begins with the length of its header, at most 100000000 "
      "bytes; the file is in another format or truncated";
  const std::string no_object = "expected a safetensors file, but its header is not a JSON object";
  CHECK(file.error_of(std::vector<std::uint8_t>{}) == no_length);
  CHECK(file.error_of({2, 0, 0, 0, 0, 0, 0}) == no_length);
  CHECK(file.error_of({'T', 'h', 'i', 's', ' ', 'i', 's', ' ', 't', 'e', 'x', 't'}) == no_length);
  // A header of 3 bytes of which 2 are there, then one of as many as the limit forbids.
  CHECK(file.error_of({3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}) == no_length);
  CHECK(file.error_of({1, 0xE1, 0xF5, 5, 0, 0, 0, 0, '{', '}'}) == no_length);
  CHECK(file.error_of({0xF9, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, '{', '}'}) == no_length);
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_safetensors(file.folder.path()); }) ==
        file.folder.path().string() + ": is a folder; expected a file");
  for (const char* header : {"", "{", "[]", "7", "{\"w\":}", "{} {}", "\xFF\xFE"}) {
    INFO(header);
    CHECK(file.error_of(header, 0) == no_object);
  }
}

TEST_CASE("damaged entries of a safetensors header name the tensor") {
  const safetensors_scratch file;
  CHECK(file.error_of(header_of_w("F32", "[2]", "[8,0]"), 8) ==
        "tensor 'w': expected two data_offsets in ascending order");
  CHECK(file.error_of(header_of_w("F32", "[2]", "[0,4,8]"), 8) ==
        "tensor 'w': expected two data_offsets in ascending order");
  CHECK(file.error_of(header_of_w("F32", "[2]", "[]"), 8) ==
        "tensor 'w': expected two data_offsets in ascending order");
  const std::string expected = "tensor 'w': expected dtype, shape and data_offsets (";
  for (const char* header :
       {R"({"w":{"shape":[2],"data_offsets":[0,8]}})", R"({"w":{"dtype":"F32","shape":[2]}})",
        R"({"w":{"dtype":"F32","data_offsets":[0,8]}})",
        R"({"w":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":{"0":8}}})", R"({"w":[]})",
        R"({"w":null})"}) {
    INFO(header);
    CHECK(file.error_of(header, 8).starts_with(expected));
  }
}

TEST_CASE("what the safetensors format forbids is refused") {
  const safetensors_scratch file;
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)") + first +
           R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":)" + second + "}}";
  };
  CHECK(file.error_of(two("[0,8]", "[8,16]"), 16) == "(no path) ");
  CHECK(file.error_of(two("[8,16]", "[0,8]"), 16) == "(no path) ");
  CHECK(file.error_of(two("[0,8]", "[4,12]"), 12) ==
        "tensor 'b': expected it to begin at byte 8 of the data, where the tensor before it ends, "
        "got byte 4; the tensors overlap, so the file is damaged");
  CHECK(contains(file.error_of(two("[0,8]", "[0,8]"), 8), "tensors overlap"));
  CHECK(file.error_of(two("[0,8]", "[12,20]"), 20) ==
        "tensor 'b': expected it to begin at byte 8 of the data, where the tensor before it ends, "
        "got byte 12; the bytes between them belong to no tensor, so the file is damaged");
  CHECK(contains(file.error_of(two("[4,12]", "[12,20]"), 20),
                 "tensor 'a': expected it to begin at byte 0"));
  CHECK(file.error_of(two("[0,8]", "[8,16]"), 17) ==
        "the tensors end at byte 16 of the 17 bytes after the header; the file is damaged");
  CHECK(contains(file.error_of("{}", 4), "the tensors end at byte 0 of the 4 bytes"));
}

TEST_CASE("a name that a safetensors header has twice is refused") {
  const safetensors_scratch file;
  const std::string of_a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string repeated = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  CHECK(file.error_of("{" + of_a + "," + repeated + "}", 8) ==
        "the header has the name 'a' twice; the file is damaged");
  CHECK(contains(file.error_of(R"({"a":{"dtype":"F32","shape":[2],"shape":[1],)"
                               R"("data_offsets":[0,4]}})",
                               4),
                 "the name 'shape' twice"));
  CHECK(contains(file.error_of(R"({"":1,"":2})", 0), "the name '' twice"));
  // The same in different objects, and deeper than tensors go, is none of this.
  CHECK(file.error_of(R"({"dtype":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                      R"("shape":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                      R"("__metadata__":{"dtype":"x","a":{"b":1,"b":2}}})",
                      8) == "(no path) ");
}

TEST_CASE("shapes and offsets that are no whole numbers are refused") {
  const safetensors_scratch file;
  for (const char* shape : {"[1.9]", "[1.0]", "[true]", "[-1]", "[null]", "[18446744073709551616]",
                            "[[1]]", "1", "{\"0\":1}"}) {
    INFO(shape);
    CHECK(file.error_of(header_of_w("F32", shape, "[0,4]"), 4) ==
          "tensor 'w': expected dtype, shape and data_offsets (shape must be a list of "
          "non-negative integers)");
  }
  for (const char* offsets : {"[0,4.5]", "[false,4]", "[-4,0]", "[\"0\",4]"}) {
    INFO(offsets);
    CHECK(contains(file.error_of(header_of_w("F32", "[1]", offsets), 4),
                   "(data_offsets must be a list"));
  }
}

TEST_CASE("offsets of safetensors that do not fit the shape or the file are found out") {
  const safetensors_scratch file;
  CHECK(file.error_of(header_of_w("F32", "[2]", "[0,8]"), 8).starts_with("(no path)"));
  const auto refused = [&](const char* dtype, const char* shape, const char* offsets,
                           std::size_t bytes) {
    return contains(file.error_of(header_of_w(dtype, shape, offsets), 8),
                    "tensor 'w': the shape and dtype do not match the " + std::to_string(bytes) +
                        " bytes of the data_offsets, or these are outside the file; the file is "
                        "damaged or truncated");
  };
  CHECK(refused("F32", "[3]", "[0,12]", 12));  // 4 bytes more than there are
  CHECK(refused("F32", "[2]", "[4,12]", 8));
  CHECK(refused("F32", "[1]", "[1000,1004]", 4));
  CHECK(refused("F32", "[0]", "[12,12]", 0));  // empty, but behind the end
  CHECK(refused("F32", "[2]", "[0,4]", 4));
  CHECK(refused("F32", "[1]", "[0,8]", 8));
  CHECK(refused("F64", "[2]", "[0,8]", 8));
  CHECK(refused("F16", "[2,2]", "[0,7]", 7));
  CHECK(refused("F16", "[3]", "[0,8]", 8));
  CHECK(refused("F16", "[2,1]", "[0,8]", 8));
  CHECK(refused("F32", "[]", "[0,0]", 0));
  CHECK(refused("F32", "[]", "[0,8]", 8));
  CHECK(refused("F32", "[0]", "[0,4]", 4));
  // Extents whose product is 2^64 and more: 0 and 2 as a 64-bit number.
  CHECK(refused("F32", "[4294967296,4294967296]", "[0,0]", 0));
  CHECK(refused("F32", "[9223372036854775809,2]", "[0,8]", 8));
  CHECK(refused("F32", "[1152921504606846976]", "[0,4611686018427387904]", 1ULL << 62));
  // In memory all of it would fit; in the file it is not there.
  CHECK(refused("F32", "[250000]", "[0,1000000]", 1000000));
}

TEST_CASE("a safetensors file cut short anywhere is refused") {
  const safetensors_scratch file;
  const auto whole =
      safetensors_file(header_of_w("F32", "[4]", "[0,16]"), bytes_of<float>({1, 2, 3, 4}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " of " << whole.size() << " bytes");
    const std::string error =
        file.error_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    REQUIRE(contains(error, "truncated"));
    REQUIRE_FALSE(contains(error, "(no path)"));
  }
}

TEST_CASE("a safetensors file is written whole or not at all") {
  const safetensors_scratch file;
  const auto nowhere = file.folder.path() / "missing" / "file.safetensors";
  CHECK(contains(message_of<glia::data_error>([&] { glia::write_safetensors(nowhere, {}); }),
                 nowhere.string() + ": cannot be written"));
  glia::write_safetensors(file.path, {{"w", {1, 2}}});
  const auto refused = [&](const char* name) {
    return message_of<glia::data_error>([&] {
      glia::write_safetensors(file.path, {{name, {3, 4}}});
    });
  };
  // The format keeps one name for itself, and all names are Unicode.
  CHECK(
      refused("__metadata__") ==
      file.path.string() +
          ": a tensor cannot have the name '__metadata__', which the safetensors format reserves");
  CHECK(contains(refused("\xFF"),
                 file.path.string() + ": expected names and metadata in UTF-8, got other bytes ("));
  CHECK((glia::read_safetensors(file.path).at("w") == xt::xarray<float>{1, 2}));
}
