#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/training/step_program.hpp"
#include "glia/training/step_runner.hpp"

namespace glia::detail {

/// Runs training steps in this process alone. Holds the recorded steps.
class local_step final : public step_runner {
 public:
  GLIA_INLINE void run(const arguments& step) override;
  void add_scores(const batch& b, running_scores& scores) const override {
    scores.add_results(sums_, b);
  }
  [[nodiscard]] piece_share share() const override { return {}; }
  [[nodiscard]] bool allows_empty_batches() const override { return false; }
  GLIA_INLINE void add_memory(training_memory& memory) const override;
  [[nodiscard]] batch_sum_record last_sum() const override { return {}; }

 private:
  static constexpr std::size_t max_programs = 8;

  /// A recorded step and the properties of the batches for which it can be used.
  struct recorded_program {
    step_shapes shapes;
    model_part part;
    std::optional<scoring> scores;
    std::unique_ptr<const step_program> program;
  };

  /// The mask of the last step: 1 for rows of the batch that contain samples, 0 for padding.
  struct row_mask {
    std::size_t samples = 0;
    std::size_t rows = 0;
    tensor present;
  };

  [[nodiscard]] const step_program& program_for(const arguments& step, const batch& b);
  [[nodiscard]] const tensor& mask_for(const device& destination, std::size_t samples,
                                       std::size_t rows);

  std::vector<recorded_program> programs_;
  std::shared_ptr<const char> model_;     // of the recorded steps; see model_core::identity
  std::vector<tensor*> argument_buffer_;  // of the last step
  std::vector<tensor> sums_;              // results of the last step
  row_mask mask_;
};

/// Describes the first kernel whose result is not finite in a step on a batch, such as "dense_1,
/// backward (product)". Empty if all results are finite. Changes nothing.
[[nodiscard]] std::string first_not_finite(const training_job& job, const device_state& state,
                                           model_part part, const batch& b);

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/training/local_step_impl.hpp"
#endif
