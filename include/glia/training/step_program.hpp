#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/scope.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_job.hpp"

namespace glia::detail {

/// The shapes for which a training step is recorded.
struct step_shapes {
  shape inputs;             ///< Shape of the model's inputs, even if the step skips frozen layers.
  target_spec targets;      ///< Shape and type of the targets, and whether there are weights.
  bool depth_first = true;  ///< Whether the step uses batch tiles.
  bool counted = false;     ///< Whether there is a mask of ignored samples.
  friend bool operator==(const step_shapes&, const step_shapes&) = default;
};

/// Whether a step runs fused kernels, for speed (`fast`), or one kernel for each op, so that each
/// result can be inspected (`plain`).
enum class step_kind : std::uint8_t { fast, plain };

/// The inputs of a training step other than parameters and optimizer state.
struct step_inputs {
  tensor x;        ///< Samples (N, ...).
  targets t;       ///< Targets of the samples.
  tensor key;      ///< Key of the random numbers.
  tensor numbers;  ///< Optimizer's numbers for this step, such as the learning rate.
  /// Mask (N): 1 for samples that contribute to the loss and the metrics, 0 for ignored samples and
  /// for padding. Used by devices that compile whole graphs, and if the targets can mark samples
  /// as ignored.
  tensor present = {};
  /// Weight of each sample's loss, if the batch is a piece of a larger batch. If empty, the loss is
  /// the mean over the batch.
  tensor loss_scale = {};
};

/// The results of a training step other than the new state: the model's outputs and the losses (N)
/// of the samples.
struct step_results {
  tensor outputs;
  tensor losses;
};

/// Computes the gradient of the loss with respect to each parameter. A parameter without a gradient
/// has an empty tensor. Layers can change parameters that are not trained, such as running
/// statistics.
[[nodiscard]] std::vector<tensor> take_gradients(glia::tape& tape, step_inputs inputs,
                                                 parameter_list& parameters,
                                                 const training_job& job, step_results& results);

/// Updates parameters and optimizer state with the gradients.
void update_parameters(const glia::device& device, std::vector<tensor> gradients,
                       parameter_list& parameters, slot_lists& slots, const training_job& job,
                       const tensor& numbers);

/// Takes one training step: forward pass, backward pass, update. Its result depends only on the
/// batch, the random key, the optimizer's numbers, the parameters and the optimizer's state. The
/// step replaces the parameters and the optimizer's state.
[[nodiscard]] step_results take_step(glia::tape& tape, step_inputs inputs,
                                     parameter_list& parameters, slot_lists& slots,
                                     const training_job& job);

/// A graph that computes the loss and the metrics of given outputs, for batches of one shape. Its
/// inputs are the outputs and the targets. Its results are the same sums as for `step_program`.
class score_program {
 public:
  score_program(const glia::device& device, const tensor_spec& outputs, const target_spec& targets,
                const any_loss& loss, const scoring& scores);

  /// `present` is the mask of ignored samples, or empty if no sample is ignored; see step_inputs.
  void run(tensor outputs, targets t, tensor present, std::span<tensor> sums) const;

 private:
  program program_;
};

/// A graph of one training step, for batches of one shape: forward pass, backward pass, update. Its
/// inputs are the members of `step_inputs`, the parameters and the optimizer's state. The step
/// replaces the parameters and the optimizer's state. If `scores` is not empty, the outputs of the
/// graph are the sums of the loss and of the metrics over the batch, and the model's outputs if a
/// metric needs them.
class step_program {
 public:
  /// If `frontier` is not empty, the step begins there: its samples are outputs of the model's
  /// frozen layers.
  step_program(const glia::device& device, const step_shapes& shapes,
               const parameter_list& parameters, const slot_lists& slots, const training_job& job,
               const std::optional<scoring>& scores, const std::optional<frozen_end>& frontier,
               step_kind kind = step_kind::fast);

  /// Takes the step and computes the sums. Records the time of each kernel in `times` if it is not
  /// null. Calls `probe`, if it is not null, with the results of each kernel.
  void run(step_inputs inputs, parameter_list& parameters, slot_lists& slots,
           std::vector<tensor*>& argument_buffer, std::span<tensor> sums, timeline* times = nullptr,
           const probe_function* probe = nullptr) const;
  /// Whether a sample affects the outputs for other samples. Known only on devices that
  /// compile whole graphs.
  [[nodiscard]] bool mixes_samples() const { return mixes_samples_; }

  [[nodiscard]] const graph& calls() const { return program_.calls(); }
  /// The working memory of a step, in bytes, without inputs and outputs.
  [[nodiscard]] std::size_t scratch_bytes() const { return program_.scratch_bytes(); }
  /// The working memory of the batch tiles of a step, in bytes.
  [[nodiscard]] std::size_t lane_bytes() const { return program_.lane_bytes(); }

 private:
  bool mixes_samples_ = false;  // set while the step is recorded
  program program_;
};

}  // namespace glia::detail
