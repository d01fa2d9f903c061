#pragma once

#include <cmath>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia::ops {

GLIA_INLINE variable unary(const unary_map& map, variable x) {
  return map == kernels::identity_map ? x : call(x.owner(), kernels::unary{map}, std::move(x));
}

GLIA_INLINE variable affine(variable x, double factor, double offset) {
  return unary({unary_function::affine, factor, offset}, std::move(x));
}

GLIA_INLINE variable clamp(variable x, double low, double high) {
  return unary({unary_function::clamp, low, high}, std::move(x));
}

GLIA_INLINE variable abs(variable x) { return unary({unary_function::abs}, std::move(x)); }

GLIA_INLINE variable square(variable x) { return unary({unary_function::square}, std::move(x)); }

GLIA_INLINE variable sqrt(variable x) { return unary({unary_function::sqrt}, std::move(x)); }

GLIA_INLINE variable exp(variable x) { return unary({unary_function::exp}, std::move(x)); }

GLIA_INLINE variable log(variable x) { return unary({unary_function::log}, std::move(x)); }

GLIA_INLINE variable reciprocal(variable x) {
  return unary({unary_function::reciprocal}, std::move(x));
}

GLIA_INLINE variable floor(variable x) { return unary({unary_function::floor}, std::move(x)); }

GLIA_INLINE variable sin(variable x) { return unary({unary_function::sin}, std::move(x)); }

GLIA_INLINE variable cos(variable x) { return unary({unary_function::cos}, std::move(x)); }

GLIA_INLINE variable pow(variable x, double exponent) {
  require<value_error>(std::isfinite(exponent), "pow: expected a finite exponent, got ", exponent);
  return exponent == 1   ? x
         : exponent == 2 ? square(std::move(x))
                         : unary({unary_function::pow, exponent}, std::move(x));
}

GLIA_INLINE variable relu(variable x) { return unary({unary_function::relu}, std::move(x)); }

GLIA_INLINE variable relu6(variable x) { return unary({unary_function::relu6}, std::move(x)); }

GLIA_INLINE variable leaky_relu(variable x, double negative_slope) {
  return unary({unary_function::leaky_relu, negative_slope}, std::move(x));
}

GLIA_INLINE variable elu(variable x, double alpha) {
  return unary({unary_function::elu, alpha}, std::move(x));
}

GLIA_INLINE variable erf(variable x) { return unary({unary_function::erf}, std::move(x)); }
GLIA_INLINE variable gelu(variable x) { return unary({unary_function::gelu}, std::move(x)); }

GLIA_INLINE variable silu(variable x) { return unary({unary_function::silu}, std::move(x)); }

GLIA_INLINE variable sigmoid(variable x) { return unary({unary_function::sigmoid}, std::move(x)); }

GLIA_INLINE variable tanh(variable x) { return unary({unary_function::tanh}, std::move(x)); }

GLIA_INLINE variable softplus(variable x) {
  return unary({unary_function::softplus}, std::move(x));
}

GLIA_INLINE variable detach(const variable& x) { return x.owner().constant(x.value()); }

GLIA_INLINE variable add(const variable& a, const variable& b) {
  return call(a.owner(), kernels::binary{binary_function::add}, a, b);
}

GLIA_INLINE variable subtract(const variable& a, const variable& b) {
  return add(a, affine(b, -1, 0));
}

GLIA_INLINE variable multiply(const variable& a, const variable& b) {
  return call(a.owner(), kernels::binary{binary_function::multiply}, a, b);
}

GLIA_INLINE variable divide(const variable& a, const variable& b) {
  return multiply(a, reciprocal(b));
}

GLIA_INLINE variable true_divide(const variable& a, const variable& b) {
  return call(a.owner(), kernels::binary{binary_function::divide}, a, b);
}

GLIA_INLINE variable maximum(const variable& a, const variable& b) {
  return call(a.owner(), kernels::binary{binary_function::maximum}, a, b);
}

GLIA_INLINE variable minimum(const variable& a, const variable& b) {
  return call(a.owner(), kernels::binary{binary_function::minimum}, a, b);
}

GLIA_INLINE variable where(const tensor& condition, const variable& a, const variable& b) {
  return call(a.owner(), kernels::select{}, condition, a, b);
}

}  // namespace glia::ops

namespace glia {

GLIA_INLINE variable operator+(const variable& a, const variable& b) { return ops::add(a, b); }

GLIA_INLINE variable operator-(const variable& a, const variable& b) { return ops::subtract(a, b); }

GLIA_INLINE variable operator*(const variable& a, const variable& b) { return ops::multiply(a, b); }

GLIA_INLINE variable operator/(const variable& a, const variable& b) { return ops::divide(a, b); }

namespace detail {

GLIA_INLINE variable constant_beside(const variable& x, const tensor& value) {
  require<value_error>(
      static_cast<bool>(value),
      "an operand of + - * / is an empty tensor; the targets of a loss hold either "
      "t.labels or t.values, as the data set does, and the other one is empty");
  return x.owner().constant(value);
}

}  // namespace detail

GLIA_INLINE variable operator+(const variable& a, const tensor& b) {
  return a + detail::constant_beside(a, b);
}

GLIA_INLINE variable operator+(const tensor& a, const variable& b) {
  return detail::constant_beside(b, a) + b;
}

GLIA_INLINE variable operator-(const variable& a, const tensor& b) {
  return a - detail::constant_beside(a, b);
}

GLIA_INLINE variable operator-(const tensor& a, const variable& b) {
  return detail::constant_beside(b, a) - b;
}

GLIA_INLINE variable operator*(const variable& a, const tensor& b) {
  return a * detail::constant_beside(a, b);
}

GLIA_INLINE variable operator*(const tensor& a, const variable& b) {
  return detail::constant_beside(b, a) * b;
}

GLIA_INLINE variable operator/(const variable& a, const tensor& b) {
  return a / detail::constant_beside(a, b);
}

GLIA_INLINE variable operator/(const tensor& a, const variable& b) {
  return detail::constant_beside(b, a) / b;
}

GLIA_INLINE variable operator+(variable x, double number) {
  return ops::affine(std::move(x), 1, number);
}

GLIA_INLINE variable operator-(variable x, double number) {
  return ops::affine(std::move(x), 1, -number);
}

GLIA_INLINE variable operator*(variable x, double number) {
  return ops::affine(std::move(x), number, 0);
}

GLIA_INLINE variable operator*(double number, variable x) {
  return ops::affine(std::move(x), number, 0);
}

GLIA_INLINE variable operator/(variable x, double number) {
  return ops::affine(std::move(x), 1 / number, 0);
}

GLIA_INLINE variable operator+(double number, variable x) {
  return ops::affine(std::move(x), 1, number);
}

GLIA_INLINE variable operator-(double number, variable x) {
  return ops::affine(std::move(x), -1, number);
}

GLIA_INLINE variable operator/(double number, const variable& x) {
  return detail::constant_beside(x, x.device().run(kernels::full{{}, number})) / x;
}

GLIA_INLINE variable operator-(variable x) { return ops::affine(std::move(x), -1, 0); }

}  // namespace glia
