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

/// Chooses `count` of n frames, evenly spread, and returns their indices.
///
/// The indices are floor((i + 1/2) n / count) for i = 0, ..., count - 1: the middle frames of
/// `count` equal parts. They count from 0. If n < count, some indices occur several times.
///
///     glia::frame_numbers(4, 100)  // 12, 37, 62, 87
///
/// Throws `value_error` if n is 0, or if n or `count` is 2^31 or more.
[[nodiscard]] inline std::vector<std::size_t> frame_numbers(std::size_t count, std::size_t n) {
  constexpr std::size_t limit = std::numeric_limits<std::int32_t>::max();
  require<value_error>(n > 0 && n <= limit && count <= limit,
                       "frame_numbers: expected n from 1 to ", limit, " and a count of at most ",
                       limit, ", got n ", n, " and count ", count);
  std::vector<std::size_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = (2 * i + 1) * n / (2 * count);
  }
  return numbers;
}

namespace detail {

/// Properties of a packet that are known before it is decoded.
struct packet_info {
  std::optional<std::int64_t> time;  ///< Presentation time of the packet's frame.
  bool key = false;                  ///< Whether the packet can be decoded without earlier packets.
  std::size_t bytes = 0;             ///< Size in bytes.
};

/// The order in which frames are shown, and the packets at which decoding can begin.
struct frame_order {
  std::vector<std::size_t> packet_of;  ///< Index of each frame's packet, in the order of showing.
  /// Indices of the packets at which decoding can begin, in ascending order. The first one is 0.
  /// These packets are keyframes that are shown after all earlier packets and before all later
  /// packets.
  std::vector<std::size_t> entries;
};

/// Returns the order of the frames. Returns `std::nullopt` if the times of the packets do not
/// define it: if a time is missing, if two times are equal, or if decoding cannot begin with the
/// first packet.
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
  // All times differ. So the first k packets have the k smallest times if the largest of
  // packet_of[0], ..., packet_of[k - 1] is k - 1.
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

/// A range of packets that is decoded without a gap, to get some of the wanted frames.
struct decoding_run {
  std::size_t first = 0;  ///< Index of the first packet, one of `entries`.
  std::size_t last = 0;   ///< One past the index of the last packet.
  /// Numbers of the wanted frames in ascending order, possibly repeated.
  std::vector<std::size_t> numbers;
};

/// Returns the runs that contain the wanted frames, in ascending order. Packets between two runs
/// are not decoded.
[[nodiscard]] inline std::vector<decoding_run> plan_decoding(std::span<const std::size_t> entries,
                                                             std::size_t packets,
                                                             std::span<const std::size_t> numbers) {
  std::vector<decoding_run> runs;
  for (const std::size_t number : numbers) {
    const auto next = std::upper_bound(entries.begin(), entries.end(), number);
    const std::size_t first = *std::prev(next);
    const std::size_t last = next == entries.end() ? packets : *next;
    if (runs.empty() || runs.back().last < first) {
      runs.push_back({first, last, {}});
    }
    runs.back().last = last;
    runs.back().numbers.push_back(number);
  }
  return runs;
}

}  // namespace detail

}  // namespace glia
