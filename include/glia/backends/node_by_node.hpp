#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/graph/uses.hpp"

namespace glia::detail {

/// A graph whose nodes run one after another, for backends that do not compile graphs.
class node_by_node final : public executable {
 public:
  node_by_node(graph calls, std::shared_ptr<const backend> backend)
      : executable(std::move(calls)),
        backend_(std::move(backend)),
        last_use_(this->calls().value_count()) {
    const graph_uses uses(this->calls());
    for (value_id id = 0; id < last_use_.size(); ++id) {
      const std::vector<std::size_t>& takers = uses.takers(id);
      last_use_[id] = uses.leaves(id) || takers.empty() ? graph_uses::no_node : takers.back();
    }
  }

  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function* probe, timeline* times) const override {
    const timeline::span entry(times, "kernels one by one");
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
      const auto later = node.operands.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const bool is_repeated = std::find(later, node.operands.end(), id) != node.operands.end();
      if (last_use_[id] == number && !is_repeated) {
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
  // For each value, the last node that uses it; graph_uses::no_node for outputs of the graph and
  // unused values.
  std::vector<std::size_t> last_use_;
};

}  // namespace glia::detail
