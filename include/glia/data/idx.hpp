#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/file_reader.hpp"

namespace glia {

/// The contents of an IDX file of unsigned bytes.
struct idx_bytes {
  shape extents;                     ///< The shape of the array.
  std::vector<std::uint8_t> values;  ///< The elements in row-major order.
};

/// Options of `read_idx`.
struct idx_options {
  /// Largest array that is read, in bytes; 1 GiB by default. It protects against compressed files
  /// that expand enormously. `read_idx` throws before it allocates memory if the array is larger
  /// than this limit and also larger than the file.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

namespace detail {

/// Returns the product of the extents, or the largest 64-bit number if the product exceeds it.
[[nodiscard]] inline std::uint64_t announced_size(const shape& extents) {
  constexpr std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t size = 1;
  for (const std::size_t extent : extents) {
    if (extent == 0) {
      return 0;
    }
    size = size > maximum / extent ? maximum : size * extent;
  }
  return size;
}

}  // namespace detail

/// Reads an IDX file of unsigned bytes, the format of the MNIST files.
///
/// The header has two zero bytes, the type 0x08, the number of axes (1 to 4), and each extent as a
/// big-endian 32-bit number. The elements follow in row-major order. Format: LeCun, Cortes and
/// Burges, "The MNIST database of handwritten digits". To read files compressed with gzip, pass
/// `glia::gzip_files{}` as the reader.
///
/// Throws `data_error`, with the name of the file, if the file cannot be read, has another format,
/// or is larger than allowed, or if its length differs from the one that its header declares.
template <file_reader Reader = plain_files>
[[nodiscard]] idx_bytes read_idx(const std::filesystem::path& path, const Reader& reader = {},
                                 const idx_options& options = {}) {
  const std::string name = path.string();
  detail::require_no_folder(path);
  require<data_error>(std::filesystem::is_regular_file(path), name, ": no such file");
  auto source = reader.open(path);

  std::array<std::uint8_t, 4> magic{};
  require<data_error>(source.read(magic) == magic.size(), name,
                      ": the file is truncated: expected the 4 bytes that begin an IDX header");
  require<data_error>(!(magic[0] == 0x1F && magic[1] == 0x8B), name,
                      ": the file is compressed with gzip; pass glia::gzip_files{} as the reader "
                      "(header glia/compression/gzip.hpp, target glia::compression)");
  require<data_error>(magic[0] == 0 && magic[1] == 0, name,
                      ": expected an IDX file, which begins with two zero bytes, got other bytes");
  require<data_error>(magic[2] == 0x08, name,
                      ": expected IDX data of type 0x08 (unsigned bytes), "
                      "got type ",
                      static_cast<int>(magic[2]));
  require<data_error>(magic[3] >= 1 && magic[3] <= 4, name, ": expected 1 to 4 axes, got ",
                      static_cast<int>(magic[3]));

  idx_bytes result;
  for (std::size_t axis = 0; axis < magic[3]; ++axis) {
    std::array<std::uint8_t, 4> extent{};
    require<data_error>(source.read(extent) == extent.size(), name,
                        ": the file is truncated: its header ends before the extents of ",
                        static_cast<int>(magic[3]), " axes");
    std::size_t value = 0;
    for (std::uint8_t byte : extent) {
      value = value << 8 | byte;
    }
    result.extents.push_back(value);
  }

  const std::uint64_t expected = detail::announced_size(result.extents);
  std::error_code unknown;
  const std::uint64_t stored = std::filesystem::file_size(path, unknown);
  const bool allowed = expected <= std::max(options.max_bytes, unknown ? 0 : stored);
  // Of an array that is too large, the first MiB is read. If the file ends within it, the header is
  // damaged or the file is truncated, and the error reports this.
  constexpr std::uint64_t little = 1 << 20;
  const std::uint64_t read_size = allowed ? expected : std::min(expected, little);
  result.values = detail::within_memory(name, [&] {
    return detail::read_announced<std::vector<std::uint8_t>>(
        read_size, [&](std::uint8_t* destination, std::size_t count) {
          return source.read({destination, count});
        });
  });
  const std::string announced =
      text("the header announces the shape ", result.extents, ", that is ",
           expected == std::numeric_limits<std::uint64_t>::max() ? "more bytes than can be counted"
                                                                 : text(expected, " bytes"));
  require<data_error>(result.values.size() == read_size, name,
                      ": the file is truncated: ", announced, ", but only ", result.values.size(),
                      " bytes follow");
  require<data_error>(allowed, name, ": ", announced, ", more than the ", options.max_bytes,
                      " that are allowed; get the file again or, if you trust it, raise "
                      "idx_options::max_bytes");
  std::array<std::uint8_t, 1> surplus{};
  require<data_error>(source.read(surplus) == 0, name, ": the file has more than the ", expected,
                      " bytes of data that its header announces with the shape ", result.extents);
  return result;
}

}  // namespace glia
