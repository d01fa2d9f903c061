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

/// Numbers and letters at places of a file. What lies behind its end is not there.
class file_places {
 public:
  explicit file_places(const std::filesystem::path& path)
      : in_(path, std::ios::binary | std::ios::ate),
        size_(static_cast<std::uint64_t>(std::max<std::streamoff>(0, in_.tellg()))) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// `N` bytes from a place, if the file has all of them.
  template <std::size_t N>
  [[nodiscard]] std::optional<std::array<std::uint8_t, N>> bytes(std::uint64_t at) {
    std::array<std::uint8_t, N> result{};
    if (at > size_ || size_ - at < N) {
      return std::nullopt;
    }
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(at));
    in_.read(reinterpret_cast<char*>(result.data()), N);
    return in_.gcount() == N ? std::optional(result) : std::nullopt;
  }

 private:
  std::ifstream in_;
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

/// AVI: chunks RIFF, each with its length; large files have several (OpenDML). Programs that were
/// ended before they knew a length left 0 or a number of ones.
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

/// MP4 and MOV (ISO/IEC 14496-12, 4.2): boxes follow each other, each with its length.
[[nodiscard]] inline std::uint64_t box_extent(file_places& file) {
  constexpr int most_boxes = 1'000'000;  // a box for each second of eleven days
  std::uint64_t end = 0;
  for (int box = 0; box < most_boxes && end < file.size(); ++box) {
    const auto head = file.bytes<8>(end);
    if (!head) {
      return end + 8;
    }
    const std::span<const std::uint8_t> bytes(*head);
    std::uint64_t length = big_endian(bytes.first(4));
    if (length == 0) {  // up to the end of the file
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
    if (length < 8 || !letters) {  // no box: what stands behind the last one is no matter
      break;
    }
    if (length > file.size() - end) {
      return length > UINT64_MAX - end ? UINT64_MAX : end + length;
    }
    end += length;
  }
  return end;
}

/// A length of Matroska's (RFC 8794, section 4): as many zero bits as it has bytes behind the
/// first, a one, and the number. All ones: not known.
struct ebml_length {
  std::size_t bytes = 0;
  std::optional<std::uint64_t> value;
};
[[nodiscard]] inline std::optional<ebml_length> ebml_length_at(file_places& file,
                                                               std::uint64_t at) {
  const auto first = file.bytes<1>(at);
  if (!first || (*first)[0] == 0) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(std::countl_zero((*first)[0])) + 1;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = file.bytes<1>(at + i);
    if (!byte) {
      return std::nullopt;
    }
    value = value << 8 | (*byte)[0];
  }
  const std::uint64_t ones = (std::uint64_t{1} << (7 * count)) - 1;
  value &= ones;
  return ebml_length{count, value == ones ? std::nullopt : std::optional(value)};
}

/// Matroska and WebM: a header and a segment, each with its length.
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

/// How many bytes a file has by what its container declares, or 0 where that is not known: MPEG
/// streams and most other formats do not tell.
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

/// Throws `data_error` for a file that ends before its container does.
inline void require_whole_container(const std::filesystem::path& path) {
  file_places file(path);
  const std::uint64_t declared = declared_extent(file);
  require<data_error>(declared <= file.size(), "the clip is cut short (its container declares ",
                      declared, " bytes, the file has ", file.size(),
                      "); fetch the file again, leave it out, or set allow_damage to take the "
                      "frames that are there");
}

}  // namespace glia::detail
