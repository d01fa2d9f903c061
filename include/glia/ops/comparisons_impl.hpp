#pragma once

#include "glia/core/inline.hpp"
#include "glia/ops/comparisons.hpp"

namespace glia::ops {

namespace detail {

GLIA_INLINE tensor compare(binary_function condition, const variable& a, const variable& b) {
  return a.device().run(kernels::binary{condition}, a.value(), b.value());
}

/// Returns a number on the tape of x.
GLIA_INLINE variable number_beside(const variable& x, double number) {
  return x.owner().constant(x.device().run(kernels::full{{}, number}));
}

/// Returns 1 where either condition is 1, else 0.
GLIA_INLINE tensor any_of(const glia::device& device, const tensor& a, const tensor& b) {
  return device.run(kernels::binary{binary_function::maximum}, a, b);
}

}  // namespace detail

GLIA_INLINE tensor greater(const variable& a, const variable& b) {
  return detail::compare(binary_function::greater, a, b);
}

GLIA_INLINE tensor greater_equal(const variable& a, const variable& b) {
  return detail::any_of(a.device(), greater(a, b), equal(a, b));
}

GLIA_INLINE tensor less(const variable& a, const variable& b) { return greater(b, a); }

GLIA_INLINE tensor less_equal(const variable& a, const variable& b) { return greater_equal(b, a); }

GLIA_INLINE tensor equal(const variable& a, const variable& b) {
  return detail::compare(binary_function::equal, a, b);
}

GLIA_INLINE tensor not_equal(const variable& a, const variable& b) {
  return a.device().run(kernels::unary{{unary_function::affine, -1, 1}}, equal(a, b));
}

GLIA_INLINE tensor greater(const variable& a, double b) {
  return greater(a, detail::number_beside(a, b));
}

GLIA_INLINE tensor greater_equal(const variable& a, double b) {
  return greater_equal(a, detail::number_beside(a, b));
}

GLIA_INLINE tensor less(const variable& a, double b) {
  return less(a, detail::number_beside(a, b));
}

GLIA_INLINE tensor less_equal(const variable& a, double b) {
  return less_equal(a, detail::number_beside(a, b));
}

GLIA_INLINE tensor equal(const variable& a, double b) {
  return equal(a, detail::number_beside(a, b));
}

GLIA_INLINE tensor not_equal(const variable& a, double b) {
  return not_equal(a, detail::number_beside(a, b));
}

}  // namespace glia::ops
