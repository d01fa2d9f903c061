#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/graph/improve.hpp"
#include "glia/graph/program.hpp"
#include "glia/graph/recorder.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/scope.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/optimizers/clipping.hpp"
#include "glia/optimizers/optimizer.hpp"
#include "glia/training/metrics.hpp"

namespace glia {

/// The tensors that an optimizer keeps, one list for each parameter.
template <backend B>
using slot_lists = std::vector<std::vector<typename B::tensor>>;

/// What a training step is recorded for: the tensors of one batch, and whether it runs depth-first.
struct step_shapes {
  shape inputs;
  tensor_spec targets;  ///< integers for classes
  bool depth_first = true;
  friend bool operator==(const step_shapes&, const step_shapes&) = default;
};

/// What a training step gives beside the new state: the model's outputs and each sample's loss (N).
template <backend B>
struct step_results {
  typename B::tensor outputs;
  typename B::tensor losses;
};

/// One training step: forward, backward, update. A function of the batch, the random key, the
/// optimizer's numbers of the step, and the state, parameters and slots, which it replaces. It runs
/// at once, or writes itself down on a recorder. `forward(scope, x)` is the model.
template <backend B, class Forward, class Loss, class Optimizer>
[[nodiscard]] step_results<B> take_step(tape<B>& record, const variable<B>& x, const targets<B>& t,
                                        const typename B::tensor& key,
                                        const typename B::tensor& numbers,
                                        parameter_list<B>& parameters, slot_lists<B>& slots,
                                        const Forward& forward, const Loss& loss,
                                        const Optimizer& optimizer,
                                        const gradient_clipping& clipping) {
  const B& device = record.device();
  std::vector<gradient_slot> gradients_at;
  scope<B> s(record, parameters, gradients_at, key);
  const variable<B> y = forward(s, x);
  const variable<B> losses = loss(y, t);
  record.backward(ops::mean(losses));
  std::vector<typename B::tensor> gradients(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    gradients[i] = gradients_at[i] ? record.take_gradient(gradients_at[i]) : typename B::tensor{};
  }
  clip(clipping, device, gradients);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i]) {
      optimizer.apply(device, parameters[i].value, std::move(gradients[i]), slots[i], numbers);
    }
  }
  return {y.value(), losses.value()};
}

/// One training step as a program for batches of one shape: forward, backward, update. Its inputs
/// are the samples, the targets, the random key, the optimizer's numbers of the step, the
/// parameters and the optimizer's slots, of which the last two are replaced. Its outputs are the
/// sums of the loss and of the metrics over the batch.
template <backend B>
class step_program {
 public:
  using tensor = typename B::tensor;

  /// `forward(scope, x)` is the model, on a recorder.
  template <class Forward, class Loss, class Optimizer>
  step_program(const B& device, const step_shapes& shapes, const parameter_list<B>& parameters,
               const slot_lists<B>& slots, const Forward& forward, const Loss& loss,
               const Optimizer& optimizer, const gradient_clipping& clipping,
               const running_scores<B>* scores)
      : program_(record(device, shapes, parameters, slots, forward, loss, optimizer, clipping,
                        scores)) {}

  /// Takes the step and writes the sums.
  void run(tensor x, tensor targets, tensor key, tensor numbers, parameter_list<B>& parameters,
           slot_lists<B>& slots, std::vector<tensor*>& room, std::span<tensor> sums) const {
    room.assign({&x, &targets, &key, &numbers});
    for (parameter<B>& p : parameters) {
      room.push_back(&p.value);
    }
    for (std::vector<tensor>& own : slots) {
      for (tensor& slot : own) {
        room.push_back(&slot);
      }
    }
    program_.run(room, sums);
  }

  [[nodiscard]] const graph& calls() const { return program_.calls(); }

 private:
  using R = recorder<B>;

  template <class Forward, class Loss, class Optimizer>
  [[nodiscard]] static program<B> record(const B& device, const step_shapes& shapes,
                                         const parameter_list<B>& parameters,
                                         const slot_lists<B>& slots, const Forward& forward,
                                         const Loss& loss, const Optimizer& optimizer,
                                         const gradient_clipping& clipping,
                                         const running_scores<B>* scores) {
    const R rec;
    tape<R> at(rec);
    const variable<R> x = at.constant(rec.input("inputs", real_of(shapes.inputs)));
    const auto wanted = rec.input("targets", shapes.targets);
    const targets<R> t =
        shapes.targets.type == element::index ? targets<R>{wanted, {}} : targets<R>{{}, wanted};
    const auto key = rec.input("key", {{step_key::words}, element::index});
    const auto numbers = rec.input("numbers", real_of({numbers_per_step<Optimizer>}));
    parameter_list<R> traced = as_inputs(rec, parameters);
    slot_lists<R> kept;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      kept.emplace_back();
      for (std::size_t j = 0; j < slots[i].size(); ++j) {
        kept[i].push_back(rec.input(text(parameters[i].spec.name, ".slot", j),
                                    real_of(parameters[i].spec.shape)));
      }
    }
    const parameter_list<R> before = traced;
    const slot_lists<R> kept_before = kept;

    const auto [y, losses] =
        take_step<R>(at, x, t, key, numbers, traced, kept, forward, loss, optimizer, clipping);
    if (scores != nullptr) {
      rec.output("loss", rec.run(kernels::sum_to{{}}, losses));
      for (const metric& m : scores->metrics()) {
        rec.output(m.name,
                   rec.run(kernels::sum_to{{}}, detail::hits(rec, m, y, t, scores->border())));
      }
    }
    for (std::size_t i = 0; i < traced.size(); ++i) {
      next(rec, before[i].value, traced[i].value);
      for (std::size_t j = 0; j < kept[i].size(); ++j) {
        next(rec, kept_before[i][j], kept[i][j]);
      }
    }
    graph g = rec.recorded();
    std::vector<std::size_t> varying(g.inputs().size());
    std::iota(varying.begin(), varying.end(), std::size_t{0});
    fuse_kernels<B>(g, varying);
    if (shapes.depth_first) {
      cut_for_lanes(g, device, shapes.inputs[0]);
    }
    return program<B>(std::move(g), rec.how(), device);
  }

  static void next(const R& rec, const typename R::tensor& before,
                   const typename R::tensor& after) {
    if (after.id() != before.id()) {
      rec.next(before, after);
    }
  }

  program<B> program_;
};

}  // namespace glia
