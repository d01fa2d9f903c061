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

/// An optimizer that takes a step after every so many batches, by the mean of their gradients: as
/// with a batch of all of them, in the memory of one. 16 photos at a time for a batch of 128:
///
///     glia::trainer trainer{net, glia::softmax_cross_entropy{},
///                           glia::accumulated{glia::adam{.learning_rate = 1e-4}, 8}};
///
/// Schedules count the steps that it takes. Batches count alike, a short one at an epoch's end,
/// too; those that are left at the end of an epoch wait for the next one's. What is done to
/// gradients before an update, such as `clip_by_norm`, is done to each batch's, and batch
/// normalisation sees single batches.
///
/// It keeps the sum of the gradients beside what the optimizer keeps. Throws `value_error` for no
/// batches.
template <class Rule>
struct accumulated {
  Rule rule;
  std::size_t batches = 1;  ///< at least 1

  [[nodiscard]] std::size_t slot_count() const { return rule.slot_count() + 1; }
  [[nodiscard]] double slot_start() const { return rule.slot_start(); }
  /// Other numbers of batches would count the steps otherwise.
  [[nodiscard]] std::string slots_name() const {
    return text("accumulated(", glia::slots_name(rule), ", ", batches, " batches)");
  }
  [[nodiscard]] double learning_rate(std::size_t step) const {
    return rule.learning_rate(step / counted());
  }

  /// What the optimizer has, whether gradients were there before, and whether it takes a step.
  [[nodiscard]] auto numbers(std::size_t step) const {
    return with_turn(rule.numbers(step / counted()), step);
  }
  [[nodiscard]] auto numbers(std::size_t step, double scale) const requires
      requires(const Rule& r) {
    r.numbers(std::size_t{}, 1.0);
  }
  { return with_turn(rule.numbers(step / counted(), scale), step); }

  template <backend B>
  void apply(const B& device, typename B::tensor& p, typename B::tensor g,
             std::vector<typename B::tensor>& slots, const typename B::tensor& numbers) const {
    using tensor = typename B::tensor;
    constexpr std::size_t own = numbers_per_step<Rule>;
    const auto number = [&](std::size_t i, std::size_t count) {
      return device.run(kernels::slice{.axis = 0, .begin = i, .extent = count}, numbers);
    };
    const tensor goes_on = number(own, 1);
    const tensor takes_step = number(own + 1, 1);
    // What was there before the first batch may be no number, or the optimizer's first value.
    const tensor sum =
        device.run(kernels::select{}, goes_on,
                   device.run(kernels::binary{binary_function::add}, slots.back(), g), g);
    const auto share = 1 / static_cast<double>(batches);
    tensor mean = device.run(kernels::unary{{unary_function::affine, share, 0}}, sum);
    tensor after = p;
    std::vector<tensor> kept(slots.begin(), slots.end() - 1);
    rule.apply(device, after, std::move(mean), kept, number(0, own));
    p = device.run(kernels::select{}, takes_step, std::move(after), p);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      slots[i] = device.run(kernels::select{}, takes_step, std::move(kept[i]), slots[i]);
    }
    slots.back() = sum;
  }

  [[nodiscard]] std::string description() const {
    return text("accumulated(", rule.description(), ", ", batches, " batches)");
  }
  friend bool operator==(const accumulated&, const accumulated&) = default;

 private:
  [[nodiscard]] std::size_t counted() const {
    require<value_error>(batches > 0, "accumulated: expected at least 1 batch for a step");
    return batches;
  }

  template <std::size_t N>
  [[nodiscard]] std::array<double, N + 2> with_turn(const std::array<double, N>& own,
                                                    std::size_t step) const {
    std::array<double, N + 2> result{};
    std::copy(own.begin(), own.end(), result.begin());
    result[N] = step % batches == 0 ? 0 : 1;
    result[N + 1] = (step + 1) % batches == 0 ? 1 : 0;
    return result;
  }
};

template <class Rule>
accumulated(Rule, std::size_t) -> accumulated<Rule>;

}  // namespace glia
