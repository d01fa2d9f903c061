#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "glia/core/crc32c.hpp"
#include "glia/core/error.hpp"
#include "glia/core/little_endian.hpp"

// A record of a TFRecord file (tensorflow/core/lib/io/record_writer.h): its length in 8 bytes, the
// length's check in 4, the bytes and their check; all numbers are little-endian.

namespace glia::detail {

inline constexpr std::size_t record_check_bytes = 4;
inline constexpr std::size_t record_head_bytes = sizeof(std::uint64_t) + record_check_bytes;

/// A CRC32C that is turned and moved, so that checks of bytes that hold checks are none the worse.
[[nodiscard]] inline std::uint32_t record_check(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return ((sum >> 15U) | (sum << 17U)) + 0xA282EAD8U;
}

/// What stands in front of a record's bytes.
[[nodiscard]] inline std::string record_head(std::uint64_t length) {
  std::string head;
  append_little_endian(head, length, sizeof(length));
  append_little_endian(head, record_check(head), record_check_bytes);
  return head;
}

/// What stands behind a record's bytes.
[[nodiscard]] inline std::string record_tail(std::string_view bytes) {
  std::string tail;
  append_little_endian(tail, record_check(bytes), record_check_bytes);
  return tail;
}

[[nodiscard]] inline std::string framed_record(std::string_view bytes) {
  return record_head(bytes.size()).append(bytes).append(record_tail(bytes));
}

/// What errors call a record: its number in the file and the byte that it begins at, both counted
/// from 0.
struct record_name {
  std::string_view file;
  std::uint64_t number = 0;
  std::uint64_t at = 0;

  friend std::ostream& operator<<(std::ostream& out, const record_name& name) {
    return out << name.file << ": record " << name.number << " (at byte " << name.at << ')';
  }
};

/// The length that a record's head says, or as much of the head as there is. Throws `data_error`
/// for a head that is cut short, and where its check does not hold.
[[nodiscard]] inline std::uint64_t checked_length(std::string_view head, const record_name& name) {
  require<data_error>(head.size() == record_head_bytes, name,
                      ": cut short: of its length and the length's checksum, ", record_head_bytes,
                      " bytes, only ", head.size(), " are there");
  const std::string_view length = head.substr(0, sizeof(std::uint64_t));
  const bool holds = little_endian(head.substr(length.size())) == record_check(length);
  // Looked at last: there are records of a length that begins like gzip.
  require<data_error>(holds || name.number > 0 || !head.starts_with("\x1F\x8B"), name.file,
                      ": compressed with gzip; unpack it, or read it front to back with "
                      "glia::gzip_files{} (header glia/compression/gzip.hpp, target "
                      "glia::compression)");
  require<data_error>(holds, name,
                      ": its length does not match the length's checksum; the file is damaged or "
                      "of another format than TFRecord");
  return little_endian(length);
}

/// Throws `data_error` unless as many bytes follow a record's head as it says.
inline void require_whole_record(std::uint64_t length, std::uint64_t left,
                                 const record_name& name) {
  require<data_error>(left >= record_check_bytes && length <= left - record_check_bytes, name,
                      ": cut short: its ", length, " bytes and their checksum of ",
                      record_check_bytes, " should follow, but only ", left,
                      " bytes are left of the file");
}

/// Throws `data_error` unless the bytes are those that the check was made of.
inline void require_undamaged_record(std::string_view bytes, std::string_view tail,
                                     const record_name& name) {
  require<data_error>(little_endian(tail) == record_check(bytes), name, ": its ", bytes.size(),
                      " bytes do not match their checksum; the file is damaged");
}

}  // namespace glia::detail
