#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/program.hpp"
#include "glia/pjrt/device.hpp"

namespace glia {

/// A graph compiled for a device, as a whole. Its inputs that have a next value are given up to the
/// device where nobody else holds them, so that the state of a training is there once.
template <std::floating_point T>
class program<pjrt<T>> {
 public:
  using B = pjrt<T>;
  using tensor = pjrt_tensor;

  program(graph calls, const runners<B>& /*how*/, B device)
      : state_(std::make_shared<const state>(std::move(calls), std::move(device))) {}

  [[nodiscard]] const graph& calls() const noexcept { return state_->calls; }
  [[nodiscard]] const B& device() const noexcept { return state_->device; }
  /// What a run needs in the host's memory: nothing.
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
                         "program: expected ", expected.size(), " inputs and ",
                         s.calls.outputs().size(), " outputs, got ",
                         inputs.size() + fixed.tensors.size(), " and ", outputs.size());
    std::vector<pjrt_api::buffer*> arguments;
    std::vector<std::int64_t> kept;
    const auto add = [&](const tensor& given) {
      const std::size_t number = arguments.size();
      const tensor_spec spec = s.calls.spec(expected[number].value);
      require<shape_error>(spec_of(given) == spec, "program: expected for '", expected[number].name,
                           "' a tensor ", spec.shape, ", got ", given.shape(),
                           "; a program runs for the shapes that it was recorded with");
      if (expected[number].changes() && !given.unique()) {
        kept.push_back(static_cast<std::int64_t>(number));
      }
      arguments.push_back(given.buffer().get());
    };
    for (const tensor* const one : inputs) {
      add(*one);
    }
    for (const tensor& one : fixed.tensors) {
      add(one);
    }
    if (s.compiled == nullptr) {  // of nothing
      return;
    }
    std::vector<detail::pjrt_executable::buffer> results =
        s.compiled->run(arguments, kept, s.device.queue());
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
  }

  using probe_function =
      function_ref<void(const graph_node&, std::span<const tensor* const> results)>;

  /// A program that was compiled as a whole shows nothing of its kernels.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function& /*probe*/, timeline* /*times*/ = nullptr) const {
    run(inputs, outputs, fixed);
  }

 private:
  struct state {
    state(graph g, B on) : calls(std::move(g)), device(std::move(on)) {
      const bool gives =
          !calls.outputs().empty() || std::any_of(calls.inputs().begin(), calls.inputs().end(),
                                                  [](const graph_input& i) { return i.changes(); });
      if (gives) {
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
