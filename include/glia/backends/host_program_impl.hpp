#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "glia/backends/host_backend.hpp"
#include "glia/backends/host_program.hpp"
#include "glia/backends/lane_program.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/graph/storage_plan.hpp"

namespace glia {

struct host_program::step {
  host_function run = nullptr;  // null for a stretch
  const graph_node* node = nullptr;
  std::size_t stretch = 0;
  std::vector<std::size_t> finishes;  // outputs whose memory no later step uses
};

/// The memory of one run. No other run uses it at the same time.
struct host_program::workspace {
  tensor arena;                    // allocated during a run
  const void* arena_at = nullptr;  // address of the arena to which `values` refer
  std::vector<tensor> values;      // parts of the arena, inputs, and owned tensors
  std::vector<tensor> owned;       // outputs, and copies of inputs that change
  std::vector<std::vector<lane_program::workspace>> lanes;  // one for each stretch
  std::uint64_t fixed = 0;  // version of the fixed inputs to which `values` refer

  [[nodiscard]] const tensor* at(value_id id) const {
    static const tensor nothing;
    return id == no_value ? &nothing : &values[id];
  }
};

struct host_program::state {
  using home = storage_plan::home;

  const host_program& self;
  const graph& calls;
  std::shared_ptr<const host_memory_backend> device_owner;  // keeps `device` alive
  const host_memory_backend& device;
  storage_plan plan;
  std::vector<step> steps;
  std::vector<lane_program> stretches;
  std::vector<tensor> constants;
  std::vector<value_id> of_inputs;   // values whose memory is a tensor of the caller
  std::vector<value_id> of_outputs;  // values whose memory the caller gets
  std::vector<value_id> of_arena;
  std::vector<bool> changed_in_place;  // one for each input
  std::size_t owned = 0;
  mutable detail::spin_lock lock;
  mutable std::vector<std::unique_ptr<workspace>> free;
  mutable std::size_t workspace_count = 0;

  state(const host_program& program, std::shared_ptr<const host_memory_backend> backend)
      : self(program),
        calls(program.calls()),
        device_owner(std::move(backend)),
        device(*device_owner),
        plan(calls, device.real_bytes()),
        owned(calls.outputs().size() + calls.inputs().size()) {
    for (const graph_constant& c : calls.constants()) {
      const shape s = calls.spec(c.value).shape;
      constants.push_back(
          std::visit([&](const auto& elements) { return device.from_host(std::span(elements), s); },
                     c.elements));
    }
    for (value_id id = 0; id < calls.value_count(); ++id) {
      const home value_home = plan.location_of(id).region;
      if (value_home == home::input) {
        of_inputs.push_back(id);
      } else if (value_home == home::output) {
        of_outputs.push_back(id);
      } else if (value_home == home::arena) {
        of_arena.push_back(id);
      }
    }
    for (std::size_t i = 0; i < calls.inputs().size(); ++i) {
      const graph_input& input = calls.inputs()[i];
      changed_in_place.push_back(input.changes() &&
                                 plan.location_of(input.next).region == home::input &&
                                 plan.location_of(input.next).index == i);
    }
    add_steps();
  }

  void add_steps() {
    std::vector<std::size_t> last_use(plan.storages(), 0);  // the last step that uses each storage
    std::size_t next = 0;
    for (std::size_t n = 0; n < calls.nodes().size(); ++n) {
      if (next < calls.stretches().size() && calls.stretches()[next].first == n) {
        stretches.emplace_back(calls, plan, device, next);
        steps.push_back({nullptr, nullptr, next, {}});
        for (; n < calls.stretches()[next].end; ++n) {
          note_uses(calls.nodes()[n], last_use);
        }
        --n;
        ++next;
        continue;
      }
      const graph_node& node = calls.nodes()[n];
      if (node.kernel.relabels(calls.specs(node.operands))) {
        continue;  // both are in the same memory
      }
      steps.push_back({device.function_for(node.kernel.type()), &node, 0, {}});
      note_uses(node, last_use);
    }
    // An output can share its memory with values that later steps still read, such as the gradient
    // of a bias for one sample. The caller must not write to this memory before the last of these
    // steps has run.
    for (std::size_t i = 0; i < calls.outputs().size() && !steps.empty(); ++i) {
      steps[last_use[plan.storage_of(calls.outputs()[i].value)]].finishes.push_back(i);
    }
  }
  /// Records that the newest step uses the operands and results of a node.
  void note_uses(const graph_node& node, std::vector<std::size_t>& last_use) const {
    for (const auto* const values : {&node.operands, &node.results}) {
      for (const value_id id : *values) {
        if (id != no_value) {
          last_use[plan.storage_of(id)] = steps.size() - 1;
        }
      }
    }
  }

  void require_fitting(std::size_t number, const tensor& value) const {
    self.require_fitting(number, value);
    device.require_own(value);
  }

  [[nodiscard]] std::unique_ptr<workspace> make_workspace() const {
    auto w = std::make_unique<workspace>();
    w->values.resize(calls.value_count());
    w->owned.resize(owned);
    for (value_id id = 0; id < calls.value_count(); ++id) {
      const storage_plan::location& location = plan.location_of(id);
      if (location.region == home::constant) {
        w->values[id] = constants[location.index].part(0, calls.spec(id));
      }
    }
    for (const lane_program& program : stretches) {
      w->lanes.push_back(program.make_workspaces(device));
    }
    return w;
  }

  /// Binds the values of a run to their memory: the caller's tensors, the arena, and tensors for
  /// the outputs.
  void bind(workspace& w, std::span<tensor* const> inputs, const fixed_inputs& fixed,
            std::size_t outputs) const {
    self.require_counts(inputs.size() + fixed.tensors.size(), outputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      require_fitting(i, *inputs[i]);
      if (changed_in_place[i] && !inputs[i]->unique()) {
        w.owned[outputs + i] = device.copy(*inputs[i]);
      }
    }
    if (!of_arena.empty()) {
      w.arena = device.scratch(plan.arena_bytes());
      if (w.arena_at != w.arena.bytes()) {
        w.arena_at = w.arena.bytes();
        for (const value_id id : of_arena) {
          w.values[id] = w.arena.part(plan.location_of(id).index, calls.spec(id));
        }
      }
    }
    const bool known = fixed.version != 0 && fixed.version == w.fixed;
    for (std::size_t i = 0; !known && i < fixed.tensors.size(); ++i) {
      require_fitting(inputs.size() + i, fixed.tensors[i]);
    }
    for (const value_id id : of_inputs) {
      const std::size_t i = plan.location_of(id).index;
      if (i >= inputs.size()) {
        if (!known) {
          w.values[id] = fixed.tensors[i - inputs.size()].part(0, calls.spec(id));
        }
        continue;
      }
      const tensor& source = w.owned[outputs + i] ? w.owned[outputs + i] : *inputs[i];
      w.values[id] = source.part(0, calls.spec(id));
    }
    w.fixed = fixed.version;
    for (const value_id id : of_outputs) {
      tensor& owner = w.owned[plan.location_of(id).index];
      if (!owner) {
        owner = device.uninitialized(calls.spec(id));
      }
      w.values[id] = owner.part(0, calls.spec(id));
    }
  }

  /// Passes the results to the caller.
  void release(workspace& w, std::span<tensor* const> inputs, std::span<tensor> outputs) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = tensor(w.values[calls.outputs()[i].value]).counted();
    }
    release_inputs(w, inputs);
  }

  void release_inputs(workspace& w, std::span<tensor* const> inputs) const {
    const std::size_t outputs = calls.outputs().size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const graph_input& input = calls.inputs()[i];
      if (input.next == no_value || (changed_in_place[i] && !w.owned[outputs + i])) {
        continue;
      }
      w.owned[outputs + i] = tensor(w.values[input.next]).counted();
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (w.owned[outputs + i]) {
        *inputs[i] = std::exchange(w.owned[outputs + i], tensor{});
      }
    }
  }

  [[nodiscard]] bool lies_in_output(std::size_t i) const {
    const storage_plan::location& location = plan.location_of(calls.outputs()[i].value);
    return location.region == home::output && location.index == i;
  }
};

/// Takes a free workspace, or creates one, for a run, and returns it to the free ones after the
/// run.
class host_program::lease {
 public:
  explicit lease(const state& s) : state_(&s) {
    {
      const std::lock_guard guard(s.lock);
      if (!s.free.empty()) {
        workspace_ = std::move(s.free.back());
        s.free.pop_back();
        return;
      }
    }
    workspace_ = s.make_workspace();
    const std::lock_guard guard(s.lock);
    s.free.reserve(++s.workspace_count);
  }
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  ~lease() {
    std::fill(workspace_->owned.begin(), workspace_->owned.end(), tensor{});
    workspace_->arena = tensor{};
    const std::lock_guard guard(state_->lock);
    state_->free.push_back(std::move(workspace_));  // does not allocate
  }
  [[nodiscard]] workspace& operator*() const noexcept { return *workspace_; }

 private:
  const state* state_;
  std::unique_ptr<workspace> workspace_;
};

GLIA_INLINE host_program::host_program(graph calls,
                                       std::shared_ptr<const host_memory_backend> backend)
    : executable(std::move(calls)),
      state_(std::make_unique<const state>(*this, std::move(backend))) {}
GLIA_INLINE host_program::~host_program() = default;

GLIA_INLINE std::size_t host_program::scratch_bytes() const { return state_->plan.arena_bytes(); }

GLIA_INLINE std::size_t host_program::lane_bytes() const {
  std::size_t maximum = 0;
  for (const lane_program& program : state_->stretches) {
    maximum = std::max(maximum, program.lane_bytes() * state_->device.lane_count());
  }
  return maximum;
}

GLIA_INLINE void host_program::run(std::span<tensor* const> inputs, std::span<tensor> outputs,
                                   const fixed_inputs& fixed, const probe_function* probe,
                                   timeline* times) const {
  const state& s = *state_;
  const lease held(s);
  s.bind(*held, inputs, fixed, outputs.size());
  run_steps(*held, probe, nullptr, times);
  s.release(*held, inputs, outputs);
}

GLIA_INLINE void host_program::run_into(std::span<tensor* const> inputs,
                                        std::span<const tensor> outputs,
                                        const finished_function& finished, timeline* times) const {
  const state& s = *state_;
  const lease held(s);
  workspace& w = *held;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (s.lies_in_output(i)) {
      w.owned[i] = outputs[i];
    }
  }
  s.bind(w, inputs, {}, outputs.size());
  const auto tell = [&](std::span<const std::size_t> completed) {
    // Copies all outputs before the caller can write to memory that they share.
    for (const std::size_t i : completed) {
      if (const tensor& value = w.values[s.calls.outputs()[i].value];
          !value.shares_memory(outputs[i])) {
        s.device.copy_into(value, outputs[i]);
      }
    }
    for (const std::size_t i : completed) {
      finished(i);
    }
  };
  const outputs_function told(tell);
  run_steps(w, nullptr, &told, times);
  if (s.steps.empty()) {
    std::vector<std::size_t> indices(outputs.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    tell(indices);
  }
  s.release_inputs(w, inputs);
}

GLIA_INLINE void host_program::run_steps(workspace& w, const probe_function* probe,
                                         const outputs_function* finished, timeline* times) const {
  const state& s = *state_;
  const host_context context = s.device.context();
  const auto tell = [&](const step& completed) {
    if (finished != nullptr && !completed.finishes.empty()) {
      (*finished)(completed.finishes);
    }
  };
  for (const step& current : s.steps) {
    const std::int64_t begin = times == nullptr ? 0 : timeline::now();
    const auto note = [&] {
      if (times != nullptr) {
        const std::size_t node =
            current.node == nullptr
                ? kernel_time::no_node
                : static_cast<std::size_t>(current.node - s.calls.nodes().data());
        times->kernels.push_back({&s.calls, node, current.stretch, 0, std::this_thread::get_id(),
                                  begin, timeline::now()});
      }
    };
    if (current.run == nullptr) {
      s.stretches[current.stretch].run(s.device, w.values, w.lanes[current.stretch], s.calls,
                                       times);
      note();
      tell(current);
      continue;
    }
    std::array<const tensor*, most_operands> operands;
    std::array<const tensor*, most_results> results;
    for (std::size_t i = 0; i < current.node->operands.size(); ++i) {
      operands[i] = w.at(current.node->operands[i]);
    }
    for (std::size_t i = 0; i < current.node->results.size(); ++i) {
      results[i] = w.at(current.node->results[i]);
    }
    current.run(context, current.node->kernel.value(), operands.data(), results.data());
    note();
    if (probe != nullptr) {
      (*probe)(*current.node,
               std::span<const tensor* const>(results.data(), current.node->results.size()));
    }
    tell(current);
  }
}

}  // namespace glia
