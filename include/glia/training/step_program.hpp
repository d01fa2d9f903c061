#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "glia/graph/program.hpp"
#include "glia/graph/recorder.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/scope.hpp"
#include "glia/losses/targets.hpp"
#include "glia/models/model_core.hpp"
#include "glia/optimizers/gradient_transforms.hpp"
#include "glia/optimizers/optimizer.hpp"
#include "glia/training/running_scores.hpp"

namespace glia {

/// The optimizer's state: a list of tensors for each parameter.
template <backend B>
using slot_lists = std::vector<std::vector<typename B::tensor>>;

/// The shapes for which a training step is recorded.
struct step_shapes {
  shape inputs;             ///< Shape of the model's inputs, even if the step skips frozen layers.
  tensor_spec targets;      ///< Shape and type of the targets; integers for class labels.
  bool depth_first = true;  ///< Whether the step uses batch tiles.
  bool counted = false;     ///< Whether there is a mask of ignored samples.
  friend bool operator==(const step_shapes&, const step_shapes&) = default;
};

/// The functions of a training step on a backend X: forward pass, loss, optimizer and gradient
/// transforms. It only refers to them.
template <backend X>
struct step_rule {
  description_ref<X> forward;
  const loss_ref<X>& loss;
  const optimizer_ref<X>& optimizer;
  const std::vector<gradient_transform>& gradients;
};

/// Whether a step runs fused kernels, for speed (`fast`), or one kernel for each op, so that each
/// result can be inspected (`plain`).
enum class step_kind : std::uint8_t { fast, plain };

/// The inputs of a training step other than parameters and optimizer state.
template <backend B>
struct step_inputs {
  typename B::tensor x;        ///< Samples (N, ...).
  targets<B> t;                ///< Targets of the samples.
  typename B::tensor key;      ///< Key of the random numbers.
  typename B::tensor numbers;  ///< Optimizer's numbers for this step, such as the learning rate.
  /// Mask (N): 1 for samples that contribute to the loss and the metrics, 0 for ignored samples and
  /// for padding. Used by backends that compile whole graphs, and if the targets can mark samples
  /// as ignored.
  typename B::tensor present = {};
  /// Weight of each sample's loss, if the batch is a piece of a larger batch. If empty, the loss is
  /// the mean over the batch.
  typename B::tensor each = {};

  [[nodiscard]] typename B::tensor& wanted() { return t.labels ? t.labels : t.values; }
};

/// The results of a training step other than the new state: the model's outputs and the losses (N)
/// of the samples.
template <backend B>
struct step_results {
  typename B::tensor outputs;
  typename B::tensor losses;
};

/// Computes the gradient of the loss with respect to each parameter. A parameter without a gradient
/// has an empty tensor. Layers can change parameters that are not trained, such as running
/// statistics. Runs eagerly, or is recorded if X is a recorder.
template <backend X>
[[nodiscard]] std::vector<typename X::tensor> take_gradients(tape<X>& on, step_inputs<X> in,
                                                             parameter_list<X>& parameters,
                                                             const step_rule<X>& rule,
                                                             step_results<X>& results);

/// Updates parameters and optimizer state with the gradients.
template <backend X>
void update_parameters(const X& device, std::vector<typename X::tensor> gradients,
                       parameter_list<X>& parameters, slot_lists<X>& slots,
                       const step_rule<X>& rule, const typename X::tensor& numbers);

/// Takes one training step: forward pass, backward pass, update. Its result depends only on the
/// batch, the random key, the optimizer's numbers, the parameters and the optimizer's state. The
/// step replaces the parameters and the optimizer's state. It runs eagerly, or is recorded if X is
/// a recorder.
template <backend X>
[[nodiscard]] step_results<X> take_step(tape<X>& on, step_inputs<X> in,
                                        parameter_list<X>& parameters, slot_lists<X>& slots,
                                        const step_rule<X>& rule);

/// A graph that computes the loss and the metrics of given outputs, for batches of one shape. Its
/// inputs are the outputs and the targets. Its results are the same sums as for `step_program`.
template <backend B>
class score_program {
 public:
  using tensor = typename B::tensor;

  score_program(const B& device, const tensor_spec& outputs, const tensor_spec& targets,
                const loss_ref<recorder>& loss, const scoring& scores);

  /// `present` is the mask of ignored samples, or empty if no sample is ignored; see step_inputs.
  void run(tensor outputs, tensor targets, tensor present, std::span<tensor> sums) const;

 private:
  program<B> program_;
};

/// A graph of one training step, for batches of one shape: forward pass, backward pass, update. Its
/// inputs are the members of `step_inputs`, the parameters and the optimizer's state. The step
/// replaces the parameters and the optimizer's state. If `scores` is not empty, the outputs of the
/// graph are the sums of the loss and of the metrics over the batch, and the model's outputs if a
/// metric needs them.
template <backend B>
class step_program {
 public:
  using tensor = typename B::tensor;
  using probe_function = typename program<B>::probe_function;

  /// If `frontier` is not empty, the step begins there: its samples are outputs of the model's
  /// frozen layers.
  step_program(const B& device, const step_shapes& shapes, const parameter_list<B>& parameters,
               const slot_lists<B>& slots, const step_rule<recorder>& rule,
               const std::optional<scoring>& scores, const std::optional<frozen_end>& frontier,
               step_kind kind = step_kind::fast);

  /// Takes the step and computes the sums. Records the time of each kernel in `times` if it is not
  /// null. Calls `probe`, if it is not null, with the results of each kernel.
  void run(step_inputs<B> in, parameter_list<B>& parameters, slot_lists<B>& slots,
           std::vector<tensor*>& room, std::span<tensor> sums, timeline* times = nullptr,
           const probe_function* probe = nullptr) const;
  /// Whether a sample affects the outputs for other samples. Known only on backends that compile.
  [[nodiscard]] bool mixes_samples() const { return mixes_samples_; }

  [[nodiscard]] const graph& calls() const { return program_.calls(); }
  /// The working memory of a step, in bytes, without inputs and outputs.
  [[nodiscard]] std::size_t scratch_bytes() const { return program_.scratch_bytes(); }
  /// The working memory of the batch tiles of a step, in bytes.
  [[nodiscard]] std::size_t lane_bytes() const { return program_.lane_bytes(); }

 private:
  bool mixes_samples_ = false;  // set while the step is recorded
  program<B> program_;
};

}  // namespace glia

#include "glia/training/step_program_impl.hpp"
