#include <glia/io/npy.hpp>
#include <limits>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

/// What numpy.save writes: the preamble, the header padded to `length`, the elements.
std::vector<std::uint8_t> npy_file(const std::string& dictionary, std::size_t element_bytes,
                                   std::size_t length = 118) {
  std::string header = dictionary;
  header.resize(length - 1, ' ');
  std::string file = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(length & 0xFF) +
                     static_cast<char>(length >> 8) + header + '\n';
  file.resize(file.size() + element_bytes, '\0');
  return {file.begin(), file.end()};
}

std::string header_of(const std::string& elements, const std::string& shape) {
  return "{'descr': '" + elements + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class T>
std::vector<std::uint8_t> with_elements(std::vector<std::uint8_t> file,
                                        const std::vector<T>& values) {
  std::memcpy(file.data() + file.size() - values.size() * sizeof(T), values.data(),
              values.size() * sizeof(T));
  return file;
}

struct one_file {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "array.npy";

  [[nodiscard]] xt::xarray<float> read(const std::vector<std::uint8_t>& bytes) const {
    folder.write("array.npy", bytes);
    return glia::read_npy(path);
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
  const one_file file;
  const xt::xarray<float> expected{{1, -2.5F, 3}, {0.1F, 5, 1e-40F}};
  const std::vector<float> floats(expected.begin(), expected.end());
  CHECK((file.read(with_elements(npy_file(header_of("<f4", "(2, 3)"), 24), floats)) == expected));
  // Old NumPy pads to 16 bytes instead of 64.
  CHECK(
      (file.read(with_elements(npy_file(header_of("<f4", "(2, 3)"), 24, 70), floats)) == expected));
  const std::vector<double> doubles{0.1, 1e300, -std::numeric_limits<double>::infinity()};
  const auto converted = file.read(with_elements(npy_file(header_of("<f8", "(3,)"), 24), doubles));
  CHECK((converted == xt::xarray<float>{0.1F, INFINITY, -INFINITY}));
}

TEST_CASE("NumPy arrays in Fortran's order keep their indices") {
  const one_file file;
  const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  const auto read =
      file.read(with_elements(npy_file(header, 24), std::vector<float>{1, 2, 3, 4, 5, 6}));
  CHECK((read == xt::xarray<float>{{1, 3, 5}, {2, 4, 6}}));
  CHECK(std::vector<float>(read.data(), read.data() + 6) == std::vector<float>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("NumPy arrays may be scalars or empty") {
  const one_file file;
  const auto scalar =
      file.read(with_elements(npy_file(header_of("<f4", "()"), 4), std::vector<float>{7}));
  CHECK(scalar.dimension() == 0);
  CHECK(scalar() == 7);
  const auto empty = file.read(npy_file(header_of("<f8", "(3, 0, 2)"), 0));
  CHECK(glia::shape(empty.shape().begin(), empty.shape().end()) == glia::shape{3, 0, 2});
}

TEST_CASE("what xtensor writes as NumPy's format is read") {
  const one_file file;
  const xt::xarray<double> values = xt::arange<double>(24).reshape({2, 3, 4});
  xt::dump_npy(file.path.string(), values);
  CHECK((glia::read_npy(file.path) == xt::cast<float>(values)));
}

TEST_CASE("errors of NumPy files name the file, what was expected and what came") {
  const one_file file;
  CHECK(message_of<glia::data_error>([&] { static_cast<void>(glia::read_npy(file.path)); }) ==
        file.path.string() + ": cannot be opened for reading");
  CHECK(contains(
      message_of<glia::data_error>([&] { static_cast<void>(glia::read_npy(file.folder.path())); }),
      file.folder.path().string() + ": expected a file of numpy.save"));
  const auto good = npy_file(header_of("<f4", "(2, 3)"), 24);
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " of " << good.size() << " bytes");
    const std::string error = file.error_of({good.begin(), good.begin() + static_cast<long>(size)});
    REQUIRE(contains(error, size < 10    ? "begins with \\x93NUMPY; it is of another format or cut"
                            : size < 128 ? "cut short in its header of 118 bytes"
                                         : "expected elements <f4 of the shape (2, 3)"));
  }
  CHECK(contains(file.error_of({'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0, 0}), "expected a file of numpy"));
  auto other = good;
  other[6] = 3;
  CHECK(file.error_of(other) == "expected version 1.0 of NumPy's format, got 3.0");
  other = good;
  other[9] = 0xFF;
  CHECK(file.error_of(other) == "expected a header of at most 127 bytes, got one of 65398");
  CHECK(file.error_of(npy_file(header_of("<f4", "(2, 3)"), 24, 182)) ==
        "expected a header of at most 127 bytes, got one of 182");
  CHECK(file.error_of(npy_file(header_of("<i8", "(3,)"), 24)) ==
        "expected float or double elements (<f4 or <f8), got <i8; convert it before");
  CHECK(contains(file.error_of(npy_file(header_of(">f4", "(3,)"), 12)), "got >f4"));
}

TEST_CASE("headers of NumPy files that do not tell the truth are found out") {
  const one_file file;
  CHECK(file.error_of(npy_file(header_of("<f4", "(2, 3)"), 20)) ==
        "expected elements <f4 of the shape (2, 3) behind the header, got 20 bytes, which are not "
        "as many; the file is damaged or cut short");
  CHECK(contains(file.error_of(npy_file(header_of("<f4", "(2, 3)"), 28)), "got 28 bytes"));
  CHECK(contains(file.error_of(npy_file(header_of("<f4", "(2, 3)"), 23)), "got 23 bytes"));
  CHECK(contains(file.error_of(npy_file(header_of("<f4", "(0,)"), 4)), "got 4 bytes"));
  CHECK(contains(file.error_of(npy_file(header_of("<f4", "()"), 0)), "got 0 bytes"));
  // Found out before the memory is taken; the product of the last is 2^64, that is 0.
  CHECK(contains(file.error_of(npy_file(header_of("<f4", "(999999999999,)"), 4)), "got 4 bytes"));
  CHECK(contains(file.error_of(npy_file(header_of("<f4", "(4294967296, 4294967296)"), 0)),
                 "got 0 bytes"));
  for (const char* header : {"", "{}", "{'descr': '<f4', 'fortran_order': False, 'shape': }",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }",
                             "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }",
                             "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
                             "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4', }"}) {
    INFO(header);
    CHECK(file.error_of(npy_file(header, 24)) ==
          std::string("expected a header as numpy.save writes it, with descr, fortran_order and "
                      "shape, got ") +
              header);
  }
  // No bytes of header at all.
  CHECK(contains(file.error_of({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0}), "expected a header"));
}
