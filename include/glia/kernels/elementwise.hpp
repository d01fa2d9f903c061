#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/kernel.hpp"

namespace glia {

/// The functions that are applied element by element; `a` and `b` are the parameters of the
/// `unary_map` that names the function.
enum class unary_function : std::uint8_t {
  affine,       ///< a x + b
  clamp,        ///< min(max(x, a), b)
  absolute,     ///< |x|
  square,       ///< x^2
  square_root,  ///< sqrt(x)
  exponential,  ///< exp(x)
  logarithm,    ///< ln(x)
  reciprocal,   ///< 1 / x
  softplus,     ///< ln(1 + exp(x)), computed without overflow
  floor,        ///< the largest whole number that is not above x; its slope is 0
  relu,         ///< max(x, 0)
  relu6,        ///< min(max(x, 0), 6)
  leaky_relu,   ///< x for x > 0, a x otherwise; a >= 0
  elu,          ///< x for x > 0, a (exp(x) - 1) otherwise; a >= 0
  sigmoid,      ///< 1 / (1 + exp(-x))
  tanh,         ///< hyperbolic tangent
  swish,        ///< x sigmoid(x), also called SiLU
  erf,          ///< the error function
  gelu,         ///< x Phi(x) with Phi the normal distribution function, by erf
};

/// A unary function together with its parameters.
struct unary_map {
  unary_function function = unary_function::affine;
  double a = 1;
  double b = 0;

  friend constexpr bool operator==(const unary_map&, const unary_map&) = default;
};

/// The map that leaves its operand as it is.
inline constexpr unary_map identity_map{};

/// Whether the map only bounds its operand, which loops then do in registers.
[[nodiscard]] constexpr bool clamps(const unary_map& map) noexcept {
  return map == identity_map || map.function == unary_function::relu ||
         map.function == unary_function::relu6;
}

[[nodiscard]] constexpr std::string_view name_of(unary_function function) noexcept {
  constexpr std::string_view names[] = {
      "affine",     "clamp",    "absolute", "square", "square_root", "exponential", "logarithm",
      "reciprocal", "softplus", "floor",    "relu",   "relu6",       "leaky_relu",  "elu",
      "sigmoid",    "tanh",     "swish",    "erf",    "gelu"};
  return names[static_cast<std::size_t>(function)];
}

/// What the derivative of a unary function is computed from. The choice decides what is kept for
/// the backward pass: functions that can do with their output share it with whoever consumes that.
enum class saved_operand : std::uint8_t { none, input, output };

[[nodiscard]] constexpr saved_operand saved_for_gradient(unary_function function) noexcept {
  switch (function) {
    case unary_function::affine:
    case unary_function::floor:
      return saved_operand::none;
    case unary_function::square_root:
    case unary_function::exponential:
    case unary_function::reciprocal:
    case unary_function::relu:
    case unary_function::relu6:
    case unary_function::leaky_relu:
    case unary_function::elu:
    case unary_function::sigmoid:
    case unary_function::tanh:
      return saved_operand::output;
    default:
      return saved_operand::input;
  }
}

/// Operations per element; a nominal count, good for comparing and not for timing.
[[nodiscard]] constexpr double flops_of(const unary_map& map) noexcept {
  if (map == identity_map) {
    return 0;
  }
  switch (map.function) {
    case unary_function::exponential:
    case unary_function::logarithm:
    case unary_function::softplus:
    case unary_function::elu:
    case unary_function::sigmoid:
    case unary_function::tanh:
    case unary_function::swish:
    case unary_function::erf:
    case unary_function::gelu:
      return 10;
    default:
      return 1;
  }
}

/// Functions of two operands, applied element by element with broadcasting. `greater` and `equal`
/// give 1 where they hold and 0 elsewhere.
enum class binary_function : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  greater,
  equal,
};

/// The shape of a op b under NumPy's broadcasting: axes are aligned at the last one, and an axis of
/// extent 1 (or absent) is repeated. Throws `shape_error` where extents disagree.
[[nodiscard]] inline shape broadcast_shape(const shape& a, const shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from_a = axis + a.rank() < rank ? 1 : a[axis + a.rank() - rank];
    const std::size_t from_b = axis + b.rank() < rank ? 1 : b[axis + b.rank() - rank];
    require<shape_error>(
        from_a == from_b || from_a == 1 || from_b == 1, "element-wise operation: shapes ", a,
        " and ", b, " do not broadcast: extents must be equal or 1, counted from the last axis");
    result.push_back(from_a == 1 ? from_b : from_a);
  }
  return result;
}

namespace detail {

/// What an operand is to the samples of a batch of shape `batch` that it is broadcast to.
[[nodiscard]] constexpr batch_axis broadcast_axis(const tensor_spec& operand, const shape& batch) {
  return has_rows_of(operand.shape, batch) ? batch_axis::rows : batch_axis::shared;
}

}  // namespace detail

}  // namespace glia

namespace glia::kernels {

/// map(x), element by element.
struct unary {
  unary_map map;

  static constexpr std::string_view name = "unary";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("unary", x, element::real);
    return x;
  }
  [[nodiscard]] double flops(const tensor_spec& x) const {
    return flops_of(map) * detail::count(x.shape);
  }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec&) {
    return detail::by_rows<unary>();
  }
  friend bool operator==(const unary&, const unary&) = default;
};

/// dy map'(x); `saved` is the operand or the result of `unary`, as saved_for_gradient says.
struct unary_gradient {
  unary_map map;

  static constexpr std::string_view name = "unary_gradient";
  static constexpr std::size_t operands = 2;  // dy, saved
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] bool needs_saved() const {
    return saved_for_gradient(map.function) != saved_operand::none;
  }
  [[nodiscard]] tensor_spec result(const tensor_spec& dy, const tensor_spec& saved) const {
    require_elements("unary_gradient", dy, element::real);
    if (needs_saved()) {
      require_elements("unary_gradient: what was saved", saved, element::real);
      require_same_shape("unary_gradient", dy.shape, saved.shape);
    }
    return dy;
  }
  [[nodiscard]] double flops(const tensor_spec& dy, const tensor_spec&) const {
    return (1 + flops_of(map)) * detail::count(dy.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<unary_gradient>();
  }
  friend bool operator==(const unary_gradient&, const unary_gradient&) = default;
};

/// function(a, b), element by element, broadcast as NumPy does.
struct binary {
  binary_function function = binary_function::add;

  static constexpr std::string_view name = "binary";
  static constexpr std::size_t operands = 2;
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}, {0, 1}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& a, const tensor_spec& b) {
    require_elements("binary", a, element::real);
    require_elements("binary", b, element::real);
    return real_of(broadcast_shape(a.shape, b.shape));
  }
  [[nodiscard]] static double flops(const tensor_spec& a, const tensor_spec& b) {
    return detail::count(broadcast_shape(a.shape, b.shape));
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec& a, const tensor_spec& b) {
    const shape y = broadcast_shape(a.shape, b.shape);
    return {{detail::broadcast_axis(a, y), detail::broadcast_axis(b, y)}, {batch_axis::rows}};
  }
  friend bool operator==(const binary&, const binary&) = default;
};

/// a where the condition is not 0, and b elsewhere, element by element, all three broadcast as
/// NumPy does. As there, a condition that is not a number holds. What is not chosen does not show,
/// whatever it is.
struct select {
  static constexpr std::string_view name = "select";
  static constexpr std::size_t operands = 3;  // condition, a, b
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 1}, {0, 2}, {0, 0}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& condition, const tensor_spec& a,
                                          const tensor_spec& b) {
    require_elements("select: condition", condition, element::real);
    require_elements("select", a, element::real);
    require_elements("select", b, element::real);
    return real_of(broadcast_shape(condition.shape, broadcast_shape(a.shape, b.shape)));
  }
  [[nodiscard]] static double flops(const tensor_spec& condition, const tensor_spec& a,
                                    const tensor_spec& b) {
    return detail::count(result(condition, a, b).shape);
  }
  [[nodiscard]] static batch_axes<3, 1> axes(const tensor_spec& condition, const tensor_spec& a,
                                             const tensor_spec& b) {
    const shape y = result(condition, a, b).shape;
    return {{detail::broadcast_axis(condition, y), detail::broadcast_axis(a, y),
             detail::broadcast_axis(b, y)},
            {batch_axis::rows}};
  }
  friend bool operator==(const select&, const select&) = default;
};

}  // namespace glia::kernels
