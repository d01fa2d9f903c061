#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/state_bytes.hpp"

// What ranks that train together make sure of. All of them call these functions, in one order.
namespace glia {

/// Something that has to be the same on all ranks, and how it is there.
struct rank_setting {
  std::string name;
  std::string value;
};

/// Throws `rank_error`, on every rank, where one of them differs from the first.
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
    require<rank_error>(
        all[i] == all[0], ranks.name_of(i), " does not train as ", ranks.name_of(0), " does: '",
        line(all[i], at), "' on the one, '", line(all[0], at),
        "' on the other; start one program with the same arguments and data on all ranks");
  }
}

/// Does what ranks do together. Where it throws on this one, all learn of it and throw
/// `rank_error`: they could not go on without it.
template <class Body>
decltype(auto) together(rank_group* ranks, const Body& body) {
  try {
    return body();
  } catch (const rank_error&) {
    throw;
  } catch (const std::exception& e) {
    if (ranks != nullptr) {
      ranks->fail(e.what());
    }
    throw;
  }
}

/// Throws `rank_error`, on every rank, where tensors have other numbers on some rank than on the
/// first.
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
    require<rank_error>(all[i] == all[0], "the ranks are no longer the same: '",
                        first < own.size() ? own[first].name : "", "' differs on ",
                        ranks.name_of(i), " from that of ", ranks.name_of(0),
                        "; do its machine and program differ?");
  }
}

/// The state of the first rank, on all of them.
[[nodiscard]] inline training_state state_of_first(rank_group& ranks, const training_state& own) {
  const std::string bytes = from_first(ranks, ranks.rank() == 0 ? bytes_of(own) : std::string());
  return ranks.rank() == 0 ? own : state_of(bytes);
}

/// The verdict of the first rank that does not say to go on; the same on all.
[[nodiscard]] inline verdict agreed(rank_group& ranks, const verdict& own) {
  const auto all = gather_values(ranks, own.what);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != verdict::kind::go_on) {
      return {all[i], gather(ranks, own.reason)[i]};
    }
  }
  return {};
}

}  // namespace glia
