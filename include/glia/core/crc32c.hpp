#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glia {

namespace detail {

/// What each byte does to the sum, for Castagnoli's polynomial with its bits reversed.
inline constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    table[byte] = sum;
  }
  return table;
}();

}  // namespace detail

/// The cyclic redundancy check CRC32C (Castagnoli; RFC 3720, appendix B.4), byte by byte.
[[nodiscard]] inline std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum = (sum >> 8U) ^ detail::crc32c_table[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return ~sum;
}

}  // namespace glia
