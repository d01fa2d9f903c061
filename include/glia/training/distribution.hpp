#pragma once

#include <cstddef>
#include <memory>

#include "glia/core/pieces.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

/// Options of a distributed training. They must be the same on all ranks.
struct distributed_options {
  /// Whether the parameters are the same, bit for bit, for any number of ranks. If true, each batch
  /// is cut into `pieces` pieces, which are divided among the ranks. The gradients of the pieces
  /// are added along a fixed tree. A rank computes its pieces one after the other, which takes
  /// longer if the pieces are small. One process alone needs a `lone_rank` for it.
  bool reproducible = false;
  /// Number of pieces of a batch, at least the number of ranks. Used only if `reproducible` is
  /// true.
  std::size_t pieces = 8;
  /// Whether gradients are sent as bfloat16, which halves the bytes. Useful if the network
  /// connection is slow. Cannot be combined with `reproducible`.
  bool bfloat16_gradients = false;
  std::size_t bucket_bytes = std::size_t{1} << 20;  ///< Bytes of gradients that are sent together.
  bool share_memory = true;  ///< Whether ranks on one machine exchange gradients in shared memory.
  /// Whether gradients are sent during the backward pass. If false, they are sent after the
  /// backward pass, to measure the difference.
  bool overlap = true;
};

/// The ranks that share a training, and the options of the distributed training.
struct distribution {
  /// The ranks; null: this process trains alone. See `distributed` and `lone_rank`.
  std::shared_ptr<training_ranks> ranks = nullptr;
  distributed_options options = {};

  /// Returns the number of this rank; 0 without ranks.
  [[nodiscard]] std::size_t rank() const noexcept { return ranks ? ranks->rank() : 0; }
  /// Returns the number of ranks; 1 without ranks.
  [[nodiscard]] std::size_t size() const noexcept { return ranks ? ranks->size() : 1; }
  /// Returns the number of pieces of a batch.
  [[nodiscard]] std::size_t pieces() const noexcept {
    return options.reproducible ? options.pieces : size();
  }
  /// Returns the pieces of a batch that this rank computes.
  [[nodiscard]] piece_share share() const noexcept {
    return {part_of(pieces(), rank(), size()), pieces()};
  }
};

}  // namespace glia
