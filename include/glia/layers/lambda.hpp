#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// A layer made from a function of ops: lambda{"double", [](auto x) { return x * 2.0; }}. A
/// function `(auto& scope, auto x)` may also ask for parameters and randomness, as any layer does.
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
    } else if constexpr (std::is_invocable_v<const Function&, variable<B>>) {
      return function(std::move(x));
    } else {
      static_assert(std::is_invocable_v<const Function&, variable<B>>,
                    "lambda: expected a function of variables of any backend: write [](auto x) or, "
                    "for parameters and randomness, [](auto& scope, auto x)");
      return x;
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
