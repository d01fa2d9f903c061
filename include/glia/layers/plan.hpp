#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "glia/core/integer_range.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/row_part.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/parameters.hpp"

namespace glia {

/// One layer of a model's summary. Operations and bytes are for one sample.
struct layer_summary {
  std::string name;            ///< Name, such as dense_0.
  std::string description;     ///< Description, such as dense(400, relu).
  shape output;                ///< Shape of the output with a batch axis of extent 1.
  std::size_t parameters = 0;  ///< Number of elements of its parameters and running statistics.
  double flops = 0;            ///< Floating-point operations of the forward pass; see `kernel`.
  std::size_t activation_bytes = 0;  ///< Bytes kept for the backward pass, in single precision.
  bool frozen = false;               ///< Whether the layer is inside of `frozen`.
};

/// The kinds of a `layer_node`: an input of the model, a layer, a join of branches, or a named
/// output of the model.
enum class layer_node_kind : std::uint8_t { input, layer, join, output };

/// A node of the graph of a model's layers: an input of the model, a layer, a join or an output. A
/// join is an operation of a composition, such as the addition in `residual`, that combines the
/// outputs of several nodes.
struct layer_node {
  layer_node_kind kind = layer_node_kind::layer;  ///< Kind of the node.
  /// Name of the layer, input or output; "input" for the only input of a model without named
  /// inputs. A join has the name of its composition, such as residual_0, or of its operation, such
  /// as add_0.
  std::string name = {};
  std::string description = {};           ///< Description of the layer, or operation of the join.
  shape output = {};                      ///< Shape of the output with a batch axis of extent 1.
  std::vector<std::size_t> sources = {};  ///< Nodes it reads, as indices of `model_plan::nodes`.
  std::size_t layer = 0;  ///< Index of a layer in `model_plan::layers`; not used for other kinds.
};

/// The parameters, layers, inputs and outputs of a model, known before it has a device.
struct model_plan {
  std::string description;  ///< Description of the whole model.
  /// Parameters, in the order in which the layers request them.
  std::vector<parameter_spec> parameters;
  std::vector<layer_summary> layers;  ///< Layers in the order in which they run.
  shape output;                       ///< Shape of the output with a batch axis of extent 1.
  /// Activation at the end of the model: sigmoid, softmax or other. Losses check it.
  output_kind gives = output_kind::other;
  /// Path of the layer that determines this activation, such as sequential[2] dense(3, softmax).
  std::string giver;
  std::vector<row_part> inputs = {};   ///< Named inputs; empty for a model with one input.
  std::vector<row_part> outputs = {};  ///< Named outputs; empty for a model with one output.
  /// Inputs, layers, joins and outputs, with the nodes that each reads, in the order in which they
  /// run. If a model has no named outputs, its last layer or join is its output.
  std::vector<layer_node> nodes = {};
  std::vector<detail::integer_range> integers = {};  ///< Parts of a sample that must hold integers.
  std::vector<std::string> adapted_layers = {};      ///< Names of the layers that `adapt` must fit.

  /// Returns the number of floating-point operations of the forward pass for one sample.
  [[nodiscard]] double flops() const {
    double sum = 0;
    for (const layer_summary& layer : layers) {
      sum += layer.flops;
    }
    return sum;
  }
};

}  // namespace glia
