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
    kind what;
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

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Adds the elements of a tensor to those of `sum`.
  static void add(const host_memory_backend& device, const tensor& sum, const tensor& addend) {
    const kernels::binary kernel{binary_function::add};
    const std::array<const tensor*, 2> operands{&sum, &addend};
    const tensor* const result = &sum;
    device.function_for(detail::type_of<kernels::binary>)(device.context(), &kernel,
                                                          operands.data(), &result);
  }

  /// Determines the sizes of the batch tiles. There are few different sizes.
  void find_counts(std::size_t lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      std::size_t left = (i + 1) * range_.rows / lanes - i * range_.rows / lanes;
      while (left > 0) {
        const std::size_t count = std::min(left, range_.piece);
        if (std::find(counts_.begin(), counts_.end(), count) == counts_.end()) {
          counts_.push_back(count);
        }
        left -= count;
      }
    }
  }

  void add(const graph& calls, const storage_plan& plan, const host_memory_backend& device,
           std::size_t number) {
    const graph_node& node = calls.nodes()[number];
    const storage_plan::roles roles = storage_plan::roles_of(calls, node);
    call one{device.function_for(node.kernel.type()), number, {}, {}, {}, {}};
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      one.operands.push_back(local_of(calls, plan, node.operands[i], roles.operands[i]));
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      one.results.push_back(local_of(calls, plan, node.results[i], roles.results[i]));
      if (roles.results[i] == batch_axis::summed && node.results[i] != no_value) {
        one.sums.push_back(one.results.back());
      }
    }
    if (node.kernel.relabels(calls.specs(node.operands))) {
      return;  // both are in the same memory
    }
    const bool gives_rows = roles.results[0] == batch_axis::rows;
    for (const std::size_t count : counts_) {
      one.kernels.push_back(gives_rows ? node.kernel.for_rows(count) : node.kernel);
    }
    calls_.push_back(std::move(one));
  }

  [[nodiscard]] std::size_t local_of(const graph& calls, const storage_plan& plan, value_id id,
                                     batch_axis role) {
    if (id == no_value) {
      return none;
    }
    for (std::size_t i = 0; i < locals_.size(); ++i) {
      if (locals_[i].value == id) {
        return i;
      }
    }
    local one{local::kind::rows, id, calls.spec(id), 0};
    if (role == batch_axis::summed) {
      one.what = local::kind::sum;
      while (memory_.sums[one.index].value != id) {
        ++one.index;
      }
    } else if (plan.of(id).where == storage_plan::home::lane) {
      one.what = local::kind::in_lane;
      one.index = plan.of(id).index;
    } else if (role == batch_axis::shared) {
      one.what = local::kind::shared;
    } else if (role == batch_axis::key) {
      one.what = local::kind::key;
    }
    locals_.push_back(one);
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
      for (const call& one : calls_) {
        const std::int64_t start = times == nullptr ? 0 : timeline::now();
        run_call(device, one, variant, w);
        for (std::size_t i = 0; !begins && i < one.sums.size(); ++i) {
          const local& sum = locals_[one.sums[i]];
          const tensor part = w.memory.part(memory_.sums[sum.index].part, sum.spec);
          add(device, part, w.views[one.sums[i]]);
        }
        if (times != nullptr) {
          times->push_back({&calls, one.node, number_, count, std::this_thread::get_id(), start,
                            timeline::now()});
        }
      }
      first += count;
    }
  }

  [[nodiscard]] tensor view(const local& l, const std::vector<tensor>& values, const workspace& w,
                            std::size_t first, std::size_t count, bool begins) const {
    switch (l.what) {
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

  void run_call(const host_memory_backend& device, const call& one, std::size_t variant,
                const workspace& w) const {
    static const tensor nothing;
    std::array<const tensor*, most_operands> operands;
    std::array<const tensor*, most_results> results;
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      operands[i] = one.operands[i] == none ? &nothing : &w.views[one.operands[i]];
    }
    for (std::size_t i = 0; i < one.results.size(); ++i) {
      results[i] = one.results[i] == none ? &nothing : &w.views[one.results[i]];
    }
    one.run(device.context(), one.kernels[variant].value(), operands.data(), results.data());
  }

  stretch range_;
  std::size_t number_;
  storage_plan::lane_memory memory_;
  std::vector<std::size_t> counts_;
  std::vector<local> locals_;
  std::vector<call> calls_;
};

}  // namespace glia
