#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "glia/core/error.hpp"

namespace glia::detail {

/// Throws `data_error` where a file is expected and the path is a folder's: systems open one as if
/// it were a file, and what reading it then fails with tells nobody what is wrong.
inline void require_no_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  require<data_error>(!std::filesystem::is_directory(path, ignored), path.string(),
                      ": is a folder; expected a file");
}

/// What `call` returns. Where it takes more memory than there is, throws `data_error` with the name
/// of what it reads.
template <class Call>
auto within_memory(const std::string& name, const Call& call) {
  const auto failure = [&] {
    return data_error(text(name,
                           ": takes more memory than can be had; is the file damaged, or does "
                           "the program have too little?"));
  };
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw failure();
  } catch (const std::length_error&) {
    throw failure();
  }
}

/// What `call` returns. What it throws about data that have no name of their own, or for want of
/// memory, gets this one put in front.
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

/// As many bytes as a header announces, or as many of them as there are: `read(data, count)` puts
/// the next ones there and returns how many it had. A header that lies about its size is found out
/// in time: no more than five times what is there, and 4 kB, is taken. Of steps of less, more would
/// be copied. They are put into the memory of `bytes`, where that is enough.
template <class Bytes, class Read>
[[nodiscard]] Bytes read_announced(std::uint64_t announced, const Read& read, Bytes bytes = {}) {
  constexpr std::uint64_t first = 4096;
  bytes.clear();
  while (bytes.size() < announced) {
    const std::size_t have = bytes.size();
    const auto wanted = static_cast<std::size_t>(
        std::min(std::max<std::uint64_t>(first, 3 * std::uint64_t{have}), announced - have));
    bytes.reserve(have + wanted);
    bytes.resize(have + wanted);
    const auto got = static_cast<std::size_t>(read(bytes.data() + have, wanted));
    if (got < wanted) {
      bytes.resize(have + got);
      break;
    }
  }
  return bytes;
}

}  // namespace glia::detail
