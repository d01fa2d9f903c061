#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/losses/targets.hpp"
#include "glia/models/plan_model.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/ops/tape.hpp"
#include "glia/testing/values.hpp"

namespace glia::testing {

/// A tensor at which a gradient is checked.
struct check_input {
  shape extents;
  std::vector<double> values;

  check_input(const shape& s, std::vector<double> numbers)
      : extents(s), values(std::move(numbers)) {}
  /// Creates a tensor of shape `s` from test_values, multiplied by `scale` and shifted by `offset`.
  check_input(const shape& s, std::uint32_t stream, double scale = 1, double offset = 0)
      : extents(s) {
    for (float value : test_values(s, stream)) {
      values.push_back(value * scale + offset);
    }
  }
};

namespace detail {

/// Throws `value_error` unless a device computes in double. In float, differences have too few
/// digits to check gradients.
inline void require_double(const glia::device& device) {
  require<value_error>(device.real_bytes() == sizeof(double),
                       "gradient check: expected a device that computes in double, such as "
                       "glia::reference<double>(), got ",
                       device.name(), " in float");
}

[[nodiscard]] inline tensor to_device(const glia::device& device, const check_input& input) {
  return device.from_host(std::span<const double>(input.values), input.extents);
}

/// Returns the weighted sum of a variable's elements, with fixed weights. This sum is
/// differentiated.
[[nodiscard]] inline variable weighted_sum(const variable& y) {
  const variable weights = y.owner().constant(
      y.device().from_host(std::span<const float>(test_values(y.shape(), 999)), y.shape()));
  return ops::sum(y * weights);
}

[[nodiscard]] inline double number_of(const variable& y) {
  double result = 0;
  y.device().to_host(y.value(), std::span<double>(&result, 1));
  return result;
}

[[nodiscard]] inline std::vector<double> gradient_of(tape& gradient_tape, gradient_slot slot,
                                                     std::size_t size) {
  std::vector<double> result(size, 0.0);
  if (const auto gradient = gradient_tape.take_gradient(slot)) {
    gradient_tape.device().to_host(gradient, std::span<double>(result));
  }
  return result;
}

/// Compares `gradients`, one for each input, with central differences of `value(inputs)`. Returns
/// the largest error.
template <class Value>
[[nodiscard]] double largest_error(const Value& value, std::vector<check_input> inputs,
                                   const std::vector<std::vector<double>>& gradients) {
  double worst = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs[i].values.size(); ++j) {
      const double x = inputs[i].values[j];
      const double h = 1e-5 * std::max(1.0, std::abs(x));
      inputs[i].values[j] = x + h;
      const double upper = value(inputs);
      inputs[i].values[j] = x - h;
      const double lower = value(inputs);
      inputs[i].values[j] = x;
      const double difference = (upper - lower) / (2 * h);
      const double gradient = gradients[i][j];
      const double error = std::abs(gradient - difference) /
                           std::max({1.0, std::abs(gradient), std::abs(difference)});
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst;
}

}  // namespace detail

/// Returns the largest difference between the gradient that the tape computes and central
/// differences: |g - d| / max(1, |g|, |d|) over all elements of all inputs. It is below about 1e-8
/// for a correct gradient and close to 1 for a wrong one.
///
/// `function(const std::vector<variable>&)` returns a variable of any shape. The check calls it
/// twice for each element of the inputs. The inputs must not be near points where the function is
/// not differentiable.
template <class Function>
[[nodiscard]] double gradient_error(const glia::device& device, const Function& function,
                                    const std::vector<check_input>& inputs) {
  detail::require_double(device);
  tape gradient_tape(device);
  std::vector<variable> leaves;
  leaves.reserve(inputs.size());
  for (const check_input& input : inputs) {
    leaves.push_back(gradient_tape.leaf(detail::to_device(device, input)));
  }
  gradient_tape.backward(detail::weighted_sum(function(leaves)));
  std::vector<std::vector<double>> gradients;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    gradients.push_back(
        detail::gradient_of(gradient_tape, leaves[i].slot(), inputs[i].values.size()));
  }
  const auto value = [&](const std::vector<check_input>& point) {
    tape forward(device);
    std::vector<variable> constants;
    constants.reserve(point.size());
    for (const check_input& input : point) {
      constants.push_back(forward.constant(detail::to_device(device, input)));
    }
    return detail::number_of(detail::weighted_sum(function(constants)));
  };
  return detail::largest_error(value, inputs, gradients);
}

/// Returns the gradient error, as `gradient_error` does, of a loss over outputs (N, ...). The
/// targets are values (N, ...) or class labels (N).
template <loss_function Loss>
[[nodiscard]] double loss_gradient_error(const glia::device& device, const Loss& loss,
                                         const check_input& outputs, const check_input& values) {
  return gradient_error(device,
                        [&](const std::vector<variable>& y) {
                          return loss(y[0], targets{{}, detail::to_device(device, values)});
                        },
                        {outputs});
}
template <loss_function Loss>
[[nodiscard]] double loss_gradient_error(const glia::device& device, const Loss& loss,
                                         const check_input& outputs,
                                         std::span<const std::int32_t> classes) {
  return gradient_error(
      device,
      [&](const std::vector<variable>& y) {
        return loss(y[0], targets{device.from_host(classes, {classes.size()}), {}});
      },
      {outputs});
}

/// Returns the gradient error, as `gradient_error` does, of a layer in training mode, over a batch
/// of inputs and all its parameters.
template <layer Layer>
[[nodiscard]] double layer_gradient_error(const glia::device& device, const Layer& description,
                                          const check_input& batch) {
  detail::require_double(device);
  const model_plan plan = plan_model(description, sample_of(batch.extents));
  std::vector<check_input> inputs{batch};
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    inputs.emplace_back(plan.parameters[i].shape, static_cast<std::uint32_t>(100 + i), 0.5, 0.1);
  }
  const auto run = [&](const std::vector<check_input>& point, const variable& x,
                       std::vector<gradient_slot>& slots) {
    parameter_list parameters;
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      parameters.push_back({plan.parameters[i], detail::to_device(device, point[i + 1])});
    }
    scope s(x.owner(), parameters, slots, run_mode::training, {.seed = 3});
    return detail::weighted_sum(s.run_model(description, x));
  };

  tape gradient_tape(device);
  std::vector<gradient_slot> slots;
  const variable x = gradient_tape.leaf(detail::to_device(device, batch));
  gradient_tape.backward(run(inputs, x, slots));
  std::vector<std::vector<double>> gradients{
      detail::gradient_of(gradient_tape, x.slot(), batch.values.size())};
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    // Parameters without a slot, such as running statistics, must not affect the result, so their
    // expected gradient is zero.
    gradients.push_back(
        slots[i] ? detail::gradient_of(gradient_tape, slots[i], plan.parameters[i].shape.size())
                 : std::vector<double>(plan.parameters[i].shape.size(), 0.0));
  }
  const auto value = [&](const std::vector<check_input>& point) {
    tape forward(device);
    std::vector<gradient_slot> unused;
    return detail::number_of(
        run(point, forward.constant(detail::to_device(device, point[0])), unused));
  };
  return detail::largest_error(value, inputs, gradients);
}

}  // namespace glia::testing
