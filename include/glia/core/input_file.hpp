#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"

namespace glia::detail {

/// Throws `data_error` if the path is a folder instead of a file. Systems open a folder as if it
/// were a file, and reading it then fails with an unhelpful message.
inline void require_no_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  require<data_error>(!std::filesystem::is_directory(path, ignored), path.string(),
                      ": is a folder; expected a file");
}

/// Calls `call` and returns its result. If there is not enough memory, throws `data_error` with
/// `name`, the name of the data that `call` reads.
template <class Call>
auto within_memory(const std::string& name, const Call& call) {
  const auto failure = [&] {
    return data_error(
        text(name,
             ": needs more memory than is available; check that the file is not damaged "
             "and that the program has enough memory"));
  };
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw failure();
  } catch (const std::length_error&) {
    throw failure();
  } catch (const memory_error&) {
    throw failure();
  }
}

/// Calls `call` and returns its result. If it throws `data_error` or there is not enough memory,
/// throws `data_error` with `name` in front of the message.
template <class Call>
auto naming(const std::string& name, const Call& call) {
  return within_memory(name, [&] {
    try {
      return call();
    } catch (const data_error& e) {
      throw data_error(text(name, ": ", e.what()));
    }
  });
}

/// Converts a size from a file. Throws `std::bad_alloc` if it exceeds the processor's memory sizes.
[[nodiscard]] inline std::size_t memory_size(std::uint64_t size) {
  if (!std::in_range<std::size_t>(size)) {
    throw std::bad_alloc();
  }
  return static_cast<std::size_t>(size);
}

/// Reads as many bytes as a file's header announces, or fewer if the data end earlier. `read(data,
/// count)` writes the next bytes to `data` and returns their number. The memory of `bytes` is
/// reused.
///
/// If a header announces much more than the data, little memory is wasted: the function never
/// allocates more than five times the existing data plus 4 kB. Smaller steps would copy the data
/// more often.
template <class Bytes, class Read>
[[nodiscard]] Bytes read_announced(std::uint64_t announced, const Read& read, Bytes bytes = {}) {
  constexpr std::uint64_t first = 4096;
  bytes.clear();
  while (bytes.size() < announced) {
    const std::size_t size = bytes.size();
    const std::uint64_t longest = std::max<std::uint64_t>(first, 3 * std::uint64_t{size});
    const std::size_t end = memory_size(size + std::min(longest, announced - size));
    const std::size_t count = end - size;
    bytes.reserve(end);
    bytes.resize(end);
    const auto received = static_cast<std::size_t>(read(bytes.data() + size, count));
    if (received < count) {
      bytes.resize(size + received);
      break;
    }
  }
  return bytes;
}

}  // namespace glia::detail
