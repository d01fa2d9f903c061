#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/living_ref.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/losses/any_loss.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/any_optimizer.hpp"
#include "glia/training/distribution.hpp"
#include "glia/training/evaluate.hpp"
#include "glia/training/fit.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/history.hpp"
#include "glia/training/parameter_groups.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

/// The options of a `trainer`, for all of its calls of `fit`.
struct trainer_options {
  std::uint64_t seed = 1;  ///< Seed of shuffling and of random layers such as dropout.
  /// Functions applied to the gradients before each update, in this order, such as
  /// {clip_by_global_norm(1.0)}.
  std::vector<gradient_transform> gradient_transforms = {};
  /// Options for the parameters of some layers, such as {{.path = "features", .frozen = true}}. A
  /// parameter belongs to the first group whose path fits it.
  std::vector<parameter_group> parameter_groups = {};
  /// Ranks that train together; default: this process alone. All ranks must make the same calls.
  glia::distribution distribution = {};
};

namespace detail {

template <class Model>
concept a_model = requires(const Model& net) {
  net.core();
};

/// A model, with a loss and an optimizer that a trainer can use with it.
template <class Model, class Loss, class Optimizer>
concept trainable = a_model<Model> && loss_function<Loss> && optimizer<Optimizer>;

}  // namespace detail

/// Trains a model. A trainer holds the loss, the optimizer and the optimizer's state.
///
///     glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
///     trainer.fit(train, test, {.epochs = 20, .batch_size = 100});
///
/// The result of a step depends only on the parameters, the optimizer's state, the batch, the seed
/// and the step number.
///
/// The model must outlive the trainer. If it has been destroyed, the trainer's functions throw
/// `value_error`.
///
/// Several threads can train different models at the same time, also on the same device. A step
/// throws `value_error` if another thread is training the same model at that moment.
template <class Model, class Loss, class Optimizer>
class trainer {
  // The primary template only reports why its arguments do not make a trainer. The specialization
  // below is the trainer.
  static_assert(detail::a_model<Model>, "trainer: the first argument must be a glia::model");
  static_assert(!std::is_arithmetic_v<Optimizer>,
                "trainer: the third argument must be an optimizer, not a number; write "
                "glia::adam{1e-3}");
  static_assert(
      !requires(const Loss& l) { l.state_count(); },
      "trainer: the loss must come before the optimizer; write glia::trainer "
      "trainer{net, glia::softmax_cross_entropy{}, glia::adam{}}");
  static_assert(
      requires(const Loss& l) { l.state_count(); } || std::is_arithmetic_v<Optimizer> ||
          detail::trainable<Model, Loss, Optimizer>,
      "trainer: expected a loss and then an optimizer, such as glia::softmax_cross_entropy{} and "
      "glia::adam{}; a loss is any callable "
      "`variable operator()(variable y, const targets& t) const`");

 public:
  trainer(Model& net, Loss loss, Optimizer update_rule, trainer_options options = {});
  trainer(Model&& net, Loss loss, Optimizer update_rule, trainer_options options = {});
  history fit(const dataset_view& train, const dataset_view& validation,
              const fit_options& options = {});
  history fit(const dataset_view& train, const fit_options& options = {});
};

/// Trains a model on a backend with a loss and an optimizer.
template <class Model, class Loss, class Optimizer>
requires detail::trainable<Model, Loss, Optimizer>
class trainer<Model, Loss, Optimizer> {
  static_assert(!std::is_const_v<Model>,
                "trainer: the model is const, but training changes its parameters; declare it "
                "without const, as in glia::model net{...}");

 public:
  trainer(Model& net, Loss loss, Optimizer update_rule, trainer_options options = {})
      : net_(net, net.token(), "trainer: the model"),
        loss_(std::move(loss), net.plan().outputs),
        optimizer_(std::move(update_rule)),
        options_(std::move(options)),
        step_(job(), options_.distribution),
        state_(net.core(), optimizer_, options_.seed) {}
  trainer(Model&& net, Loss loss, Optimizer update_rule, trainer_options options = {})
      : trainer(net, std::move(loss), std::move(update_rule), std::move(options)) {
    static_assert(std::is_void_v<Model>,
                  "trainer: the model must outlive the trainer, so it cannot be a temporary; give "
                  "it a name, as in glia::model net{...}");
  }

  /// The number of training steps so far.
  [[nodiscard]] std::size_t step_count() const {
    return static_cast<std::size_t>(state_.counters().step);
  }

  /// A copy of everything that the next step depends on, except for the model's description, the
  /// loss, the optimizer and the batch: parameters, optimizer state, seed and step number.
  [[nodiscard]] training_state state() const { return state_.read(net_->core()); }
  /// Continues from a saved state. Replaces the model's parameters, too. Throws `value_error`, and
  /// changes nothing, if the state belongs to another model, optimizer or backend.
  void restore(const training_state& saved) { state_.restore(net_->core(), saved); }

  /// The cost of exchanging gradients in the last step, if several ranks train together.
  [[nodiscard]] batch_sum_record last_sum() const { return step_.runner().last_sum(); }

  /// Trains on one batch: forward pass, backward pass, update of the parameters. Adds the batch's
  /// loss and metrics to `sums` if it is not null. After the first steps it allocates no memory
  /// from the system.
  void step(const batch& b, running_scores* sums = nullptr) {
    step_.run(job(), state_, model_part::whole, b, sums);
  }

  /// Trains for `options.epochs` epochs, evaluates `validation` after each, and returns the
  /// history.
  ///
  /// Ctrl-C and SIGTERM stop the training after the current step. The history so far is returned,
  /// and `fit_options::resume` continues from there.
  ///
  /// If the model begins with frozen layers, their outputs are computed once and cached. They are
  /// not cached if `fit_options::frozen_outputs.cache` is false, or if the samples change from
  /// epoch to epoch, as augmented images do. Both data sets can also be `frozen_outputs`.
  ///
  /// Throws `shape_error`, `value_error` or `data_error` before the first step if the data sets,
  /// the loss or the metrics do not fit the model.
  history fit(const dataset_view& train, const dataset_view& validation,
              const fit_options& options = {}) {
    return run(train, &validation, options);
  }
  /// Trains without validation data.
  history fit(const dataset_view& train, const fit_options& options = {}) {
    return run(train, nullptr, options);
  }

 private:
  [[nodiscard]] training_job job() {
    return {net_->core(), loss_, optimizer_, options_.gradient_transforms,
            options_.parameter_groups};
  }
  [[nodiscard]] history run(const dataset_view& train, const dataset_view* validation,
                            const fit_options& options) {
    return detail::fit(job(), state_, step_, options, train, validation);
  }

  detail::living_ref<Model> net_;
  any_loss loss_;
  any_optimizer optimizer_;
  trainer_options options_;
  training_step step_;
  device_state state_;
};

}  // namespace glia
