#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/uses.hpp"

namespace glia {

GLIA_INLINE void executable::run_into(std::span<tensor* const> /*inputs*/,
                                      std::span<const tensor> /*outputs*/,
                                      const finished_function& /*finished*/,
                                      timeline* /*times*/) const {
  throw value_error(
      "compiled graph: only a device in host memory writes outputs to existing tensors; use run, "
      "which makes new ones");
}

GLIA_INLINE void executable::require_counts(std::size_t inputs, std::size_t outputs) const {
  require<value_error>(inputs == calls_.inputs().size() && outputs == calls_.outputs().size(),
                       "compiled graph: expected ", calls_.inputs().size(), " inputs and ",
                       calls_.outputs().size(), " outputs, got ", inputs, " and ", outputs);
}

GLIA_INLINE void executable::require_fitting(std::size_t number, const tensor& given) const {
  const graph_input& input = calls_.inputs()[number];
  const tensor_spec expected = calls_.spec(input.value);
  require<shape_error>(given.shape() == expected.shape && given.type() == expected.type,
                       "compiled graph: expected for the input '", input.name,
                       "' a tensor of shape ", expected.shape, ", got ", given.shape(),
                       given.shape() == expected.shape ? " with another element type" : "",
                       "; a compiled graph runs only for the shapes with which it was recorded");
}

/// A graph whose nodes run one after another, for backends that do not compile graphs.
class node_by_node final : public executable {
 public:
  node_by_node(graph calls, std::shared_ptr<const backend> on)
      : executable(std::move(calls)), backend_(std::move(on)) {
    const std::vector<graph_node>& nodes = this->calls().nodes();
    last_use_.resize(this->calls().value_count(), nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      for (const value_id id : nodes[n].operands) {
        if (id != no_value) {
          last_use_[id] = n;
        }
      }
    }
    for (const graph_output& output : this->calls().outputs()) {
      last_use_[output.value] = nodes.size();
    }
    for (const graph_input& input : this->calls().inputs()) {
      if (input.next != no_value) {
        last_use_[input.next] = nodes.size();
      }
    }
  }

  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function* probe, timeline* times) const override {
    const timeline::span all(times, "kernels one by one");
    const graph& g = calls();
    require_counts(inputs.size() + fixed.tensors.size(), outputs.size());
    std::vector<tensor> values(g.value_count());
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      const graph_input& input = g.inputs()[i];
      tensor& value = values[input.value];
      value = i < inputs.size() ? *inputs[i] : fixed.tensors[i - inputs.size()];
      require_fitting(i, value);
    }
    for (const graph_constant& constant : g.constants()) {
      const shape& s = g.spec(constant.value).shape;
      values[constant.value] = std::visit(
          [&](const auto& elements) { return backend_->from_host(std::span(elements), s); },
          constant.elements);
    }
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
      run_node(g.nodes()[n], n, values, probe);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (g.inputs()[i].changes()) {
        *inputs[i] = values[g.inputs()[i].next];
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = values[g.outputs()[i].value];
    }
  }

 private:
  void run_node(const graph_node& node, std::size_t number, std::vector<tensor>& values,
                const probe_function* probe) const {
    std::array<tensor, most_operands> operands;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const value_id id = node.operands[i];
      if (id == no_value) {
        continue;
      }
      bool again = false;  // whether a later operand is the same value
      for (std::size_t j = i + 1; j < node.operands.size(); ++j) {
        again = again || node.operands[j] == id;
      }
      if (last_use_[id] == number && !again) {
        operands[i] = std::move(values[id]);
      } else {
        operands[i] = values[id];
      }
    }
    std::array<tensor, most_results> results;
    backend_->run({node.kernel.type(), node.kernel.value(),
                   std::span(operands).first(node.operands.size()),
                   std::span(results).first(node.results.size())});
    if (probe != nullptr) {
      std::array<const tensor*, most_results> shown{};
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        shown[i] = &results[i];
      }
      (*probe)(node, std::span<const tensor* const>(shown.data(), node.results.size()));
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != no_value) {
        values[node.results[i]] = std::move(results[i]);
      }
    }
  }

  std::shared_ptr<const backend> backend_;
  std::vector<std::size_t> last_use_;  // for each value: the last node that reads it, or the end
};

GLIA_INLINE std::shared_ptr<const executable> backend::compile(graph calls) const {
  return std::make_shared<const node_by_node>(std::move(calls), shared_from_this());
}

}  // namespace glia
