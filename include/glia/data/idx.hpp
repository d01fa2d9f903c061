#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/file_reader.hpp"

namespace glia {

/// The contents of an IDX file of unsigned bytes.
struct idx_bytes {
  shape extents;
  std::vector<std::uint8_t> values;
};

/// Reads an IDX file of unsigned bytes: two zero bytes, the type 0x08, the number of axes, each
/// extent as a big-endian 32-bit number, then the elements, last axis fastest.
/// Format: LeCun, Cortes and Burges, "The MNIST database of handwritten digits".
///
/// Throws `data_error`, naming the file, for one that cannot be read, is of another format or is
/// shorter or longer than it says.
template <file_reader Reader = plain_files>
[[nodiscard]] idx_bytes read_idx(const std::filesystem::path& path, const Reader& reader = {}) {
  const std::string name = path.string();
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

  // In pieces, so that a header that lies about its size is found out before memory is.
  constexpr std::size_t piece = std::size_t{16} << 20;
  const std::size_t expected = result.extents.size();
  if (expected <= piece * 16) {
    result.values.reserve(expected);
  }
  while (result.values.size() < expected) {
    const std::size_t have = result.values.size();
    const std::size_t wanted = std::min(piece, expected - have);
    result.values.resize(have + wanted);
    const std::size_t got = source.read(std::span(result.values).subspan(have, wanted));
    require<data_error>(got == wanted, name, ": cut short: the header announces ", result.extents,
                        ", that is ", expected, " bytes, but only ", have + got, " follow it");
  }
  std::array<std::uint8_t, 1> surplus{};
  require<data_error>(source.read(surplus) == 0, name, ": longer than the ", expected,
                      " bytes that its header announces with ", result.extents);
  return result;
}

}  // namespace glia
