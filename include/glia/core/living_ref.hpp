#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"

namespace glia::detail {

/// A member by which `living_ref` detects whether an object still exists. A copy is a different
/// object, so it has its own token, and assigning to an object does not change the object's token.
/// Copying does not throw, because a token allocates memory only for the first reference.
class alive_token {
 public:
  alive_token() = default;
  alive_token(const alive_token&) noexcept {}
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned
  alive_token& operator=(const alive_token&) noexcept { return *this; }

 private:
  template <class T>
  friend class living_ref;

  [[nodiscard]] std::weak_ptr<const char> watched() const {
    static std::mutex making;  // threads may create references to one object at the same time
    const std::lock_guard lock(making);
    if (alive_ == nullptr) {
      alive_ = std::make_shared<const char>();
    }
    return alive_;
  }

  mutable std::shared_ptr<const char> alive_;
};

/// A reference to an object that must outlive its holder. Access throws `value_error` if the object
/// no longer exists.
template <class T>
class living_ref {
 public:
  /// Refers to `object`. `holder` names the holder and the object in the error message: "trainer:
  /// the model".
  living_ref(T& object, const alive_token& of_object, std::string_view holder)
      : object_(&object), alive_(of_object.watched()), holder_(holder) {}

  [[nodiscard]] T& operator*() const {
    require<value_error>(!alive_.expired(), holder_,
                         " no longer exists; keep it alive as long as the ",
                         holder_.substr(0, holder_.find(':')), " is used");
    return *object_;
  }
  [[nodiscard]] T* operator->() const { return &**this; }

 private:
  T* object_;
  std::weak_ptr<const char> alive_;
  std::string_view holder_;
};

}  // namespace glia::detail
