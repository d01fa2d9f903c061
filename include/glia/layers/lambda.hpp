#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// A layer made from a function of variables.
///
///     glia::lambda{"double", [](auto x) { return x * 2.0; }}
///
/// Declare the function's argument as `auto`, because the function runs on several types of
/// variables. A function with the arguments `(auto& scope, auto x)` can also request parameters and
/// random numbers from the scope, like any layer. Two lambdas are equal if their names and types
/// are equal, since functions cannot be compared.
template <class Function>
struct lambda {
  std::string name;   ///< Name in descriptions.
  Function function;  ///< Function of a variable, or of a scope and a variable.

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
                    "for parameters and random numbers, [](auto& scope, auto x)");
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
