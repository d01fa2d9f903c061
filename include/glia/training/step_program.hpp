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

/// The tensors that an optimizer keeps, one list for each parameter.
template <backend B>
using slot_lists = std::vector<std::vector<typename B::tensor>>;

/// What a training step is recorded for: the tensors of one batch, and whether it runs depth-first.
struct step_shapes {
  shape inputs;         ///< of the model, also where a step begins behind its frozen part
  tensor_spec targets;  ///< integers for classes
  bool depth_first = true;
  bool counted = false;  ///< whether an input says which samples count
  friend bool operator==(const step_shapes&, const step_shapes&) = default;
};

/// What is trained and how, on the backend X where it is recorded or runs at once: a description
/// with a loss, an optimizer and what is done to gradients. Refers to all of them.
template <backend X>
struct step_rule {
  description_ref<X> forward;
  const loss_ref<X>& loss;
  const optimizer_ref<X>& optimizer;
  const std::vector<gradient_transform>& gradients;
};

/// Whether a step's kernels are to do as much as possible at once, or each what an op asked for, to
/// be looked at one by one.
enum class step_kind : std::uint8_t { fast, plain };

/// What a training step takes beside the state.
template <backend B>
struct step_inputs {
  typename B::tensor x;  ///< (N, ...)
  targets<B> t;
  typename B::tensor key;      ///< of what is random in the step
  typename B::tensor numbers;  ///< of the optimizer
  /// (N): 1 for samples that count, 0 for others and for what only fills the batch up. On backends
  /// that compile whole graphs, and where targets may say that samples do not count.
  typename B::tensor present = {};
  /// What the loss of each sample counts, where the batch is a piece of a larger one; else all of
  /// its samples count alike.
  typename B::tensor each = {};

  [[nodiscard]] typename B::tensor& wanted() { return t.classes ? t.classes : t.values; }
};

/// What a training step gives beside the new state: the model's outputs and each sample's loss (N).
template <backend B>
struct step_results {
  typename B::tensor outputs;
  typename B::tensor losses;
};

/// What the loss says of each parameter: its gradient, or none. Layers may change what is no
/// parameter of the optimizer's, such as running statistics. Runs at once, or writes itself down on
/// a recorder.
template <backend X>
[[nodiscard]] std::vector<typename X::tensor> take_gradients(tape<X>& on, step_inputs<X> in,
                                                             parameter_list<X>& parameters,
                                                             const step_rule<X>& rule,
                                                             step_results<X>& results);

/// What follows: the parameters and slots as the optimizer wants them.
template <backend X>
void update_parameters(const X& device, std::vector<typename X::tensor> gradients,
                       parameter_list<X>& parameters, slot_lists<X>& slots,
                       const step_rule<X>& rule, const typename X::tensor& numbers);

/// One training step: forward, backward, update. A function of the batch, the random key, the
/// optimizer's numbers of the step, and the state, parameters and slots, which it replaces. It runs
/// at once, or writes itself down on a recorder.
template <backend X>
[[nodiscard]] step_results<X> take_step(tape<X>& on, step_inputs<X> in,
                                        parameter_list<X>& parameters, slot_lists<X>& slots,
                                        const step_rule<X>& rule);

/// Loss and metrics of outputs that are there already, as a program for batches of one shape. Its
/// inputs are the outputs and the targets; its results those of a step_program.
template <backend B>
class score_program {
 public:
  using tensor = typename B::tensor;

  score_program(const B& device, const tensor_spec& outputs, const tensor_spec& targets,
                const loss_ref<recorder<B>>& loss, const scoring& scores);

  /// `present` says which samples count, where that is not all of them; see step_inputs.
  void run(tensor outputs, tensor targets, tensor present, std::span<tensor> sums) const;

 private:
  program<B> program_;
};

/// One training step as a program for batches of one shape: forward, backward, update. Its inputs
/// are those of `step_inputs`, the parameters and the optimizer's slots, of which the last two are
/// replaced. Its outputs are the sums of the loss and of the metrics over the batch, if there is a
/// scoring, and the model's outputs where a metric looks at them.
template <backend B>
class step_program {
 public:
  using tensor = typename B::tensor;
  using probe_function = typename program<B>::probe_function;

  /// With a frontier the samples are what the frozen part of the model gave for them.
  step_program(const B& device, const step_shapes& shapes, const parameter_list<B>& parameters,
               const slot_lists<B>& slots, const step_rule<recorder<B>>& rule,
               const std::optional<scoring>& scores, const std::optional<frozen_end>& frontier,
               step_kind kind = step_kind::fast);

  /// Takes the step and writes the sums, and when each kernel ran where it is given a timeline; a
  /// probe sees each kernel's results.
  void run(step_inputs<B> in, parameter_list<B>& parameters, slot_lists<B>& slots,
           std::vector<tensor*>& room, std::span<tensor> sums, timeline* times = nullptr,
           const probe_function* probe = nullptr) const;
  /// Whether one sample changes what the others give; known on backends that compile.
  [[nodiscard]] bool mixes_samples() const { return mixes_samples_; }

  [[nodiscard]] const graph& calls() const { return program_.calls(); }
  /// What a run needs beside its inputs and outputs.
  [[nodiscard]] std::size_t scratch_bytes() const { return program_.scratch_bytes(); }
  [[nodiscard]] std::size_t lane_bytes() const { return program_.lane_bytes(); }

 private:
  bool mixes_samples_ = false;  // found out as the program is recorded
  program<B> program_;
};

}  // namespace glia

#include "glia/training/step_program_impl.hpp"
