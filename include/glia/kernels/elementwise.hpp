#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/broadcasting.hpp"
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
  sin,         ///< the sine of x in radians
  cos,         ///< the cosine of x in radians
  pow,         ///< x^a; NaN for x < 0, unless a is an integer
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

namespace kernels {

/// The map that does not change its operand.
inline constexpr unary_map identity_map{};

/// Returns whether the map is the identity or only bounds its operand (`relu`, `relu6`). Loops can
/// apply such a map in registers.
[[nodiscard]] constexpr bool clamps(const unary_map& map) noexcept {
  return map == identity_map || map.function == unary_function::relu ||
         map.function == unary_function::relu6;
}

}  // namespace kernels

[[nodiscard]] constexpr std::string_view name_of(unary_function function) noexcept {
  constexpr std::string_view names[] = {
      "affine",   "clamp",   "abs",  "square", "sqrt", "exp",  "log",   "reciprocal",
      "softplus", "floor",   "sin",  "cos",    "pow",  "relu", "relu6", "leaky_relu",
      "elu",      "sigmoid", "tanh", "silu",   "erf",  "gelu"};
  return names[static_cast<std::size_t>(function)];
}

namespace kernels {

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

}  // namespace kernels

/// Returns the operations per element: a nominal count for comparisons, not for predicting times.
[[nodiscard]] constexpr double flops_of(const unary_map& map) noexcept {
  if (map == kernels::identity_map) {
    return 0;
  }
  switch (map.function) {
    case unary_function::exp:
    case unary_function::log:
    case unary_function::softplus:
    case unary_function::sin:
    case unary_function::cos:
    case unary_function::pow:
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

  [[nodiscard]] constexpr bool needs_saved() const {
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

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const unary& k) {
  const saved_operand saved = saved_for_gradient(k.map.function);
  return {.operands = saved == saved_operand::input ? 1U : 0U,
          .results = saved == saved_operand::output ? 1U : 0U};
}
template <class Call>
void add_gradients(const unary& k, Call& call) {
  const bool of_result = saved_for_gradient(k.map.function) == saved_operand::output;
  call.add(0, call.run(unary_gradient{k.map}, call.dy(),
                       of_result ? call.take_result(0) : call.take_operand(0)));
}

/// Comparisons have no derivative.
[[nodiscard]] constexpr bool has_gradients(const binary& k) {
  return k.function != binary_function::greater && k.function != binary_function::equal;
}
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const binary& k) {
  switch (k.function) {
    case binary_function::multiply:
    case binary_function::maximum:
    case binary_function::minimum:
      return {.operands = 0b11};
    case binary_function::divide:
      return {.operands = 0b10, .results = 1};
    default:
      return {};
  }
}

namespace derivatives {

/// Adds the gradient of an operand that was broadcast.
template <class Call, class Tensor>
void add_sum(Call& call, std::size_t operand, Tensor gradient) {
  call.add(operand, call.run(sum_to{call.shape_of(operand)}, std::move(gradient)));
}

/// The gradient of a goes to the elements where a wins, that of b to those where b is beyond a.
template <class Call, class Tensor>
void add_gradients_of_extremum(bool maximum, Call& call, const Tensor& dy) {
  const auto b_wins = call.run(binary{binary_function::greater}, call.operand(maximum ? 1 : 0),
                               call.operand(maximum ? 0 : 1));
  if (call.wants(1)) {
    add_sum(call, 1, call.run(binary{binary_function::multiply}, dy, b_wins));
  }
  if (call.wants(0)) {
    const auto a_wins = call.run(unary{{unary_function::affine, -1, 1}}, b_wins);
    add_sum(call, 0, call.run(binary{binary_function::multiply}, dy, a_wins));
  }
}

}  // namespace derivatives

template <class Call>
void add_gradients(const binary& k, Call& call) {
  const auto dy = call.dy();
  switch (k.function) {
    case binary_function::add:
    case binary_function::subtract:
      if (call.wants(0)) {
        derivatives::add_sum(call, 0, dy);
      }
      if (call.wants(1)) {
        const bool is_subtraction = k.function == binary_function::subtract;
        derivatives::add_sum(
            call, 1, is_subtraction ? call.run(unary{{unary_function::affine, -1, 0}}, dy) : dy);
      }
      break;
    case binary_function::multiply:
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (call.wants(i)) {
          derivatives::add_sum(
              call, i, call.run(binary{binary_function::multiply}, dy, call.operand(1 - i)));
        }
      }
      break;
    case binary_function::divide: {
      const auto share = call.run(binary{binary_function::divide}, dy, call.operand(1));
      if (call.wants(0)) {
        derivatives::add_sum(call, 0, share);
      }
      if (call.wants(1)) {
        const auto product = call.run(binary{binary_function::multiply}, share, call.result(0));
        call.add(1, call.run(sum_to{call.shape_of(1)},
                             call.run(unary{{unary_function::affine, -1, 0}}, product)));
      }
      break;
    }
    case binary_function::maximum:
    case binary_function::minimum:
      derivatives::add_gradients_of_extremum(k.function == binary_function::maximum, call, dy);
      break;
    case binary_function::greater:
    case binary_function::equal:
      break;
  }
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const select&) { return {.operands = 1}; }
template <class Call>
void add_gradients(const select&, Call& call) {
  const auto dy = call.dy();
  const auto zero = call.run(full{});
  if (call.wants(1)) {
    derivatives::add_sum(call, 1, call.run(select{}, call.operand(0), dy, zero));
  }
  if (call.wants(2)) {
    derivatives::add_sum(call, 2, call.run(select{}, call.operand(0), zero, dy));
  }
}

}  // namespace glia::kernels

// Here, so that no file sees `unary_gradient` without its derivative.
#include "glia/kernels/unary_second_derivative.hpp"
