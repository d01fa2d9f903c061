#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/distributed/rank_kernels.hpp"
#include "glia/training/step_program_impl.hpp"

namespace glia {

namespace detail {

/// The layout of the vector that is summed over the pieces of a batch. The vector contains the
/// gradients, in the order in which the backward pass computes them, then the changed running
/// statistics, then the sums of the loss and the metrics.
struct sum_layout {
  /// The position of a tensor in the vector.
  struct segment {
    std::size_t first = 0;  ///< Index of the tensor's first element.
    glia::shape shape;      ///< Shape of the tensor.
    /// Index of the tensor's parameter; empty for sums of the loss and the metrics.
    std::optional<std::size_t> parameter = std::nullopt;
    bool gradient = false;  ///< Whether the tensor is a gradient.

    [[nodiscard]] std::size_t end() const { return first + padded(shape.size()); }
    friend bool operator==(const segment&, const segment&) = default;
  };
  std::vector<segment> segments;

  [[nodiscard]] std::size_t size() const { return segments.empty() ? 0 : segments.back().end(); }
  /// The number of values that belong to gradients. They come first in the vector.
  [[nodiscard]] std::size_t gradients() const {
    const auto other = std::find_if_not(segments.begin(), segments.end(),
                                        [](const segment& s) { return s.gradient; });
    return other == segments.end() ? size() : other->first;
  }
  void add(const glia::shape& shape, std::optional<std::size_t> parameter = std::nullopt,
           bool gradient = false) {
    segments.push_back({size(), shape, parameter, gradient});
  }
  /// Rounds the size of a segment up to a multiple of 16 elements. Sixteen floats are a cache line.
  [[nodiscard]] static constexpr std::size_t padded(std::size_t count) noexcept {
    constexpr std::size_t line = 16;
    return (count + line - 1) / line * line;
  }
  friend bool operator==(const sum_layout&, const sum_layout&) = default;
};

/// A graph for the first half of a training step on several ranks: the forward and the backward
/// pass on one piece of a batch. The sum over the ranks follows. The graph serves all pieces of one
/// shape. Its inputs are the members of `step_inputs` except `numbers`, the piece's share of the
/// batch, and the parameters. Its outputs are the tensors of `layout`, then the model's outputs if
/// a metric needs them.
class gradient_program {
 public:
  gradient_program(const glia::device& device, const step_shapes& shapes,
                   const parameter_list& parameters, const training_job& job,
                   const std::optional<scoring>& scores, const std::optional<frozen_end>& frontier)
      : program_(record(device, shapes, parameters, job, scores, frontier, layout_, mixes_,
                        exchanges_)) {}

  [[nodiscard]] const sum_layout& layout() const { return layout_; }
  [[nodiscard]] bool mixes_samples() const { return mixes_; }
  /// Whether the ranks exchange numbers while the graph runs, as for `sync_batch_norm`.
  [[nodiscard]] bool exchanges_numbers() const { return exchanges_; }
  [[nodiscard]] const program& calls() const { return program_; }

 private:
  [[nodiscard]] static program record(const glia::device& device, const step_shapes& shapes,
                                      const parameter_list& parameters, const training_job& job,
                                      const std::optional<scoring>& scores,
                                      const std::optional<frozen_end>& frontier, sum_layout& layout,
                                      bool& mixes, bool& exchanges) {
    const recorder rec(device.fused());
    tape gradient_tape(rec);
    step_inputs inputs = detail::batch_inputs(rec, shapes);
    inputs.loss_scale = rec.input("each", real_of({}));
    const auto share = rec.input("share", real_of({}));
    if (device.compiles_whole_graphs() || shapes.counted) {
      inputs.present = detail::present_input(rec, shapes.inputs[0]);
    }
    const auto t = inputs.t;
    const auto present = inputs.present;
    parameter_list traced = as_inputs(rec, parameters);
    const parameter_list initial = traced;
    step_results results;
    const auto gradients = take_gradients(gradient_tape, inputs, traced, job, results);
    if (device.compiles_whole_graphs()) {
      mixes = passes::mixes_samples(rec.recorded());  // before the metrics, which may mix samples
    }
    for (std::size_t i = gradients.size(); i-- > 0;) {
      if (gradients[i]) {
        rec.output(traced[i].spec.name, gradients[i]);
        layout.add(traced[i].spec.shape, i, true);
      }
    }
    for (std::size_t i = 0; i < traced.size(); ++i) {
      if (traced[i].value.number() != initial[i].value.number()) {
        rec.output(traced[i].spec.name,
                   rec.run(kernels::binary{binary_function::multiply}, traced[i].value, share));
        layout.add(traced[i].spec.shape, i);
      }
    }
    if (scores) {
      for (std::size_t i = 0; i < scores->sums(); ++i) {
        layout.add({});
      }
      detail::output_sums(rec, results, t, *scores, present);
    }
    const auto& nodes = rec.recorded().nodes();
    exchanges = std::any_of(nodes.begin(), nodes.end(), [](const graph_node& node) {
      return node.kernel.as<kernels::moments_over_ranks>() != nullptr;
    });
    // Batch tiles could change the order of the exchanges with the number of samples of a rank.
    step_shapes in_order = shapes;
    in_order.depth_first = shapes.depth_first && !exchanges;
    return detail::finish_step(rec.recorded(), device, in_order, frontier, step_kind::fast);
  }

  sum_layout layout_;
  bool mixes_ = false;
  bool exchanges_ = false;
  program program_;
};

}  // namespace detail

/// A graph for the second half of a training step on several ranks, after the sum over the ranks:
/// the optimizer's update. Its inputs are the optimizer's numbers for the step, the summed
/// gradients, the parameters and the optimizer's state.
class update_program {
 public:
  update_program(const glia::device& device, const detail::sum_layout& layout,
                 const parameter_list& parameters, const slot_lists& slots, const training_job& job)
      : program_(record(device, layout, parameters, slots, job)) {}

  void run(tensor numbers, std::span<tensor> gradients, parameter_list& parameters,
           slot_lists& slots, std::vector<tensor*>& argument_buffer, timeline* times) const {
    argument_buffer.assign({&numbers});
    for (tensor& gradient : gradients) {
      argument_buffer.push_back(&gradient);
    }
    for (parameter& p : parameters) {
      argument_buffer.push_back(&p.value);
    }
    for (std::vector<tensor>& parameter_slots : slots) {
      for (tensor& slot : parameter_slots) {
        argument_buffer.push_back(&slot);
      }
    }
    program_.run(argument_buffer, {}, {}, nullptr, times);
  }

 private:
  [[nodiscard]] static program record(const glia::device& device, const detail::sum_layout& layout,
                                      const parameter_list& parameters, const slot_lists& slots,
                                      const training_job& job) {
    const recorder rec(device.fused());
    const auto numbers = rec.input("numbers", real_of({job.numbers_per_step()}));
    std::vector<tensor> gradients(parameters.size());
    for (const detail::sum_layout::segment& segment : layout.segments) {
      if (segment.gradient) {
        gradients[*segment.parameter] = rec.input(
            text(parameters[*segment.parameter].spec.name, ".gradient"), real_of(segment.shape));
      }
    }
    parameter_list traced = detail::as_inputs(rec, parameters);
    slot_lists traced_slots = detail::slot_inputs(rec, parameters, slots);
    const parameter_list initial = traced;
    const slot_lists initial_slots = traced_slots;
    detail::update_parameters(rec, std::move(gradients), traced, traced_slots, job, numbers);
    detail::set_next(rec, initial, traced, initial_slots, traced_slots);
    graph g = rec.recorded();
    prune(g);
    return program(std::move(g), device);
  }

  program program_;
};

}  // namespace glia
