#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

// Files are little-endian: the lowest byte of a number is first. On processors that are, too, the
// functions for numbers in memory do nothing.

namespace glia::detail {

inline constexpr bool is_big_endian = std::endian::native == std::endian::big;
static_assert(is_big_endian || std::endian::native == std::endian::little,
              "glia expects the bytes of a number in ascending or descending order");

/// Appends the `bytes` low bytes of a word, the lowest byte first.
inline void append_little_endian(std::string& destination, std::uint64_t word, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    destination += static_cast<char>(word >> (8 * i));
  }
}

/// Returns the word stored in up to 8 bytes, the lowest byte first.
[[nodiscard]] inline std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

/// Reverses the bytes of each number; a number has `size` bytes.
inline void reverse_bytes(std::span<std::byte> numbers, std::size_t size) {
  for (std::size_t i = 0; i < numbers.size(); i += size) {
    std::reverse(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                 numbers.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
}

/// Converts numbers that were read from a file to the byte order of the processor.
template <class T>
void convert_little_endian([[maybe_unused]] std::span<T> numbers) {
  if constexpr (is_big_endian) {
    reverse_bytes(std::as_writable_bytes(numbers), sizeof(T));
  }
}

/// Returns the number at this place of a file's bytes.
template <class T>
[[nodiscard]] T load_little_endian(const void* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(T));
  convert_little_endian(std::span(&number, 1));
  return number;
}

/// Calls `use` with numbers as the bytes of a file: those in memory, or those of a converted copy.
/// A number has `size` bytes.
template <class Use>
void use_little_endian(std::span<const std::byte> numbers, [[maybe_unused]] std::size_t size,
                       const Use& use) {
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size());
  if constexpr (is_big_endian) {
    std::string converted(bytes);
    reverse_bytes(std::as_writable_bytes(std::span(converted)), size);
    use(std::string_view(converted));
  } else {
    use(bytes);
  }
}

}  // namespace glia::detail
