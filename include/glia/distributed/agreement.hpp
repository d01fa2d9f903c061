#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/distributed/state_bytes.hpp"
#include "glia/training/training_ranks.hpp"

// Checks and decisions that several ranks make together. All ranks call these functions, in the
// same order.
namespace glia {

/// Throws `rank_error` on every rank if the settings of a rank differ from the settings of rank 0.
inline void require_same_settings(rank_group& ranks, std::span<const rank_setting> own) {
  std::string joined;
  for (const rank_setting& one : own) {
    joined += one.name + ": " + one.value + '\n';
  }
  const std::vector<std::string> all = gather(ranks, joined);
  const auto line = [](const std::string& text, std::size_t at) {
    return text.substr(at, text.find('\n', at) - at);
  };
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::size_t at = 0;
    while (at < all[0].size() && line(all[0], at) == line(all[i], at)) {
      at += line(all[0], at).size() + 1;
    }
    require<rank_error>(all[i] == all[0], ranks.name_of(i), " and ", ranks.name_of(0),
                        " have different settings: '", line(all[i], at), "' and '",
                        line(all[0], at),
                        "'; start the same program with the same arguments and data on all ranks");
  }
}

/// Throws `rank_error` on every rank if the tensors of a rank differ from the tensors of rank 0.
inline void require_same_tensors(rank_group& ranks, std::span<const named_tensor> own) {
  std::vector<std::uint64_t> sums;
  for (const named_tensor& one : own) {
    checksum sum;
    std::visit(
        [&](const auto& values) {
          sum.add(std::string_view(reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(values[0])));
        },
        one.values);
    sums.push_back(sum.value());
  }
  const auto all = gather_each(ranks, sums);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto differs = std::mismatch(all[i].begin(), all[i].end(), all[0].begin(), all[0].end());
    const auto first = static_cast<std::size_t>(differs.first - all[i].begin());
    require<rank_error>(all[i] == all[0], "the ranks no longer have the same parameters: '",
                        first < own.size() ? own[first].name : "", "' of ", ranks.name_of(i),
                        " differs from that of ", ranks.name_of(0),
                        "; run the same build on the same type of processor on all ranks");
  }
}

/// Sends the training state of rank 0 to all ranks and returns it.
[[nodiscard]] inline training_state state_of_first(rank_group& ranks, const training_state& own) {
  const std::string bytes = from_first(ranks, ranks.rank() == 0 ? bytes_of(own) : std::string());
  return ranks.rank() == 0 ? own : state_of(bytes);
}

/// Returns the same callback result on all ranks: the result of the lowest rank whose callbacks
/// stop or interrupt the training. If no callback does, the training continues.
[[nodiscard]] inline callback_result agreed(rank_group& ranks, const callback_result& own) {
  const auto all = gather_values(ranks, own.next);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != callback_result::action::proceed) {
      return {all[i], gather(ranks, own.reason)[i]};
    }
  }
  return {};
}

}  // namespace glia
