#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace glia {

template <class Signature>
class function_ref;

/// A reference to any callable object, used as a parameter of functions that are compiled only
/// once, instead of once for each callable. It is valid while the callable exists. C++26 has
/// std::function_ref.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  template <class Callable>
  requires(!std::is_same_v<Callable, function_ref> && std::is_object_v<Callable> &&
           std::is_invocable_r_v<Result, const Callable&, Arguments...>)
      function_ref(const Callable& callable)
  noexcept
      : function_ref(
            std::addressof(callable), [](const void* self, Arguments... arguments) -> Result {
              return (*static_cast<const Callable*>(self))(std::forward<Arguments>(arguments)...);
            }) {}
  /// Refers to a function that takes an object and the arguments.
  function_ref(const void* self, Result (*call)(const void*, Arguments...)) noexcept
      : self_(self), call_(call) {}

  Result operator()(Arguments... arguments) const {
    return call_(self_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* self_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace glia
