#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// A value that holds a layer of any type, for models whose layers are known only at run time.
///
/// It copies the layer, and copies of the value share this one layer. A training loop that runs
/// layers directly on a tape, without a model, cannot run the value; give it the layers themselves.
class any_layer {
  struct face {
    virtual ~face() = default;
    [[nodiscard]] virtual variable run(scope& s, variable x, std::string_view holder,
                                       std::size_t index) const = 0;
    [[nodiscard]] virtual std::string description() const = 0;
    [[nodiscard]] virtual bool equals(const face& other) const = 0;
  };

  template <layer Layer>
  struct held final : face {
    Layer held_layer;

    explicit held(Layer l) : held_layer(std::move(l)) {}
    [[nodiscard]] variable run(scope& s, variable x, std::string_view holder,
                               std::size_t index) const override {
      return s.run(held_layer, std::move(x), holder, index);
    }
    [[nodiscard]] std::string description() const override { return held_layer.description(); }
    [[nodiscard]] bool equals(const face& other) const override {
      const auto* alike = dynamic_cast<const held*>(&other);
      return alike != nullptr && alike->held_layer == held_layer;
    }
  };

 public:
  template <class Layer>
  requires(!std::same_as<Layer, any_layer> && layer<Layer>) any_layer(Layer layer)
      : face_(std::make_shared<const held<Layer>>(std::move(layer))) {}

  /// Runs the layer. Error messages call it element `index` of the container `holder`.
  [[nodiscard]] variable run(scope& s, variable x, std::string_view holder,
                             std::size_t index) const {
    return face_->run(s, std::move(x), holder, index);
  }
  [[nodiscard]] std::string description() const { return face_->description(); }
  friend bool operator==(const any_layer& a, const any_layer& b) {
    return a.face_ == b.face_ || a.face_->equals(*b.face_);
  }

 private:
  std::shared_ptr<const face> face_;
};

}  // namespace glia
