#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

/// One block of bytes for each rank, in one contiguous memory.
struct rank_blocks {
  std::byte* memory;
  const int* bytes;    ///< Size of each rank's block.
  const int* offsets;  ///< Begin of each rank's block, in bytes.
};

/// The kind of a transfer. All ranks start the transfers of one kind in the same order. Transfers
/// of different kinds do not wait for each other.
enum class transfer_kind : std::uint8_t { parts, sums, messages };

/// Memory that all ranks on one machine can access. `of_rank` contains the address of each rank's
/// part, as this process sees it. A part begins at a cache line and is filled with zeros.
struct shared_memory {
  std::vector<std::byte*> of_rank;
};

/// The processes that train one model together. Each process has a copy of the model and a number,
/// its rank, from 0. A class that sends bytes between processes, such as the class behind
/// `glia::mpi::communicator`, implements this interface: the functions below, and `rank`, `size`
/// and `fail` of `training_ranks`. Its header includes glia/distributed.hpp, which defines the
/// other functions. The rest of glia uses only the interface.
///
/// Transfers run while other work continues. The memory of a transfer must remain valid until the
/// transfer is done. If nobody waits for a transfer any more, pass its memory to `keep`. Any thread
/// may call the functions, one thread at a time for each kind of transfer.
class rank_group : public training_ranks {
 public:
  /// A transfer of bytes to or from other ranks.
  struct transfer {
    std::uint64_t handle = 0;
  };

  /// Returns a name for messages, such as "rank 2 on node17".
  [[nodiscard]] virtual std::string name_of(std::size_t rank) const = 0;

  /// Starts to send one block to each rank and to receive one block from each rank. The blocks of a
  /// rank for itself are empty.
  [[nodiscard]] virtual transfer start_exchange(transfer_kind kind, rank_blocks send,
                                                rank_blocks receive) = 0;
  /// Starts to send this rank's block to all ranks and to receive their blocks. This rank's block
  /// must already be in its position in `blocks`.
  [[nodiscard]] virtual transfer start_gather(transfer_kind kind, rank_blocks blocks) = 0;
  /// Advances a transfer and returns whether it is complete; a complete transfer must not be used
  /// again. Throws `rank_error` if a rank has failed.
  [[nodiscard]] virtual bool is_done(transfer& request) = 0;

  /// Returns `bytes` bytes of shared memory for each rank. Returns null if the ranks are on several
  /// machines or there is not enough memory. All ranks must call it with the same size.
  [[nodiscard]] virtual std::shared_ptr<const shared_memory> share_memory(std::size_t bytes) = 0;

  /// Throws `rank_error` if a rank has failed.
  virtual void look_for_failures() = 0;

  [[nodiscard]] GLIA_INLINE std::shared_ptr<step_runner> make_step_runner(
      const distribution& shared) final;
  GLIA_INLINE void require_same_training(std::span<const rank_setting> settings) final;
  GLIA_INLINE void require_same_tensors(std::span<const named_tensor> tensors) final;
  [[nodiscard]] GLIA_INLINE training_state state_of_first(const training_state& state) final;
  [[nodiscard]] GLIA_INLINE callback_result agree(const callback_result& result) final;
  [[nodiscard]] GLIA_INLINE std::string first_text(const std::string& local_text) final;
  [[nodiscard]] GLIA_INLINE bool any(bool value) final;
  [[nodiscard]] GLIA_INLINE std::vector<float> concatenate(const std::vector<float>& values) final;
  GLIA_INLINE void add_scores(const batch_scores& local_scores, running_scores& scores) final;
  GLIA_INLINE void wait_for_all() final;

  /// Keeps memory alive as long as this object. Used for transfers that a failure has left
  /// unfinished, since they cannot be canceled.
  void keep(std::shared_ptr<const void> memory) {
    const std::lock_guard lock(memory_mutex_);
    memory_.push_back(std::move(memory));
  }

 private:
  std::mutex memory_mutex_;
  std::vector<std::shared_ptr<const void>> memory_;
};

}  // namespace glia
