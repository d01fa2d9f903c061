#pragma once

#include <utility>

#include "glia/mpi/communicator.hpp"
#include "glia/training/evaluate_core.hpp"
#include "glia/training/trainer_core.hpp"

namespace glia {

/// Shares a training among ranks: each takes its part of every batch, of which all ranks together
/// make the same step as one process would. All ranks make the trainer and call it alike.
///
///     glia::trainer trainer{net, loss, glia::adam{}, glia::distributed({.seed = 1}, ranks)};
[[nodiscard]] inline trainer_options distributed(trainer_options options,
                                                 const mpi::communicator& over,
                                                 const distributed_options& how = {}) {
  options.over = {over.ranks(), how};
  return options;
}

/// Shares an evaluation: ranks take batches in turn, and all have the scores of all of them.
[[nodiscard]] inline evaluate_options distributed(evaluate_options options,
                                                  const mpi::communicator& over) {
  options.ranks = over.ranks().get();
  return options;
}

}  // namespace glia
