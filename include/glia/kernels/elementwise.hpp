#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/kernel.hpp"

namespace glia {

/// The functions that are applied element by element. `a` and `b` are the parameters of the
/// `unary_map` that contains the function.
enum class unary_function : std::uint8_t {
  affine,      ///< a x + b
  clamp,       ///< min(max(x, a), b)
  abs,         ///< |x|
  square,      ///< x^2
  sqrt,        ///< sqrt(x)
  exp,         ///< exp(x)
  log,         ///< ln(x)
  reciprocal,  ///< 1 / x
  softplus,    ///< ln(1 + exp(x)), computed without overflow
  floor,       ///< the largest integer not above x; its derivative is 0
  relu,        ///< max(x, 0)
  relu6,       ///< min(max(x, 0), 6)
  leaky_relu,  ///< x for x > 0, a x otherwise; a >= 0
  elu,         ///< x for x > 0, a (exp(x) - 1) otherwise; a >= 0
  sigmoid,     ///< 1 / (1 + exp(-x))
  tanh,        ///< hyperbolic tangent
  silu,        ///< x sigmoid(x), also called swish
  erf,         ///< the error function
  gelu,        ///< x Phi(x), where Phi is the normal distribution function, computed by erf
};

/// A unary function and its parameters.
struct unary_map {
  unary_function function = unary_function::affine;
  double a = 1;
  double b = 0;

  friend constexpr bool operator==(const unary_map&, const unary_map&) = default;
};

/// The map that does not change its operand.
inline constexpr unary_map identity_map{};

/// Returns whether the map is the identity or only bounds its operand (`relu`, `relu6`). Loops can
/// apply such a map in registers.
[[nodiscard]] constexpr bool clamps(const unary_map& map) noexcept {
  return map == identity_map || map.function == unary_function::relu ||
         map.function == unary_function::relu6;
}

[[nodiscard]] constexpr std::string_view name_of(unary_function function) noexcept {
  constexpr std::string_view names[] = {"affine", "clamp", "abs",        "square",   "sqrt",
                                        "exp",    "log",   "reciprocal", "softplus", "floor",
                                        "relu",   "relu6", "leaky_relu", "elu",      "sigmoid",
                                        "tanh",   "silu",  "erf",        "gelu"};
  return names[static_cast<std::size_t>(function)];
}

/// The tensor that the derivative of a unary function needs: none, the function's input, or its
/// output. It is kept for the backward pass. An output takes no additional memory if other nodes
/// keep it, too.
enum class saved_operand : std::uint8_t { none, input, output };

[[nodiscard]] constexpr saved_operand saved_for_gradient(unary_function function) noexcept {
  switch (function) {
    case unary_function::affine:
    case unary_function::floor:
      return saved_operand::none;
    case unary_function::sqrt:
    case unary_function::exp:
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

/// Returns the operations per element: a nominal count for comparisons, not for predicting times.
[[nodiscard]] constexpr double flops_of(const unary_map& map) noexcept {
  if (map == identity_map) {
    return 0;
  }
  switch (map.function) {
    case unary_function::exp:
    case unary_function::log:
    case unary_function::softplus:
    case unary_function::elu:
    case unary_function::sigmoid:
    case unary_function::tanh:
    case unary_function::silu:
    case unary_function::erf:
    case unary_function::gelu:
      return 10;
    default:
      return 1;
  }
}

/// Functions of two operands that are applied element by element with broadcasting. `greater` and
/// `equal` return 1 if the condition is true, else 0.
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

/// Returns the shape of a op b according to NumPy's broadcasting: axes are aligned at the last one,
/// and an axis of extent 1 (or a missing one) is repeated. Throws `shape_error` if the extents do
/// not match.
[[nodiscard]] inline shape broadcast_shape(const shape& a, const shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from_a = axis + a.rank() < rank ? 1 : a[axis + a.rank() - rank];
    const std::size_t from_b = axis + b.rank() < rank ? 1 : b[axis + b.rank() - rank];
    require<shape_error>(
        from_a == from_b || from_a == 1 || from_b == 1, "element-wise operation: the shapes ", a,
        " and ", b, " cannot be broadcast: counted from the last axis, extents must be equal or 1");
    result.push_back(from_a == 1 ? from_b : from_a);
  }
  return result;
}

namespace detail {

/// Returns how an operand that is broadcast to the shape `batch` relates to the samples: `rows` if
/// it has a row for each sample, else `shared`.
[[nodiscard]] constexpr batch_axis broadcast_axis(const tensor_spec& operand, const shape& batch) {
  return has_rows_of(operand.shape, batch) ? batch_axis::rows : batch_axis::shared;
}

}  // namespace detail

}  // namespace glia

namespace glia::kernels {

/// Computes map(x), element by element.
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

/// Computes dy map'(x). `saved` is the operand or the result of `unary`, as saved_for_gradient
/// tells.
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
      require_elements("unary_gradient: saved tensor", saved, element::real);
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

/// Computes function(a, b), element by element, with NumPy's broadcasting.
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

/// Returns, for each element, a if the condition is not 0, else b. All three operands are broadcast
/// as in NumPy. As in NumPy, a condition of NaN counts as true. The value that is not selected does
/// not affect the result, even if it is NaN.
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
