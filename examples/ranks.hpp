#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <glia/distributed.hpp>
#include <glia/glia.hpp>
#include <iostream>
#include <memory>
#include <utility>

#ifdef GLIA_WITH_MPI
#include <glia/mpi.hpp>
#endif

/// Whether an example is one of several processes that train together, and how.
struct rank_choice {
  bool distributed = false;
  glia::distributed_options options = {};
};

inline void add_rank_options(CLI::App& app, rank_choice& ranks) {
  app.add_flag("--distributed", ranks.distributed,
               "train one model on all processes that mpirun started");
  app.add_flag("--reproducible", ranks.options.reproducible,
               "the same weights, bit for bit, for every number of processes");
  app.add_option("--pieces", ranks.options.pieces,
                 "of a batch that processes share, if it is to be reproducible");
  app.add_flag("--bfloat16-gradients", ranks.options.bfloat16_gradients,
               "send gradients rounded to bfloat16, for slow networks");
}

/// The processes of a run.
class run_ranks {
 public:
  explicit run_ranks(const rank_choice& choice, std::shared_ptr<glia::rank_group> group = nullptr)
      : group_(std::move(group)), options_(choice.options) {}

  [[nodiscard]] bool is_first() const { return group_ == nullptr || group_->rank() == 0; }
  /// Null if one process trains alone.
  [[nodiscard]] glia::rank_group* group() const { return group_.get(); }
  [[nodiscard]] glia::trainer_options share(glia::trainer_options options) const {
    options.distribution = {group_, options_};
    if (group_ == nullptr && options_.reproducible) {
      options.distribution.ranks = std::make_shared<glia::lone_rank>();
    }
    return options;
  }
  [[nodiscard]] glia::evaluate_options share(glia::evaluate_options options = {}) const {
    options.ranks = group_.get();
    return options;
  }

 private:
  std::shared_ptr<glia::rank_group> group_;
  glia::distributed_options options_;
};

/// Calls use(ranks) with the processes that were asked for, of which only the first one prints, and
/// returns what it returns. `threads` is what the user asked for; where that is 0, as many as fit.
template <class Use>
int with_ranks(const rank_choice& choice, [[maybe_unused]] std::size_t& threads, const Use& use) {
  if (!choice.distributed) {
    return use(run_ranks(choice));
  }
#ifdef GLIA_WITH_MPI
  return glia::mpi::run([&](const glia::mpi::communicator& communicator) {
    threads = threads > 0 ? threads : communicator.threads();
    const std::string placement = communicator.placement(threads);
    if (!communicator.is_first()) {
      std::cout.rdbuf(nullptr);
    }
    std::cout << placement << "\n\n";
    return use(run_ranks(choice, communicator.ranks()));
  });
#else
  throw glia::value_error(
      "--distributed: this program was built without MPI; install one, such as libopenmpi-dev, and "
      "configure again");
#endif
}
