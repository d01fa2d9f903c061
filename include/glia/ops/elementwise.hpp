#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// map(x), element by element.
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

template <backend B>
[[nodiscard]] variable<B> affine(variable<B> x, double factor, double offset) {
  return unary({unary_function::affine, factor, offset}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> clamp(variable<B> x, double low, double high) {
  return unary({unary_function::clamp, low, high}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> absolute(variable<B> x) {
  return unary({unary_function::absolute}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> square(variable<B> x) {
  return unary({unary_function::square}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> square_root(variable<B> x) {
  return unary({unary_function::square_root}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> exponential(variable<B> x) {
  return unary({unary_function::exponential}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> logarithm(variable<B> x) {
  return unary({unary_function::logarithm}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> reciprocal(variable<B> x) {
  return unary({unary_function::reciprocal}, std::move(x));
}
template <backend B>
[[nodiscard]] variable<B> softplus(variable<B> x) {
  return unary({unary_function::softplus}, std::move(x));
}
/// The largest whole numbers that are not above x. Their slope is 0.
template <backend B>
[[nodiscard]] variable<B> floor(variable<B> x) {
  return unary({unary_function::floor}, std::move(x));
}

/// a + b with broadcasting.
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

/// a - b with broadcasting.
template <backend B>
[[nodiscard]] variable<B> subtract(const variable<B>& a, const variable<B>& b) {
  return add(a, affine(b, -1, 0));
}

/// a b, element by element, with broadcasting.
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

/// a / b, element by element, with broadcasting.
template <backend B>
[[nodiscard]] variable<B> divide(const variable<B>& a, const variable<B>& b) {
  return multiply(a, reciprocal(b));
}

/// The same rounded once, as IEEE 754 divides, where `divide` multiplies by the reciprocal.
template <backend B>
[[nodiscard]] variable<B> quotient(const variable<B>& a, const variable<B>& b) {
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

/// The larger (smaller) of a and b, with broadcasting. Where both are equal the gradient goes to a.
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
template <backend B>
[[nodiscard]] variable<B> maximum(const variable<B>& a, const variable<B>& b) {
  return extremum(binary_function::maximum, a, b);
}
template <backend B>
[[nodiscard]] variable<B> minimum(const variable<B>& a, const variable<B>& b) {
  return extremum(binary_function::minimum, a, b);
}

/// a where the condition is not 0, and b elsewhere, all three broadcast. The gradient goes to what
/// was chosen.
template <backend B>
[[nodiscard]] variable<B> select(const typename B::tensor& condition, const variable<B>& a,
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

// Arithmetic on variables, found wherever a variable is.
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

/// A tensor that is no variable, such as a loss's targets, as a constant of a variable's tape.
template <backend B>
[[nodiscard]] variable<B> constant_beside(const variable<B>& x, const typename B::tensor& value) {
  require<value_error>(static_cast<bool>(value),
                       "an operand of + - * / is no tensor; the targets that a loss is given are "
                       "classes or values, as the data set has them, and the others are none");
  return x.owner().constant(value);
}

}  // namespace detail

// With tensors that are no variables: constants.
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
