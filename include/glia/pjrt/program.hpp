#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/node_by_node.hpp"
#include "glia/backends/program.hpp"
#include "glia/core/error.hpp"
#include "glia/pjrt/device.hpp"

namespace glia::detail {

/// A graph compiled as a whole for a device. An input with a next value is overwritten if its
/// tensor has no other handle, so that the state of a training is in memory only once.
template <std::floating_point T>
class pjrt_program final : public executable {
 public:
  pjrt_program(graph calls, std::shared_ptr<const pjrt_backend<T>> backend)
      : executable(std::move(calls)), backend_(std::move(backend)) {
    if (gives_something(this->calls())) {
      compiled_ = backend_->compiled(this->calls());
    }
  }

  /// Runs the graph. If there is a probe, all kernels first run one by one, each compiled
  /// separately, and the probe gets their results. The timeline gets one entry for the whole run.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function* probe, timeline* times) const override {
    if (probe != nullptr) {
      run_one_by_one(inputs, fixed, *probe);
    }
    const timeline::span timing(times, "compiled program");
    run_whole(inputs, outputs, fixed);
    if (times != nullptr) {
      backend_->queue().wait_for_all();
    }
  }

 private:
  void run_whole(std::span<tensor* const> inputs, std::span<tensor> outputs,
                 const fixed_inputs& fixed) const {
    const std::vector<graph_input>& expected = calls().inputs();
    require_counts(inputs.size() + fixed.tensors.size(), outputs.size());
    std::vector<const detail::pjrt_buffer*> arguments;
    std::vector<tensor> laid_out;  // laid out as the compiled graph needs them
    laid_out.reserve(expected.size());
    std::vector<std::int64_t> preserved;
    const auto add = [&](const tensor& argument) {
      const std::size_t number = arguments.size();
      const graph_input& input = expected[number];
      require_fitting(number, argument);
      backend_->require_own(argument);
      if (input.changes() && !argument.unique()) {
        preserved.push_back(static_cast<std::int64_t>(number));
      }
      const bool split = stablehlo::is_split(calls(), input, backend_->device_count());
      arguments.push_back(
          &pjrt_backend<T>::buffer_of(laid_out.emplace_back(backend_->laid_out(argument, split))));
    };
    for (const tensor* const input : inputs) {
      add(*input);
    }
    for (const tensor& input : fixed.tensors) {
      add(input);
    }
    if (compiled_ == nullptr) {  // the graph has no outputs
      return;
    }
    detail::pjrt_executable::begun begun = compiled_->run(arguments, preserved);
    std::vector<detail::pjrt_executable::buffer>& results = begun.results;
    std::size_t next = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].changes()) {
        tensor next_value =
            pjrt_backend<T>::tensor_of(std::move(results[next++]), calls().spec(expected[i].next));
        if (i < inputs.size()) {
          *inputs[i] = std::move(next_value);
        }
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = pjrt_backend<T>::tensor_of(std::move(results[next++]),
                                              calls().spec(calls().outputs()[i].value));
    }
    backend_->queue().add(std::move(begun.events));
  }
  void run_one_by_one(std::span<tensor* const> inputs, const fixed_inputs& fixed,
                      const probe_function& probe) const {
    std::vector<tensor> copies;  // the inputs change only once, when the compiled graph runs
    std::vector<tensor*> pointers;
    copies.reserve(inputs.size());
    for (const tensor* const input : inputs) {
      pointers.push_back(&copies.emplace_back(*input));
    }
    std::vector<tensor> outputs(calls().outputs().size());
    node_by_node(calls(), backend_).run(pointers, outputs, fixed, &probe, nullptr);
  }

  std::shared_ptr<const pjrt_backend<T>> backend_;
  std::shared_ptr<const detail::pjrt_executable> compiled_;  // null if the graph has no outputs
};

}  // namespace glia::detail
