#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glia::detail {

/// Appends the `bytes` low bytes of a word, the lowest byte first.
inline void append_little_endian(std::string& destination, std::uint64_t word, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    destination += static_cast<char>(word >> (8 * i));
  }
}

/// Returns the word stored in up to 8 bytes, the lowest byte first.
[[nodiscard]] inline std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace glia::detail
