#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/convolution_chain.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

/// An activation function: a layer of its own, or a member of the layers that end in one, which
/// then compute it in the same pass: dense{400, relu}.
struct activation {
  std::string_view name = "linear";
  unary_map map = identity_map;
  bool over_last_axis = false;  ///< softmax, the one that is no element-wise map

  static constexpr std::string_view type_name = "activation";
  static constexpr bool stateless = true;
  static constexpr bool treats_samples_alone(run_mode) { return true; }

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>&, variable<B> x) const {
    return apply(std::move(x));
  }

  template <backend B>
  [[nodiscard]] variable<B> apply(variable<B> x) const {
    return over_last_axis ? ops::softmax(std::move(x)) : ops::unary(map, std::move(x));
  }

  /// Becomes part of a convolution that waits; see layer_chain.
  template <backend B>
  [[nodiscard]] bool join(scope<B>&, ops::pending_convolutions<B>& pending) const {
    if (over_last_axis || !pending.open()) {
      return false;
    }
    pending.apply(map);
    return true;
  }

  /// The same function with another parameter: leaky_relu(0.2). Range: at least 0.
  [[nodiscard]] constexpr activation operator()(double a) const {
    activation result = *this;
    result.map.a = a;
    return result;
  }

  [[nodiscard]] std::string description() const {
    const bool has_parameter =
        map.function == unary_function::leaky_relu || map.function == unary_function::elu;
    return has_parameter ? text(name, '(', map.a, ')') : std::string(name);
  }

  friend constexpr bool operator==(const activation&, const activation&) = default;
};

/// x
inline constexpr activation linear{};
/// max(x, 0)
inline constexpr activation relu{"relu", {unary_function::relu}};
/// min(max(x, 0), 6). Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.
inline constexpr activation relu6{"relu6", {unary_function::relu6}};
/// x for x > 0, a x otherwise; a = 0.01, leaky_relu(a) for another. Maas, Hannun and Ng, 2013.
inline constexpr activation leaky_relu{"leaky_relu", {unary_function::leaky_relu, 0.01}};
/// x for x > 0, a (exp(x) - 1) otherwise; a = 1. Clevert, Unterthiner and Hochreiter, 2016.
inline constexpr activation elu{"elu", {unary_function::elu, 1}};
/// x Phi(x), exact, by erf. Hendrycks and Gimpel, 2016.
inline constexpr activation gelu{"gelu", {unary_function::gelu}};
/// x / (1 + exp(-x)), also called SiLU. Ramachandran, Zoph and Le, 2017.
inline constexpr activation swish{"swish", {unary_function::swish}};
/// 1 / (1 + exp(-x))
inline constexpr activation sigmoid{"sigmoid", {unary_function::sigmoid}};
/// The hyperbolic tangent.
inline constexpr activation tanh{"tanh", {unary_function::tanh}};
/// exp(x) / sum(exp(x)) over the last axis. Losses with "softmax" in their name apply it
/// themselves.
inline constexpr activation softmax{"softmax", identity_map, true};

}  // namespace glia
