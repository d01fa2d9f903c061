#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/data/dataset.hpp"
#include "glia/data/subset.hpp"
#include "glia/distributed/pieces.hpp"

namespace glia {

/// The samples of a data set that one of several ranks has: each sample is one rank's, and ranks
/// have as many as each other, or one more. With a seed they are drawn from the whole set, the same
/// for every number of ranks, else they lie side by side. Only what a rank has is read there. For
/// loops of one's own: a trainer that is shared by ranks cuts its batches itself. The data set must
/// outlive it.
///
/// Throws `value_error` for a rank that there is not.
template <dataset D>
[[nodiscard]] subset<D> shard(const D& data, std::size_t rank, std::size_t ranks,
                              std::optional<std::uint64_t> seed = std::nullopt) {
  require<value_error>(rank < ranks, "shard: expected one of ", ranks, " ranks, from 0 on, got ",
                       rank);
  detail::require_numbered("shard", data.size());
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  if (seed) {
    constexpr std::uint32_t stream = 0xFFFFFFFE;
    shuffle(std::span(order), {.seed = *seed, .stream = stream});
  }
  const auto [first, end] = part_of(order.size(), rank, ranks);
  return subset<D>(data, {order.begin() + static_cast<std::ptrdiff_t>(first),
                          order.begin() + static_cast<std::ptrdiff_t>(end)});
}
template <dataset D>
subset<D> shard(const D&& data, std::size_t rank, std::size_t ranks,
                std::optional<std::uint64_t> seed = std::nullopt) = delete;

/// The same for files that each hold many samples, as those of a stream of TFRecords.
[[nodiscard]] inline std::vector<std::filesystem::path> shard(
    const std::vector<std::filesystem::path>& files, std::size_t rank, std::size_t ranks) {
  require<value_error>(rank < ranks, "shard: expected one of ", ranks, " ranks, from 0 on, got ",
                       rank);
  require<value_error>(files.size() >= ranks, "shard: ", files.size(),
                       " files cannot be shared by ", ranks,
                       " ranks; write the samples into at least as many files");
  std::vector<std::filesystem::path> own;
  for (std::size_t i = rank; i < files.size(); i += ranks) {
    own.push_back(files[i]);
  }
  return own;
}

}  // namespace glia
