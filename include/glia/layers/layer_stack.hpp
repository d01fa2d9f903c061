#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/layers/any_layer.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

/// Runs layers one after another, like `sequential`, but takes a list that is made at run time.
///
/// Use it if the number or the types of the layers depend, for example, on a file or on options. It
/// is as fast as `sequential`, because both record the same graph.
///
///     std::vector<glia::any_layer> layers{glia::flatten{}, glia::dense{10}};
///     glia::model net{glia::layer_stack{layers}, {28, 28}};
class layer_stack {
 public:
  using contains_layers = void;
  static constexpr std::string_view stored_type = "sequential";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  explicit layer_stack(std::vector<any_layer> layers) : layers_(std::move(layers)) {}

  /// Returns the layers in their order.
  [[nodiscard]] const std::vector<any_layer>& layers() const noexcept { return layers_; }

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i].run(s, std::move(x), "sequential", i);
    }
    return x;
  }

  [[nodiscard]] std::string description() const {
    std::string result;
    for (const any_layer& layer : layers_) {
      result += (result.empty() ? "" : ", ") + layer.description();
    }
    return "sequential(" + result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("layers", self.layers_);
  }

  friend bool operator==(const layer_stack&, const layer_stack&) = default;

 private:
  std::vector<any_layer> layers_;
};

}  // namespace glia
