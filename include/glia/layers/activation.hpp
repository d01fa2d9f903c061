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
#include "glia/core/xtensor.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/softmax.hpp"

namespace glia {

namespace detail {

/// The type of the first member of `activation`. It makes activation{"relu"} an error at compile
/// time. Otherwise, "relu" would set only the name, and the activation would have no function.
struct not_a_string {
  not_a_string() = default;
  template <std::convertible_to<std::string_view> Text>
  constexpr not_a_string(const Text&) {
    static_assert(!std::convertible_to<Text, std::string_view>,
                  "expected an activation, got a string: write glia::relu instead of \"relu\"; to "
                  "define an activation, write activation{.name = ..., .map = ...}");
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

/// An activation function, used as a layer or as the `activation` option of another layer.
///
/// - As a layer, `sequential{dense{400}, relu}`, it accepts inputs of every shape.
/// - As an option, `dense{400, relu}`, it is applied to the output of the layer.
/// - Called with an array, it returns the function's values. If the outputs of a model are logits,
///   `softmax(net.predict(x))` returns probabilities.
/// - Called with a variable, it also records the function for automatic differentiation.
///
/// The constants `linear`, `relu`, `sigmoid`, `softmax` and so on are values of this type. For
/// another function, set the members by name: `activation{.name = "softplus", .map =
/// {unary_function::softplus}}`.
struct activation {
  static constexpr std::string_view linear_name = "linear";

  detail::not_a_string no_string{};
  std::string_view name = linear_name;    ///< Name in descriptions and error messages.
  unary_map map = kernels::identity_map;  ///< The function, applied to every element.
  /// Whether the function is the softmax over the last axis. If true, `map` is not used.
  bool over_last_axis = false;

  static constexpr std::string_view type_name = "activation";
  static constexpr std::string_view stored_type = type_name;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect_value(s.stream() == nullptr || !over_last_axis || x.shape().rank() > 2,
                   "stream: a softmax over the steps of a sequence cannot run on blocks");
    return (*this)(std::move(x));
  }

  /// Applies the activation to a variable. Throws `value_error` if the activation has a name but no
  /// function.
  [[nodiscard]] variable operator()(variable x) const {
    require_function();
    return over_last_axis ? ops::softmax(std::move(x)) : ops::unary(map, std::move(x));
  }

  /// Returns the output kind of a layer with this activation: softmax, sigmoid or other. A loss
  /// that takes logits uses it to reject a model that ends in a softmax or sigmoid.
  [[nodiscard]] constexpr glia::output_kind output_kind() const {
    return over_last_axis                            ? glia::output_kind::softmax
           : map.function == unary_function::sigmoid ? glia::output_kind::sigmoid
                                                     : glia::output_kind::other;
  }

  /// Returns the function's values for an array in host memory. Softmax runs over the last axis,
  /// and throws `shape_error` if the array has no axis. Throws `value_error` if the activation has
  /// a name but no function.
  template <detail::host_array Array>
  [[nodiscard]] Array operator()(Array x) const {
    require_function();
    using T = typename Array::value_type;
    std::vector<T> values(x.begin(), x.end());
    if (over_last_axis) {
      require<shape_error>(x.dimension() > 0, name,
                           ": expected an array of shape (..., K), got one without axes");
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

  /// Returns the function's values for an xtensor expression, such as a view or `2.0F * x`.
  template <class Expression>
  requires(!detail::host_array<Expression>) [[nodiscard]] auto operator()(
      const xt::xexpression<Expression>& x) const {
    static_assert(std::floating_point<typename Expression::value_type>,
                  "activation: expected an array of floating-point numbers");
    return (*this)(xt::xarray<typename Expression::value_type>(x.derived_cast()));
  }

  /// Returns the same function with another parameter: leaky_relu(0.2) or elu(0.5). Throws
  /// `value_error` if the parameter is negative or not finite, and if the function has no
  /// parameter.
  [[nodiscard]] constexpr activation operator()(double a) const {
    if (!has_parameter() || !(a >= 0) || a > std::numeric_limits<double>::max()) {
      throw value_error(text(name, '(', a, "): expected ",
                             has_parameter() ? "a finite parameter of at least 0"
                                             : "no number, since the function has no parameter"));
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
  void require_function() const {
    require<value_error>(over_last_axis || map != kernels::identity_map || name == linear_name,
                         "activation: '", name,
                         "' has no function; set .map, as in "
                         "{.name = \"softplus\", .map = {unary_function::softplus}}");
  }
  [[nodiscard]] constexpr bool has_parameter() const {
    return map.function == unary_function::leaky_relu || map.function == unary_function::elu;
  }
};

/// The identity function, x. It is the default activation of most layers.
inline constexpr activation linear{};
/// The rectified linear unit, max(x, 0).
inline constexpr activation relu{.name = "relu", .map = {unary_function::relu}};
/// The rectified linear unit with an upper bound of 6, min(max(x, 0), 6). Krizhevsky, Convolutional
/// deep belief networks on CIFAR-10, 2010.
inline constexpr activation relu6{.name = "relu6", .map = {unary_function::relu6}};
/// The leaky rectified linear unit: x for x > 0, a x otherwise. The slope a is 0.01, as in PyTorch;
/// in Keras's layer it is 0.3. Write leaky_relu(0.2) for another slope. Maas, Hannun and Ng, 2013.
inline constexpr activation leaky_relu{.name = "leaky_relu",
                                       .map = {unary_function::leaky_relu, 0.01}};
/// The exponential linear unit: x for x > 0, a (exp(x) - 1) otherwise. The parameter a is 1 by
/// default; elu(0.5) sets a = 0.5. Clevert, Unterthiner and Hochreiter, 2016.
inline constexpr activation elu{.name = "elu", .map = {unary_function::elu, 1}};
/// The Gaussian error linear unit, x Phi(x), where Phi is the distribution function of the standard
/// normal distribution. It is computed with erf, not with the approximation by tanh. Hendrycks and
/// Gimpel, 2016.
inline constexpr activation gelu{.name = "gelu", .map = {unary_function::gelu}};
/// The sigmoid linear unit, x / (1 + exp(-x)), also called swish. Its name in descriptions and
/// files is `swish`. Ramachandran, Zoph and Le, 2017.
inline constexpr activation silu{.name = "swish", .map = {unary_function::silu}};
/// The logistic function, 1 / (1 + exp(-x)).
inline constexpr activation sigmoid{.name = "sigmoid", .map = {unary_function::sigmoid}};
/// The hyperbolic tangent, tanh(x).
inline constexpr activation tanh{.name = "tanh", .map = {unary_function::tanh}};
/// The softmax over the last axis, exp(x) / sum(exp(x)). The loss `softmax_cross_entropy` applies
/// the softmax itself, so a model for this loss must end without a softmax.
inline constexpr activation softmax{.name = "softmax", .over_last_axis = true};

}  // namespace glia
