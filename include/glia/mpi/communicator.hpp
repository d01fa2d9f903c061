#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "glia/distributed/messages.hpp"
#include "glia/mpi/calls.hpp"
#include "glia/mpi/placement.hpp"
#include "glia/mpi/ranks.hpp"

namespace glia::mpi {

/// The ranks: all processes that `mpirun` or a scheduler started together.
///
///     const glia::mpi::communicator ranks;
///     const glia::cpu device{{.threads = ranks.threads()}};
///     ...
///     glia::trainer trainer{net, loss, glia::adam{}, glia::distributed({.seed = 1}, ranks)};
///
/// A program that is started without `mpirun` is the only rank. The communicator initializes MPI if
/// necessary. In this case, it finalizes MPI when its last copy is destroyed. All ranks must create
/// and destroy it in the same order. Throws `device_error` if MPI fails or was initialized without
/// MPI_THREAD_MULTIPLE.
class communicator {
 public:
  /// Duplicates a communicator of MPI. The default contains all processes of the run.
  explicit communicator(MPI_Comm original = MPI_COMM_WORLD) : state_(make(original)) {}

  /// Returns the number of this process, from 0 to size() - 1.
  [[nodiscard]] std::size_t rank() const noexcept { return all().rank(); }
  /// Returns the number of ranks.
  [[nodiscard]] std::size_t size() const noexcept { return all().size(); }
  /// Returns whether this is rank 0, which prints and writes files.
  [[nodiscard]] bool is_first() const noexcept { return rank() == 0; }

  /// Returns the number of threads that this rank should use: the number of cores to which it is
  /// bound, divided by the number of ranks that share these cores.
  [[nodiscard]] std::size_t threads() const { return threads_for(all().places(), rank()); }
  /// Returns a text such as "2 ranks on 1 machine, 1 thread each", and a warning if a machine has
  /// fewer cores than threads. All ranks must call it, each with its number of threads.
  [[nodiscard]] std::string placement(std::size_t threads) const {
    return placement_text(all().places(), gather_values(*ranks(), threads));
  }

  /// Returns the group of ranks. `distributed` passes it to the trainer.
  [[nodiscard]] std::shared_ptr<rank_group> ranks() const { return state_; }

  /// Ends the run on all ranks and prints this rank's reason.
  void fail(const std::string& reason) const { state_->fail(reason); }
  /// Ends the run for a reason that all ranks know already.
  void end(const std::string& reason) const { state_->note_failure(reason); }

 private:
  // Members in this order: MPI is finalized after its communicators are freed.
  struct owned {
    detail::session of_mpi;
    mpi::ranks ranks;
    explicit owned(MPI_Comm original) : ranks(original) {}
  };
  [[nodiscard]] static std::shared_ptr<mpi::ranks> make(MPI_Comm original) {
    auto state = std::make_shared<owned>(original);
    return {state, &state->ranks};
  }
  [[nodiscard]] const mpi::ranks& all() const noexcept { return *state_; }

  std::shared_ptr<mpi::ranks> state_;
};

/// Calls body(communicator) and returns its result. If it throws, returns 1 and ends the run on all
/// ranks; rank 0 prints the reason.
template <class Body>
int run(const Body& body) {
  const communicator ranks;
  try {
    return body(ranks);
  } catch (const rank_error& e) {  // all ranks have this error
    ranks.end(e.what());
    return 1;
  } catch (const std::exception& e) {
    ranks.fail(e.what());
    return 1;
  }
}

}  // namespace glia::mpi
