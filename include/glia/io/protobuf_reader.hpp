#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/io/protobuf_message.hpp"

namespace glia::detail {

/// Reads a protocol buffers message field by field (protobuf.dev, "Encoding"). Fields whose value
/// is not read are skipped. Groups, a kind of nested message that proto3 does not have, are an
/// error; skipping them would need recursion of unlimited depth.
///
/// Throws `data_error`, with the position of the byte, if the message is truncated or invalid.
class protobuf_reader {
 public:
  /// `name` is the name of the message for errors; `position` is the position of its first byte in
  /// the outermost message.
  protobuf_reader(std::string_view bytes, std::string_view name, std::size_t position = 0)
      : remaining_(bytes), name_(name), position_(position) {}

  /// Moves to the next field. Returns false after the last one.
  [[nodiscard]] bool next() {
    if (done()) {
      return false;
    }
    field_position_ = position_;
    const std::uint64_t key = integer();
    check(key >> 3U > 0 && key <= std::numeric_limits<std::uint32_t>::max(), field_position_,
          "a field has an invalid number");
    field_ = static_cast<unsigned>(key >> 3U);
    kind_ = static_cast<protobuf_kind>(key & 7U);
    switch (kind_) {
      case protobuf_kind::integer:
        take_value(bytes_of_integer());
        return true;
      case protobuf_kind::eight_bytes:
        take_value(sizeof(std::uint64_t));
        return true;
      case protobuf_kind::bytes:
        take_value(integer());
        return true;
      case protobuf_kind::four_bytes:
        take_value(sizeof(std::uint32_t));
        return true;
    }
    throw data_error(text("expected a ", name_, ", but at byte ", field_position_, ": field ",
                          field_, " has the wire type ", key & 7U, ", which proto3 does not have"));
  }

  /// The field's number.
  [[nodiscard]] unsigned field() const { return field_; }
  [[nodiscard]] protobuf_kind kind() const { return kind_; }
  /// The bytes of the field's value, without their length.
  [[nodiscard]] std::string_view value() const { return value_; }
  /// Returns a reader of the field's value: the fields of a message, or packed numbers.
  [[nodiscard]] protobuf_reader in_value() const { return {value_, name_, value_position_}; }

  /// Throws `data_error` unless the field has this wire type.
  void expect(protobuf_kind kind) const {
    check(kind_ == kind, field_position_, "field ", field_, ": expected the wire type ",
          static_cast<int>(kind), ", got ", static_cast<int>(kind_));
  }

  /// Whether the end of the message is reached.
  [[nodiscard]] bool done() const { return remaining_.empty(); }

  /// Reads the next varint.
  [[nodiscard]] std::uint64_t integer() {
    const std::size_t start = position_;
    const std::string_view bytes = take(bytes_of_integer());
    check(bytes.size() < max_bytes || bytes.back() == 1, start, "a number has more than 64 bits");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= (static_cast<unsigned char>(bytes[i]) & std::uint64_t{0x7F}) << (7 * i);
    }
    return value;
  }
  /// Reads the next number of 4 or 8 bytes.
  [[nodiscard]] std::uint64_t word(std::size_t bytes) { return little_endian(take(bytes)); }

 private:
  // The largest size of a varint: each byte holds seven bits.
  static constexpr std::size_t max_bytes = 10;

  /// Returns the size of the next varint. Each of its bytes but the last has the highest bit set.
  [[nodiscard]] std::size_t bytes_of_integer() const {
    for (std::size_t i = 0; i < remaining_.size() && i < max_bytes; ++i) {
      if (static_cast<unsigned char>(remaining_[i]) < 0x80) {
        return i + 1;
      }
    }
    check(remaining_.size() < max_bytes, position_, "a number has more than 64 bits");
    return remaining_.size() + 1;  // truncated
  }

  [[nodiscard]] std::string_view take(std::uint64_t bytes) {
    check(bytes <= remaining_.size(), position_, "expected ", bytes, " or more bytes, but only ",
          remaining_.size(), " are left");
    const std::string_view result = remaining_.substr(0, static_cast<std::size_t>(bytes));
    remaining_.remove_prefix(result.size());
    position_ += result.size();
    return result;
  }
  void take_value(std::uint64_t bytes) {
    value_position_ = position_;
    value_ = take(bytes);
  }

  template <class... Parts>
  void check(bool good, std::size_t position, const Parts&... parts) const {
    require<data_error>(good, "expected a ", name_, ", but at byte ", position, ": ", parts...);
  }

  std::string_view remaining_;
  std::string_view name_;
  std::size_t position_;
  std::size_t field_position_ = 0;
  unsigned field_ = 0;
  protobuf_kind kind_ = protobuf_kind::integer;
  std::string_view value_;
  std::size_t value_position_ = 0;
};

}  // namespace glia::detail
