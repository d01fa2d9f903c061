#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// One of the processes that train a model together has failed, or is gone. Every rank throws it,
/// with the number, the machine and the reason of the one that failed.
struct rank_error : error {
  using error::error;
};

/// A block of bytes for each rank, in one piece of memory.
struct rank_blocks {
  std::byte* memory;
  const int* bytes;    ///< of each rank's block
  const int* offsets;  ///< where it begins
};

/// Transfers of one kind begin in the same order on every rank; kinds do not wait for each other.
enum class transfer_kind : std::uint8_t { parts, sums, messages };

/// Memory that ranks on one machine all see: where each rank's part lies for this one. Begins at a
/// line of the cache, with zeros.
struct shared_memory {
  std::vector<std::byte*> of_rank;
};

/// Processes that train one model together, each with a copy of it, numbered from 0: their ranks.
/// What sends bytes between them, such as `glia::mpi::communicator`, meets this interface; all else
/// of glia knows no more of other machines.
///
/// Transfers run while other work is done; memory given to one stays until it is done, or is given
/// to `keep` where nobody waits for it any more. Any thread may call, one at a time for each kind
/// of transfer.
class rank_group {
 public:
  /// Bytes on their way to ranks or from them.
  struct transfer {
    std::uint64_t handle = 0;
  };

  rank_group() = default;
  rank_group(const rank_group&) = delete;
  rank_group& operator=(const rank_group&) = delete;
  virtual ~rank_group() = default;

  [[nodiscard]] virtual std::size_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// "rank 2 on node17"
  [[nodiscard]] virtual std::string name_of(std::size_t rank) const = 0;

  /// Sends a block to each rank and takes one from each. A rank's own blocks are empty.
  [[nodiscard]] virtual transfer start_exchange(transfer_kind kind, rank_blocks send,
                                                rank_blocks receive) = 0;
  /// Sends this rank's block, which lies in its place, to all, and takes theirs.
  [[nodiscard]] virtual transfer start_gather(transfer_kind kind, rank_blocks all) = 0;
  /// Moves a transfer on, and says whether it is over; then it is forgotten. Throws `rank_error`
  /// once a rank has failed.
  [[nodiscard]] virtual bool is_done(transfer& one) = 0;

  /// As many bytes for each rank, which lie in one machine's memory; null where the ranks do not,
  /// or where there is not enough. All ranks ask alike.
  [[nodiscard]] virtual std::shared_ptr<const shared_memory> share_memory(std::size_t bytes) = 0;

  /// Throws `rank_error` once a rank has failed.
  virtual void look_for_failures() = 0;

  /// Tells all ranks that this one cannot go on, and why.
  virtual void fail(std::string_view reason) noexcept = 0;

  /// Keeps the memory of transfers that a failure has left unfinished as long as the ranks: they
  /// cannot be taken back.
  void keep(std::shared_ptr<const void> memory) {
    const std::lock_guard lock(kept_mutex_);
    kept_.push_back(std::move(memory));
  }

 private:
  std::mutex kept_mutex_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// A process on its own.
class lone_rank final : public rank_group {
 public:
  [[nodiscard]] std::size_t rank() const noexcept override { return 0; }
  [[nodiscard]] std::size_t size() const noexcept override { return 1; }
  [[nodiscard]] std::string name_of(std::size_t /*rank*/) const override { return "rank 0"; }
  [[nodiscard]] transfer start_exchange(transfer_kind /*kind*/, rank_blocks /*send*/,
                                        rank_blocks /*receive*/) override {
    return {};
  }
  [[nodiscard]] transfer start_gather(transfer_kind /*kind*/, rank_blocks /*all*/) override {
    return {};
  }
  [[nodiscard]] bool is_done(transfer& /*one*/) override { return true; }
  [[nodiscard]] std::shared_ptr<const shared_memory> share_memory(std::size_t /*bytes*/) override {
    return nullptr;
  }
  void look_for_failures() override {}
  void fail(std::string_view /*reason*/) noexcept override {}
};

}  // namespace glia
