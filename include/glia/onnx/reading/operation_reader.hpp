#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/batch_numbers.hpp"
#include "glia/onnx/reading/fold.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/joined_nodes.hpp"
#include "glia/onnx/reading/legacy_broadcast.hpp"
#include "glia/onnx/reading/number_limits.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/operators.hpp"
#include "glia/onnx/reading/part_recorder.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/sample_rules.hpp"

namespace glia::onnx {

/// Reads a single operation with the function of its operator. Computes the results from known
/// numbers if that is possible, and adds nodes to the graph otherwise.
class operation_reader {
 public:
  operation_reader(const graph_body& body, std::vector<graph_part>& parts, number_limits& limits)
      : body_(&body), parts_(&parts), limits_(&limits) {}

  /// Sets the results of the operation. Throws `data_error` if glia cannot read it.
  void read(operation& n) {
    reading::legacy_broadcast(n);
    const std::vector<tensor> inputs = n.x;
    const bool numbers_only = std::all_of(inputs.begin(), inputs.end(), is_numbers);
    const auto function = reading::folding::function_of(n.node.op_type());
    if (function != nullptr && numbers_only) {
      function(n);
    } else {
      add_nodes(n, inputs);
    }
    limits_->count(n);
    if (!n.results.empty() && std::any_of(inputs.begin(), inputs.end(),
                                          [](const tensor& t) { return t.beyond != nullptr; })) {
      // The result of known numbers and a single weight is not always converted to known numbers.
      const bool gives_numbers = std::all_of(n.results.begin(), n.results.end(),
                                             [](const tensor& t) { return !t || t.known; });
      numbers_only&& gives_numbers ? reading::look_beyond(n, inputs, *limits_)
                                   : reading::require_same_beyond(n, inputs);
    }
  }

 private:
  void add_nodes(operation& n, const std::vector<tensor>& inputs) {
    const std::string& name = n.node.op_type();
    const auto reader = reading::reader_of(name);
    require<data_error>(reader != nullptr, "depends on the samples, and glia has no kernel for it");
    if (const std::string why = reading::crossing(n); !why.empty()) {
      n.out.samples.refuse(why);
    }
    if (joined_nodes(*body_, n.out, *parts_).joins(n)) {
      return;
    }
    part_recorder recorder(n.out, *parts_);
    reader(n);
    if (n.out.samples.samples == 1 && !inputs.empty() && !n.results.empty()) {
      keep_sample(n, inputs[0]);
    }
    recorder.finish(name, described(n));
  }

  /// Marks the batch axis of the result if the batch has one sample and the operation keeps this
  /// axis of its operand. The shape of the result does not show which axis of extent 1 is the batch
  /// axis.
  static void keep_sample(operation& n, const tensor& x) {
    tensor& y = n.results[0];
    for (std::size_t axis = 0; axis < x.rank() && y.computed(); ++axis) {
      if (!n.out.has_samples(x, axis)) {
        continue;
      }
      if (const auto new_axis = reading::kept_axis(n, x, axis); new_axis && *new_axis < y.rank()) {
        y = n.out.with_sample_at(y, *new_axis);
      }
      return;
    }
  }

  /// Returns the operator's name and the size of its kernel: Conv 3x3.
  [[nodiscard]] static std::string described(const operation& n) {
    std::string result = n.node.op_type();
    if (const auto size = n.integers("kernel_shape")) {
      for (std::size_t i = 0; i < size->size(); ++i) {
        result += text(i == 0 ? " " : "x", (*size)[i]);
      }
    }
    return result;
  }

  const graph_body* body_;
  std::vector<graph_part>* parts_;
  number_limits* limits_;
};

}  // namespace glia::onnx
