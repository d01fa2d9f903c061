#pragma once

#include <map>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// A map from names to the tensors of a file, derived from `std::map`.
///
/// A file may hold tensors that cannot be converted to the element type T, such as complex numbers
/// or integers that would lose digits. These tensors are not in the map, so that the other tensors
/// can be used. `at` with the name of such a tensor throws an error with the reason.
template <class T>
class basic_tensor_map : public std::map<std::string, xt::xarray<T>> {
  using map = std::map<std::string, xt::xarray<T>>;

 public:
  using map::map;
  basic_tensor_map(map tensors) : map(std::move(tensors)) {}

  /// Returns whether the file has a tensor of this name, convertible or not. In contrast,
  /// `contains`, `find`, `size` and iterators only see tensors that could be converted.
  [[nodiscard]] bool is_in_file(const std::string& name) const {
    return this->contains(name) || unreadable_.contains(name);
  }

  /// Returns the tensor of this name. Throws `data_error`, with the reason, if the tensor could not
  /// be converted, and `std::out_of_range` if the file has no tensor of this name.
  [[nodiscard]] xt::xarray<T>& at(const std::string& name) {
    require_readable(name);
    return map::at(name);
  }
  [[nodiscard]] const xt::xarray<T>& at(const std::string& name) const {
    require_readable(name);
    return map::at(name);
  }

  /// The names of the tensors that could not be converted, with the reasons.
  [[nodiscard]] const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
  /// Adds the name of a tensor that could not be converted, with the reason.
  void add_unreadable(const std::string& name, const std::string& reason) {
    unreadable_.emplace(name, reason);
  }

 private:
  void require_readable(const std::string& name) const {
    if (const auto found = unreadable_.find(name); found != unreadable_.end()) {
      throw data_error(found->second);
    }
  }

  std::map<std::string, std::string> unreadable_;
};

/// A map from names to tensors of floats. The functions that read weight files return it.
using tensor_map = basic_tensor_map<float>;

}  // namespace glia
