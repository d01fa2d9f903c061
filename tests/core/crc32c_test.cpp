#include <glia/core/crc32c.hpp>
#include <string>

#include "catch.hpp"

namespace {

/// By division, bit by bit.
std::uint32_t crc32c_by_bits(const std::string& bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82F63B78U : 0U);
    }
  }
  return ~sum;
}

}  // namespace

TEST_CASE("CRC32C is the published one") {
  CHECK(glia::detail::crc32c("") == 0);
  CHECK(glia::detail::crc32c("123456789") == 0xE3069283);  // the catalog's check value
  CHECK(glia::detail::crc32c("a") == 0xC1D04330);
  // RFC 3720, appendix B.4: a command of SCSI.
  const unsigned char command[48] = {0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                     0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                     0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
  CHECK(glia::detail::crc32c({reinterpret_cast<const char*>(command), sizeof(command)}) ==
        0xD9963A56);
}

TEST_CASE("CRC32C of any length is that of its bits") {
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    REQUIRE(glia::detail::crc32c(bytes) == crc32c_by_bits(bytes));
    bytes += static_cast<char>(i * i * 7 + 13 * i + 200);
  }
  // Wherever they lie in memory.
  for (std::size_t first = 0; first < 16; ++first) {
    REQUIRE(glia::detail::crc32c(std::string_view(bytes).substr(first, 100)) ==
            crc32c_by_bits(bytes.substr(first, 100)));
  }
}
