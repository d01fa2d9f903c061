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

/// The processes that `mpirun` or a scheduler started together:
///
///     const glia::mpi::communicator ranks;
///     const glia::cpu device{{.threads = ranks.threads()}};
///     ...
///     glia::trainer trainer{net, loss, glia::adam{}, glia::distributed({.seed = 1}, ranks)};
///
/// Started by itself, a program is the only rank. MPI is begun where it is not yet, and then ended
/// with the last copy; every rank must end it alike. Throws `device_error` where MPI fails, or was
/// begun without MPI_THREAD_MULTIPLE.
class communicator {
 public:
  explicit communicator(MPI_Comm of = MPI_COMM_WORLD) : state_(make(of)) {}

  [[nodiscard]] std::size_t rank() const noexcept { return all().rank(); }
  [[nodiscard]] std::size_t size() const noexcept { return all().size(); }
  /// Whether this is the rank that prints and writes files.
  [[nodiscard]] bool is_first() const noexcept { return rank() == 0; }

  /// How many threads this rank should use: as many as the cores that it was bound to.
  [[nodiscard]] std::size_t threads() const { return threads_for(all().places(), rank()); }
  /// "2 ranks on 1 machine, 1 thread each", with a warning where there are fewer cores. All ranks
  /// call it, each with the number of its threads.
  [[nodiscard]] std::string placement(std::size_t threads) const {
    return placement_text(all().places(), gather_values(*ranks(), threads));
  }

  /// What `distributed` shares a training among.
  [[nodiscard]] std::shared_ptr<rank_group> ranks() const { return state_; }

  /// Ends the run on all ranks with this one's reason.
  void fail(const std::string& reason) const { state_->fail(reason); }
  /// The same for what all ranks know.
  void end(const std::string& reason) const { state_->note_failure(reason); }

 private:
  // Ends MPI after its communicators.
  struct owned {
    detail::session of_mpi;
    mpi::ranks ranks;
    explicit owned(MPI_Comm of) : ranks(of) {}
  };
  [[nodiscard]] static std::shared_ptr<mpi::ranks> make(MPI_Comm of) {
    auto all = std::make_shared<owned>(of);
    return {all, &all->ranks};
  }
  [[nodiscard]] const mpi::ranks& all() const noexcept { return *state_; }

  std::shared_ptr<mpi::ranks> state_;
};

/// Calls body(communicator) and returns what it returns; 1 where it throws, which ends the run on
/// all ranks with the reason on the first one's output.
template <class Body>
int run(const Body& body) {
  const communicator all;
  try {
    return body(all);
  } catch (const rank_error& e) {  // which all ranks know
    all.end(e.what());
    return 1;
  } catch (const std::exception& e) {
    all.fail(e.what());
    return 1;
  }
}

}  // namespace glia::mpi
