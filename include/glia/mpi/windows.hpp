#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "glia/distributed/rank_group.hpp"
#include "glia/mpi/api.hpp"
#include "glia/mpi/calls.hpp"

namespace glia::mpi::detail {

/// Shared memory of ranks on one machine, in MPI windows. All ranks must free a window together, so
/// windows are freed only at the end. Until then, unused windows are reused.
class windows {
 public:
  windows() = default;
  windows(const windows&) = delete;
  windows& operator=(const windows&) = delete;

  /// See rank_group::share_memory.
  [[nodiscard]] std::shared_ptr<const shared_memory> share(MPI_Comm comm, std::size_t bytes) {
    for (const std::shared_ptr<window>& w : windows_) {
      if (w.use_count() == 1 && w->bytes >= bytes) {
        check(MPI_Barrier(comm), "MPI_Barrier");  // no rank still reads the old content
        std::memset(w->memory.of_rank[w->rank], 0, w->bytes);
        check(MPI_Barrier(comm), "MPI_Barrier");
        return {w, &w->memory};
      }
    }
    MPI_Comm near = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near),
          "MPI_Comm_split_type");
    std::shared_ptr<window> result = make(comm, near, bytes);
    MPI_Comm_free(&near);
    if (!result) {
      return nullptr;
    }
    windows_.push_back(result);
    return {result, &result->memory};
  }

  /// Frees all windows. All ranks must call it together.
  void free() noexcept {
    for (const std::shared_ptr<window>& w : windows_) {
      MPI_Win_free(&w->handle);
    }
    windows_.clear();
  }

 private:
  struct window {
    MPI_Win handle = MPI_WIN_NULL;
    std::size_t bytes = 0;
    std::size_t rank = 0;
    shared_memory memory;
  };

  [[nodiscard]] static std::shared_ptr<window> make(MPI_Comm comm, MPI_Comm near,
                                                    std::size_t bytes) {
    int count = 0;
    int rank = 0;
    int near_count = 0;
    check(MPI_Comm_size(comm, &count), "MPI_Comm_size");
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(near, &near_count), "MPI_Comm_size");
    MPI_Comm_set_errhandler(near, MPI_ERRORS_RETURN);
    auto result = std::make_shared<window>();
    result->bytes = bytes;
    result->rank = static_cast<std::size_t>(rank);
    void* base = nullptr;
    int good = near_count == count ? 1 : 0;
    // Allocates one more cache line, because MPI does not guarantee an alignment.
    if (good == 1) {
      good = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + line), 1, MPI_INFO_NULL, near,
                                     &base, &result->handle) == MPI_SUCCESS
                 ? 1
                 : 0;
    }
    check(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    if (good == 0) {
      return nullptr;
    }
    for (int i = 0; i < count; ++i) {
      MPI_Aint size = 0;
      int unit = 0;
      void* address = nullptr;
      check(MPI_Win_shared_query(result->handle, i, &size, &unit, &address),
            "MPI_Win_shared_query");
      std::size_t room = bytes + line;
      result->memory.of_rank.push_back(
          static_cast<std::byte*>(std::align(line, bytes, address, room)));
    }
    std::memset(result->memory.of_rank[static_cast<std::size_t>(rank)], 0, bytes);
    check(MPI_Barrier(comm), "MPI_Barrier");
    return result;
  }

  static constexpr std::size_t line = 64;
  std::vector<std::shared_ptr<window>> windows_;
};

}  // namespace glia::mpi::detail
