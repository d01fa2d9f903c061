#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/reference/classification.hpp"
#include "glia/backends/reference/elementwise.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

namespace detail {

/// Stands before an activation's name, where a string that is meant as a function, "relu", would
/// else become the name of one that does nothing.
struct not_a_string {
  not_a_string() = default;
  template <std::convertible_to<std::string_view> Text>
  constexpr not_a_string(const Text&) {
    static_assert(!std::convertible_to<Text, std::string_view>,
                  "an activation is no string but a value: write glia::relu, not \"relu\"; one of "
                  "your own is activation{.name = ..., .map = ...}");
  }

  friend constexpr bool operator==(const not_a_string&, const not_a_string&) = default;
};

/// An array in host memory, such as xt::xarray<float>.
template <class A>
concept host_array = std::semiregular<A> && std::floating_point<typename A::value_type> &&
    requires(A a) {
  a.shape().back();
  a.begin();
};

}  // namespace detail

/// An activation function: a layer of its own, or a member of the layers that end in one, which
/// then compute it in the same pass: dense{400, relu}. Called with an array it gives the function's
/// values: softmax(net.predict(x)) are the probabilities of a model that ends in logits.
///
/// Another than those below is made by naming its members:
/// activation{.name = "softplus", .map = {unary_function::softplus}}.
struct activation {
  static constexpr std::string_view linear_name = "linear";

  detail::not_a_string no_string{};
  std::string_view name = linear_name;
  unary_map map = identity_map;
  bool over_last_axis = false;  ///< softmax, the one that is no element-wise map

  static constexpr std::string_view type_name = "activation";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>&, variable<B> x) const {
    return apply(std::move(x));
  }

  /// Throws `value_error` for one that has a name and no function.
  template <backend B>
  [[nodiscard]] variable<B> apply(variable<B> x) const {
    require<value_error>(over_last_axis || map != identity_map || name == linear_name,
                         "activation: '", name,
                         "' has no function; say it by .map, as in "
                         "{.name = \"softplus\", .map = {unary_function::softplus}}");
    return over_last_axis ? ops::softmax(std::move(x)) : ops::unary(map, std::move(x));
  }

  /// What the outputs of a layer that ends in it are.
  [[nodiscard]] constexpr output_kind gives() const {
    return over_last_axis                            ? output_kind::softmax
           : map.function == unary_function::sigmoid ? output_kind::sigmoid
                                                     : output_kind::other;
  }

  /// The function's values for those of an array of at least one axis.
  template <detail::host_array Array>
  [[nodiscard]] Array operator()(Array x) const {
    using T = typename Array::value_type;
    std::vector<T> values(x.begin(), x.end());
    if (over_last_axis) {
      require<shape_error>(x.dimension() > 0, name, ": expected an array (..., K), got a number");
      const auto columns = static_cast<std::size_t>(x.shape().back());
      if (!values.empty()) {
        reference_loops::classification<T>{}.softmax(values.data(), values.data(),
                                                     values.size() / columns, columns);
      }
    } else {
      std::transform(values.begin(), values.end(), values.begin(),
                     [this](T value) { return reference_loops::apply(map, value); });
    }
    std::copy(values.begin(), values.end(), x.begin());
    return x;
  }

  /// The same function with another parameter, at least 0: leaky_relu(0.2). Throws `value_error`
  /// for one that is negative or not finite, and for functions without a parameter.
  [[nodiscard]] constexpr activation operator()(double a) const {
    if (!has_parameter() || !(a >= 0) || a > std::numeric_limits<double>::max()) {
      throw value_error(text(
          name, '(', a, "): expected ",
          has_parameter() ? "a finite parameter of at least 0" : "no number; it has no parameter"));
    }
    activation result = *this;
    result.map.a = a;
    return result;
  }

  [[nodiscard]] std::string description() const {
    return has_parameter() ? text(name, '(', map.a, ')') : std::string(name);
  }

  friend constexpr bool operator==(const activation&, const activation&) = default;

 private:
  [[nodiscard]] constexpr bool has_parameter() const {
    return map.function == unary_function::leaky_relu || map.function == unary_function::elu;
  }
};

/// x
inline constexpr activation linear{};
/// max(x, 0)
inline constexpr activation relu{.name = "relu", .map = {unary_function::relu}};
/// min(max(x, 0), 6). Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.
inline constexpr activation relu6{.name = "relu6", .map = {unary_function::relu6}};
/// x for x > 0, a x otherwise; a = 0.01, leaky_relu(a) for another. Maas, Hannun and Ng, 2013.
inline constexpr activation leaky_relu{.name = "leaky_relu",
                                       .map = {unary_function::leaky_relu, 0.01}};
/// x for x > 0, a (exp(x) - 1) otherwise; a = 1. Clevert, Unterthiner and Hochreiter, 2016.
inline constexpr activation elu{.name = "elu", .map = {unary_function::elu, 1}};
/// x Phi(x), exact, by erf. Hendrycks and Gimpel, 2016.
inline constexpr activation gelu{.name = "gelu", .map = {unary_function::gelu}};
/// x / (1 + exp(-x)), also called SiLU. Ramachandran, Zoph and Le, 2017.
inline constexpr activation swish{.name = "swish", .map = {unary_function::swish}};
/// 1 / (1 + exp(-x))
inline constexpr activation sigmoid{.name = "sigmoid", .map = {unary_function::sigmoid}};
/// The hyperbolic tangent.
inline constexpr activation tanh{.name = "tanh", .map = {unary_function::tanh}};
/// exp(x) / sum(exp(x)) over the last axis. Losses with "softmax" in their name apply it
/// themselves, to a model that ends without it.
inline constexpr activation softmax{.name = "softmax", .over_last_axis = true};

}  // namespace glia
