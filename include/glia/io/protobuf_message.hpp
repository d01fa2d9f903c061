#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/little_endian.hpp"

namespace glia::detail {

/// The wire type of a field in a protocol buffers message.
enum class protobuf_kind : std::uint8_t {
  integer = 0,      ///< A varint.
  eight_bytes = 1,  ///< A double, or an integer of 64 bits.
  bytes = 2,        ///< A length and as many bytes: a text, a message or a packed list of numbers.
  four_bytes = 5,   ///< A float, or an integer of 32 bits.
};

/// Writes a protocol buffers message field by field (protobuf.dev, "Encoding").
class protobuf_message {
 public:
  void add_integer(unsigned field, std::uint64_t value) {
    add_key(field, protobuf_kind::integer);
    add_varint(value);
  }
  void add_double(unsigned field, double value) {
    add_key(field, protobuf_kind::eight_bytes);
    add_word(detail::bit_cast<std::uint64_t>(value), sizeof(double));
  }
  void add_float(unsigned field, float value) {
    add_key(field, protobuf_kind::four_bytes);
    add_word(detail::bit_cast<std::uint32_t>(value), sizeof(float));
  }
  /// Adds a text, or a message within the message.
  void add_bytes(unsigned field, std::string_view bytes) {
    add_key(field, protobuf_kind::bytes);
    add_varint(bytes.size());
    bytes_ += bytes;
  }
  void add_doubles(unsigned field, const std::vector<double>& values) {
    add_key(field, protobuf_kind::bytes);
    add_varint(values.size() * sizeof(double));
    for (const double value : values) {
      add_word(detail::bit_cast<std::uint64_t>(value), sizeof(double));
    }
  }
  void add_floats(unsigned field, const std::vector<float>& values) {
    add_key(field, protobuf_kind::bytes);
    add_varint(values.size() * sizeof(float));
    for (const float value : values) {
      add_word(detail::bit_cast<std::uint32_t>(value), sizeof(float));
    }
  }
  /// Adds a packed list of integers. Negative integers take ten bytes each.
  void add_integers(unsigned field, const std::vector<std::int64_t>& values) {
    protobuf_message list;
    for (const std::int64_t value : values) {
      list.add_varint(static_cast<std::uint64_t>(value));
    }
    add_bytes(field, list.bytes());
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void add_key(unsigned field, protobuf_kind kind) {
    add_varint(field << 3U | static_cast<unsigned>(kind));
  }
  void add_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) {
      bytes_ += static_cast<char>(value | 0x80U);
    }
    bytes_ += static_cast<char>(value);
  }
  void add_word(std::uint64_t word, std::size_t count) {
    append_little_endian(bytes_, word, count);
  }

  std::string bytes_;
};

}  // namespace glia::detail
