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

/// The optimizer's part of a training, for loops of one's own: the gradients collected so far, and
/// what the update rule keeps beside each parameter.
///
///     glia::optimizer_state adam{net, glia::adam{}};
///     ...
///     glia::tape<B> tape(net.device());
///     std::vector<glia::gradient_slot> slots;
///     const auto y = net.forward(tape.constant(x), slots, glia::run_mode::training, key);
///     tape.backward(loss(y));
///     adam.update(tape, slots);
///
/// The model must outlive it: later calls throw `value_error`. For one thread at a time; an update
/// waits for threads that predict with the model.
template <class Model, optimizer<typename Model::backend_type> Optimizer>
class optimizer_state {
 public:
  using B = typename Model::backend_type;
  using tensor = typename B::tensor;

  /// `transforms` is done to the gradients before each update: {clip_by_norm(1.0)}.
  optimizer_state(Model& net, Optimizer rule, std::vector<gradient_transform> transforms = {})
      : net_(net, net.token(), "optimizer_state: the model"),
        rule_(std::move(rule)),
        transforms_(std::move(transforms)),
        gradients_(net.parameters().size()) {
    for (const parameter<B>& p : net.parameters()) {
      std::vector<tensor>& own = slots_.emplace_back();
      for (std::size_t i = 0; p.spec.trainable && i < rule_.slot_count(); ++i) {
        own.push_back(net.device().run(kernels::full{p.spec.shape, rule_.slot_start()}));
      }
    }
  }

  /// Adds the gradients that `tape::backward` left in the slots which a forward run of the model
  /// filled: of several runs, on one tape or on several, or of several batches, before an update.
  /// Throws `value_error`, and adds nothing, for the slots of another model or tape.
  void add(tape<B>& on, std::span<const gradient_slot> slots) {
    require<value_error>(slots.size() == gradients_.size(), "optimizer_state: expected ",
                         gradients_.size(), " slots, one for each parameter, got ", slots.size(),
                         "; give those that model::forward filled");
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const tensor none{};
      const tensor& more = slots[i] ? on.gradient(slots[i]) : none;
      const parameter<B>& p = net_->parameters()[i];
      require<value_error>(!more || more.shape() == p.spec.shape, "optimizer_state: parameter '",
                           p.spec.name, "' is ", p.spec.shape, ", the gradient in its slot ",
                           more.shape(), "; these are the slots of another model");
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
      tensor more = slots[i] ? on.take_gradient(slots[i]) : tensor{};
      if (more && gradients_[i]) {
        more = net_->device().run(kernels::binary{binary_function::add}, std::move(gradients_[i]),
                                  std::move(more));
      }
      if (more) {
        gradients_[i] = std::move(more);
      }
    }
  }

  /// Changes the parameters by the gradients added so far, times a factor, and forgets them: for
  /// the mean over k batches the factor is 1 / k. A parameter without a gradient stays as it is.
  /// Throws `value_error` where none has one, as no backward was run.
  void update(double factor = 1) {
    require<value_error>(std::isfinite(factor), "optimizer_state: expected a finite factor, got ",
                         factor);
    require<value_error>(
        std::any_of(gradients_.begin(), gradients_.end(),
                    [](const tensor& g) -> bool { return !!g; }),
        "optimizer_state: no parameter has a gradient; run tape.backward on a result that depends "
        "on them, and add its gradients, before each update");
    const B& device = net_->device();
    if (factor != 1) {
      const tensor scale = device.run(kernels::full{{}, factor});
      for (tensor& g : gradients_) {
        if (g) {
          g = device.run(kernels::binary{binary_function::multiply}, std::move(g), scale);
        }
      }
    }
    transform_gradients(transforms_, device, gradients_);
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
  void update(tape<B>& on, std::span<const gradient_slot> slots) {
    add(on, slots);
    update();
  }

  /// Updates so far; what the optimizer's schedule goes by.
  [[nodiscard]] std::size_t step_count() const { return step_; }

 private:
  living_ref<Model> net_;
  Optimizer rule_;
  std::vector<gradient_transform> transforms_;
  std::vector<std::vector<tensor>> slots_;  // of each parameter
  std::vector<tensor> gradients_;
  std::size_t step_ = 0;
};

}  // namespace glia
