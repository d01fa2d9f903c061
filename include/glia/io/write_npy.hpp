#pragma once

#include <cstddef>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "glia/core/error.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/io/npy.hpp"

namespace glia {

/// Writes an array to a file in NumPy's format .npy, version 1.0, from which `read_npy` and NumPy's
/// `numpy.load` read the same elements with the same type.
///
/// Throws `data_error`, with the path, if the file cannot be written. An existing file remains
/// unchanged in this case.
template <npy_element T>
void write_npy(const std::filesystem::path& path, const xt::xarray<T>& array) {
  std::string header = "{'descr': '";
  header += sizeof(T) == 1 ? '|' : '<';
  header += std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  header += text(sizeof(T), "', 'fortran_order': False, 'shape': (");
  for (const std::size_t extent : array.shape()) {
    header += text(extent, ", ");
  }
  header += "), }";
  // The elements begin at a multiple of 64 bytes, and the header ends in a line break.
  constexpr std::size_t alignment = 64;
  constexpr std::size_t prefix = 10;
  header.append(alignment - 1 - (prefix + header.size()) % alignment, ' ');
  header += '\n';
  const std::size_t size = header.size();
  require<data_error>(size < 65536, path.string(), ": the array has too many axes");
  write_whole_file(path, [&](std::ostream& out) {
    out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(size % 256)
        << static_cast<char>(size / 256) << header;
    detail::use_little_endian(std::as_bytes(std::span(array.data(), array.size())), sizeof(T),
                              [&](std::string_view elements) { out << elements; });
  });
}

}  // namespace glia
