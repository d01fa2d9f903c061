#include <fstream>
#include <glia/io/npy.hpp>
#include <glia/io/write_npy.hpp>
#include <iterator>
#include <limits>
#include <locale>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"
#include "io/array_files.hpp"
#include "io/xnpy.hpp"

using test::contains;
using test::message_of;
using test::npy_file;
using test::npy_header;

namespace {

template <class T>
std::vector<std::uint8_t> with_elements(std::vector<std::uint8_t> file,
                                        const std::vector<T>& values) {
  std::memcpy(file.data() + file.size() - values.size() * sizeof(T), values.data(),
              values.size() * sizeof(T));
  return file;
}

struct npy_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "array.npy";

  template <class T = float>
  [[nodiscard]] xt::xarray<T> read(const std::vector<std::uint8_t>& bytes) const {
    folder.write("array.npy", bytes);
    return glia::read_npy<T>(path);
  }
  /// A vector of elements that NumPy calls `descr`, read as T.
  template <class T, class Stored>
  [[nodiscard]] std::vector<T> elements(const std::string& descr,
                                        const std::vector<Stored>& values) const {
    return elements<T>(descr, values, values.size());
  }
  template <class T, class Stored>
  [[nodiscard]] std::vector<T> elements(const std::string& descr, const std::vector<Stored>& bytes,
                                        std::size_t count) const {
    const auto read_back =
        read<T>(with_elements(npy_file(npy_header(descr, "(" + std::to_string(count) + ",)"),
                                       bytes.size() * sizeof(Stored)),
                              bytes));
    return {read_back.begin(), read_back.end()};
  }
  /// What is said of one element that T cannot be.
  template <class T, class Stored>
  [[nodiscard]] std::string refusal(const std::string& descr, Stored value) const {
    const std::string message = message_of<glia::data_error>([&] {
      (void)elements<T>(descr, std::vector<Stored>{0, value});
    });
    return message.empty() ? "" : message.substr(path.string().size() + 2);
  }
  /// The message without the path, which it must begin with.
  [[nodiscard]] std::string error_of(const std::vector<std::uint8_t>& bytes) const {
    const std::string message =
        message_of<glia::data_error>([&] { static_cast<void>(read(bytes)); });
    return message.starts_with(path.string() + ": ") ? message.substr(path.string().size() + 2)
                                                     : "(no path) " + message;
  }
};

}  // namespace

TEST_CASE("NumPy arrays of floats and doubles are read as floats") {
  const npy_scratch file;
  const xt::xarray<float> expected{{1, -2.5F, 3}, {0.1F, 5, 1e-40F}};
  const std::vector<float> floats(expected.begin(), expected.end());
  CHECK((file.read(with_elements(npy_file(npy_header("<f4", "(2, 3)"), 24), floats)) == expected));
  // Old NumPy pads to 16 bytes instead of 64.
  CHECK((file.read(with_elements(npy_file(npy_header("<f4", "(2, 3)"), 24, 70), floats)) ==
         expected));
  const std::vector<double> doubles{
      0.1, -std::numeric_limits<double>::infinity(), 1e-300, 3.4028235677e38, -1e-46, 16777217};
  CHECK(file.elements<float>("<f8", doubles) ==
        std::vector<float>{0.1F, -INFINITY, 0, 3.4028235e38F, 0, 16777216});
}

TEST_CASE("every number of half precision is read as it is") {
  const npy_scratch file;
  std::vector<std::uint16_t> bits(0x10000);
  std::iota(bits.begin(), bits.end(), std::uint16_t{0});
  const std::vector<float> read = file.elements<float>("<f2", bits);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10U) & 0x1F;
    const auto fraction = static_cast<float>(i & 0x3FFU) / 1024;
    const float size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                       : exponent == 0 ? std::ldexp(fraction, -14)
                                       : std::ldexp(1 + fraction, exponent - 15);
    const bool negative = i >= 0x8000;
    const bool same = std::isnan(size) ? std::isnan(read[i])
                                       : read[i] == (negative ? -size : size) &&
                                             std::signbit(read[i]) == negative;
    wrong += same ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(file.elements<int>("<f2", std::vector<std::uint16_t>{0x4900, 0xBC00}) ==
        std::vector<int>{10, -1});
  CHECK(file.refusal<int>("<f2", std::uint16_t{0x3E00}) ==
        "element 1, 1.5 (<f2), cannot be stored as an integer of 32 bits; read the array as "
        "another type, for "
        "instance with read_npy<double>");
}

TEST_CASE("NumPy arrays in Fortran's order keep their indices") {
  const npy_scratch file;
  const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  const auto read =
      file.read(with_elements(npy_file(header, 24), std::vector<float>{1, 2, 3, 4, 5, 6}));
  CHECK((read == xt::xarray<float>{{1, 3, 5}, {2, 4, 6}}));
  CHECK(std::vector<float>(read.data(), read.data() + 6) == std::vector<float>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("NumPy arrays may be scalars or empty") {
  const npy_scratch file;
  const auto scalar =
      file.read(with_elements(npy_file(npy_header("<f4", "()"), 4), std::vector<float>{7}));
  CHECK(scalar.dimension() == 0);
  CHECK(scalar() == 7);
  const auto empty = file.read(npy_file(npy_header("<f8", "(3, 0, 2)"), 0));
  CHECK(glia::shape(empty.shape().begin(), empty.shape().end()) == glia::shape{3, 0, 2});
}

TEST_CASE("doubles of NumPy are read as doubles where these are asked for") {
  const npy_scratch file;
  const std::vector<double> doubles{0.1, 1e300, -1e-300, 16777217};
  CHECK(file.elements<double>("<f8", doubles) == doubles);
  CHECK(file.elements<double>("<f4", std::vector<float>{0.1F, 3}) ==
        std::vector<double>{static_cast<double>(0.1F), 3});
  const std::string header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1, 3), }";
  const auto read = file.read<double>(
      with_elements(npy_file(header, 48), std::vector<double>{1, 2, 3, 4, 5, 6.5}));
  CHECK((read == xt::xarray<double>{{{1, 3, 5}}, {{2, 4, 6.5}}}));
}

TEST_CASE("integers and truth values of NumPy are read exactly, as any type") {
  const npy_scratch file;
  const auto expect = [&](const std::string& descr, auto minimum, auto maximum) {
    INFO(descr);
    using stored = decltype(minimum);
    const std::vector<stored> values{minimum, 0, 1, 100, maximum};
    CHECK(file.elements<stored>(descr, values) == values);
    CHECK(file.elements<float>(descr, std::vector<stored>{0, 1, 100}) ==
          std::vector<float>{0, 1, 100});
    CHECK(file.elements<double>(descr, std::vector<stored>{minimum, 7}) ==
          std::vector<double>{static_cast<double>(minimum), 7});
  };
  const auto limits = [&]<class T>(const std::string& descr, T) {
    expect(descr, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  };
  limits("|i1", std::int8_t{});
  limits("|u1", std::uint8_t{});
  limits("<i2", std::int16_t{});
  limits("<u2", std::uint16_t{});
  limits("<i4", std::int32_t{});
  limits("<u4", std::uint32_t{});
  limits("<i8", std::int64_t{});
  limits("<u8", std::uint64_t{});
  CHECK(file.elements<float>("|b1", std::vector<std::uint8_t>{0, 1, 255}) ==
        std::vector<float>{0, 1, 1});
  // Many, so that they come in several pieces.
  std::vector<std::int32_t> many(20'001);
  std::vector<float> floats(many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<std::int32_t>(i * 3) - 9;
    floats[i] = static_cast<float>(many[i]);
  }
  CHECK((file.elements<float>("<i4", many) == floats));
}

TEST_CASE("elements of NumPy that a type cannot represent are an error") {
  const npy_scratch file;
  CHECK(file.refusal<float>("<i8", std::int64_t{16777217}) ==
        "element 1, 16777217 (<i8), cannot be stored as a floating-point number of 32 bits; read "
        "the array as another type, for instance with read_npy<std::int64_t>");
  CHECK(file.refusal<float>("<i8", std::int64_t{16777216}).empty());
  CHECK(file.refusal<float>("<f8", 1e300) ==
        "element 1, 1e+300 (<f8), cannot be stored as a floating-point number of 32 bits; read "
        "the array as another type, for instance with read_npy<double>");
  CHECK_FALSE(file.refusal<float>("<f8", -3.4028235678e38).empty());
  CHECK(file.refusal<double>("<f8", 1e300).empty());
  CHECK(contains(file.refusal<float>(">i8", std::int64_t{0x0100000100000000}), "16777217 (>i8)"));
  CHECK(file.refusal<std::int32_t>("<f8", 1.5) ==
        "element 1, 1.5 (<f8), cannot be stored as an integer of 32 bits; read the array as "
        "another type, for "
        "instance with read_npy<double>");
  // What rounds to 2^63 and 2^64 could not be turned back to be compared.
  using i8 = std::numeric_limits<std::int64_t>;
  using u8 = std::numeric_limits<std::uint64_t>;
  CHECK_FALSE(file.refusal<float>("<i8", i8::max()).empty());
  CHECK_FALSE(file.refusal<double>("<i8", i8::max()).empty());
  CHECK_FALSE(file.refusal<double>("<u8", u8::max()).empty());
  CHECK_FALSE(file.refusal<double>("<i8", (std::int64_t{1} << 53) + 1).empty());
  CHECK(file.refusal<double>("<u8", std::uint64_t{1} << 63).empty());
  CHECK(file.refusal<float>("<i8", i8::min()).empty());
  CHECK_FALSE(file.refusal<std::int64_t>("<u8", std::uint64_t{1} << 63).empty());
  CHECK_FALSE(file.refusal<std::uint8_t>("|i1", std::int8_t{-1}).empty());
  CHECK_FALSE(file.refusal<std::int8_t>("<i4", 128).empty());
  CHECK(file.refusal<std::int8_t>("<i4", -128).empty());
  CHECK_FALSE(file.refusal<std::int64_t>("<f8", 0x1p63).empty());
  CHECK(file.refusal<std::int64_t>("<f8", -0x1p63).empty());
  CHECK(file.refusal<std::uint64_t>("<f4", 0x1p63F).empty());
  CHECK_FALSE(file.refusal<std::uint8_t>("<f4", -1.0F).empty());
  CHECK_FALSE(file.refusal<std::int32_t>("<f4", std::nanf("")).empty());
  CHECK_FALSE(file.refusal<std::int32_t>("<f4", INFINITY).empty());
}

TEST_CASE("NumPy arrays are read whatever the program's locale") {
  struct grouping : std::numpunct<char> {
    [[nodiscard]] char do_thousands_sep() const override { return ','; }
    [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  };
  const npy_scratch file;
  const auto bytes = npy_file(npy_header("<f4", "(2, 300)"), 2400);
  const std::locale original = std::locale::global(std::locale(std::locale(), new grouping));
  const auto read = file.read(bytes);
  std::locale::global(original);
  CHECK(glia::shape(read.shape().begin(), read.shape().end()) == glia::shape{2, 300});
}

TEST_CASE("what xtensor writes as NumPy's format is read") {
  const npy_scratch file;
  const xt::xarray<double> values = xt::arange<double>(24).reshape({2, 3, 4});
  xt::dump_npy(file.path.string(), values);
  CHECK((glia::read_npy(file.path) == xt::cast<float>(values)));
  CHECK((glia::read_npy<double>(file.path) == values));
  xt::dump_npy(file.path.string(), xt::xarray<std::int16_t>{{1, -2}, {3, 4}});
  CHECK((glia::read_npy(file.path) == xt::xarray<float>{{1, -2}, {3, 4}}));
}

TEST_CASE("errors of NumPy files name the file, what was expected and what came") {
  const npy_scratch file;
  CHECK(message_of<glia::data_error>([&] { static_cast<void>(glia::read_npy(file.path)); }) ==
        file.path.string() + ": the file cannot be opened for reading");
  CHECK(message_of<glia::data_error>([&] {
          static_cast<void>(glia::read_npy(file.folder.path()));
        }) == file.folder.path().string() + ": is a folder; expected a file");
  const auto good = npy_file(npy_header("<f4", "(2, 3)"), 24);
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " of " << good.size() << " bytes");
    const std::string error = file.error_of({good.begin(), good.begin() + static_cast<long>(size)});
    REQUIRE(contains(
        error, size < 10    ? "begins with \\x93NUMPY; the file is in another format or truncated"
               : size < 128 ? "the file is truncated within its header of 118 bytes"
                            : "expected elements <f4 of the shape (2, 3)"));
  }
  CHECK(contains(file.error_of({'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0, 0}),
                 "expected a file written by numpy"));
  auto other = good;
  other[6] = 4;
  CHECK(file.error_of(other) == "expected version 1.0, 2.0 or 3.0 of NumPy's format, got 4.0");
  other = good;
  other[9] = 0xFF;
  CHECK(file.error_of(other) == "the file is truncated within its header of 65398 bytes");
  other[6] = 2;
  CHECK(contains(file.error_of(other), "expected a header of at most 65535 bytes, got one of"));
  CHECK(file.read(npy_file(npy_header("<f4", "(2, 3)"), 24, 65535)).size() == 6);
  const std::string kinds =
      "expected elements of a floating-point type (f2, f4, f8), an integer type (i1, u1, i2, u2, "
      "i4, u4, i8, u8) or booleans (b1), got ";
  CHECK(file.error_of(npy_file(npy_header("<c8", "(3,)"), 24)) ==
        kinds + "<c8; convert the array before saving it");
  CHECK(file.error_of(npy_file("{'descr': [('a', '<f4', (2,)), ('b', [('c', '<f4')])], "
                               "'fortran_order': False, 'shape': (2,), }",
                               24)) ==
        kinds + "records (a structured dtype); convert the array before saving it");
  for (const char* elements : {"<U2", "|O", "<f16", "|S3", "<M8[ns]"}) {
    CHECK(contains(file.error_of(npy_file(npy_header(elements, "(3,)"), 24)),
                   std::string("got ") + elements));
  }
}

TEST_CASE("NumPy arrays of either order of bytes and of newer versions are read") {
  const npy_scratch file;
  CHECK(file.elements<float>(">f4", std::vector<std::uint8_t>{0x3F, 0x80, 0, 0}, 1) ==
        std::vector<float>{1});
  CHECK(file.elements<double>(">f8", std::vector<std::uint8_t>{0xC0, 4, 0, 0, 0, 0, 0, 0}, 1) ==
        std::vector<double>{-2.5});
  CHECK(file.elements<float>(">f2", std::vector<std::uint8_t>{0x3C, 0, 0xC0, 0}, 2) ==
        std::vector<float>{1, -2});
  CHECK(file.elements<int>(">i2", std::vector<std::uint8_t>{0xFF, 0xFE}, 1) ==
        std::vector<int>{-2});
  CHECK(file.elements<float>(">u4", std::vector<std::uint8_t>{0, 0, 1, 2}, 1) ==
        std::vector<float>{258});
  for (const char* native : {"=f4", "f4", "|f4"}) {
    CHECK(file.elements<float>(native, std::vector<float>{1.5F}) == std::vector<float>{1.5F});
  }
  auto newer = with_elements(npy_file(npy_header("<f4", "(2,)"), 8), std::vector<float>{1, 2});
  newer.insert(newer.begin() + 10, {0, 0});
  for (const std::uint8_t version : {std::uint8_t{2}, std::uint8_t{3}}) {
    newer[6] = version;
    CHECK((file.read(newer) == xt::xarray<float>{1, 2}));
    newer.resize(11);
    CHECK(file.error_of(newer) == "the file is truncated before its header");
    newer = with_elements(npy_file(npy_header("<f4", "(2,)"), 8), std::vector<float>{1, 2});
    newer.insert(newer.begin() + 10, {0, 0});
  }
}

TEST_CASE("headers of NumPy files may have spaces and commas where Python lets them") {
  const npy_scratch file;
  for (const char* header :
       {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
        "{  'descr':  '<f4',  'fortran_order':  False,  'shape':  (2,   3)  }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (02, 3), }",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4', }",
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2 , 3 ) }"}) {
    INFO(header);
    const auto read = file.read(npy_file(header, 24));
    CHECK(glia::shape(read.shape().begin(), read.shape().end()) == glia::shape{2, 3});
  }
}

TEST_CASE("headers of NumPy files that do not tell the truth are found out") {
  const npy_scratch file;
  CHECK(file.error_of(npy_file(npy_header("<f4", "(2, 3)"), 20)) ==
        "expected elements <f4 of the shape (2, 3) after the header, got 20 bytes, a different "
        "number; the file is damaged or truncated");
  CHECK(contains(file.error_of(npy_file(npy_header("<f4", "(2, 3)"), 28)), "got 28 bytes"));
  CHECK(contains(file.error_of(npy_file(npy_header("<f4", "(2, 3)"), 23)), "got 23 bytes"));
  CHECK(contains(file.error_of(npy_file(npy_header("<f4", "(0,)"), 4)), "got 4 bytes"));
  CHECK(contains(file.error_of(npy_file(npy_header("<f4", "()"), 0)), "got 0 bytes"));
  // Found out before the memory is taken; the product of the last is 2^64, that is 0.
  CHECK(contains(file.error_of(npy_file(npy_header("<f4", "(999999999999,)"), 4)), "got 4 bytes"));
  CHECK(contains(file.error_of(npy_file(npy_header("<f4", "(4294967296, 4294967296)"), 0)),
                 "got 0 bytes"));
  for (const char* header :
       {"",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f4",
        "{'descr': '<f4', 'fortran_order'",
        "{'descr': '<f4', 'fortran_order': False 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0000000000000000006,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}",
        "{'descr': '<f4\", 'fortran_order': False, 'shape': (6,)}",
        "{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (2,), }"}) {
    INFO(header);
    CHECK(file.error_of(npy_file(header, 24)) ==
          std::string("expected a header with descr, fortran_order and shape, as numpy.save writes "
                      "it, got ") +
              header);
  }
  // No bytes of header at all.
  CHECK(contains(file.error_of({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0}), "expected a header"));
}

TEST_CASE("written arrays are read with the same elements, by glia and by xtensor") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "written.npy";
  const auto check = [&]<class T>(const xt::xarray<T>& array) {
    glia::write_npy(path, array);
    const xt::xarray<T> back = glia::read_npy<T>(path);
    CHECK(back.shape() == array.shape());
    CHECK((back == array));
    CHECK((xt::load_npy<T>(path.string()) == array));
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::size_t header = bytes.find('\n') + 1;
    CHECK(header % 64 == 0);
    CHECK(bytes.size() == header + array.size() * sizeof(T));
  };
  check(xt::xarray<float>{1.5F, -2.25F, std::numeric_limits<float>::max()});
  check(xt::xarray<double>{{1, 2, 3}, {4, 5, 0.1}});
  check(xt::xarray<float>(3.5F));  // without axes
  check(xt::xarray<float>(xt::zeros<float>({2, 0, 3})));
  check(xt::xarray<std::int8_t>{-128, 127});
  check(xt::xarray<std::uint8_t>{0, 255});
  check(xt::xarray<std::int16_t>{-32768, 5});
  check(xt::xarray<std::uint32_t>{1, 4294967295U});
  check(xt::xarray<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 7});
  CHECK(contains(message_of<glia::data_error>([&] {
                   glia::write_npy(folder.path() / "missing" / "x.npy", xt::xarray<float>{1});
                 }),
                 "missing"));
}
