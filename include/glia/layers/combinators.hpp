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

namespace detail {

/// Two layers that run as one.
template <class First, class Second>
struct pair_of_layers {
  const First& first;
  const Second& second;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    return first.followed_by(second, s, std::move(x));
  }
  [[nodiscard]] std::string description() const {
    return text(first.description(), " and ", second.description());
  }
};

template <class First, class Second>
pair_of_layers(const First&, const Second&) -> pair_of_layers<First, Second>;

}  // namespace detail

/// Layers one after the other: sequential{dense{400, relu}, dense{10}}. May be nested.
template <class... Layers>
class sequential {
 public:
  using holds_layers = void;

  explicit constexpr sequential(Layers... layers) : layers_(std::move(layers)...) {}

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    if constexpr (same_stretches()) {
      return run_from<run_mode::training, 0>(s, std::move(x));
    } else {
      return s.training() ? run_from<run_mode::training, 0>(s, std::move(x))
                          : run_from<run_mode::inference, 0>(s, std::move(x));
    }
  }

  [[nodiscard]] static constexpr bool treats_samples_alone(run_mode mode) {
    return (glia::treats_samples_alone<Layers>(mode) && ...);
  }

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
  static constexpr std::size_t count = sizeof...(Layers);
  template <std::size_t I>
  using layer_at = std::tuple_element_t<I, std::tuple<Layers...>>;

  static constexpr bool same_stretches() {
    return ((glia::treats_samples_alone<Layers>(run_mode::training) ==
             glia::treats_samples_alone<Layers>(run_mode::inference)) &&
            ...);
  }

  /// The first layer from I on that needs the whole batch.
  template <run_mode Mode, std::size_t I>
  static constexpr std::size_t stretch_end() {
    if constexpr (I < count) {
      if constexpr (glia::treats_samples_alone<layer_at<I>>(Mode)) {
        return stretch_end<Mode, I + 1>();
      }
    }
    return I;
  }

  /// The layers from I on, those between two that need the whole batch as one stretch.
  template <run_mode Mode, std::size_t I, backend B>
  [[nodiscard]] variable<B> run_from(scope<B>& s, variable<B> x) const {
    if constexpr (I == count) {
      return x;
    } else {
      constexpr std::size_t end = stretch_end<Mode, I>();
      if constexpr (end > I + 1) {
        return run_from<Mode, end>(
            s, s.run_stretch(std::move(x), [this](scope<B>& inner, variable<B> piece) {
              return run_layers<I, end>(inner, std::move(piece));
            }));
      } else {
        return run_from<Mode, I + 1>(s, run_layers<I, I + 1>(s, std::move(x)));
      }
    }
  }

  /// Layers I ... end - 1, one after the other. A layer that can take the next one along, because
  /// the backend has both in one kernel, does.
  template <std::size_t I, std::size_t End, backend B>
  [[nodiscard]] variable<B> run_layers(scope<B>& s, variable<B> x) const {
    if constexpr (I == End) {
      return x;
    } else {
      const auto& layer = std::get<I>(layers_);
      if constexpr (I + 1 < End) {
        const auto& next = std::get<I + 1>(layers_);
        if constexpr (requires { layer.followed_by(next, s, x); }) {
          const detail::pair_of_layers both{layer, next};
          return run_layers<I + 2, End>(s, s.run(both, std::move(x), "sequential", I));
        }
      }
      return run_layers<I + 1, End>(s, s.run(layer, std::move(x), "sequential", I));
    }
  }

  std::tuple<Layers...> layers_;
};

/// Passes its input on.
struct identity {
  static constexpr std::string_view type_name = "identity";
  static constexpr bool treats_samples_alone(run_mode) { return true; }

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
  Body body;
  Shortcut shortcut{};
  glia::activation activation = linear;

  using holds_layers = void;
  static constexpr bool treats_samples_alone(run_mode mode) {
    return glia::treats_samples_alone<Body>(mode) && glia::treats_samples_alone<Shortcut>(mode);
  }

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const variable<B> main = s.run(body, x, "residual", 0);
    const variable<B> side = s.run(shortcut, std::move(x), "residual", 1);
    s.expect(main.shape() == side.shape(), "the body ends in ", batch_text(main.shape()),
             ", the shortcut in ", batch_text(side.shape()),
             "; give residual{} a shortcut that changes the shape alike");
    return activation.apply(main + side);
  }
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
