#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/cost.hpp"
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
};

/// All that is known of a model before it has a device: its parameters and its layers.
struct model_plan {
  std::vector<parameter_spec> parameters;
  std::vector<layer_summary> layers;
  shape output;  ///< with the batch axis, of extent 1
};

/// Writes the plan while a description runs on the counting backend; layers do not see it.
class plan_writer {
 public:
  explicit plan_writer(cost<float> counter) : counter_(std::move(counter)) {}

  /// Opens a row; what is counted until `finish_layer` belongs to it.
  void start_layer(std::string_view type, std::string description) {
    const std::string name = text(type, '_', counts_[std::string(type)]++);
    before_ = counter_.totals();
    plan_.layers.push_back({name, std::move(description), {}});
  }
  void finish_layer(const shape& output) {
    layer_summary& row = plan_.layers.back();
    row.output = output;
    row.flops = counter_.totals().flops - before_.flops;
    row.activation_bytes =
        counter_.totals().live_bytes - before_.live_bytes - row.parameters * sizeof(float);
  }

  void add_parameter(std::string_view name, const shape& s, const initializer& initial,
                     bool trainable) {
    layer_summary& row = plan_.layers.back();
    row.parameters += s.size();
    plan_.parameters.push_back({text(row.name, '.', name), s, initial, trainable});
  }

  [[nodiscard]] model_plan finish(const shape& output) && {
    plan_.output = output;
    return std::move(plan_);
  }

 private:
  cost<float> counter_;
  cost_totals before_;
  model_plan plan_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace glia
