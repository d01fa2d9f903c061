#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/distributed/rank_group.hpp"

namespace glia {

/// Waits for a transfer.
inline void wait_for(rank_group& ranks, rank_group::transfer one) {
  while (!ranks.is_done(one)) {
    std::this_thread::yield();  // there may be more ranks than cores
  }
}

/// What every rank gives, on every rank, by rank: all call it, each with as many bytes as it likes.
[[nodiscard]] inline std::vector<std::string> gather(rank_group& ranks, std::string_view own) {
  const std::size_t size = ranks.size();
  const std::size_t rank = ranks.rank();
  constexpr std::size_t most = std::numeric_limits<int>::max();
  require<value_error>(own.size() < most / size, "ranks: a message of ", own.size(),
                       " bytes is too long; at most ", most / size, " for each of ", size);
  std::vector<int> bytes(size);
  std::vector<int> offsets(size);
  std::vector<int> each(size, sizeof(int));
  for (std::size_t i = 0; i < size; ++i) {
    offsets[i] = static_cast<int>(i * sizeof(int));
  }
  bytes[rank] = static_cast<int>(own.size());
  wait_for(ranks,
           ranks.start_gather(transfer_kind::messages, {reinterpret_cast<std::byte*>(bytes.data()),
                                                        each.data(), offsets.data()}));
  std::size_t total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    require<value_error>(total <= most, "ranks: the messages of all ranks are too long together");
    offsets[i] = static_cast<int>(total);
    total += static_cast<std::size_t>(bytes[i]);
  }
  std::vector<std::byte> all(total);
  if (!own.empty()) {
    std::memcpy(all.data() + offsets[rank], own.data(), own.size());
  }
  wait_for(ranks,
           ranks.start_gather(transfer_kind::messages, {all.data(), bytes.data(), offsets.data()}));
  std::vector<std::string> result;
  for (std::size_t i = 0; i < size; ++i) {
    const auto* from = reinterpret_cast<const char*>(all.data()) + offsets[i];
    result.emplace_back(from, static_cast<std::size_t>(bytes[i]));
  }
  return result;
}

/// Fills the blocks of all ranks, each of so many bytes, of which this one's is there.
inline void gather_blocks(rank_group& ranks, std::byte* memory, int bytes) {
  const std::vector<int> each(ranks.size(), bytes);
  std::vector<int> offsets(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    offsets[i] = static_cast<int>(i) * bytes;
  }
  wait_for(ranks,
           ranks.start_gather(transfer_kind::messages, {memory, each.data(), offsets.data()}));
}

/// One value of each rank, on every rank.
template <class T>
requires(std::is_trivially_copyable_v<T> && !std::same_as<T, bool>)
    [[nodiscard]] std::vector<T> gather_values(rank_group& ranks, const T& own) {
  std::vector<T> all(ranks.size());
  all[ranks.rank()] = own;
  gather_blocks(ranks, reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// Sends what rank 0 holds to all others: text of any length, a part at a time.
[[nodiscard]] inline std::string from_first(rank_group& ranks, std::string_view text) {
  constexpr std::size_t part = std::size_t{1} << 28;
  const auto length = gather_values(ranks, text.size())[0];
  std::string result;
  for (std::size_t at = 0; at < length; at += part) {
    result += gather(ranks, ranks.rank() == 0 ? text.substr(at, part) : std::string_view())[0];
  }
  return result;
}

}  // namespace glia
