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
  shape extents;
  std::vector<std::uint8_t> values;
};

/// How much a file of the IDX format may hold.
struct idx_options {
  /// Data that come to more than this, and to more than the file itself has, which may be
  /// compressed without a bound, are refused before memory is taken for them.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

namespace detail {

/// The product of the extents, or the largest number where it is larger than that.
[[nodiscard]] inline std::uint64_t announced_size(const shape& extents) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t size = 1;
  for (const std::size_t extent : extents) {
    if (extent == 0) {
      return 0;
    }
    size = size > most / extent ? most : size * extent;
  }
  return size;
}

}  // namespace detail

/// Reads an IDX file of unsigned bytes: two zero bytes, the type 0x08, the number of axes, each
/// extent as a big-endian 32-bit number, then the elements, last axis fastest.
/// Format: LeCun, Cortes and Burges, "The MNIST database of handwritten digits".
///
/// Throws `data_error`, naming the file, for one that cannot be read, is of another format, is
/// shorter or longer than it says or larger than allowed.
template <file_reader Reader = plain_files>
[[nodiscard]] idx_bytes read_idx(const std::filesystem::path& path, const Reader& reader = {},
                                 const idx_options& options = {}) {
  const std::string name = path.string();
  detail::require_no_folder(path);
  require<data_error>(std::filesystem::is_regular_file(path), name, ": no such file");
  auto source = reader.open(path);

  std::array<std::uint8_t, 4> magic{};
  require<data_error>(source.read(magic) == magic.size(), name,
                      ": cut short: not even the 4 bytes of an IDX header are there");
  require<data_error>(!(magic[0] == 0x1F && magic[1] == 0x8B), name,
                      ": compressed with gzip; pass glia::gzip_files{} as the reader (header "
                      "glia/compression/gzip.hpp, target glia::compression)");
  require<data_error>(magic[0] == 0 && magic[1] == 0, name,
                      ": no IDX file: it must begin with two zero bytes");
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
                        ": cut short in the header, which announces ", static_cast<int>(magic[3]),
                        " axes");
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
  // What is not allowed is read a little way, to tell data without a bound from a damaged header.
  constexpr std::uint64_t little = 1 << 20;
  const std::uint64_t wanted = allowed ? expected : std::min(expected, little);
  result.values = detail::within_memory(name, [&] {
    return detail::read_announced<std::vector<std::uint8_t>>(
        wanted, [&](std::uint8_t* to, std::size_t count) {
          return source.read({to, count});
        });
  });
  const std::string announced =
      text("the header announces ", result.extents, ", that is ",
           expected == std::numeric_limits<std::uint64_t>::max() ? "more bytes than can be counted"
                                                                 : text(expected, " bytes"));
  require<data_error>(result.values.size() == wanted, name, ": cut short: ", announced,
                      ", but only ", result.values.size(), " follow it");
  require<data_error>(allowed, name, ": ", announced, ", more than the ", options.max_bytes,
                      " that are allowed; fetch the file again or, if it is to be trusted, raise "
                      "max_bytes");
  std::array<std::uint8_t, 1> surplus{};
  require<data_error>(source.read(surplus) == 0, name, ": longer than the ", expected,
                      " bytes that its header announces with ", result.extents);
  return result;
}

}  // namespace glia
