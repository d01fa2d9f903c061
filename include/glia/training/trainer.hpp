#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "glia/core/living_ref.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/losses/targets.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/optimizer.hpp"
#include "glia/training/evaluate.hpp"
#include "glia/training/history.hpp"
#include "glia/training/trainer_core.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

namespace detail {

template <class Model>
concept model_on_a_backend = requires {
  typename Model::backend_type;
};

/// What a trainer can be made of.
template <class Model, class Loss, class Optimizer>
concept trainable = model_on_a_backend<Model> &&
    loss_function<Loss, tracing_backend<typename Model::backend_type>> &&
    optimizer<Optimizer, tracing_backend<typename Model::backend_type>>;

}  // namespace detail

/// Trains a model: holds the loss, the optimizer and what the optimizer remembers between steps. A
/// step is a function of parameters, optimizer state, batch and step number alone.
///
///     glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
///     trainer.fit(train, test, {.epochs = 20, .batch_size = 100});
///
/// The model must outlive the trainer, whose calls throw `value_error` otherwise. Trainers of
/// different models may run on threads of their own, on one device too; a step of a model that
/// another thread is just training throws `value_error`.
template <class Model, class Loss, class Optimizer>
class trainer {
  // The primary template only reports why its arguments do not make a trainer; the trainer is the
  // specialisation below.
  static_assert(detail::model_on_a_backend<Model>,
                "trainer: the first argument must be a glia::model");
  static_assert(!std::is_arithmetic_v<Optimizer>,
                "trainer: the third argument must be an optimizer and not a number: write "
                "glia::adam{1e-3}");
  static_assert(
      !requires(const Loss& l) { l.slot_count(); },
      "trainer: the loss comes first, the optimizer behind it: write glia::trainer "
      "trainer{net, glia::softmax_cross_entropy{}, glia::adam{}}");
  static_assert(
      requires(const Loss& l) { l.slot_count(); } || std::is_arithmetic_v<Optimizer> ||
          detail::trainable<Model, Loss, Optimizer>,
      "trainer: expected a loss, such as glia::softmax_cross_entropy{} or any callable "
      "`variable<B> operator()(variable<B> y, const targets<B>& t) const` for any "
      "backend B, and behind it an optimizer, such as glia::adam{}");

 public:
  trainer(Model& net, Loss loss, Optimizer update_rule, trainer_options options = {});
  trainer(Model&& net, Loss loss, Optimizer update_rule, trainer_options options = {});
  history fit(const dataset_view& train, const dataset_view& validation,
              const fit_options& options = {});
  history fit(const dataset_view& train, const fit_options& options = {});
};

/// The trainer of a model on a backend, with a loss and an optimizer for it.
template <class Model, class Loss, class Optimizer>
requires detail::trainable<Model, Loss, Optimizer>
class trainer<Model, Loss, Optimizer> {
 public:
  using B = typename Model::backend_type;

  trainer(Model& net, Loss loss, Optimizer update_rule, trainer_options options = {})
      : net_(net, net.token(), "trainer: the model"),
        loss_(std::move(loss)),
        optimizer_(std::move(update_rule)),
        core_(subject(), std::move(options)) {}
  trainer(Model&& net, Loss loss, Optimizer update_rule, trainer_options options = {})
      : trainer(net, std::move(loss), std::move(update_rule), std::move(options)) {
    static_assert(std::is_void_v<Model>,
                  "trainer: the model must outlive the trainer: give it a name, as in glia::model "
                  "net{...}");
  }

  /// Steps taken so far.
  [[nodiscard]] std::size_t step_count() const { return core_.step_count(); }

  /// All that the next step depends on beside the description, the loss, the optimizer and the
  /// batch. `restore` goes on from it, the model's parameters included; it throws `value_error`,
  /// and changes nothing, for the state of another model, optimizer or backend.
  [[nodiscard]] training_state state() const { return core_.state(net_->core()); }
  void restore(const training_state& from) { core_.restore(net_->core(), from); }

  /// What sending gradients took in the last step, where ranks train together.
  [[nodiscard]] batch_sum_record last_sum() const { return core_.last_sum(); }

  /// One step on one batch: forward, backward, update. Adds the batch's loss and metrics to `sums`
  /// if given. After the first steps it allocates nothing from the system.
  void step(const batch& b, running_scores<B>* sums = nullptr) {
    core_.step(subject(), model_part::whole, b, sums);
  }

  /// Trains for a number of epochs and reports on each; `validation` is evaluated after each.
  /// Ctrl-C stops after the step in progress and keeps the history.
  ///
  /// Where the model has frozen layers that all else sees the samples through, their outputs are
  /// computed once and kept, unless the options say otherwise or the samples vary from epoch to
  /// epoch. Data may also come as `frozen_outputs`.
  history fit(const dataset_view& train, const dataset_view& validation,
              const fit_options& options = {}) {
    return core_.fit(subject(), train, &validation, options);
  }
  history fit(const dataset_view& train, const fit_options& options = {}) {
    return core_.fit(subject(), train, nullptr, options);
  }

 private:
  using X = tracing_backend<B>;

  [[nodiscard]] typename trainer_core<B>::subject subject() {
    return {net_->core(), net_->described(), loss_ref<X>(loss_, net_->plan().outputs),
            optimizer_ref<X>(optimizer_)};
  }

  living_ref<Model> net_;
  Loss loss_;
  Optimizer optimizer_;
  trainer_core<B> core_;
};

}  // namespace glia
