#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/core/little_endian.hpp"

namespace glia {

/// A checksum that detects accidental changes of data: FNV-1a (Fowler, Noll, Vo) over words of 64
/// bits instead of bytes. Every step maps different sums to different sums, so two texts that
/// differ in a single word always have different checksums. The checksum does not protect against
/// intentional changes.
class checksum {
 public:
  void add(std::uint64_t word) { sum_ = (sum_ ^ word) * 0x100000001B3; }
  void add(std::string_view bytes) {
    add(bytes.size());
    std::size_t offset = 0;
    for (; offset + sizeof(std::uint64_t) <= bytes.size(); offset += sizeof(std::uint64_t)) {
      add(detail::load_little_endian<std::uint64_t>(bytes.data() + offset));
    }
    add(detail::little_endian(bytes.substr(offset)));
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xCBF29CE484222325;
};

}  // namespace glia
