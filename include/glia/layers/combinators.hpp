#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// Runs what it holds as in inference also while the rest is trained, its parameters being left as
/// they are: a network trained elsewhere whose features another is trained on.
template <class Body>
struct frozen {
  static_assert(layer<Body>, "frozen: expected a layer, such as glia::sequential{...}");

  Body body;

  using holds_layers = void;
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const typename scope<B>::freeze as_in_inference(s);
    return s.run(body, std::move(x), "frozen", 0);
  }
  [[nodiscard]] std::string description() const { return text("frozen(", body, ')'); }
  friend bool operator==(const frozen&, const frozen&) = default;
};

template <class Body>
frozen(Body) -> frozen<Body>;

/// Gives what it holds a name, which the names of parameters begin with: features.kernel for a
/// layer, features.conv2d_0.kernel for several. What has a name keeps it, whatever is put before.
///
///     sequential{named{"features", mobilenet_v2{}}, named{"head", dense{5}}}
template <class Body>
struct named {
  static_assert(layer<Body>, "named: expected a layer, such as glia::dense{10}, after its name");

  std::string name;
  Body body;

  using holds_layers = void;
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect_value(!name.empty(), "named: expected a name, got an empty one");
    const typename scope<B>::under_name inside(s, name);
    return s.run(body, std::move(x), name, scope<B>::no_index);
  }
  [[nodiscard]] std::string description() const { return text(name, '(', body, ')'); }
  friend bool operator==(const named&, const named&) = default;
};

template <class Body>
named(const char*, Body) -> named<Body>;
template <class Body>
named(std::string, Body) -> named<Body>;

/// Layers one after the other: sequential{dense{400, relu}, dense{10}}. May be nested.
template <class... Layers>
class sequential {
 public:
  using holds_layers = void;
  static constexpr bool hands_on = true;

  static_assert(
      (layer<Layers> && ...),
      "sequential: every argument must be a layer, such as glia::dense{10}, glia::relu or a "
      "type of your own that meets the concept glia::layer: copyable, with "
      "`variable<B> operator()(scope<B>&, variable<B>) const` for any backend B and "
      "`std::string description() const`");

  explicit constexpr sequential(Layers... layers) : layers_(std::move(layers)...) {}

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((x = s.run(std::get<I>(layers_), std::move(x), "sequential", I)), ...);
    }
    (std::index_sequence_for<Layers...>{});
    return x;
  }

  [[nodiscard]] static constexpr std::size_t size() { return sizeof...(Layers); }
  /// The layers, as a tuple.
  [[nodiscard]] const std::tuple<Layers...>& layers() const noexcept { return layers_; }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [](const auto&... layers) {
          std::string result;
          ((result += (result.empty() ? "" : ", ") + layers.description()), ...);
          return "sequential(" + result + ")";
        },
        layers_);
  }

  friend bool operator==(const sequential&, const sequential&) = default;

 private:
  std::tuple<Layers...> layers_;
};

/// Passes its input on.
struct identity {
  static constexpr std::string_view type_name = "identity";
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>&, variable<B> x) const {
    return x;
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const identity&, const identity&) = default;
};

/// activation(body(x) + shortcut(x)); without a shortcut, body(x) + x. He et al., CVPR 2016.
///
/// Throws `shape_error` where the two branches end in different shapes.
template <class Body, class Shortcut = identity>
struct residual {
  static_assert(layer<Body> && layer<Shortcut>,
                "residual: expected layers for its body and its shortcut, such as "
                "glia::sequential{...}");

  Body body;
  Shortcut shortcut{};
  glia::activation activation = linear;

  using holds_layers = void;
  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const variable<B> main = s.run(body, x, "residual", 0);
    const variable<B> side = s.run(shortcut, std::move(x), "residual", 1);
    s.expect(main.shape() == side.shape(), "the body ends in ", batch_text(main.shape()),
             ", the shortcut in ", batch_text(side.shape()),
             "; give residual{} a shortcut that changes the shape alike");
    return activation.apply(main + side);
  }
  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    return std::is_same_v<Shortcut, identity>
               ? text("residual(", body.description(), ')')
               : text("residual(", body.description(), ", ", shortcut.description(), ')');
  }
  friend bool operator==(const residual&, const residual&) = default;
};

template <class Body>
residual(Body) -> residual<Body>;
template <class Body, class Shortcut>
residual(Body, Shortcut) -> residual<Body, Shortcut>;
template <class Body, class Shortcut>
residual(Body, Shortcut, activation) -> residual<Body, Shortcut>;

/// A layer made from a function of ops: lambda{"double", [](auto x) { return x * 2.0; }}. A
/// function
/// `(auto& scope, auto x)` may also ask for parameters and randomness, as any layer does.
///
/// Lambdas are compared by name and type, since functions cannot be.
template <class Function>
struct lambda {
  std::string name;
  Function function;

  static constexpr std::string_view type_name = "lambda";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    if constexpr (std::is_invocable_v<const Function&, scope<B>&, variable<B>>) {
      return function(s, std::move(x));
    } else {
      return function(std::move(x));
    }
  }
  [[nodiscard]] std::string description() const { return text("lambda(", name, ')'); }
  friend bool operator==(const lambda& a, const lambda& b) { return a.name == b.name; }
};

template <class Function>
lambda(const char*, Function) -> lambda<Function>;
template <class Function>
lambda(std::string, Function) -> lambda<Function>;

}  // namespace glia
