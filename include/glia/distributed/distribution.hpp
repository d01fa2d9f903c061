#pragma once

#include <cstddef>
#include <memory>

#include "glia/distributed/batch_sum.hpp"
#include "glia/distributed/rank_group.hpp"

namespace glia {

/// What ranks that train together agree on.
struct distributed_options {
  /// Whether the weights are to be the same, bit for bit, for every number of ranks: each batch is
  /// cut into so many pieces, which ranks share and whose sums are added along one tree. Pieces are
  /// computed one after the other, which takes longer where they are small.
  bool reproducible = false;
  std::size_t pieces = 8;  ///< at least as many as ranks; only where reproducible
  /// Whether batch normalisation takes mean and variance of the whole batch rather than of this
  /// rank's samples: two messages more for each such layer, and no rank may be without samples. Not
  /// where reproducible.
  bool synchronised_batch_norm = false;
  /// Sends gradients rounded to 8 bits of fraction, half as many bytes, for slow networks. Not
  /// where reproducible.
  bool bfloat16_sums = false;
  std::size_t bucket_bytes = std::size_t{1} << 20;  ///< of gradients that are sent at once
  bool share_memory = true;  ///< of ranks on one machine, in place of messages
  bool overlap = true;  ///< false: nothing is sent before the backward pass is over, to compare
};

/// Among which ranks a training is shared, and how.
struct distribution {
  std::shared_ptr<rank_group> ranks = nullptr;  ///< nullptr: this process trains alone
  distributed_options how = {};

  [[nodiscard]] bool is_shared() const noexcept { return ranks != nullptr || how.reproducible; }
  [[nodiscard]] std::size_t rank() const noexcept { return ranks ? ranks->rank() : 0; }
  [[nodiscard]] std::size_t size() const noexcept { return ranks ? ranks->size() : 1; }
  /// Into how many pieces a batch is cut.
  [[nodiscard]] std::size_t pieces() const noexcept {
    return how.reproducible ? how.pieces : size();
  }
  /// Those of this rank.
  [[nodiscard]] piece_share share() const noexcept {
    return {part_of(pieces(), rank(), size()), pieces()};
  }
};

}  // namespace glia
