#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/distributed/rank_group.hpp"

// Functions that all ranks must call in the same order.
namespace glia {

namespace detail {

/// Blocks of bytes from all ranks, one after the other, with their sizes and offsets.
struct gathered {
  std::vector<int> bytes;
  std::vector<int> offsets;
  std::vector<std::byte> memory;

  [[nodiscard]] std::string_view block(std::size_t rank) const {
    return {reinterpret_cast<const char*>(memory.data()) + offsets[rank],
            static_cast<std::size_t>(bytes[rank])};
  }
};

/// Gathers one block of bytes from each rank, on every rank. `bytes` contains the size of each
/// rank's block. All ranks pass the same sizes.
[[nodiscard]] inline std::shared_ptr<const gathered> gather_blocks(rank_group& ranks,
                                                                   std::vector<int> bytes,
                                                                   const void* block) {
  auto result = std::make_shared<gathered>();
  std::size_t total = 0;
  for (const int size : bytes) {
    result->offsets.push_back(static_cast<int>(total));
    total += static_cast<std::size_t>(size);
  }
  result->bytes = std::move(bytes);
  result->memory.resize(total);
  const std::size_t rank = ranks.rank();
  if (result->bytes[rank] > 0) {
    std::memcpy(result->memory.data() + result->offsets[rank], block,
                static_cast<std::size_t>(result->bytes[rank]));
  }
  rank_group::transfer transfer =
      ranks.start_gather(transfer_kind::messages,
                         {result->memory.data(), result->bytes.data(), result->offsets.data()});
  try {
    while (!ranks.is_done(transfer)) {
      std::this_thread::yield();  // there may be more ranks than cores
    }
  } catch (...) {
    ranks.keep(result);  // other ranks may still write to it
    throw;
  }
  return result;
}

}  // namespace detail

/// Gathers one block of `bytes` bytes from each rank into `memory`, in the order of the ranks. This
/// rank's block must already be in its position in `memory`.
inline void gather_blocks(rank_group& ranks, std::byte* memory, int bytes) {
  const std::byte* const block = memory + ranks.rank() * static_cast<std::size_t>(bytes);
  const auto blocks = detail::gather_blocks(ranks, std::vector<int>(ranks.size(), bytes), block);
  std::copy(blocks->memory.begin(), blocks->memory.end(), memory);
}

/// Returns the values of all ranks, on every rank.
template <class T>
requires(std::is_trivially_copyable_v<T> && !std::same_as<T, bool>)
    [[nodiscard]] std::vector<T> gather_values(rank_group& ranks, const T& value) {
  std::vector<T> values(ranks.size());
  values[ranks.rank()] = value;
  gather_blocks(ranks, reinterpret_cast<std::byte*>(values.data()), sizeof(T));
  return values;
}

/// Returns the strings of all ranks, on every rank, in the order of the ranks. They can have
/// different lengths. One exchange sends at most `at_a_time` bytes, summed over all ranks.
[[nodiscard]] inline std::vector<std::string> gather(
    rank_group& ranks, std::string_view text,
    std::size_t at_a_time = std::numeric_limits<int>::max()) {
  const std::vector<std::size_t> sizes = gather_values(ranks, text.size());
  const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
  const std::size_t part = std::max<std::size_t>(at_a_time / sizes.size(), 1);
  std::vector<std::string> result(sizes.size());
  for (std::size_t offset = 0; offset < longest; offset += part) {
    std::vector<int> bytes(sizes.size());
    std::transform(sizes.begin(), sizes.end(), bytes.begin(), [part, offset](std::size_t size) {
      return static_cast<int>(std::min(part, size - std::min(offset, size)));
    });
    const auto blocks =
        detail::gather_blocks(ranks, bytes, text.data() + std::min(offset, text.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      result[i] += blocks->block(i);
    }
  }
  return result;
}

namespace detail {

/// Returns rank 0's text on all ranks.
[[nodiscard]] inline std::string from_first(rank_group& ranks, std::string_view text) {
  return gather(ranks, ranks.rank() == 0 ? text : std::string_view())[0];
}

/// Returns the vectors of all ranks, on every rank, in the order of the ranks. They can have
/// different lengths.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> gather_each(rank_group& ranks,
                                                      const std::vector<T>& values) {
  std::vector<std::vector<T>> result;
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(T));
  for (const std::string& of_rank : gather(ranks, bytes)) {
    std::vector<T>& received = result.emplace_back(of_rank.size() / sizeof(T));
    if (!of_rank.empty()) {
      std::memcpy(received.data(), of_rank.data(), of_rank.size());
    }
  }
  return result;
}
/// Returns the concatenated vectors of all ranks, on every rank, in the order of the ranks. They
/// can have different lengths.
template <class T>
[[nodiscard]] std::vector<T> gather_all(rank_group& ranks, const std::vector<T>& values) {
  std::vector<T> result;
  for (const std::vector<T>& part : gather_each(ranks, values)) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace detail

}  // namespace glia
