#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"

namespace glia::detail {

/// Names the layers of a model by their types and numbers: conv2d_0, conv2d_1. In a name scope, the
/// name of the scope comes first: features.conv2d_0.
class layer_names {
 public:
  /// If `named` is false, layers have no names, and the name scopes have no effect.
  explicit layer_names(bool named) : scopes_(named ? 1 : 0) {}

  /// Returns whether layers have names.
  [[nodiscard]] bool is_used() const { return !scopes_.empty(); }

  /// Begins a name scope inside of the current one.
  void enter(std::string_view name) {
    if (is_used()) {
      enter_path(scopes_.back().inside(name));
    }
  }
  /// Begins a name scope with a path that does not depend on the current one.
  void enter_path(std::string path) {
    if (is_used()) {
      scopes_.push_back({std::move(path), true, {}, {}});
    }
  }
  /// Ends the current name scope.
  void leave() {
    if (is_used()) {
      scopes_.pop_back();
    }
  }

  /// Returns the name of a container that begins to run: the path of the name scope if nothing has
  /// run in it yet, as for the body of `named`, or the container's type and number. `type_name` is
  /// empty for a type without a name; such a container has no name. Its layers do not get the path
  /// of the name scope as their name. Layers must have names.
  [[nodiscard]] std::string next_container(std::string_view type_name) {
    return scopes_.back().next_container(type_name);
  }
  /// Returns the name of the next layer of a type. Layers must have names.
  [[nodiscard]] std::string next(std::string_view type_name) {
    return scopes_.back().next(type_name);
  }

 private:
  /// A name scope: its path, and the numbers of layers and of containers of each type that have run
  /// in it.
  struct name_scope {
    std::string path;
    bool of_one_layer = false;  // the next layer gets the path as its name
    std::map<std::string, std::size_t, std::less<>> counts;
    std::map<std::string, std::size_t, std::less<>> container_counts;

    [[nodiscard]] std::string inside(std::string_view name) const {
      return path.empty() ? std::string(name) : text(path, '.', name);
    }
    [[nodiscard]] std::string next(std::string_view type_name) {
      if (std::exchange(of_one_layer, false)) {
        return path;
      }
      return inside(text(type_name, '_', counts[std::string(type_name)]++));
    }
    [[nodiscard]] std::string next_container(std::string_view type_name) {
      if (std::exchange(of_one_layer, false)) {
        return path;
      }
      return type_name.empty()
                 ? ""
                 : inside(text(type_name, '_', container_counts[std::string(type_name)]++));
    }
  };

  std::vector<name_scope> scopes_;
};

}  // namespace glia::detail
