#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Applies a unary function to every element: unary({unary_function::softplus}, x).
///
/// Most functions also have their own op, such as `ops::exp`, which is easier to read.
template <backend B>
[[nodiscard]] variable<B> unary(const unary_map& map, variable<B> x) {
  if (map == identity_map) {
    return x;
  }
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const saved_operand kind = saved_for_gradient(map.function);
  typename B::tensor saved;
  if (from && kind == saved_operand::input) {
    saved = x.value();
  }
  typename B::tensor y = owner.device().run(kernels::unary{map}, std::move(x).value());
  if (from && kind == saved_operand::output) {
    saved = y;
  }
  return owner.record(std::move(y), static_cast<bool>(from),
                      [map, from, saved = std::move(saved)](auto& to, auto dy) mutable {
                        to.add(from, to.device().run(kernels::unary_gradient{map}, std::move(dy),
                                                     std::move(saved)));
                      });
}

/// Returns factor * x + offset, by element.
template <backend B>
[[nodiscard]] variable<B> affine(variable<B> x, double factor, double offset) {
  return unary({unary_function::affine, factor, offset}, std::move(x));
}
/// Limits every element to [low, high]. The gradient outside of the range is 0. NumPy: clip;
/// PyTorch: clamp.
template <backend B>
[[nodiscard]] variable<B> clamp(variable<B> x, double low, double high) {
  return unary({unary_function::clamp, low, high}, std::move(x));
}
/// Returns the absolute value |x|, by element. The derivative at 0 is 0, as in PyTorch.
template <backend B>
[[nodiscard]] variable<B> abs(variable<B> x) {
  return unary({unary_function::abs}, std::move(x));
}
/// Returns x^2, by element.
template <backend B>
[[nodiscard]] variable<B> square(variable<B> x) {
  return unary({unary_function::square}, std::move(x));
}
/// Returns the square root of x, by element.
template <backend B>
[[nodiscard]] variable<B> sqrt(variable<B> x) {
  return unary({unary_function::sqrt}, std::move(x));
}
/// Returns the exponential e^x, by element.
template <backend B>
[[nodiscard]] variable<B> exp(variable<B> x) {
  return unary({unary_function::exp}, std::move(x));
}
/// Returns the natural logarithm of x, by element.
template <backend B>
[[nodiscard]] variable<B> log(variable<B> x) {
  return unary({unary_function::log}, std::move(x));
}
/// Returns the reciprocal 1 / x, by element.
template <backend B>
[[nodiscard]] variable<B> reciprocal(variable<B> x) {
  return unary({unary_function::reciprocal}, std::move(x));
}
/// Rounds every element down to an integer. The derivative is 0.
template <backend B>
[[nodiscard]] variable<B> floor(variable<B> x) {
  return unary({unary_function::floor}, std::move(x));
}
/// Returns the rectified linear unit max(x, 0), by element.
template <backend B>
[[nodiscard]] variable<B> relu(variable<B> x) {
  return unary({unary_function::relu}, std::move(x));
}
/// Returns min(max(x, 0), 6), the rectified linear unit with an upper bound, by element.
template <backend B>
[[nodiscard]] variable<B> relu6(variable<B> x) {
  return unary({unary_function::relu6}, std::move(x));
}
/// Returns the leaky rectified linear unit, by element: x for x > 0, negative_slope * x otherwise.
/// The default slope is 0.01, as in PyTorch. In Keras, it is 0.2.
template <backend B>
[[nodiscard]] variable<B> leaky_relu(variable<B> x, double negative_slope = 0.01) {
  return unary({unary_function::leaky_relu, negative_slope}, std::move(x));
}
/// Returns the exponential linear unit, by element: x for x > 0, alpha * (e^x - 1) otherwise.
template <backend B>
[[nodiscard]] variable<B> elu(variable<B> x, double alpha = 1) {
  return unary({unary_function::elu, alpha}, std::move(x));
}
/// Returns the Gaussian error linear unit x Phi(x), by element. Phi is the distribution function of
/// the standard normal distribution. It is computed with erf, not with the approximation by tanh.
template <backend B>
[[nodiscard]] variable<B> gelu(variable<B> x) {
  return unary({unary_function::gelu}, std::move(x));
}
/// Returns the sigmoid linear unit x / (1 + e^-x), also called swish, by element.
template <backend B>
[[nodiscard]] variable<B> silu(variable<B> x) {
  return unary({unary_function::silu}, std::move(x));
}
/// Returns the logistic function 1 / (1 + e^-x), by element.
template <backend B>
[[nodiscard]] variable<B> sigmoid(variable<B> x) {
  return unary({unary_function::sigmoid}, std::move(x));
}
/// Returns the hyperbolic tangent of x, by element.
template <backend B>
[[nodiscard]] variable<B> tanh(variable<B> x) {
  return unary({unary_function::tanh}, std::move(x));
}
/// Returns ln(1 + e^x), by element, computed without overflow.
template <backend B>
[[nodiscard]] variable<B> softplus(variable<B> x) {
  return unary({unary_function::softplus}, std::move(x));
}

/// Returns x as a constant: the backward pass computes no gradient through it. Keras, TensorFlow
/// and JAX: stop_gradient; PyTorch: detach.
template <backend B>
[[nodiscard]] variable<B> detach(const variable<B>& x) {
  return x.owner().constant(x.value());
}

/// Returns a + b with broadcasting. The operator `+` does the same.
///
/// Throws `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> add(const variable<B>& a, const variable<B>& b) {
  return a.owner().record(
      a.device().run(kernels::binary{binary_function::add}, a.value(), b.value()),
      a.needs_gradient() || b.needs_gradient(),
      [to_a = a.slot(), to_b = b.slot(), shape_a = a.shape(), shape_b = b.shape()](auto& to,
                                                                                   auto dy) {
        if (to_a) {
          to.add(to_a, to.device().run(kernels::sum_to{shape_a}, dy));
        }
        if (to_b) {
          to.add(to_b, to.device().run(kernels::sum_to{shape_b}, std::move(dy)));
        }
      });
}

/// Returns a - b with broadcasting. The operator `-` does the same.
///
/// Throws `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> subtract(const variable<B>& a, const variable<B>& b) {
  return add(a, affine(b, -1, 0));
}

/// Returns a * b, by element, with broadcasting. The operator `*` does the same.
///
/// Throws `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> multiply(const variable<B>& a, const variable<B>& b) {
  return a.owner().record(
      a.device().run(kernels::binary{binary_function::multiply}, a.value(), b.value()),
      a.needs_gradient() || b.needs_gradient(), [a, b](auto& to, auto dy) {
        const auto gradient = [&](const variable<B>& of, const variable<B>& other) {
          if (of.needs_gradient()) {
            to.add(of.slot(),
                   to.device().run(kernels::sum_to{of.shape()},
                                   to.device().run(kernels::binary{binary_function::multiply}, dy,
                                                   other.value())));
          }
        };
        gradient(a, b);
        gradient(b, a);
      });
}

/// Returns a * (1 / b), by element, with broadcasting. The operator `/` does the same.
///
/// The result can differ from the correctly rounded quotient by one unit in the last place; see
/// `true_divide`. Throws `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> divide(const variable<B>& a, const variable<B>& b) {
  return multiply(a, reciprocal(b));
}

/// Returns the correctly rounded quotient a / b, by element, with broadcasting. It is the quotient
/// that IEEE 754 defines and that NumPy and PyTorch compute.
///
/// `divide` and the operator `/` multiply by the reciprocal instead. They are faster, but their
/// result can differ by one unit in the last place. Throws `shape_error` if the shapes do not
/// broadcast.
template <backend B>
[[nodiscard]] variable<B> true_divide(const variable<B>& a, const variable<B>& b) {
  auto y = a.device().run(kernels::binary{binary_function::divide}, a.value(), b.value());
  return a.owner().record(
      y, a.needs_gradient() || b.needs_gradient(),
      [b, y, to_a = a.slot(), shape_a = a.shape()](auto& to, const auto& dy) {
        const B& device = to.device();
        const auto share = device.run(kernels::binary{binary_function::divide}, dy, b.value());
        if (to_a) {
          to.add(to_a, device.run(kernels::sum_to{shape_a}, share));
        }
        if (b.needs_gradient()) {
          const auto less = device.run(kernels::binary{binary_function::multiply}, share, y);
          to.add(b.slot(),
                 device.run(kernels::sum_to{b.shape()},
                            device.run(kernels::unary{{unary_function::affine, -1, 0}}, less)));
        }
      });
}

namespace detail {

/// Returns the maximum or the minimum of a and b, as `function` says.
template <backend B>
[[nodiscard]] variable<B> extremum(binary_function function, const variable<B>& a,
                                   const variable<B>& b) {
  return a.owner().record(
      a.device().run(kernels::binary{function}, a.value(), b.value()),
      a.needs_gradient() || b.needs_gradient(), [a, b, function](auto& to, auto dy) {
        const B& device = to.device();
        const bool maximum = function == binary_function::maximum;
        const auto b_wins = device.run(kernels::binary{binary_function::greater},
                                       (maximum ? b : a).value(), (maximum ? a : b).value());
        if (b.needs_gradient()) {
          to.add(b.slot(),
                 device.run(kernels::sum_to{b.shape()},
                            device.run(kernels::binary{binary_function::multiply}, dy, b_wins)));
        }
        if (a.needs_gradient()) {
          const auto a_wins = device.run(kernels::unary{{unary_function::affine, -1, 1}}, b_wins);
          to.add(a.slot(),
                 device.run(kernels::sum_to{a.shape()},
                            device.run(kernels::binary{binary_function::multiply}, dy, a_wins)));
        }
      });
}

}  // namespace detail

/// Returns the larger of a and b, by element, with broadcasting.
///
/// If both are equal, the gradient goes to a; PyTorch divides it between a and b. Throws
/// `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> maximum(const variable<B>& a, const variable<B>& b) {
  return detail::extremum(binary_function::maximum, a, b);
}
/// Returns the smaller of a and b, by element, with broadcasting.
///
/// If both are equal, the gradient goes to a; PyTorch divides it between a and b. Throws
/// `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> minimum(const variable<B>& a, const variable<B>& b) {
  return detail::extremum(binary_function::minimum, a, b);
}

/// Selects elements by a condition: a where the condition is not 0, and b where it is 0, with
/// broadcasting.
///
/// The condition is a tensor, not a variable. The gradient of each element goes to the selected
/// operand. Throws `shape_error` if the shapes do not broadcast.
template <backend B>
[[nodiscard]] variable<B> where(const typename B::tensor& condition, const variable<B>& a,
                                const variable<B>& b) {
  return a.owner().record(
      a.device().run(kernels::select{}, condition, a.value(), b.value()),
      a.needs_gradient() || b.needs_gradient(),
      [condition, to_a = a.slot(), to_b = b.slot(), shape_a = a.shape(), shape_b = b.shape()](
          auto& to, const auto& dy) {
        const B& device = to.device();
        const auto none = device.run(kernels::full{});
        if (to_a) {
          to.add(to_a, device.run(kernels::sum_to{shape_a},
                                  device.run(kernels::select{}, condition, dy, none)));
        }
        if (to_b) {
          to.add(to_b, device.run(kernels::sum_to{shape_b},
                                  device.run(kernels::select{}, condition, none, dy)));
        }
      });
}

}  // namespace glia::ops

namespace glia {

// Arithmetic on variables. The operators are in the namespace of `variable`, so that
// argument-dependent lookup finds them in every namespace.
template <backend B>
[[nodiscard]] variable<B> operator+(const variable<B>& a, const variable<B>& b) {
  return ops::add(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator-(const variable<B>& a, const variable<B>& b) {
  return ops::subtract(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator*(const variable<B>& a, const variable<B>& b) {
  return ops::multiply(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator/(const variable<B>& a, const variable<B>& b) {
  return ops::divide(a, b);
}
namespace detail {

/// Puts a tensor, such as the targets of a loss, as a constant on the tape of x.
template <backend B>
[[nodiscard]] variable<B> constant_beside(const variable<B>& x, const typename B::tensor& value) {
  require<value_error>(
      static_cast<bool>(value),
      "an operand of + - * / is an empty tensor; the targets of a loss hold either "
      "t.labels or t.values, as the data set does, and the other one is empty");
  return x.owner().constant(value);
}

}  // namespace detail

// Arithmetic on a variable and a tensor. The tensor becomes a constant.
template <backend B>
[[nodiscard]] variable<B> operator+(const variable<B>& a, const typename B::tensor& b) {
  return a + detail::constant_beside(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator+(const typename B::tensor& a, const variable<B>& b) {
  return detail::constant_beside(b, a) + b;
}
template <backend B>
[[nodiscard]] variable<B> operator-(const variable<B>& a, const typename B::tensor& b) {
  return a - detail::constant_beside(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator-(const typename B::tensor& a, const variable<B>& b) {
  return detail::constant_beside(b, a) - b;
}
template <backend B>
[[nodiscard]] variable<B> operator*(const variable<B>& a, const typename B::tensor& b) {
  return a * detail::constant_beside(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator*(const typename B::tensor& a, const variable<B>& b) {
  return detail::constant_beside(b, a) * b;
}
template <backend B>
[[nodiscard]] variable<B> operator/(const variable<B>& a, const typename B::tensor& b) {
  return a / detail::constant_beside(a, b);
}
template <backend B>
[[nodiscard]] variable<B> operator/(const typename B::tensor& a, const variable<B>& b) {
  return detail::constant_beside(b, a) / b;
}

template <backend B>
[[nodiscard]] variable<B> operator+(variable<B> x, double number) {
  return ops::affine(std::move(x), 1, number);
}
template <backend B>
[[nodiscard]] variable<B> operator-(variable<B> x, double number) {
  return ops::affine(std::move(x), 1, -number);
}
template <backend B>
[[nodiscard]] variable<B> operator*(variable<B> x, double number) {
  return ops::affine(std::move(x), number, 0);
}
template <backend B>
[[nodiscard]] variable<B> operator*(double number, variable<B> x) {
  return ops::affine(std::move(x), number, 0);
}
template <backend B>
[[nodiscard]] variable<B> operator/(variable<B> x, double number) {
  return ops::affine(std::move(x), 1 / number, 0);
}
template <backend B>
[[nodiscard]] variable<B> operator+(double number, variable<B> x) {
  return ops::affine(std::move(x), 1, number);
}
template <backend B>
[[nodiscard]] variable<B> operator-(double number, variable<B> x) {
  return ops::affine(std::move(x), -1, number);
}
template <backend B>
[[nodiscard]] variable<B> operator/(double number, const variable<B>& x) {
  return detail::constant_beside(x, x.device().run(kernels::full{{}, number})) / x;
}
template <backend B>
[[nodiscard]] variable<B> operator-(variable<B> x) {
  return ops::affine(std::move(x), -1, 0);
}

}  // namespace glia
