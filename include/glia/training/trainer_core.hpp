#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "glia/data/dataset_view.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/history.hpp"
#include "glia/training/step_program.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

class batch_loader;

struct trainer_options {
  std::uint64_t seed = 1;  ///< of shuffling and of random layers
  /// What is done to gradients before the update, in this order: {clip_by_norm(1.0)}.
  std::vector<gradient_transform> gradients = {};
};

struct fit_options {
  std::size_t epochs = 1;
  std::size_t batch_size = 32;  ///< at least 1; the last batch of an epoch may be smaller
  bool shuffle = true;
  std::optional<std::vector<metric>> metrics = {};  ///< default: accuracy, where there are classes
  std::ostream* progress = &std::cout;              ///< nullptr: silent
  std::function<void(const epoch_record&)> on_epoch_end = {};
  frozen_output_options frozen{};  ///< only for models with frozen layers
};

/// What of a trainer does not depend on the types of description, loss and optimizer: compiled once
/// for each backend. Holds what the optimizer remembers and the recorded steps.
template <backend B>
class trainer_core {
 public:
  using X = tracing_backend<B>;
  using tensor = typename B::tensor;

  /// What is trained, and how; given with each call, as it refers to what may move in between.
  struct subject {
    model_core<B>& net;
    description_ref<X> described;
    loss_ref<X> loss;
    optimizer_ref<X> optimizer;
  };

  trainer_core(const subject& what, trainer_options options);

  [[nodiscard]] std::size_t step_count() const { return step_; }

  [[nodiscard]] training_state state(const model_core<B>& net) const;
  void restore(model_core<B>& net, const training_state& from);

  /// One step on a batch for the whole model or for what comes behind its frozen layers. Adds the
  /// batch's loss and metrics to `sums` if given.
  void step(const subject& what, model_part which, const batch& b, running_scores<B>* sums);

  /// `validation` may be null.
  history fit(const subject& what, const dataset_view& train, const dataset_view* validation,
              const fit_options& options);

 private:
  static constexpr std::size_t most_programs = 8;

  /// A recorded step, and what it is good for.
  struct kept_program {
    step_shapes shapes;
    model_part which;
    std::optional<scoring> scores;
    std::shared_ptr<const step_program<B>> made;
  };

  struct session;

  void require_same_model(const model_core<B>& net) const;
  /// visit(name, shape, tensor) for all that a step changes.
  template <class Parameters, class Slots, class Visit>
  static void for_each_tensor(Parameters& parameters, Slots& slots, const Visit& visit);
  [[nodiscard]] const step_program<B>& program_for(
      const subject& what, model_part which, const step_shapes& shapes,
      const running_scores<B>* sums) requires placing_backend<B>;
  void run_behind_frozen_layers(const dataset_view& train, const dataset_view* validation,
                                session& all);
  void run_epochs(const dataset_view& train, const dataset_view* validation, session& all);
  epoch_record train_epoch(model_part which, batch_loader& loader,
                           const std::vector<std::uint32_t>& order, running_scores<B>& sums,
                           session& all, std::size_t epoch);

  trainer_options options_;
  slot_lists<B> memory_;                  // the optimizer's slots, one list per parameter
  std::vector<kept_program> programs_;    // none where steps run at once
  std::shared_ptr<const char> recorded_;  // the model that they are of; see model_core::identity
  std::vector<tensor*> room_;             // for a step's inputs
  std::vector<tensor> sums_;              // that the last step gave
  std::size_t step_ = 0;
  std::size_t epochs_ = 0;    // begun so far, in all calls of fit
  std::size_t position_ = 0;  // samples seen of the epoch in progress
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/trainer_core_impl.hpp"
#endif
