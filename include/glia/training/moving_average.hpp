#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/training/callback.hpp"

namespace glia {

/// A callback that averages the parameters over the steps of a training, and gives the model these
/// averages at the end. The averages often generalize better than the parameters of the last step.
///
///     trainer.fit(train, {.epochs = 20, .callbacks = {glia::moving_average{.momentum = 0.999}}});
///
///     average = momentum average + (1 - momentum) parameter      after each step
///
/// The average begins with the parameters of the first update, as in Keras. It covers roughly the
/// last `every_steps` / (1 - momentum) steps. A training can have one such callback.
///
/// Steps, validations and other callbacks use the parameters without averaging. The model gets the
/// averages at `event::train_end`, also if a callback stopped the training. An interrupted training
/// keeps its current parameters. A training that is resumed continues without averaging, and its
/// averages continue, bit for bit, in the middle of an epoch and also after the averages have been
/// given to the model. Running statistics, such as those of batch normalization, and parameters of
/// `frozen` layers are not averaged.
///
/// The averages are part of the training's state, in memory and in checkpoints. Each update copies
/// the parameters to the host. On a GPU, update them less often with `every_steps`.
///
/// `early_stopping` and this callback both replace the parameters at the end. The later one in the
/// list wins.
///
/// `fit` throws `value_error` if an option is out of its range.
///
/// Source: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", SIAM
/// Journal on Control and Optimization, 1992, with exponential weights.
struct moving_average {
  double momentum = 0.99;       ///< Weight of the average in an update, in [0, 1).
  std::size_t every_steps = 1;  ///< Number of steps between two updates, at least 1.

  void operator()(const training& t) const {
    switch (t.event) {
      case event::train_begin:
        require<value_error>(momentum >= 0 && momentum < 1 && every_steps > 0,
                             "moving_average: expected a momentum in [0, 1) and every_steps of at "
                             "least 1, got ",
                             momentum, " and ", every_steps);
        break;
      case event::epoch_begin:
        replace(t, replaced_prefix);
        erase(t, replaced_prefix);
        break;
      case event::train_batch_end:
        if (t.step % every_steps == 0) {
          update(t);
        }
        break;
      case event::train_end:
        if (!t.history.interrupted) {
          give_averages(t);
        }
        break;
      default:
        break;
    }
  }

 private:
  static constexpr std::string_view average_prefix = "moving_average/average/";
  // The parameters that the averages have replaced at the end. A resumed training continues with
  // them.
  static constexpr std::string_view replaced_prefix = "moving_average/replaced/";

  /// The tensors of the callback's state whose names begin with `prefix`, without this prefix.
  [[nodiscard]] static std::vector<named_tensor> stored(const training& t,
                                                        std::string_view prefix) {
    std::vector<named_tensor> values;
    for (const named_tensor& saved : t.callback_state()) {
      if (saved.name.starts_with(prefix)) {
        values.push_back({saved.name.substr(prefix.size()), saved.shape, saved.values});
      }
    }
    return values;
  }
  static void store(const training& t, std::string_view prefix, std::vector<named_tensor> values) {
    for (named_tensor& value : values) {
      value.name.insert(0, prefix);
      t.callback_state().push_back(std::move(value));
    }
  }
  static void erase(const training& t, std::string_view prefix) {
    std::erase_if(t.callback_state(),
                  [&](const named_tensor& saved) { return saved.name.starts_with(prefix); });
  }

  /// Copies of the parameters that an optimizer updates.
  [[nodiscard]] static std::vector<named_tensor> trained_parameters(const training& t) {
    std::vector<named_tensor> values = t.parameters();
    for (const parameter_spec& spec : t.plan.parameters) {
      if (!spec.trainable) {
        std::erase_if(values, [&](const named_tensor& p) { return p.name == spec.name; });
      }
    }
    return values;
  }

  void update(const training& t) const {
    std::vector<named_tensor> current = trained_parameters(t);
    auto parameter = current.cbegin();
    for (named_tensor& saved : t.callback_state()) {
      if (saved.name.starts_with(average_prefix)) {
        add(saved, *parameter);
        ++parameter;
      }
    }
    if (parameter == current.cbegin()) {
      store(t, average_prefix, std::move(current));
    }
  }
  void add(named_tensor& average, const named_tensor& parameter) const {
    std::visit(
        [&]<class T>(std::vector<T>& averages) {
          const std::vector<T> values = parameter.as<T>();  // a state can have another type
          for (std::size_t i = 0; i < averages.size(); ++i) {
            averages[i] = static_cast<T>(momentum * static_cast<double>(averages[i]) +
                                         (1 - momentum) * static_cast<double>(values[i]));
          }
        },
        average.values);
  }

  static void give_averages(const training& t) {
    if (stored(t, replaced_prefix).empty()) {
      store(t, replaced_prefix, trained_parameters(t));
    }
    replace(t, average_prefix);
  }
  /// Replaces the parameters by those of the callback's state, if there are any.
  static void replace(const training& t, std::string_view prefix) {
    const std::vector<named_tensor> saved = stored(t, prefix);
    if (saved.empty()) {
      return;
    }
    std::vector<named_tensor> values = t.parameters();
    auto next = saved.begin();
    for (named_tensor& value : values) {
      if (next != saved.end() && next->name == value.name) {
        value.values = next->values;
        ++next;
      }
    }
    t.set_parameters(values);
  }
};

}  // namespace glia
