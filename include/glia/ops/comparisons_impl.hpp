#pragma once

#include <cstddef>

#include "glia/core/inline.hpp"
#include "glia/ops/arrangement.hpp"
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

GLIA_INLINE tensor argmax(const variable& x, std::ptrdiff_t axis) {
  const std::size_t reduced = kernels::axis_from_front("argmax", x.shape(), axis);
  require<shape_error>(x.shape()[reduced] > 0, "argmax: expected an axis with elements, got axis ",
                       axis, " of the shape ", x.shape());
  kernels::axis_list order;
  shape remaining;
  for (std::size_t i = 0; i < x.shape().rank(); ++i) {
    if (i != reduced) {
      order.push_back(i);
      remaining.push_back(x.shape()[i]);
    }
  }
  order.push_back(reduced);
  const bool is_last = reduced + 1 == x.shape().rank();
  const glia::device& device = x.device();
  const tensor rows = is_last ? x.value() : device.run(kernels::permute_axes{order}, x.value());
  return device.run(kernels::reshape{remaining}, device.run(kernels::argmax{}, rows));
}

}  // namespace glia::ops
