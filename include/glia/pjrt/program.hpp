#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/program.hpp"
#include "glia/pjrt/device.hpp"

namespace glia {

/// A graph compiled as a whole for a device. An input with a next value is overwritten if its
/// tensor has no other handle, so that the state of a training is in memory only once.
template <std::floating_point T>
class program<pjrt<T>> {
 public:
  using B = pjrt<T>;
  using tensor = pjrt_tensor;

  program(graph calls, B device)
      : state_(std::make_shared<const state>(std::move(calls), std::move(device))) {}

  [[nodiscard]] const graph& calls() const noexcept { return state_->calls; }
  [[nodiscard]] const B& device() const noexcept { return state_->device; }
  /// Returns the host memory of a run in bytes, which is 0.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return 0; }
  [[nodiscard]] std::size_t lane_bytes() const noexcept { return 0; }

  struct fixed_inputs {
    std::span<const tensor> tensors{};
    std::uint64_t version = 0;
  };

  void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
           const fixed_inputs& fixed = {}) const {
    const state& s = *state_;
    const std::vector<graph_input>& expected = s.calls.inputs();
    require<value_error>(inputs.size() + fixed.tensors.size() == expected.size() &&
                             outputs.size() == s.calls.outputs().size(),
                         "compiled graph: expected ", expected.size(), " inputs and ",
                         s.calls.outputs().size(), " outputs, got ",
                         inputs.size() + fixed.tensors.size(), " and ", outputs.size());
    std::vector<const detail::pjrt_buffer*> arguments;
    std::vector<tensor> laid_out;  // laid out as the compiled graph needs them
    laid_out.reserve(expected.size());
    std::vector<std::int64_t> kept;
    const auto add = [&](const tensor& given) {
      const std::size_t number = arguments.size();
      const graph_input& input = expected[number];
      const tensor_spec spec = s.calls.spec(input.value);
      require<shape_error>(
          given && spec_of(given) == spec, "compiled graph: expected for the input '", input.name,
          "' a tensor of shape ", spec.shape, ", got ", given.shape(),
          "; a compiled graph runs only for the shapes with which it was recorded");
      s.device.require_own(given);
      if (input.changes() && !given.unique()) {
        kept.push_back(static_cast<std::int64_t>(number));
      }
      const bool split = stablehlo::is_split(s.calls, input, s.device.device_count());
      arguments.push_back(&laid_out.emplace_back(s.device.laid_out(given, split)).buffer());
    };
    for (const tensor* const one : inputs) {
      add(*one);
    }
    for (const tensor& one : fixed.tensors) {
      add(one);
    }
    if (s.compiled == nullptr) {  // the graph has no outputs
      return;
    }
    detail::pjrt_executable::begun begun = s.compiled->run(arguments, kept);
    std::vector<detail::pjrt_executable::buffer>& results = begun.results;
    std::size_t next = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].changes()) {
        tensor made(std::move(results[next++]), s.calls.spec(expected[i].next));
        if (i < inputs.size()) {
          *inputs[i] = std::move(made);
        }
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = tensor(std::move(results[next++]), s.calls.spec(s.calls.outputs()[i].value));
    }
    s.device.queue().add(std::move(begun.events));
  }

  using probe_function =
      function_ref<void(const graph_node&, std::span<const tensor* const> results)>;

  /// Runs the graph. If there is a probe, all kernels first run one by one, each compiled
  /// separately, and the probe gets their results. The timeline gets one entry for the whole run.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function* probe, timeline* times = nullptr) const {
    if (probe != nullptr) {
      run_one_by_one(inputs, fixed, *probe);
    }
    const timeline::span all(times, "compiled program");
    run(inputs, outputs, fixed);
    if (times != nullptr) {
      state_->device.queue().wait_for_all();
    }
  }

 private:
  void run_one_by_one(std::span<tensor* const> inputs, const fixed_inputs& fixed,
                      const probe_function& probe) const {
    const graph& g = state_->calls;
    const B& device = state_->device;
    std::vector<tensor> values(g.value_count());
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
      values[g.inputs()[i].value] =
          i < inputs.size() ? *inputs[i] : fixed.tensors[i - inputs.size()];
    }
    for (const graph_constant& constant : g.constants()) {
      const shape& s = g.spec(constant.value).shape;
      values[constant.value] = std::visit(
          [&]<class Number>(const std::vector<Number>& elements) {
            return device.from_host(std::span<const Number>(elements), s);
          },
          constant.elements);
    }
    for (const graph_node& node : g.nodes()) {
      std::vector<const tensor*> operands;
      const tensor none;
      for (const value_id id : node.operands) {
        operands.push_back(id == no_value ? &none : &values[id]);
      }
      std::vector<tensor> results(node.results.size());
      device.run_node(node.kernel, operands, results);
      std::vector<const tensor*> shown;
      for (std::size_t i = 0; i < results.size(); ++i) {
        shown.push_back(&results[i]);
        if (node.results[i] != no_value) {
          values[node.results[i]] = results[i];
        }
      }
      probe(node, shown);
    }
  }

  struct state {
    state(graph g, B on) : calls(std::move(g)), device(std::move(on)) {
      if (gives_something(calls)) {
        compiled = device.compiled(calls);
      }
    }

    graph calls;
    B device;
    std::shared_ptr<const detail::pjrt_executable> compiled;
  };

  std::shared_ptr<const state> state_;
};

}  // namespace glia
