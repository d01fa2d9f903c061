#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/described.hpp"
#include "glia/core/error.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/optimizers/optimizer.hpp"

namespace glia {

/// An optimizer that updates the parameters once after several batches, with the mean of the
/// gradients of these batches.
///
/// It has the effect of a larger batch, but needs only the memory of a small batch. With batches of
/// 16 photos, this example trains as if the batches had 128 photos:
///
///     glia::trainer trainer{net, glia::softmax_cross_entropy{},
///                           glia::gradient_accumulation{glia::adam{.learning_rate = 1e-4}, 8}};
///
/// Learning rate schedules count updates, not batches. All batches have the same weight, even a
/// smaller batch at the end of an epoch. If an epoch ends before the last group of batches is
/// complete, the group continues in the next epoch. Gradient transforms such as
/// `clip_by_global_norm` are applied to the gradients of each batch; in Keras they are applied to
/// the mean. Batch normalization uses the statistics of each single batch.
///
/// In addition to the optimizer's state, it stores the sum of the gradients. Throws `value_error`
/// in the first step if `steps` is 0.
template <class Rule>
struct gradient_accumulation {
  Rule optimizer;         ///< Optimizer for the updates.
  std::size_t steps = 1;  ///< Number of batches for one update, at least 1.

  /// Returns the number of state tensors for each parameter.
  [[nodiscard]] std::size_t state_count() const { return optimizer.state_count() + 1; }
  /// Returns the initial value of the state.
  [[nodiscard]] double initial_state() const { return optimizer.initial_state(); }
  /// Returns the name of the state. It includes `steps`, because a training cannot continue with
  /// another number of batches.
  [[nodiscard]] std::string state_name() const {
    return text("accumulated(", glia::state_name(optimizer), ", ", steps, " batches)");
  }
  /// Returns the learning rate for a batch, counted from 0.
  [[nodiscard]] double learning_rate(std::size_t step) const {
    return optimizer.learning_rate(step / counted());
  }

  /// Returns whether the parameters are updated after a batch, counted from 0.
  [[nodiscard]] bool updates(std::size_t step) const { return (step + 1) % counted() == 0; }

  /// Returns the optimizer's numbers, followed by two flags. The first is 1 if the sum already
  /// holds gradients of earlier batches. The second is 1 if the parameters are updated after this
  /// batch.
  [[nodiscard]] auto numbers(std::size_t step) const {
    return with_turn(optimizer.numbers(step / counted()), step);
  }
  [[nodiscard]] auto numbers(std::size_t step, double scale) const requires
      requires(const Rule& r) {
    r.numbers(std::size_t{}, 1.0);
  }
  { return with_turn(optimizer.numbers(step / counted(), scale), step); }

  /// Adds the gradient g to the sum, and updates the parameter p after the last batch of a group.
  void apply(const glia::device& device, tensor& p, const tensor& g, std::vector<tensor>& slots,
             const tensor& numbers) const {
    constexpr std::size_t rule_numbers = numbers_per_step<Rule>;
    const auto number = [&](std::size_t i, std::size_t count) {
      return device.run(kernels::slice{.axis = 0, .begin = i, .extent = count}, numbers);
    };
    const tensor goes_on = number(rule_numbers, 1);
    const tensor takes_step = number(rule_numbers + 1, 1);
    // Before the first batch of a group the sum is not valid: it may be NaN or the initial state.
    const tensor sum =
        device.run(kernels::select{}, goes_on,
                   device.run(kernels::binary{binary_function::add}, slots.back(), g), g);
    const auto share = 1 / static_cast<double>(steps);
    tensor mean = device.run(kernels::unary{{unary_function::affine, share, 0}}, sum);
    tensor updated = p;
    std::vector<tensor> rule_slots(slots.begin(), slots.end() - 1);
    optimizer.apply(device, updated, std::move(mean), rule_slots, number(0, rule_numbers));
    p = device.run(kernels::select{}, takes_step, std::move(updated), p);
    for (std::size_t i = 0; i < rule_slots.size(); ++i) {
      slots[i] = device.run(kernels::select{}, takes_step, std::move(rule_slots[i]), slots[i]);
    }
    slots.back() = sum;
  }

  [[nodiscard]] std::string description() const {
    return text("accumulated(", optimizer.description(), ", ", steps, " batches)");
  }
  friend bool operator==(const gradient_accumulation&, const gradient_accumulation&) = default;

 private:
  [[nodiscard]] std::size_t counted() const {
    require<value_error>(steps > 0, "gradient_accumulation: expected at least 1 step, got 0");
    return steps;
  }

  template <std::size_t N>
  [[nodiscard]] std::array<double, N + 2> with_turn(const std::array<double, N>& rule_numbers,
                                                    std::size_t step) const {
    std::array<double, N + 2> result{};
    std::copy(rule_numbers.begin(), rule_numbers.end(), result.begin());
    result[N] = step % steps == 0 ? 0 : 1;
    result[N + 1] = updates(step) ? 1 : 0;
    return result;
  }
};

template <class Rule>
gradient_accumulation(Rule, std::size_t) -> gradient_accumulation<Rule>;

}  // namespace glia
