#pragma once

#include <map>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// The tensors of a file, by name, as a `std::map`.
///
/// A tensor whose elements T cannot hold, such as complex numbers or integers that would lose
/// digits, does no harm to the others: only asking for it is an error, which says why.
template <class T>
class basic_tensor_map : public std::map<std::string, xt::xarray<T>> {
  using map = std::map<std::string, xt::xarray<T>>;

 public:
  using map::map;
  basic_tensor_map(map tensors) : map(std::move(tensors)) {}

  /// Whether the file has a tensor of this name, readable or not. The map itself (`contains`,
  /// `find`, `size`, a loop) has those that can be read.
  [[nodiscard]] bool is_in_file(const std::string& name) const {
    return this->contains(name) || unreadable_.contains(name);
  }

  /// Throws `data_error`, saying why, for a tensor that cannot be read, and `std::out_of_range` for
  /// a name that the file does not have.
  [[nodiscard]] xt::xarray<T>& at(const std::string& name) {
    require_readable(name);
    return map::at(name);
  }
  [[nodiscard]] const xt::xarray<T>& at(const std::string& name) const {
    require_readable(name);
    return map::at(name);
  }

  /// The tensors that cannot be read: the reason for each name.
  [[nodiscard]] const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
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

/// The tensors of a file as floats.
using tensor_map = basic_tensor_map<float>;

}  // namespace glia
