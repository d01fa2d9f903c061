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
// checksum of the length in 4 bytes, the data, and the checksum of the data in 4 bytes. All numbers
// are little-endian.

namespace glia::detail {

inline constexpr std::size_t record_check_bytes = 4;
inline constexpr std::size_t record_head_bytes = sizeof(std::uint64_t) + record_check_bytes;

/// Returns TFRecord's masked CRC32C: the checksum is rotated, and a constant is added. Without this
/// mask, the checksum of data that contain checksums themselves would be unreliable.
[[nodiscard]] inline std::uint32_t record_check(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return ((sum >> 15U) | (sum << 17U)) + 0xA282EAD8U;
}

/// Returns the header of a record: its length and the checksum of the length.
[[nodiscard]] inline std::string record_head(std::uint64_t length) {
  std::string head;
  append_little_endian(head, length, sizeof(length));
  append_little_endian(head, record_check(head), record_check_bytes);
  return head;
}

/// Returns the checksum that follows the data of a record.
[[nodiscard]] inline std::string record_tail(std::string_view bytes) {
  std::string tail;
  append_little_endian(tail, record_check(bytes), record_check_bytes);
  return tail;
}

/// Returns a record with its header and checksum.
[[nodiscard]] inline std::string framed_record(std::string_view bytes) {
  return record_head(bytes.size()).append(bytes).append(record_tail(bytes));
}

/// The name of a record in error messages: its number in the file and the position of its first
/// byte, both counted from 0.
struct record_name {
  std::string_view file;
  std::uint64_t number = 0;
  std::uint64_t position = 0;

  friend std::ostream& operator<<(std::ostream& out, const record_name& name) {
    return out << name.file << ": record " << name.number << " (at byte " << name.position << ')';
  }
};

/// Returns the length of a record from its header. Throws `data_error` if the header is truncated
/// or its checksum is wrong.
[[nodiscard]] inline std::uint64_t checked_length(std::string_view head, const record_name& name) {
  require<data_error>(head.size() == record_head_bytes, name,
                      ": the file is truncated: expected a record's header of ", record_head_bytes,
                      " bytes, got ", head.size());
  const std::string_view length = head.substr(0, sizeof(std::uint64_t));
  const bool holds = little_endian(head.substr(length.size())) == record_check(length);
  // Checked after the checksum: the length of a valid record can begin with gzip's magic number.
  require<data_error>(holds || name.number > 0 || !head.starts_with("\x1F\x8B"), name.file,
                      ": the file is compressed with gzip; decompress it, or read it with "
                      "tfrecord_reader and glia::gzip_files{} (header "
                      "glia/compression/gzip.hpp, target glia::compression)");
  require<data_error>(holds, name,
                      ": the length of the record does not match its checksum; the file is damaged "
                      "or is not a TFRecord file");
  return little_endian(length);
}

/// Throws `data_error` if fewer bytes follow a record's header than its length says.
inline void require_whole_record(std::uint64_t length, std::uint64_t remaining,
                                 const record_name& name) {
  require<data_error>(remaining >= record_check_bytes && length <= remaining - record_check_bytes,
                      name, ": the file is truncated: the record declares ", length,
                      " bytes and a checksum of ", record_check_bytes, " bytes, but only ",
                      remaining, " bytes follow");
}

/// Throws `data_error` if the data of a record do not match their checksum.
inline void require_undamaged_record(std::string_view bytes, std::string_view tail,
                                     const record_name& name) {
  require<data_error>(little_endian(tail) == record_check(bytes), name, ": the ", bytes.size(),
                      " bytes of the record do not match their checksum; the file is damaged");
}

}  // namespace glia::detail
