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

  [[nodiscard]] std::string_view of(std::size_t rank) const {
    return {reinterpret_cast<const char*>(memory.data()) + offsets[rank],
            static_cast<std::size_t>(bytes[rank])};
  }
};

/// Gathers one block of bytes from each rank, on every rank. `bytes` contains the size of each
/// rank's block. All ranks pass the same sizes.
[[nodiscard]] inline std::shared_ptr<const gathered> gather_blocks(rank_group& ranks,
                                                                   std::vector<int> bytes,
                                                                   const void* own) {
  auto all = std::make_shared<gathered>();
  std::size_t total = 0;
  for (const int one : bytes) {
    all->offsets.push_back(static_cast<int>(total));
    total += static_cast<std::size_t>(one);
  }
  all->bytes = std::move(bytes);
  all->memory.resize(total);
  const std::size_t rank = ranks.rank();
  if (all->bytes[rank] > 0) {
    std::memcpy(all->memory.data() + all->offsets[rank], own,
                static_cast<std::size_t>(all->bytes[rank]));
  }
  rank_group::transfer one = ranks.start_gather(
      transfer_kind::messages, {all->memory.data(), all->bytes.data(), all->offsets.data()});
  try {
    while (!ranks.is_done(one)) {
      std::this_thread::yield();  // there may be more ranks than cores
    }
  } catch (...) {
    ranks.keep(all);  // other ranks may still write to it
    throw;
  }
  return all;
}

}  // namespace detail

/// Gathers one block of `bytes` bytes from each rank into `memory`, in the order of the ranks. This
/// rank's block must already be in its position in `memory`.
inline void gather_blocks(rank_group& ranks, std::byte* memory, int bytes) {
  const std::byte* const own = memory + ranks.rank() * static_cast<std::size_t>(bytes);
  const auto all = detail::gather_blocks(ranks, std::vector<int>(ranks.size(), bytes), own);
  std::copy(all->memory.begin(), all->memory.end(), memory);
}

/// Returns the values of all ranks, on every rank.
template <class T>
requires(std::is_trivially_copyable_v<T> && !std::same_as<T, bool>)
    [[nodiscard]] std::vector<T> gather_values(rank_group& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  all[ranks.rank()] = own;
  gather_blocks(ranks, reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// Returns the strings of all ranks, on every rank, in the order of the ranks. They can have
/// different lengths. One exchange sends at most `at_a_time` bytes, summed over all ranks.
[[nodiscard]] inline std::vector<std::string> gather(
    rank_group& ranks, std::string_view own,
    std::size_t at_a_time = std::numeric_limits<int>::max()) {
  const std::vector<std::size_t> sizes = gather_values(ranks, own.size());
  const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
  const std::size_t part = std::max<std::size_t>(at_a_time / sizes.size(), 1);
  std::vector<std::string> result(sizes.size());
  for (std::size_t at = 0; at < longest; at += part) {
    std::vector<int> bytes(sizes.size());
    std::transform(sizes.begin(), sizes.end(), bytes.begin(), [part, at](std::size_t size) {
      return static_cast<int>(std::min(part, size - std::min(at, size)));
    });
    const auto all = detail::gather_blocks(ranks, bytes, own.data() + std::min(at, own.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      result[i] += all->of(i);
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
                                                      const std::vector<T>& own) {
  std::vector<std::vector<T>> all;
  const std::string_view bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T));
  for (const std::string& of_rank : gather(ranks, bytes)) {
    std::vector<T>& one = all.emplace_back(of_rank.size() / sizeof(T));
    if (!of_rank.empty()) {
      std::memcpy(one.data(), of_rank.data(), of_rank.size());
    }
  }
  return all;
}
/// Returns the concatenated vectors of all ranks, on every rank, in the order of the ranks. They
/// can have different lengths.
template <class T>
[[nodiscard]] std::vector<T> gather_all(rank_group& ranks, const std::vector<T>& own) {
  std::vector<T> all;
  for (const std::vector<T>& one : gather_each(ranks, own)) {
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

}  // namespace detail

}  // namespace glia
