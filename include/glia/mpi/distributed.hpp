#pragma once

#include <utility>

#include "glia/mpi/communicator.hpp"
#include "glia/trainer.hpp"
#include "glia/training/evaluate_core.hpp"

namespace glia {

/// Returns trainer options with which several ranks share a training. Each rank computes a part of
/// every batch, and all ranks together make the same step as one process. All ranks must create the
/// trainer and call its functions in the same order.
///
///     glia::trainer trainer{net, loss, glia::adam{}, glia::distributed({.seed = 1}, ranks)};
[[nodiscard]] inline trainer_options distributed(
    trainer_options options, const mpi::communicator& ranks,
    const distributed_options& distribution_options = {}) {
  options.distribution = {ranks.ranks(), distribution_options};
  return options;
}

/// Returns options with which several ranks share an evaluation. The ranks take the batches in
/// turn, and all ranks get the scores of all batches.
[[nodiscard]] inline evaluate_options distributed(evaluate_options options,
                                                  const mpi::communicator& ranks) {
  options.ranks = ranks.ranks().get();
  return options;
}

}  // namespace glia
