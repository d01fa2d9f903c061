#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/runners.hpp"

namespace glia {

/// A graph made ready to run on a backend, again and again: what each kernel reads and writes, and
/// where each tensor is needed for the last time, is settled. Any number of threads may run it side
/// by side; copies share it.
template <backend B>
class program {
 public:
  using tensor = typename B::tensor;

  /// Throws `value_error` where there is no function for one of the kernels.
  program(graph calls, const runners<B>& how, B device)
      : state_(std::make_shared<state>(std::move(calls), how, std::move(device))) {}

  [[nodiscard]] const graph& calls() const noexcept { return state_->calls; }
  [[nodiscard]] const B& device() const noexcept { return state_->device; }

  /// Runs the graph on `inputs`, one for each of its inputs and in their order, and writes its
  /// outputs. Inputs are given up: their memory is used again, unless the caller holds another
  /// handle to it. Where a kernel throws, those that no kernel has got yet are put back.
  void run(std::span<tensor> inputs, std::span<tensor> outputs) const {
    run(inputs, outputs, [](const graph_node&, std::span<tensor* const>) {});
  }

  /// The same, with a look at what each kernel gave: probe(node, results).
  template <class Probe>
  void run(std::span<tensor> inputs, std::span<tensor> outputs, const Probe& probe) const {
    const state& s = *state_;
    require<value_error>(
        inputs.size() == s.calls.inputs().size() && outputs.size() == s.calls.outputs().size(),
        "program: expected ", s.calls.inputs().size(), " inputs and ", s.calls.outputs().size(),
        " outputs, got ", inputs.size(), " and ", outputs.size());
    const typename state::lease lease(s);
    std::vector<tensor>& values = *lease;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const graph_input& expected = s.calls.inputs()[i];
      require_fitting(expected.name, s.calls.spec(expected.value), spec_of(inputs[i]));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values[s.calls.inputs()[i].value] = std::move(inputs[i]);
    }
    try {
      for (const step& one : s.steps) {
        run_step(s, one, values, probe);
      }
    } catch (...) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i] = std::move(values[s.calls.inputs()[i].value]);
      }
      throw;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = s.last_of_output[i] ? std::move(values[s.calls.outputs()[i].value])
                                       : values[s.calls.outputs()[i].value];
    }
  }

 private:
  static constexpr std::size_t most_operands = 16;
  static constexpr std::size_t most_results = 4;

  struct step {
    typename runners<B>::function run;
    const graph_node* node;
    std::array<bool, most_operands> given_up{};  // operands that are needed no more
    std::vector<value_id> unused;                // results that nobody wants
  };

  struct state {
    graph calls;
    B device;
    std::vector<step> steps;
    std::vector<bool> last_of_output;  // whether an output is the last use of its tensor
    std::vector<tensor> start;         // what a run begins with: the constants
    mutable spin_lock lock;
    mutable std::vector<std::unique_ptr<std::vector<tensor>>> free;
    mutable std::size_t made = 0;

    state(graph g, const runners<B>& how, B on) : calls(std::move(g)), device(std::move(on)) {
      start.resize(calls.value_count());
      std::vector<bool> kept(calls.value_count(), false);
      for (const graph_constant& c : calls.constants()) {
        const shape s = calls.spec(c.value).shape;
        start[c.value] = std::visit(
            [&](const auto& elements) { return device.from_host(std::span(elements), s); },
            c.elements);
        kept[c.value] = true;
      }
      last_of_output.resize(calls.outputs().size());
      for (std::size_t i = calls.outputs().size(); i-- > 0;) {
        const value_id id = calls.outputs()[i].value;
        last_of_output[i] = !kept[id];
        kept[id] = true;
      }
      for (auto node = calls.nodes().rbegin(); node != calls.nodes().rend(); ++node) {
        step one{how.find(node->kernel.type()), &*node, {}, {}};
        require<value_error>(one.run != nullptr && node->operands.size() <= most_operands &&
                                 node->results.size() <= most_results,
                             "program: the backend ", device.name(), " does not run the kernel '",
                             node->kernel.name(), "'");
        for (const value_id id : node->results) {
          if (id != no_value && !kept[id]) {
            one.unused.push_back(id);
          }
        }
        for (std::size_t i = node->operands.size(); i-- > 0;) {
          const value_id id = node->operands[i];
          if (id != no_value) {
            one.given_up[i] = !kept[id];
            kept[id] = true;
          }
        }
        steps.push_back(std::move(one));
      }
      std::reverse(steps.begin(), steps.end());
    }

    /// The tensors of a run, which nobody else uses meanwhile.
    class lease {
     public:
      explicit lease(const state& s) : state_(&s) {
        {
          const std::lock_guard guard(s.lock);
          if (!s.free.empty()) {
            values_ = std::move(s.free.back());
            s.free.pop_back();
            return;
          }
        }
        values_ = std::make_unique<std::vector<tensor>>(s.start);
        const std::lock_guard guard(s.lock);
        s.free.reserve(++s.made);
      }
      lease(const lease&) = delete;
      lease& operator=(const lease&) = delete;
      ~lease() {
        *values_ = state_->start;
        const std::lock_guard guard(state_->lock);
        state_->free.push_back(std::move(values_));  // has room
      }
      [[nodiscard]] std::vector<tensor>& operator*() const noexcept { return *values_; }

     private:
      const state* state_;
      std::unique_ptr<std::vector<tensor>> values_;
    };
  };

  static void require_fitting(std::string_view name, const tensor_spec& expected,
                              const tensor_spec& got) {
    require<shape_error>(expected == got, "program: expected for '", name, "' a tensor ",
                         expected.shape, ", got ", got.shape,
                         expected.shape == got.shape ? " of other elements" : "",
                         "; a program runs for the shapes that it was recorded with");
  }

  template <class Probe>
  static void run_step(const state& s, const step& one, std::vector<tensor>& values,
                       const Probe& probe) {
    tensor none;
    std::array<tensor*, most_operands> operands;
    std::array<tensor*, most_results> results;
    const graph_node& node = *one.node;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      operands[i] = node.operands[i] == no_value ? &none : &values[node.operands[i]];
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      results[i] = node.results[i] == no_value ? &none : &values[node.results[i]];
    }
    one.run(s.device, node.kernel.value(), operands.data(), one.given_up.data(), results.data());
    probe(node, std::span<tensor* const>(results.data(), node.results.size()));
    for (const value_id id : one.unused) {
      values[id] = tensor{};
    }
  }

  std::shared_ptr<const state> state_;
};

}  // namespace glia
