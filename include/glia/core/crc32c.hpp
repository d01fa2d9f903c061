#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/core/little_endian.hpp"

namespace glia::detail {

/// The effect of each byte on the checksum, for Castagnoli's polynomial with reversed bits. Table i
/// is for a byte that is followed by i other bytes.
inline constexpr auto crc32c_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    tables[0][byte] = sum;
  }
  for (std::size_t i = 1; i < tables.size(); ++i) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t previous = tables[i - 1][byte];
      tables[i][byte] = (previous >> 8U) ^ tables[0][previous & 0xFFU];
    }
  }
  return tables;
}();

/// Returns the cyclic redundancy check CRC32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`. It
/// processes eight bytes at a time with independent table look-ups.
///
/// Kounavis and Berry, "A systematic approach to building high performance software-based CRC
/// generators", ISCC 2005.
[[nodiscard]] inline std::uint32_t crc32c(std::string_view bytes) {
  const auto& tables = detail::crc32c_tables;
  std::uint32_t sum = 0xFFFFFFFF;
  std::size_t offset = 0;
  for (; offset + sizeof(std::uint64_t) <= bytes.size(); offset += sizeof(std::uint64_t)) {
    const std::uint64_t word = load_little_endian<std::uint64_t>(bytes.data() + offset) ^ sum;
    sum = 0;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      sum ^= tables[tables.size() - 1 - i][(word >> (8 * i)) & 0xFFU];
    }
  }
  for (; offset < bytes.size(); ++offset) {
    sum = (sum >> 8U) ^ tables[0][(sum ^ static_cast<unsigned char>(bytes[offset])) & 0xFFU];
  }
  return ~sum;
}

}  // namespace glia::detail
