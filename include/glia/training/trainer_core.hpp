#pragma once

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/data/dataset_view.hpp"
#include "glia/distributed/distribution.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/history.hpp"
#include "glia/training/step_program.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

class fit_run;
class shared_step;

/// The options of a `trainer`, for all of its calls of `fit`.
struct trainer_options {
  std::uint64_t seed = 1;  ///< Seed of shuffling and of random layers such as dropout.
  /// Functions applied to the gradients before each update, in this order, such as
  /// {clip_by_global_norm(1.0)}.
  std::vector<gradient_transform> gradient_transforms = {};
  /// Ranks that train together; default: this process alone. All ranks must make the same calls.
  glia::distribution distribution = {};
};

/// The options of `trainer::fit`.
struct fit_options {
  /// Number of epochs that this call trains. With `resume`, the number of epochs in total,
  /// including those before the resume.
  std::size_t epochs = 1;
  std::size_t batch_size = 32;  ///< Samples in a batch, at least 1; the last batch may be smaller.
  bool shuffle = true;          ///< Whether each epoch has its own random order of samples.
  /// Metrics, such as {mae(), r2_score()}; default: accuracy for class labels, no metrics for
  /// real-valued targets.
  metric_list metrics = {};
  std::ostream* progress = &std::cout;  ///< Stream for the progress bar; nullptr: silent.
  /// Callbacks, called at each event in this order. Callbacks with `runs_last`, such as
  /// `checkpoints`, come last.
  std::vector<callback> callbacks = {};
  frozen_output_options frozen_outputs{};  ///< Options of the cache for outputs of frozen layers.

  /// Whether to continue the trainer's last call of `fit`, or a restored state, until `epochs`
  /// epochs are done in total. The training also continues in the middle of an epoch.
  bool resume = false;
  bool stop_at_interrupt = true;  ///< Whether Ctrl-C and SIGTERM stop after the current step.
};

/// The part of `trainer` that does not depend on the types of model, loss and optimizer, so that it
/// is compiled only once. Holds the optimizer's state and the recorded steps.
class trainer_core {
  friend class fit_run;

 public:
  /// References to the model, its forward function, the loss and the optimizer. They are passed to
  /// each call, because these objects can move between calls.
  struct subject {
    model_core& net;
    description_ref described;
    loss_ref loss;
    optimizer_ref optimizer;
  };

  trainer_core(const subject& what, trainer_options options);

  [[nodiscard]] std::size_t step_count() const { return at_.step; }
  [[nodiscard]] batch_sum_record last_sum() const;

  [[nodiscard]] training_state state(const model_core& net) const;
  void restore(model_core& net, const training_state& from);
  [[nodiscard]] training_memory memory(const model_core& net) const;
  [[nodiscard]] std::vector<named_tensor> parameters(const model_core& net) const;
  void set_parameters(model_core& net, std::span<const named_tensor> values);

  /// Takes one training step on a batch, for the whole model or for the part after its frozen
  /// layers. Adds the batch's loss and metrics to `sums` if it is not null. On devices that
  /// compile graphs, a smaller batch is padded to `rows` rows if its samples do not affect each
  /// other. It then needs no further graph.
  void step(const subject& what, model_part which, const batch& b, running_scores* sums,
            std::size_t rows = 0);

  /// Describes the first kernel whose result is not finite in a step on this batch, such as
  /// "dense_1, backward (product)". Empty if all results are finite. Changes nothing.
  [[nodiscard]] std::string first_not_finite(const subject& what, model_part which,
                                             const batch& b) const;

  /// Trains for a number of epochs; see `trainer::fit`. `validation` can be null.
  history fit(const subject& what, const dataset_view& train, const dataset_view* validation,
              const fit_options& options);

 private:
  static constexpr std::size_t most_programs = 8;

  /// A recorded step and the properties of the batches for which it can be used.
  struct kept_program {
    step_shapes shapes;
    model_part which;
    std::optional<scoring> scores;
    std::shared_ptr<const step_program> made;
  };

  /// The mask of the last step: 1 for rows of the batch that contain samples, 0 for padding.
  struct known_rows {
    std::size_t samples = 0;
    std::size_t rows = 0;
    tensor present;
  };

  void watch(const model_core& net, timeline* times);
  void require_same_model(const model_core& net) const;
  [[nodiscard]] static step_shapes shapes_for(const subject& what, const batch& b);
  /// The inputs of a step on a batch. The first `samples` rows are samples; the other rows are
  /// padding.
  [[nodiscard]] step_inputs inputs_for(const subject& what, const batch& b,
                                       std::size_t samples) const;
  void checked_step(const subject& what, model_part which, const batch& b, running_scores* sums,
                    std::size_t rows);
  void take_log(const glia::device& device);
  void run_shared(const subject& what, model_part which, const batch& b, running_scores* sums,
                  std::size_t rows);
  [[nodiscard]] const tensor& present(const glia::device& device, std::size_t samples,
                                      std::size_t rows);
  void run_step(const subject& what, model_part which, const batch& b, running_scores* sums,
                std::size_t rows);
  [[nodiscard]] step_program make_program(const subject& what, model_part which,
                                          const step_shapes& shapes,
                                          const std::optional<scoring>& scores,
                                          step_kind kind) const;
  /// A tensor that a step changes, with its name.
  template <class Tensor>
  struct place {
    std::string name;
    const glia::shape* shape;
    Tensor* value;
  };
  template <class Tensor, class Parameters, class Slots>
  [[nodiscard]] static std::vector<place<Tensor>> places(Parameters& parameters, Slots* slots);
  [[nodiscard]] static std::vector<named_tensor> read(const glia::device& device,
                                                      std::span<const place<const tensor>> from);
  static void write(const glia::device& device, std::span<const named_tensor> values,
                    std::span<const place<tensor>> to);
  [[nodiscard]] const step_program& program_for(const subject& what, model_part which,
                                                const step_shapes& shapes,
                                                const running_scores* sums);

  trainer_options options_;
  slot_lists memory_;  // the optimizer's state, one list per parameter
  std::vector<kept_program> programs_;
  std::shared_ptr<shared_step> shared_;   // if several ranks train together
  std::shared_ptr<const char> recorded_;  // the model of the steps; see model_core::identity
  std::vector<tensor*> room_;             // argument buffer of a step
  std::vector<tensor> sums_;              // results of the last step
  known_rows rows_;
  training_state at_;                        // without its tensors
  timeline* times_ = nullptr;                // null, or a recording while fit runs
  const running_scores* running_ = nullptr;  // of the current epoch, while fit runs
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/trainer_core_impl.hpp"
#endif
