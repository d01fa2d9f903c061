#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>

#include "glia/core/error.hpp"

namespace glia::detail {

/// Reads bytes at given positions of a file. Reading beyond its end returns `std::nullopt`.
class file_places {
 public:
  explicit file_places(const std::filesystem::path& path)
      : stream_(path, std::ios::binary | std::ios::ate),
        size_(static_cast<std::uint64_t>(std::max<std::streamoff>(0, stream_.tellg()))) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Returns `N` bytes from a position, or `std::nullopt` if the file has fewer.
  template <std::size_t N>
  [[nodiscard]] std::optional<std::array<std::uint8_t, N>> bytes(std::uint64_t position) {
    std::array<std::uint8_t, N> result{};
    if (position > size_ || size_ - position < N) {
      return std::nullopt;
    }
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(position));
    stream_.read(reinterpret_cast<char*>(result.data()), N);
    return stream_.gcount() == N ? std::optional(result) : std::nullopt;
  }

 private:
  std::ifstream stream_;
  std::uint64_t size_;
};

[[nodiscard]] inline std::uint64_t big_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes) {
    value = value << 8 | byte;
  }
  return value;
}

[[nodiscard]] inline bool spells(std::span<const std::uint8_t> bytes, std::string_view letters) {
  return std::equal(bytes.begin(), bytes.end(), letters.begin(), letters.end(),
                    [](std::uint8_t byte, char letter) { return byte == std::uint8_t(letter); });
}

/// Returns the size in bytes that an AVI file declares. It consists of RIFF chunks, each with its
/// length; large files have several chunks (OpenDML). If the program that wrote it was interrupted,
/// the length is 0 or has all bits set.
[[nodiscard]] inline std::uint64_t riff_extent(file_places& file) {
  std::uint64_t end = 0;
  while (const auto head = file.bytes<8>(end)) {
    const std::span<const std::uint8_t> bytes(*head);
    if (!spells(bytes.first(4), "RIFF")) {
      break;
    }
    std::array<std::uint8_t, 4> length{};
    std::reverse_copy(bytes.begin() + 4, bytes.end(), length.begin());
    const std::uint64_t content = big_endian(length);
    if (content == 0 || content >= 0x7FFFFF00) {
      break;
    }
    end += 8 + content;
  }
  return end;
}

/// Returns the size in bytes that an MP4 or MOV file (ISO/IEC 14496-12, 4.2) declares. It is a
/// sequence of boxes, each with its length.
[[nodiscard]] inline std::uint64_t box_extent(file_places& file) {
  constexpr int max_boxes = 1'000'000;  // a box for each second of eleven days
  std::uint64_t end = 0;
  for (int box = 0; box < max_boxes && end < file.size(); ++box) {
    const auto head = file.bytes<8>(end);
    if (!head) {
      return end + 8;
    }
    const std::span<const std::uint8_t> bytes(*head);
    std::uint64_t length = big_endian(bytes.first(4));
    if (length == 0) {  // the box extends to the end of the file
      break;
    }
    if (length == 1) {
      const auto large = file.bytes<8>(end + 8);
      if (!large) {
        return end + 16;
      }
      length = big_endian(*large);
    }
    const bool letters = std::all_of(bytes.begin() + 4, bytes.end(), [](std::uint8_t byte) {
      return (byte >= 0x20 && byte < 0x7F) || byte == 0xA9;
    });
    if (length < 8 || !letters) {  // not a box: bytes after the last box do not matter
      break;
    }
    if (length > file.size() - end) {
      return length > UINT64_MAX - end ? UINT64_MAX : end + length;
    }
    end += length;
  }
  return end;
}

/// A length in a Matroska file (RFC 8794, section 4). The number of leading zero bits is the number
/// of bytes after the first byte. The bits after the first set bit are the value. If these bits are
/// all 1, the length is unknown.
struct ebml_length {
  std::size_t bytes = 0;
  std::optional<std::uint64_t> value;
};
[[nodiscard]] inline std::optional<ebml_length> ebml_length_at(file_places& file,
                                                               std::uint64_t position) {
  const auto first = file.bytes<1>(position);
  if (!first || (*first)[0] == 0) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(std::countl_zero((*first)[0])) + 1;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = file.bytes<1>(position + i);
    if (!byte) {
      return std::nullopt;
    }
    value = value << 8 | (*byte)[0];
  }
  const std::uint64_t mask = (std::uint64_t{1} << (7 * count)) - 1;
  value &= mask;
  return ebml_length{count, value == mask ? std::nullopt : std::optional(value)};
}

/// Returns the size in bytes that a Matroska or WebM file declares, or 0 if it is unknown. The file
/// has a header and a segment, each with its length.
[[nodiscard]] inline std::uint64_t matroska_extent(file_places& file) {
  const auto header = ebml_length_at(file, 4);
  if (!header || !header->value || *header->value > file.size()) {
    return file.size() + 1;
  }
  const std::uint64_t segment = 4 + header->bytes + *header->value;
  const auto id = file.bytes<4>(segment);
  if (!id) {
    return segment + 4;
  }
  if (!(*id == std::array<std::uint8_t, 4>{0x18, 0x53, 0x80, 0x67})) {
    return 0;
  }
  const auto length = ebml_length_at(file, segment + 4);
  if (!length) {
    return segment + 5;
  }
  return length->value ? segment + 4 + length->bytes + *length->value : 0;
}

/// Returns the size in bytes that a file's container declares. Returns 0 if it is unknown, as for
/// MPEG streams and most other formats.
[[nodiscard]] inline std::uint64_t declared_extent(file_places& file) {
  const auto head = file.bytes<8>(0);
  if (!head) {
    return 0;
  }
  const std::span<const std::uint8_t> bytes(*head);
  if (spells(bytes.first(4), "RIFF")) {
    return riff_extent(file);
  }
  if (big_endian(bytes.first(4)) == 0x1A45DFA3) {
    return matroska_extent(file);
  }
  static constexpr std::string_view boxes[] = {"ftyp", "moov", "mdat", "free",
                                               "skip", "wide", "styp"};
  const bool known = std::any_of(std::begin(boxes), std::end(boxes), [&](std::string_view box) {
    return spells(bytes.subspan(4), box);
  });
  return known ? box_extent(file) : 0;
}

/// Throws `data_error` if a file is shorter than its container declares.
inline void require_whole_container(const std::filesystem::path& path) {
  file_places file(path);
  const std::uint64_t declared = declared_extent(file);
  require<data_error>(declared <= file.size(), "the clip is truncated (its container declares ",
                      declared, " bytes, the file has ", file.size(),
                      "); get the file again, leave it out, or set allow_damage to use the frames "
                      "that can be read");
}

}  // namespace glia::detail
