#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"

namespace glia {

/// A member by which `living_ref` knows whether an object still exists. A copy of the object, and
/// one that it is moved to, is another object, so assignments change nothing here.
class alive_token {
 public:
  alive_token() = default;
  alive_token(const alive_token&) : alive_token() {}
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned
  alive_token& operator=(const alive_token&) noexcept { return *this; }

 private:
  template <class T>
  friend class living_ref;

  std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

/// A reference to an object that must outlive its holder. Following it throws `value_error` once
/// the object is gone.
template <class T>
class living_ref {
 public:
  /// `holder` says who refers to what in the error: "trainer: the model".
  living_ref(T& object, const alive_token& of_object, std::string_view holder)
      : object_(&object), alive_(of_object.alive_), holder_(holder) {}

  [[nodiscard]] T& operator*() const {
    require<value_error>(!alive_.expired(), holder_,
                         " that this was made for no longer exists; it must outlive what is made "
                         "for it");
    return *object_;
  }
  [[nodiscard]] T* operator->() const { return &**this; }

 private:
  T* object_;
  std::weak_ptr<const char> alive_;
  std::string_view holder_;
};

}  // namespace glia
