#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/pieces.hpp"
#include "glia/core/random.hpp"
#include "glia/data/dataset.hpp"
#include "glia/data/subset.hpp"

namespace glia {

/// Returns one rank's samples of a data set, for a distributed training loop that you write
/// yourself. (A `trainer` with `distributed` divides its batches itself.)
///
/// Each sample belongs to exactly one rank, and the numbers of samples differ by at most one.
/// Without a seed, rank 0 gets the first samples, rank 1 the next ones, and so on. TensorFlow's
/// `Dataset.shard(num_shards, index)` takes every n-th sample instead. With a seed, all samples are
/// shuffled first, in an order that does not depend on the number of ranks. A rank reads only its
/// own samples. The result is a view of `data`; `data` must outlive it.
///
/// Throws `value_error` if `rank` is not smaller than `ranks`.
template <dataset D>
[[nodiscard]] subset<D> shard(const D& data, std::size_t rank, std::size_t ranks,
                              std::optional<std::uint64_t> seed = std::nullopt) {
  require<value_error>(rank < ranks, "shard: expected a rank below ", ranks,
                       ", the number of ranks, got ", rank);
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

/// Returns one rank's files of a list, for instance of TFRecord files for `tfrecord_index`. These
/// are the files `rank`, `rank` + `ranks`, `rank` + 2 `ranks`, and so on.
///
/// Throws `value_error` if `rank` is not smaller than `ranks`, or if there are fewer files than
/// ranks.
[[nodiscard]] inline std::vector<std::filesystem::path> shard(
    const std::vector<std::filesystem::path>& files, std::size_t rank, std::size_t ranks) {
  require<value_error>(rank < ranks, "shard: expected a rank below ", ranks,
                       ", the number of ranks, got ", rank);
  require<value_error>(files.size() >= ranks, "shard: expected one or more files for each of ",
                       ranks, " ranks, got ", files.size(),
                       " files; divide the samples into more files");
  std::vector<std::filesystem::path> result;
  for (std::size_t i = rank; i < files.size(); i += ranks) {
    result.push_back(files[i]);
  }
  return result;
}

}  // namespace glia
