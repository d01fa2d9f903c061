#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// A layer made from a function of variables.
///
///     glia::lambda{"double", [](glia::variable x) { return x * 2.0; }}
///
/// A function with the arguments `(glia::scope& s, glia::variable x)` can also request parameters
/// and random numbers from the scope, like any layer. Two lambdas are equal if their names and
/// types are equal, since functions cannot be compared.
template <class Function>
struct lambda {
  std::string name;   ///< Name in descriptions.
  Function function;  ///< Function of a variable, or of a scope and a variable.

  static constexpr std::string_view type_name = "lambda";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    if constexpr (std::is_invocable_v<const Function&, scope&, variable>) {
      return function(s, std::move(x));
    } else if constexpr (std::is_invocable_v<const Function&, variable>) {
      return function(std::move(x));
    } else {
      static_assert(std::is_invocable_v<const Function&, variable>,
                    "lambda: expected a function of a variable: write [](glia::variable x) or, for "
                    "parameters and random numbers, [](glia::scope& s, glia::variable x)");
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
