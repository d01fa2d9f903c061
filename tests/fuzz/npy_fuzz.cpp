#include <cstring>
#include <glia/io/npy.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/arrays.hpp"

namespace {

constexpr fuzz::memory_limit limit{.for_each_byte = 20, .fixed = 64 << 10};

/// Written again in either order and read again, it is the same.
template <class T>
void check_as(fuzz::byte_view file, const char* elements) {
  const auto read = [](fuzz::byte_view content) {
    return fuzz::read_source_within(limit, content,
                                    [](const auto& source) { return glia::read_npy<T>(source); });
  };
  const xt::xarray<T> values = read(file);
  const xt::xarray<T> columns = xt::transpose(values);
  std::string shape = "(";
  std::size_t size = 1;
  for (const std::size_t extent : values.shape()) {
    shape += std::to_string(extent) + ",";
    size *= extent;
  }
  fuzz::require(size == values.size(), "the shape is of another size");
  const std::size_t bytes = size * sizeof(T);
  for (const bool first_axis_fastest : {false, true}) {
    std::string header = test::npy_header(elements, shape + ")");
    if (first_axis_fastest) {
      header.replace(header.find("False"), 5, "True");
    }
    fuzz::bytes rewritten = test::npy_file(header, bytes, 1000);
    if (bytes > 0) {
      std::memcpy(rewritten.data() + rewritten.size() - bytes,
                  first_axis_fastest ? columns.data() : values.data(), bytes);
    }
    const xt::xarray<T> reread = fuzz::without_error([&] { return read(rewritten); });
    fuzz::require(reread.shape() == values.shape() &&
                      (bytes == 0 || std::memcmp(reread.data(), values.data(), bytes) == 0),
                  "what was read is not what was written of it");
  }
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::npy(); }

void fuzz::check(byte_view file) {
  // The last byte, an element's if there are any, says as what they are read.
  switch (file.empty() ? 0 : file.back() % 4) {
    case 0:
      return check_as<float>(file, "<f4");
    case 1:
      return check_as<double>(file, "<f8");
    case 2:
      return check_as<std::int64_t>(file, "<i8");
    default:
      return check_as<std::uint8_t>(file, "|u1");
  }
}
