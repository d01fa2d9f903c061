#pragma once

#include <utility>

#include "glia/distributed/rank_group.hpp"

namespace glia {

/// Declares that the training step which runs on this thread is part of a step of several ranks, as
/// long as the object exists. `sync_batch_norm` then uses the samples of all these ranks.
class joint_step {
 public:
  explicit joint_step(rank_group& ranks) : previous_(std::exchange(current, &ranks)) {}
  joint_step(const joint_step&) = delete;
  joint_step& operator=(const joint_step&) = delete;
  ~joint_step() { current = previous_; }

  /// Returns the ranks of the step that runs on this thread; null outside of such a step.
  [[nodiscard]] static rank_group* ranks() noexcept { return current; }

 private:
  static inline thread_local rank_group* current = nullptr;
  rank_group* previous_;
};

}  // namespace glia
