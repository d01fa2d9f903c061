#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/living_ref.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/gradient_transforms.hpp"
#include "glia/optimizers/optimizer.hpp"

namespace glia {

/// Applies an optimizer to a model in your own training loop. Holds the optimizer's state and the
/// gradients collected since the last update.
///
///     glia::optimizer_state adam{net, glia::adam{}};
///     ...
///     glia::tape tape(net.device());
///     std::vector<glia::gradient_slot> slots;
///     const auto y = net.forward(tape.constant(x), slots, glia::run_mode::training, key);
///     tape.backward(loss(y));
///     adam.update(tape, slots);
///
/// The model must outlive this object; otherwise its functions throw `value_error`. Only one thread
/// at a time can use it. An update waits for threads that predict with the model.
template <class Model, optimizer Optimizer>
class optimizer_state {
 public:
  /// `transforms` are applied to the gradients before each update, such as
  /// {clip_by_global_norm(1.0)}.
  optimizer_state(Model& net, Optimizer rule, std::vector<gradient_transform> transforms = {})
      : net_(net, net.token(), "optimizer_state: the model"),
        rule_(std::move(rule)),
        transforms_(std::move(transforms)),
        gradients_(net.parameters().size()) {
    for (const parameter& p : net.parameters()) {
      std::vector<tensor>& state = slots_.emplace_back();
      for (std::size_t i = 0; p.spec.trainable && i < rule_.state_count(); ++i) {
        state.push_back(net.device().run(kernels::full{p.spec.shape, rule_.initial_state()}));
      }
    }
  }

  /// Adds the gradients that `tape::backward` computed for the slots that `model::forward` filled.
  /// It can be called several times before an update, for several batches, tapes or forward passes.
  ///
  /// Throws `value_error`, and adds nothing, if the slots belong to another model or tape.
  void add(glia::tape& tape, std::span<const gradient_slot> slots) {
    require<value_error>(slots.size() == gradients_.size(), "optimizer_state: expected ",
                         gradients_.size(), " slots, one for each parameter, got ", slots.size(),
                         "; pass the slots that model::forward filled");
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const tensor no_gradient{};
      const tensor& gradient = slots[i] ? tape.gradient(slots[i]) : no_gradient;
      const parameter& p = net_->parameters()[i];
      require<value_error>(!gradient || gradient.shape() == p.spec.shape,
                           "optimizer_state: parameter '", p.spec.name, "' has the shape ",
                           p.spec.shape, ", but the gradient in its slot has the shape ",
                           gradient.shape(), "; the slots belong to another model");
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
      tensor gradient = slots[i] ? tape.take_gradient(slots[i]) : tensor{};
      if (gradient && gradients_[i]) {
        gradient = net_->device().run(kernels::binary{binary_function::add},
                                      std::move(gradients_[i]), std::move(gradient));
      }
      if (gradient) {
        gradients_[i] = std::move(gradient);
      }
    }
  }

  /// Updates the parameters with the gradients added since the last update, multiplied by `factor`.
  /// For the mean over k batches, the factor is 1 / k. Parameters without a gradient do not change.
  ///
  /// Throws `value_error` if no parameter has a gradient, or if the factor is not finite.
  void update(double factor = 1) {
    require<value_error>(std::isfinite(factor), "optimizer_state: expected a finite factor, got ",
                         factor);
    require<value_error>(
        std::any_of(gradients_.begin(), gradients_.end(),
                    [](const tensor& g) -> bool { return !!g; }),
        "optimizer_state: no parameter has a gradient; before each update, call tape.backward with "
        "a result that depends on the parameters, and add the gradients");
    const glia::device& device = net_->device();
    if (factor != 1) {
      const tensor scale = device.run(kernels::full{{}, factor});
      for (tensor& g : gradients_) {
        if (g) {
          g = device.run(kernels::binary{binary_function::multiply}, std::move(g), scale);
        }
      }
    }
    detail::transform_gradients(transforms_, device, gradients_);
    const tensor numbers = numbers_of(rule_, device, step_);
    const model_access::training alone(net_->access());
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (gradients_[i]) {
        rule_.apply(device, net_->parameters()[i].value, std::exchange(gradients_[i], tensor{}),
                    slots_[i], numbers);
      }
    }
    ++step_;
  }
  /// Adds the gradients of a tape and updates the parameters.
  void update(glia::tape& tape, std::span<const gradient_slot> slots) {
    add(tape, slots);
    update();
  }

  /// The number of updates so far, which is the step number for the optimizer's schedule.
  [[nodiscard]] std::size_t step_count() const { return step_; }

 private:
  detail::living_ref<Model> net_;
  Optimizer rule_;
  std::vector<gradient_transform> transforms_;
  std::vector<std::vector<tensor>> slots_;  // the optimizer's state, one list per parameter
  std::vector<tensor> gradients_;
  std::size_t step_ = 0;
};

}  // namespace glia
