#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glia/core/named_tensor.hpp"
#include "glia/models/model_core.hpp"
#include "glia/optimizers/any_optimizer.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

/// The state of a training on its device: the optimizer's tensors and the counters. The model holds
/// the parameters. `training_state` is a copy of all of them on the host.
class device_state {
 public:
  device_state(const model_core& net, const any_optimizer& optimizer, std::uint64_t seed);

  /// The state without its tensors.
  [[nodiscard]] training_state& counters() { return counters_; }
  [[nodiscard]] const training_state& counters() const { return counters_; }
  /// The optimizer's tensors, one list per parameter.
  [[nodiscard]] slot_lists& slots() { return slots_; }
  [[nodiscard]] const slot_lists& slots() const { return slots_; }

  /// Throws `value_error` if the model's parameters are not those for which this state was made.
  void require_same_model(const model_core& net) const;

  /// A copy of the state between two steps.
  [[nodiscard]] training_state read(const model_core& net) const;
  /// Copies of the parameters and the optimizer's tensors.
  [[nodiscard]] std::vector<named_tensor> tensors(const model_core& net) const;
  /// Continues from a saved state. Throws `value_error`, and changes nothing, if the state belongs
  /// to another model, optimizer or backend.
  void restore(model_core& net, const training_state& saved);

  /// The memory of the parameters and of the optimizer's tensors.
  [[nodiscard]] training_memory memory(const model_core& net) const;

  /// Sets the scores of the epoch that runs, whose sums are part of the state; null if none runs.
  void set_scores(const running_scores* scores) { scores_ = scores; }

 private:
  training_state counters_;
  slot_lists slots_;
  const running_scores* scores_ = nullptr;
};

namespace detail {

/// Copies of a model's parameters.
[[nodiscard]] std::vector<named_tensor> read_parameters(const model_core& net);
/// Replaces a model's parameters. Throws `value_error`, and changes nothing, if a name or a shape
/// differs from the result of `read_parameters`.
void write_parameters(model_core& net, std::span<const named_tensor> values);

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/device_state_impl.hpp"
#endif
