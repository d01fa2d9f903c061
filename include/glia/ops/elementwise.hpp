#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Applies a unary function to every element: unary({unary_function::softplus}, x).
///
/// Most functions also have their own op, such as `ops::exp`, which is easier to read.
[[nodiscard]] variable unary(const unary_map& map, variable x);

/// Returns factor * x + offset, by element.
[[nodiscard]] variable affine(variable x, double factor, double offset);
/// Limits every element to [low, high]. The gradient outside of the range is 0. NumPy: clip;
/// PyTorch: clamp.
[[nodiscard]] variable clamp(variable x, double low, double high);
/// Returns the absolute value |x|, by element. The derivative at 0 is 0, as in PyTorch.
[[nodiscard]] variable abs(variable x);
/// Returns x^2, by element.
[[nodiscard]] variable square(variable x);
/// Returns the square root of x, by element.
[[nodiscard]] variable sqrt(variable x);
/// Returns the exponential e^x, by element.
[[nodiscard]] variable exp(variable x);
/// Returns the natural logarithm of x, by element.
[[nodiscard]] variable log(variable x);
/// Returns the reciprocal 1 / x, by element.
[[nodiscard]] variable reciprocal(variable x);
/// Rounds every element down to an integer. The derivative is 0.
[[nodiscard]] variable floor(variable x);
/// Returns the sine of x in radians, by element.
[[nodiscard]] variable sin(variable x);
/// Returns the cosine of x in radians, by element.
[[nodiscard]] variable cos(variable x);
/// Returns the error function of x, by element: 2 / sqrt(pi) times the integral of e^-t^2 from 0 to
/// x.
[[nodiscard]] variable erf(variable x);
/// Returns x^exponent, by element. The result is NaN for x < 0, unless the exponent is an integer.
/// The derivative at 0 is infinite for exponents between 0 and 1. Throws `value_error` if the
/// exponent is not finite.
[[nodiscard]] variable pow(variable x, double exponent);
/// Returns the rectified linear unit max(x, 0), by element.
[[nodiscard]] variable relu(variable x);
/// Returns min(max(x, 0), 6), the rectified linear unit with an upper bound, by element.
[[nodiscard]] variable relu6(variable x);
/// Returns the leaky rectified linear unit, by element: x for x > 0, negative_slope * x otherwise.
/// The default slope is 0.01, as in PyTorch. In Keras, it is 0.2.
[[nodiscard]] variable leaky_relu(variable x, double negative_slope = 0.01);
/// Returns the exponential linear unit, by element: x for x > 0, alpha * (e^x - 1) otherwise.
[[nodiscard]] variable elu(variable x, double alpha = 1);
/// Returns the Gaussian error linear unit x Phi(x), by element. Phi is the distribution function of
/// the standard normal distribution. It is computed with erf, not with the approximation by tanh.
[[nodiscard]] variable gelu(variable x);
/// Returns the sigmoid linear unit x / (1 + e^-x), also called swish, by element.
[[nodiscard]] variable silu(variable x);
/// Returns the logistic function 1 / (1 + e^-x), by element.
[[nodiscard]] variable sigmoid(variable x);
/// Returns the hyperbolic tangent of x, by element.
[[nodiscard]] variable tanh(variable x);
/// Returns ln(1 + e^x), by element, computed without overflow.
[[nodiscard]] variable softplus(variable x);

/// Returns x as a constant: the backward pass computes no gradient through it. Keras, TensorFlow
/// and JAX: stop_gradient; PyTorch: detach.
[[nodiscard]] variable detach(const variable& x);

/// Returns a + b with broadcasting. The operator `+` does the same.
///
/// Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable add(const variable& a, const variable& b);

/// Returns a - b with broadcasting. The operator `-` does the same.
///
/// Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable subtract(const variable& a, const variable& b);

/// Returns a * b, by element, with broadcasting. The operator `*` does the same.
///
/// Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable multiply(const variable& a, const variable& b);

/// Returns a * (1 / b), by element, with broadcasting. The operator `/` does the same.
///
/// The result can differ from the correctly rounded quotient by one unit in the last place; see
/// `true_divide`. Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable divide(const variable& a, const variable& b);

/// Returns the correctly rounded quotient a / b, by element, with broadcasting. It is the quotient
/// that IEEE 754 defines and that NumPy and PyTorch compute.
///
/// `divide` and the operator `/` multiply by the reciprocal instead. They are faster, but their
/// result can differ by one unit in the last place. Throws `shape_error` if the shapes do not
/// broadcast.
[[nodiscard]] variable true_divide(const variable& a, const variable& b);

/// Returns the larger of a and b, by element, with broadcasting.
///
/// If both are equal, the gradient goes to a; PyTorch divides it between a and b. Throws
/// `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable maximum(const variable& a, const variable& b);
/// Returns the smaller of a and b, by element, with broadcasting.
///
/// If both are equal, the gradient goes to a; PyTorch divides it between a and b. Throws
/// `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable minimum(const variable& a, const variable& b);

/// Selects elements by a condition: a where the condition is not 0, and b where it is 0, with
/// broadcasting.
///
/// The condition is a tensor, not a variable. The gradient of each element goes to the selected
/// operand. Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] variable where(const tensor& condition, const variable& a, const variable& b);

}  // namespace glia::ops

namespace glia {

// Arithmetic on variables. The operators are in the namespace of `variable`, so that
// argument-dependent lookup finds them in every namespace.
[[nodiscard]] variable operator+(const variable& a, const variable& b);
[[nodiscard]] variable operator-(const variable& a, const variable& b);
[[nodiscard]] variable operator*(const variable& a, const variable& b);
[[nodiscard]] variable operator/(const variable& a, const variable& b);
namespace detail {

/// Puts a tensor, such as the targets of a loss, as a constant on the tape of x.
[[nodiscard]] variable constant_beside(const variable& x, const tensor& value);

}  // namespace detail

// Arithmetic on a variable and a tensor. The tensor becomes a constant.
[[nodiscard]] variable operator+(const variable& a, const tensor& b);
[[nodiscard]] variable operator+(const tensor& a, const variable& b);
[[nodiscard]] variable operator-(const variable& a, const tensor& b);
[[nodiscard]] variable operator-(const tensor& a, const variable& b);
[[nodiscard]] variable operator*(const variable& a, const tensor& b);
[[nodiscard]] variable operator*(const tensor& a, const variable& b);
[[nodiscard]] variable operator/(const variable& a, const tensor& b);
[[nodiscard]] variable operator/(const tensor& a, const variable& b);

[[nodiscard]] variable operator+(variable x, double number);
[[nodiscard]] variable operator-(variable x, double number);
[[nodiscard]] variable operator*(variable x, double number);
[[nodiscard]] variable operator*(double number, variable x);
[[nodiscard]] variable operator/(variable x, double number);
[[nodiscard]] variable operator+(double number, variable x);
[[nodiscard]] variable operator-(double number, variable x);
[[nodiscard]] variable operator/(double number, const variable& x);
[[nodiscard]] variable operator-(variable x);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/ops/elementwise_impl.hpp"
#endif
