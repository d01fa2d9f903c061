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
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/history.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/step_program.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

template <backend B>
class fit_run;
template <backend B>
class shared_step;

struct trainer_options {
  std::uint64_t seed = 1;  ///< of shuffling and of random layers
  /// What is done to gradients before the update, in this order: {clip_by_norm(1.0)}.
  std::vector<gradient_transform> gradients = {};
  /// Among which ranks the training is shared, if it is; all of them call the trainer alike.
  distribution over = {};
};

struct fit_options {
  std::size_t epochs = 1;
  std::size_t batch_size = 32;  ///< at least 1; the last batch of an epoch may be smaller
  bool shuffle = true;
  metric_choice metrics = {};  ///< {mae(), r_squared()}; default: accuracy, where there are classes
  std::ostream* progress = &std::cout;   ///< nullptr: silent
  std::vector<observer> observers = {};  ///< told of each moment, in this order
  frozen_output_options frozen{};        ///< only for models with frozen layers

  /// Goes on with what the trainer's last call of fit, or the one whose state it was given, left
  /// undone, in the middle of an epoch as well, up to `epochs` in all.
  bool resume = false;
  bool stop_at_interrupt = true;  ///< whether Ctrl-C stops after the step in progress
};

/// What of a trainer does not depend on the types of description, loss and optimizer: compiled once
/// for each backend. Holds what the optimizer remembers and the recorded steps.
template <backend B>
class trainer_core {
  friend class fit_run<B>;

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

  [[nodiscard]] std::size_t step_count() const { return at_.step; }
  [[nodiscard]] batch_sum_record last_sum() const;

  [[nodiscard]] training_state state(const model_core<B>& net) const;
  void restore(model_core<B>& net, const training_state& from);
  [[nodiscard]] training_memory memory(const model_core<B>& net) const;
  [[nodiscard]] std::vector<named_tensor> parameters(const model_core<B>& net) const;
  void set_parameters(model_core<B>& net, std::span<const named_tensor> values);

  /// One step on a batch for the whole model or for what comes behind its frozen layers. Adds the
  /// batch's loss and metrics to `sums` if given. Backends that compile take it, if they can, with
  /// the program for batches of `rows` samples.
  void step(const subject& what, model_part which, const batch& b, running_scores<B>* sums,
            std::size_t rows = 0);

  /// Where a step on this batch would first give a number that is not finite, kernel by kernel:
  /// "dense_1, backward (product)"; empty where none does. Changes nothing.
  [[nodiscard]] std::string first_not_finite(const subject& what, model_part which,
                                             const batch& b) const;

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

  /// Which rows of a batch are samples, as they were last told.
  struct known_rows {
    std::size_t samples = 0;
    std::size_t rows = 0;
    tensor present;
  };

  void watch(const model_core<B>& net, timeline* times);
  void require_same_model(const model_core<B>& net) const;
  [[nodiscard]] static step_shapes shapes_for(const subject& what, const batch& b);
  /// Of a batch of which the first ones are samples.
  [[nodiscard]] step_inputs<B> inputs_for(const subject& what, const batch& b,
                                          std::size_t samples) const;
  void checked_step(const subject& what, model_part which, const batch& b, running_scores<B>* sums,
                    std::size_t rows);
  void take_log(const B& device);
  void run_shared(const subject& what, model_part which, const batch& b, running_scores<B>* sums,
                  std::size_t rows) requires program_backend<B>;
  [[nodiscard]] const tensor& present(const B& device, std::size_t samples, std::size_t rows);
  void run_step(const subject& what, model_part which, const batch& b, running_scores<B>* sums,
                std::size_t rows) requires program_backend<B>;
  [[nodiscard]] step_program<B> make_program(const subject& what, model_part which,
                                             const step_shapes& shapes,
                                             const std::optional<scoring>& scores,
                                             step_kind kind) const requires program_backend<B>;
  /// A tensor that a step changes.
  template <class Tensor>
  struct place {
    std::string name;
    const glia::shape* shape;
    Tensor* value;
  };
  template <class Tensor, class Parameters, class Slots>
  [[nodiscard]] static std::vector<place<Tensor>> places(Parameters& parameters, Slots* slots);
  [[nodiscard]] static std::vector<named_tensor> read(const B& device,
                                                      std::span<const place<const tensor>> from);
  static void write(const B& device, std::span<const named_tensor> values,
                    std::span<const place<tensor>> to);
  [[nodiscard]] const step_program<B>& program_for(
      const subject& what, model_part which, const step_shapes& shapes,
      const running_scores<B>* sums) requires program_backend<B>;

  trainer_options options_;
  slot_lists<B> memory_;                    // the optimizer's slots, one list per parameter
  std::vector<kept_program> programs_;      // none where steps run at once
  std::shared_ptr<shared_step<B>> shared_;  // where ranks train together
  std::shared_ptr<const char> recorded_;    // the model that they are of; see model_core::identity
  std::vector<tensor*> room_;               // for a step's inputs
  std::vector<tensor> sums_;                // that the last step gave
  known_rows rows_;
  training_state at_;                           // but for the tensors
  timeline* times_ = nullptr;                   // if someone wants them, while fit runs
  const running_scores<B>* running_ = nullptr;  // of the epoch in progress, while fit runs
};

}  // namespace glia

#include "glia/training/trainer_core_impl.hpp"
