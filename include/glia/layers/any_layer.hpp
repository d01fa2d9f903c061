#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/identity.hpp"
#include "glia/layers/option_writer.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

/// A value that holds a layer of any type, for models whose layers are known only at run time.
///
/// It copies the layer, and copies of the value share this one layer. It is a layer itself, which
/// summaries, names and error messages do not show.
class any_layer {
  struct face {
    virtual ~face() = default;
    [[nodiscard]] virtual variable run(scope& s, variable x, std::string_view holder,
                                       std::size_t index) const = 0;
    [[nodiscard]] virtual variable run_model(scope& s, variable x) const = 0;
    [[nodiscard]] virtual std::string description() const = 0;
    virtual void store(detail::option_writer& writer) const = 0;
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
    [[nodiscard]] variable run_model(scope& s, variable x) const override {
      return s.run_model(held_layer, std::move(x));
    }
    [[nodiscard]] std::string description() const override { return held_layer.description(); }
    void store(detail::option_writer& writer) const override { writer.write(held_layer); }
    [[nodiscard]] bool equals(const face& other) const override {
      const auto* alike = dynamic_cast<const held*>(&other);
      return alike != nullptr && alike->held_layer == held_layer;
    }
  };

 public:
  /// Holds the layer `identity`.
  any_layer() : any_layer(identity{}) {}
  template <class Layer>
  requires(!std::same_as<Layer, any_layer> && layer<Layer>) any_layer(Layer layer)
      : face_(std::make_shared<const held<Layer>>(std::move(layer))) {}

  /// Runs the layer. Error messages call it element `index` of the container `holder`.
  [[nodiscard]] variable run(scope& s, variable x, std::string_view holder,
                             std::size_t index) const {
    return face_->run(s, std::move(x), holder, index);
  }
  /// Runs the layer as the description of a whole model.
  [[nodiscard]] variable run_model(scope& s, variable x) const {
    return face_->run_model(s, std::move(x));
  }
  [[nodiscard]] variable operator()(scope& s, variable x) const {
    return s.run(*this, std::move(x));
  }
  /// Writes the layer and its options; see `open`.
  void store(detail::option_writer& writer) const { face_->store(writer); }
  [[nodiscard]] std::string description() const { return face_->description(); }
  friend bool operator==(const any_layer& a, const any_layer& b) {
    return a.face_ == b.face_ || a.face_->equals(*b.face_);
  }

 private:
  std::shared_ptr<const face> face_;
};

template <>
inline variable scope::run(const any_layer& layer, variable x, std::string_view holder_name,
                           std::size_t index) {
  return layer.run(*this, std::move(x), holder_name, index);
}
template <>
inline variable scope::run_model(const any_layer& description, variable x) {
  return description.run_model(*this, std::move(x));
}

}  // namespace glia
