#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "glia/backends/host_backend.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/storage_plan.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/kernels/dropout.hpp"

namespace glia {

/// A compiled stretch: batch tiles of a few samples go through all of its kernels, so that
/// intermediate tensors stay in the cache.
///
/// The samples are divided among the backend's lanes. For a sum over the samples, each lane adds up
/// its own tiles in order, and the sums of the lanes are then added in order. The number of lanes
/// is fixed, so the results do not depend on the number of threads.
class lane_program {
 public:
  /// The memory of one lane during a run.
  struct workspace {
    tensor memory;              // used while the stretch runs
    std::vector<tensor> views;  // of the current batch tile
    std::exception_ptr failure;
  };

  lane_program(const graph& calls, const storage_plan& plan, const host_memory_backend& device,
               std::size_t number)
      : range_(calls.stretches()[number]), number_(number), memory_(plan.lane(number)) {
    find_counts(device.lane_count());
    for (std::size_t n = range_.first; n < range_.end; ++n) {
      add(calls, plan, device, n);
    }
  }

  /// Returns the memory of each lane in bytes.
  [[nodiscard]] std::size_t lane_bytes() const noexcept { return memory_.bytes + key_bytes; }

  [[nodiscard]] std::vector<workspace> make_workspaces(const host_memory_backend& device) const {
    std::vector<workspace> result(device.lane_count());
    for (workspace& lane : result) {
      lane.views.resize(locals_.size());
    }
    return result;
  }

  /// Runs the stretch. `values` are the tensors of the run; each batch tile reads and writes its
  /// rows of the tensors of the whole batch. `calls` is the graph of the stretch, for the timeline.
  void run(const host_memory_backend& device, const std::vector<tensor>& values,
           std::vector<workspace>& lanes, const graph& calls, timeline* times) const {
    if (times != nullptr && times->lanes.size() < lanes.size()) {
      times->lanes.resize(lanes.size());
    }
    device.for_each_lane([&](std::size_t i) {
      try {
        lanes[i].memory = device.lane(i).scratch(memory_.bytes + key_bytes);
        run_lane(device.lane(i), values, lanes[i], i * range_.rows / lanes.size(),
                 (i + 1) * range_.rows / lanes.size(), calls,
                 times == nullptr ? nullptr : &times->lanes[i]);
      } catch (...) {
        lanes[i].failure = std::current_exception();
      }
    });
    for (workspace& lane : lanes) {
      if (lane.failure) {
        std::rethrow_exception(std::exchange(lane.failure, nullptr));
      }
    }
    for (const storage_plan::lane_memory::sum& s : memory_.sums) {
      const tensor& total = values[s.value];
      const tensor_spec spec = spec_of(total);
      device.copy_into(lanes[0].memory.part(s.part, spec), total);
      for (std::size_t i = 1; i < lanes.size(); ++i) {
        add(device, total, lanes[i].memory.part(s.part, spec));
      }
    }
    for (workspace& lane : lanes) {
      lane.memory = tensor{};
    }
  }

 private:
  // Size of the memory for the step_key of the current batch tile, at the end of a lane's memory.
  static constexpr std::size_t key_bytes = 64;

  /// A tensor that the kernels of a batch tile use.
  struct local {
    enum class kind : std::uint8_t { rows, shared, key, in_lane, sum };
    kind category;
    value_id value;
    tensor_spec spec;       // spec for the whole batch
    std::size_t index = 0;  // offset in a lane's memory; for a sum, its index in memory_.sums
  };

  struct call {
    host_function run;
    std::size_t node;                   // index of the node in the graph
    std::vector<any_kernel> kernels;    // one for each size of batch tiles
    std::vector<std::size_t> operands;  // indices of locals
    std::vector<std::size_t> results;
    std::vector<std::size_t> sums;  // indices of locals that are sums
  };

  static constexpr std::size_t no_local = static_cast<std::size_t>(-1);

  /// Adds the elements of a tensor to those of `sum`.
  static void add(const host_memory_backend& device, const tensor& sum, const tensor& addend) {
    const kernels::binary kernel{binary_function::add};
    const std::array<const tensor*, 2> operands{&sum, &addend};
    const tensor* const result = &sum;
    device.function_for(detail::type_of<kernels::binary>())(device.context(), &kernel,
                                                            operands.data(), &result);
  }

  /// Determines the sizes of the batch tiles. There are few different sizes.
  void find_counts(std::size_t lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      std::size_t remaining = (i + 1) * range_.rows / lanes - i * range_.rows / lanes;
      while (remaining > 0) {
        const std::size_t count = std::min(remaining, range_.piece);
        if (std::find(counts_.begin(), counts_.end(), count) == counts_.end()) {
          counts_.push_back(count);
        }
        remaining -= count;
      }
    }
  }

  void add(const graph& calls, const storage_plan& plan, const host_memory_backend& device,
           std::size_t number) {
    const graph_node& node = calls.nodes()[number];
    const storage_plan::roles roles = storage_plan::roles_of(calls, node);
    call c{device.function_for(node.kernel.type()), number, {}, {}, {}, {}};
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      c.operands.push_back(local_of(calls, plan, node.operands[i], roles.operands[i]));
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      c.results.push_back(local_of(calls, plan, node.results[i], roles.results[i]));
      if (roles.results[i] == batch_axis::summed && node.results[i] != no_value) {
        c.sums.push_back(c.results.back());
      }
    }
    if (node.kernel.relabels(calls.specs(node.operands))) {
      return;  // both are in the same memory
    }
    const bool gives_rows = roles.results[0] == batch_axis::rows;
    for (const std::size_t count : counts_) {
      c.kernels.push_back(gives_rows ? node.kernel.for_rows(count) : node.kernel);
    }
    calls_.push_back(std::move(c));
  }

  [[nodiscard]] std::size_t local_of(const graph& calls, const storage_plan& plan, value_id id,
                                     batch_axis role) {
    if (id == no_value) {
      return no_local;
    }
    for (std::size_t i = 0; i < locals_.size(); ++i) {
      if (locals_[i].value == id) {
        return i;
      }
    }
    local l{local::kind::rows, id, calls.spec(id), 0};
    if (role == batch_axis::summed) {
      l.category = local::kind::sum;
      while (memory_.sums[l.index].value != id) {
        ++l.index;
      }
    } else if (plan.location_of(id).region == storage_plan::home::lane) {
      l.category = local::kind::in_lane;
      l.index = plan.location_of(id).index;
    } else if (role == batch_axis::shared) {
      l.category = local::kind::shared;
    } else if (role == batch_axis::key) {
      l.category = local::kind::key;
    }
    locals_.push_back(l);
    return locals_.size() - 1;
  }

  void run_lane(const host_memory_backend& device, const std::vector<tensor>& values, workspace& w,
                std::size_t first, std::size_t end, const graph& calls,
                std::vector<kernel_time>* times) const {
    for (bool begins = true; first < end; begins = false) {
      const std::size_t count = std::min(end - first, range_.piece);
      const auto variant = static_cast<std::size_t>(
          std::find(counts_.begin(), counts_.end(), count) - counts_.begin());
      for (std::size_t i = 0; i < locals_.size(); ++i) {
        w.views[i] = view(locals_[i], values, w, first, count, begins);
      }
      for (const call& c : calls_) {
        const std::int64_t start = times == nullptr ? 0 : timeline::now();
        run_call(device, c, variant, w);
        for (std::size_t i = 0; !begins && i < c.sums.size(); ++i) {
          const local& sum = locals_[c.sums[i]];
          const tensor part = w.memory.part(memory_.sums[sum.index].part, sum.spec);
          add(device, part, w.views[c.sums[i]]);
        }
        if (times != nullptr) {
          times->push_back(
              {&calls, c.node, number_, count, std::this_thread::get_id(), start, timeline::now()});
        }
      }
      first += count;
    }
  }

  [[nodiscard]] tensor view(const local& l, const std::vector<tensor>& values, const workspace& w,
                            std::size_t first, std::size_t count, bool begins) const {
    switch (l.category) {
      case local::kind::rows:
        return values[l.value].rows(first, count);
      case local::kind::shared:
        return values[l.value];
      case local::kind::in_lane:
        return w.memory.part(l.index, {batch_of(count, sample_of(l.spec.shape)), l.spec.type});
      case local::kind::sum: {
        const storage_plan::lane_memory::sum& s = memory_.sums[l.index];
        return w.memory.part(begins ? s.part : s.addend, l.spec);
      }
      case local::kind::key:
        break;
    }
    tensor key = w.memory.part(memory_.bytes, l.spec);
    step_key words = step_key::from_words(values[l.value].integers());
    words.first_sample += static_cast<std::uint32_t>(first);
    const auto moved = words.to_words();
    std::copy(moved.begin(), moved.end(), key.integers());
    return key;
  }

  void run_call(const host_memory_backend& device, const call& c, std::size_t variant,
                const workspace& w) const {
    static const tensor nothing;
    std::array<const tensor*, most_operands> operands;
    std::array<const tensor*, most_results> results;
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      operands[i] = c.operands[i] == no_local ? &nothing : &w.views[c.operands[i]];
    }
    for (std::size_t i = 0; i < c.results.size(); ++i) {
      results[i] = c.results[i] == no_local ? &nothing : &w.views[c.results[i]];
    }
    c.run(device.context(), c.kernels[variant].value(), operands.data(), results.data());
  }

  stretch range_;
  std::size_t number_;
  storage_plan::lane_memory memory_;
  std::vector<std::size_t> counts_;
  std::vector<local> locals_;
  std::vector<call> calls_;
};

}  // namespace glia
