#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// `count` of n frames, spread evenly: the middle ones of count equal parts, that is number
/// floor((i + 1/2) n / count) for i = 0, ..., count - 1, counted from 0. Where n < count, some come
/// several times.
///
///     glia::frame_numbers(4, 100)  // 12, 37, 62, 87
///
/// Throws `value_error` where n is 0, and for counts of 2^31 or more.
[[nodiscard]] inline std::vector<std::size_t> frame_numbers(std::size_t count, std::size_t n) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  require<value_error>(n > 0 && n <= most && count <= most, "frame_numbers: expected from 1 to ",
                       most, " frames to choose from and at most as many to choose, got ", n,
                       " and ", count);
  std::vector<std::size_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = (2 * i + 1) * n / (2 * count);
  }
  return numbers;
}

namespace detail {

/// What is known of a packet before it is decoded.
struct packet_info {
  std::optional<std::int64_t> time;  ///< at which its frame is shown
  bool key = false;                  ///< whether it can be decoded without those before it
  std::size_t bytes = 0;
};

/// In which order frames are shown whose packets are decoded in this one, and where decoding may
/// begin.
struct frame_order {
  std::vector<std::size_t> packet_of;  ///< of each frame, in the order of showing
  /// Packets that nothing which is shown from them on needs those before for: keyframes that are
  /// shown later than all packets before them, and before all behind them. Ascending, from 0.
  std::vector<std::size_t> entries;
};

/// Nothing comes where the times of the packets do not tell the order: where one is missing, or two
/// are the same, or decoding cannot begin with the first packet.
[[nodiscard]] inline std::optional<frame_order> order_of_frames(
    std::span<const packet_info> packets) {
  if (packets.empty() ||
      !std::all_of(packets.begin(), packets.end(), [](const auto& p) { return p.time; })) {
    return std::nullopt;
  }
  frame_order order;
  order.packet_of.resize(packets.size());
  std::iota(order.packet_of.begin(), order.packet_of.end(), std::size_t{0});
  const auto time = [&](std::size_t packet) { return *packets[packet].time; };
  std::sort(order.packet_of.begin(), order.packet_of.end(),
            [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
  const auto same = std::adjacent_find(order.packet_of.begin(), order.packet_of.end(),
                                       [&](auto a, auto b) { return time(a) == time(b); });
  if (same != order.packet_of.end()) {
    return std::nullopt;
  }
  // As times differ, those of the first k packets are the k smallest where the largest of the first
  // k numbers in the order of showing is k - 1.
  std::size_t last = 0;
  for (std::size_t k = 0; k < packets.size(); ++k) {
    if (packets[k].key && order.packet_of[k] == k && (k == 0 || last == k - 1)) {
      order.entries.push_back(k);
    }
    last = std::max(last, order.packet_of[k]);
  }
  if (order.entries.empty() || order.entries.front() != 0) {
    return std::nullopt;
  }
  return order;
}

/// Packets that are decoded in one go for frames that are wanted.
struct decoding_run {
  std::size_t first = 0;            ///< an entry
  std::size_t last = 0;             ///< the packet behind the last one
  std::vector<std::size_t> wanted;  ///< numbers of frames, ascending; some several times
};

/// Runs for the wanted frames, ascending: between these lies what no wanted frame needs.
[[nodiscard]] inline std::vector<decoding_run> plan_decoding(std::span<const std::size_t> entries,
                                                             std::size_t packets,
                                                             std::span<const std::size_t> wanted) {
  std::vector<decoding_run> runs;
  for (const std::size_t number : wanted) {
    const auto behind = std::upper_bound(entries.begin(), entries.end(), number);
    const std::size_t first = *std::prev(behind);
    const std::size_t last = behind == entries.end() ? packets : *behind;
    if (runs.empty() || runs.back().last < first) {
      runs.push_back({first, last, {}});
    }
    runs.back().last = last;
    runs.back().wanted.push_back(number);
  }
  return runs;
}

}  // namespace detail

}  // namespace glia
