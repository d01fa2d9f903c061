#pragma once

#include <array>
#include <cstring>
#include <string>

#include "glia/core/error.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/mpi/api.hpp"

namespace glia::mpi::detail {

/// Throws `device_error` if a call of MPI failed.
inline void check(int code, const char* function) {
  if (code == MPI_SUCCESS) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING> reason{};
  int length = 0;
  MPI_Error_string(code, reason.data(), &length);
  throw device_error(text("mpi: ", function, " failed (", reason.data(), ")"));
}

// A request is an integer or a pointer, depending on the implementation.
static_assert(sizeof(MPI_Request) <= sizeof(rank_group::transfer::handle));

[[nodiscard]] inline rank_group::transfer transfer_of(MPI_Request request) {
  rank_group::transfer result;
  std::memcpy(&result.handle, &request, sizeof(MPI_Request));
  return result;
}
[[nodiscard]] inline bool test(rank_group::transfer& transfer) {
  MPI_Request request;
  std::memcpy(&request, &transfer.handle, sizeof(MPI_Request));
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  transfer = transfer_of(request);
  return done != 0;
}

/// Initializes MPI if the program has not done so. In this case, the destructor finalizes MPI.
class session {
 public:
  session() {
    int begun = 0;
    check(MPI_Initialized(&begun), "MPI_Initialized");
    if (begun == 0) {
      int provided = 0;
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
      ours_ = true;
    }
    int level = 0;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE) {
      end();
      throw device_error(
          "mpi: glia sends gradients on a second thread, which needs MPI_THREAD_MULTIPLE; "
          "initialize MPI by MPI_Init_thread with MPI_THREAD_MULTIPLE, or let glia initialize it");
    }
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { end(); }

 private:
  void end() noexcept {
    if (ours_) {
      MPI_Finalize();
      ours_ = false;
    }
  }
  bool ours_ = false;
};

/// A duplicate of a communicator, which keeps glia's messages apart from all other messages.
class owned_communicator {
 public:
  explicit owned_communicator(MPI_Comm original) {
    check(MPI_Comm_dup(original, &communicator_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  owned_communicator(const owned_communicator&) = delete;
  owned_communicator& operator=(const owned_communicator&) = delete;
  ~owned_communicator() { MPI_Comm_free(&communicator_); }
  [[nodiscard]] MPI_Comm get() const noexcept { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace glia::mpi::detail
