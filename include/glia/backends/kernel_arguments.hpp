#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glia {

/// The functions that a backend applies element by element; `a` and `b` are the parameters of the
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
  relu,         ///< max(x, 0)
  relu6,        ///< min(max(x, 0), 6)
  leaky_relu,   ///< x for x > 0, a x otherwise; a >= 0
  elu,          ///< x for x > 0, a (exp(x) - 1) otherwise; a >= 0
  sigmoid,      ///< 1 / (1 + exp(-x))
  tanh,         ///< hyperbolic tangent
  swish,        ///< x sigmoid(x), also called SiLU
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

/// Whether the map only bounds its operand, which kernels then do in registers.
[[nodiscard]] constexpr bool clamps(const unary_map& map) noexcept {
  return map == identity_map || map.function == unary_function::relu ||
         map.function == unary_function::relu6;
}

[[nodiscard]] constexpr std::string_view name_of(unary_function function) noexcept {
  constexpr std::string_view names[] = {
      "affine",    "clamp",      "absolute", "square", "square_root", "exponential",
      "logarithm", "reciprocal", "softplus", "relu",   "relu6",       "leaky_relu",
      "elu",       "sigmoid",    "tanh",     "swish",  "gelu"};
  return names[static_cast<std::size_t>(function)];
}

/// What the derivative of a unary function is computed from. The choice decides what the tape keeps
/// alive: functions that can do with their output share it with whoever consumes that output.
enum class saved_operand : std::uint8_t { none, input, output };

[[nodiscard]] constexpr saved_operand saved_for_gradient(unary_function function) noexcept {
  switch (function) {
    case unary_function::affine:
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

/// Which of the two factors of a matrix product is used transposed.
enum class transpose : std::uint8_t { none, first, second };

/// How a window of height x width slides over an (N, H, W, C) tensor. Padding is in rows and
/// columns; what `same` and `valid` mean has been settled by whoever calls the backend.
struct window2d {
  std::size_t height = 1;
  std::size_t width = 1;
  std::size_t stride_height = 1;
  std::size_t stride_width = 1;
  std::size_t dilation_height = 1;
  std::size_t dilation_width = 1;
  std::size_t pad_top = 0;
  std::size_t pad_bottom = 0;
  std::size_t pad_left = 0;
  std::size_t pad_right = 0;

  friend constexpr bool operator==(const window2d&, const window2d&) = default;
};

/// A convolution and the max-pooling that follows it.
struct convolution_pooling {
  window2d window;
  std::size_t groups = 1;
  window2d pool;
};

/// One of several convolutions that follow each other: map(x * kernel + bias). `Operand` is what a
/// kernel or bias is passed as.
template <class Operand>
struct chain_link {
  Operand kernel{};  ///< (height, width, C / groups, O)
  Operand bias{};    ///< (O), or none
  unary_map map = identity_map;
  window2d window{};
  std::size_t groups = 1;
};

/// The most links of a chain.
inline constexpr std::size_t max_chain = 4;

/// Rows of a window that kernels treating every channel on its own take, and chains with them.
inline constexpr std::size_t max_window_rows = 16;

/// Which rows share a mean and a variance: `batch` normalises every channel (last axis) over all
/// rows, `layer` every row over its features (last axis).
enum class normalization : std::uint8_t { batch, layer };

/// One step of stochastic gradient descent:
/// g' = g + decay p; v = momentum v + g'; p -= rate (nesterov ? g' + momentum v : v).
struct sgd_rule {
  double rate;
  double momentum;
  double decay;
  bool nesterov;
};

/// One step of Adam with the bias corrections folded into `rate` and `epsilon` by the caller:
/// g' = g + coupled_decay p; m += (1 - beta1)(g' - m); v += (1 - beta2)(g'^2 - v);
/// p -= rate m / (sqrt(v) + epsilon) + decoupled_decay p.
struct adam_rule {
  double rate;
  double beta1;
  double beta2;
  double epsilon;
  double coupled_decay;
  double decoupled_decay;
};

/// One step of RMSprop: g' = g + decay p; v += (1 - rho)(g'^2 - v);
/// u = momentum u + rate g' / sqrt(v + epsilon); p -= u.
struct rmsprop_rule {
  double rate;
  double rho;
  double momentum;
  double epsilon;
  double decay;
};

/// One step of Adagrad: g' = g + decay p; v += g'^2; p -= rate g' / sqrt(v + epsilon).
struct adagrad_rule {
  double rate;
  double epsilon;
  double decay;
};

}  // namespace glia
