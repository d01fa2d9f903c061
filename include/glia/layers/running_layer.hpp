#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "glia/core/output_kind.hpp"
#include "glia/layers/layer_concepts.hpp"

namespace glia::detail {

/// A running layer inside of its containers: a linked list on the stack, formatted only when a
/// message needs it.
struct running_layer {
  /// The type name of a layer whose type has none.
  static constexpr std::string_view no_type_name = "layer";

  const running_layer* outer;
  std::string_view holder_name;
  std::size_t index;
  const void* layer;
  std::string (*describe)(const void*);
  // The properties of the layer that follow from its type.
  std::string_view type_name;
  bool contains_layers;
  bool sets_axes;
  bool preserves_output_kind;
  bool runs_stepwise;
  // features.conv2d_0; empty if layers are not named, and for a container without a name
  std::string name = {};
  std::uint32_t recorded_in = 0;         // the place of the enclosing layer on the recorder
  mutable std::size_t inner_layers = 0;  // number of layers run inside without an index
};

/// Describes a layer that begins to run: the element `index` of the container `holder_name`.
template <class Layer>
[[nodiscard]] running_layer make_running_layer(const Layer& layer, const running_layer* outer,
                                               std::string_view holder_name, std::size_t index) {
  std::string_view type_name = running_layer::no_type_name;
  if constexpr (requires { Layer::type_name; }) {
    type_name = Layer::type_name;
  }
  return {.outer = outer,
          .holder_name = holder_name,
          .index = index,
          .layer = &layer,
          .describe =
              [](const void* self) {
                return std::string(static_cast<const Layer*>(self)->description());
              },
          .type_name = type_name,
          .contains_layers = holder<Layer>,
          .sets_axes = sets_axes<Layer>,
          .preserves_output_kind = preserves_output_kind<Layer>,
          .runs_stepwise = runs_stepwise<Layer>};
}

/// Returns the kind of a layer's output if the layer declares it.
template <class Layer>
[[nodiscard]] std::optional<output_kind> declared_output_kind([[maybe_unused]] const Layer& layer) {
  if constexpr (requires { layer.output_kind(); }) {
    return layer.output_kind();
  } else {
    return std::nullopt;
  }
}

}  // namespace glia::detail
