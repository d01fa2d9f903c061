#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/cost.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/layers/parameters.hpp"

namespace glia {

/// What planning a model finds out about one layer. Figures are for one sample.
struct layer_summary {
  std::string name;                  ///< dense_0
  std::string description;           ///< dense(400, relu)
  shape output;                      ///< with the batch axis, of extent 1
  std::size_t parameters = 0;        ///< elements, running statistics included
  double flops = 0;                  ///< forward; see `cost` for how they are counted
  std::size_t activation_bytes = 0;  ///< kept until the backward pass, in float
  bool frozen = false;
};

/// Where one of the layers that a description holds directly begins.
struct part_start {
  std::size_t parameters = 0;  ///< of the layers before it
  shape input;                 ///< with the batch axis, of extent 1
};

/// All that is known of a model before it has a device: its parameters and its layers.
struct model_plan {
  std::vector<parameter_spec> parameters;
  std::vector<layer_summary> layers;
  std::vector<part_start> parts;
  shape output;  ///< with the batch axis, of extent 1
  output_kind gives = output_kind::other;
  std::string giver;  ///< the layer that made them so: sequential[2] dense(3, softmax)
};

/// Writes the plan while a description runs on the counting backend; layers do not see it.
class plan_writer {
 public:
  /// For a model of inputs of this shape.
  plan_writer(cost<float> counter, const shape& input)
      : counter_(std::move(counter)), given_(input) {}

  void start_part(const shape& input) { plan_.parts.push_back({plan_.parameters.size(), input}); }

  /// Opens a row; what is counted until `finish_layer` belongs to it.
  void start_layer(std::string_view type, std::string description, bool frozen) {
    const std::string name = text(type, '_', counts_[std::string(type)]++);
    flops_before_ = counter_.totals().flops;
    live_bytes_.push_back(counter_.start_section());
    plan_.layers.push_back({name, std::move(description), {}});
    plan_.layers.back().frozen = frozen;
  }
  void finish_layer(const shape& output, bool arranges_axes) {
    as_given_ = as_given_ && !arranges_axes && output == given_;
    layer_summary& row = plan_.layers.back();
    row.output = output;
    row.flops = counter_.totals().flops - flops_before_;
  }

  void add_parameter(std::string_view name, const shape& s, const initializer& initial,
                     bool trainable) {
    layer_summary& row = plan_.layers.back();
    row.parameters += s.size();
    plan_.parameters.push_back({text(row.name, '.', name), s, initial, trainable});
  }

  /// What the outputs of the layer that has just run are.
  void gives(output_kind kind, std::string giver) {
    plan_.gives = kind;
    plan_.giver = std::move(giver);
  }

  /// Whether a tensor of this shape still has the axes of the model's samples: no layer before has
  /// said what they are, nor changed the shape.
  [[nodiscard]] bool as_given(const shape& x) const { return as_given_ && x == given_; }

  /// Ends the plan, while all that the backward pass would need still exists.
  [[nodiscard]] model_plan finish(const shape& output) && {
    plan_.output = output;
    for (std::size_t i = 0; i < live_bytes_.size(); ++i) {
      layer_summary& row = plan_.layers[i];
      row.activation_bytes = *live_bytes_[i] - row.parameters * sizeof(float);
    }
    return std::move(plan_);
  }

 private:
  cost<float> counter_;
  shape given_;
  bool as_given_ = true;
  double flops_before_ = 0;
  std::vector<std::shared_ptr<const std::size_t>> live_bytes_;  // of each layer's tensors
  model_plan plan_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace glia
