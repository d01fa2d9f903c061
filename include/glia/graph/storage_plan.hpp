#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/memory_plan.hpp"
#include "glia/graph/uses.hpp"

namespace glia {

/// The plan of the memory of a graph's values during a run. Values in the same memory, such as a
/// parameter before and after its update, share a storage.
class storage_plan {
 public:
  enum class home : std::uint8_t {
    unused,    ///< no node uses the value
    input,     ///< memory of the caller; `index` is the number of the input
    constant,  ///< memory of the compiled graph; `index` is the number of the constant
    output,    ///< new memory that the caller gets; `index` is the number of the output, or, after
               ///< all outputs, of an input with a next value
    arena,     ///< memory of the run, at offset `index` in bytes
    lane,      ///< memory of each lane in a stretch, at offset `index` in bytes
  };
  struct location {
    home region = home::unused;
    std::size_t index = 0;
  };

  storage_plan(const graph& g, std::size_t real_bytes) : graph_(&g), real_bytes_(real_bytes) {
    find_stretches();
    unite_values();
    place_storages();
  }

  [[nodiscard]] const location& location_of(value_id id) const { return locations_[id]; }
  [[nodiscard]] std::size_t arena_bytes() const noexcept { return arena_bytes_; }
  /// Returns the index of a value's storage, below `storages()`. All values in the same memory have
  /// the same storage. Only inputs, constants and results of kernels have a storage.
  [[nodiscard]] std::size_t storage_of(value_id id) const { return storage_of_[id]; }
  [[nodiscard]] std::size_t storages() const noexcept { return storages_.size(); }

  /// The memory that each lane needs for a stretch, consecutive nodes that run on batch tiles. For
  /// each sum over the samples, `part` is the offset of the lane's sum so far, and `addend` the
  /// offset of the term that the next tile adds.
  struct lane_memory {
    std::size_t bytes = 0;
    struct sum {
      value_id value;
      std::size_t part;
      std::size_t addend;
    };
    std::vector<sum> sums;
  };
  [[nodiscard]] const lane_memory& lane(std::size_t stretch) const { return lanes_[stretch]; }

  /// The relations of the operands and results of a node to the samples of a batch.
  struct roles {
    std::vector<batch_axis> operands;
    std::vector<batch_axis> results;
  };
  [[nodiscard]] static roles roles_of(const graph& g, const graph_node& node) {
    roles result{std::vector<batch_axis>(node.operands.size()),
                 std::vector<batch_axis>(node.results.size())};
    node.kernel.axes(g.specs(node.operands), result.operands, result.results);
    return result;
  }

 private:
  static constexpr std::size_t no_index = graph_uses::no_node;

  struct storage {
    home region = home::arena;
    std::size_t index = 0;
    std::size_t bytes = 0;
    std::size_t uses = 0;          // number of remaining uses, in unite_values
    std::size_t first = no_index;  // first step that needs it; `last`: the last step
    std::size_t last = 0;
    std::size_t stretch = no_index;  // the stretch that uses it, if there is only one
    bool one_stretch = true;
  };

  [[nodiscard]] std::size_t bytes_of_value(value_id id) const {
    const tensor_spec s = graph_->spec(id);
    return byte_size(s.shape, bytes_of(s.type, real_bytes_));
  }

  /// Determines the stretch of each node, and the step in which it runs.
  void find_stretches() {
    const std::size_t nodes = graph_->nodes().size();
    stretch_of_.assign(nodes, no_index);
    step_of_.assign(nodes, 0);
    for (std::size_t i = 0; i < graph_->stretches().size(); ++i) {
      const stretch& s = graph_->stretches()[i];
      std::fill(stretch_of_.begin() + static_cast<std::ptrdiff_t>(s.first),
                stretch_of_.begin() + static_cast<std::ptrdiff_t>(s.end), i);
    }
    std::size_t step = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      const bool goes_on =
          i > 0 && stretch_of_[i] != no_index && stretch_of_[i] == stretch_of_[i - 1];
      step_of_[i] = goes_on ? step : ++step;
    }
  }

  /// Gives each value a storage: a new one, or the storage of an operand.
  void unite_values() {
    storage_of_.assign(graph_->value_count(), no_index);
    const graph_uses uses(*graph_);
    // A value that the caller gets remains in use after the last node.
    const auto uses_of = [&](value_id id) {
      return uses.takers(id).size() + (uses.leaves(id) ? 1U : 0U);
    };
    const auto make = [&](value_id id, home region, std::size_t index) {
      storage_of_[id] = storages_.size();
      storages_.push_back({.region = region, .index = index, .bytes = bytes_of_value(id)});
      storages_.back().uses = uses_of(id);
    };
    for (std::size_t i = 0; i < graph_->inputs().size(); ++i) {
      make(graph_->inputs()[i].value, home::input, i);
    }
    for (std::size_t i = 0; i < graph_->constants().size(); ++i) {
      make(graph_->constants()[i].value, home::constant, i);
    }
    for (std::size_t n = 0; n < graph_->nodes().size(); ++n) {
      const graph_node& node = graph_->nodes()[n];
      for (const value_id id : node.operands) {
        if (id != no_value) {
          --storages_[storage_of_[id]].uses;
        }
      }
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        const value_id id = node.results[r];
        if (id == no_value) {
          continue;
        }
        const std::size_t shared = taken_over(node, r, stretch_of_[n], uses);
        if (shared == no_index) {
          make(id, home::arena, 0);
        } else {
          storage_of_[id] = shared;
          storages_[shared].uses += uses_of(id);
        }
      }
    }
  }

  /// Returns the storage of an operand that the result can reuse, or `no_index` if the result needs
  /// a new storage.
  [[nodiscard]] std::size_t taken_over(const graph_node& node, std::size_t result,
                                       std::size_t stretch, const graph_uses& uses) const {
    const kernel_type& type = node.kernel.type();
    const value_id id = node.results[result];
    if (node.kernel.relabels(graph_->specs(node.operands))) {
      return storage_of_[node.operands[0]];
    }
    for (const overwrite& choice : type.overwrites) {
      const value_id operand = node.operands[choice.operand];
      if (choice.result != result || operand == no_value) {
        continue;
      }
      const storage& s = storages_[storage_of_[operand]];
      // An input may only be overwritten by its next value; other inputs are not changed.
      const bool reusable =
          s.region == home::arena ||
          (s.region == home::input && type.updates && graph_->inputs()[s.index].value == operand &&
           graph_->inputs()[s.index].next == id);
      const bool once = std::count(node.operands.begin(), node.operands.end(), operand) == 1;
      if (reusable && once && s.uses == 0 && s.bytes == bytes_of_value(id) &&
          stretch == (uses.maker(operand) == graph_uses::no_node
                          ? no_index
                          : stretch_of_[uses.maker(operand)])) {
        return storage_of_[operand];
      }
    }
    return no_index;
  }

  void need(value_id id, std::size_t step, std::size_t stretch) {
    storage& s = storages_[storage_of_[id]];
    s.one_stretch =
        s.one_stretch && stretch != no_index && (s.first == no_index || s.stretch == stretch);
    s.stretch = stretch;
    s.first = std::min(s.first, step);
    s.last = std::max(s.last, step);
  }

  void place_storages() {
    for (std::size_t n = 0; n < graph_->nodes().size(); ++n) {
      const graph_node& node = graph_->nodes()[n];
      for (const value_id id : node.operands) {
        if (id != no_value) {
          need(id, step_of_[n], stretch_of_[n]);
        }
      }
      for (const value_id id : node.results) {
        if (id != no_value) {
          need(id, step_of_[n], stretch_of_[n]);
        }
      }
    }
    const auto leave = [&](value_id id, std::size_t index) {
      storage& s = storages_[storage_of_[id]];
      if (s.region == home::arena) {
        s.region = home::output;
        s.index = index;
      }
    };
    for (std::size_t i = 0; i < graph_->outputs().size(); ++i) {
      leave(graph_->outputs()[i].value, i);
    }
    for (std::size_t i = 0; i < graph_->inputs().size(); ++i) {
      if (graph_->inputs()[i].next != no_value) {
        leave(graph_->inputs()[i].next, graph_->outputs().size() + i);
      }
    }
    for (std::size_t i = 0; i < graph_->stretches().size(); ++i) {
      place_in_lanes(i);
    }
    std::vector<lifetime> blocks;
    std::vector<std::size_t> block_storages;
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      const storage& s = storages_[i];
      if (s.region == home::arena && s.first != no_index) {
        blocks.push_back({s.bytes, s.first, s.last});
        block_storages.push_back(i);
      }
    }
    const memory_layout layout = lay_out(blocks);
    for (std::size_t i = 0; i < block_storages.size(); ++i) {
      storages_[block_storages[i]].index = layout.offsets[i];
    }
    arena_bytes_ = layout.bytes;
    locations_.resize(graph_->value_count());
    for (std::size_t id = 0; id < locations_.size(); ++id) {
      if (storage_of_[id] != no_index) {
        locations_[id] = {storages_[storage_of_[id]].region, storages_[storage_of_[id]].index};
      }
    }
  }

  /// Assigns memory to the values within one stretch, for the samples of one batch tile.
  void place_in_lanes(std::size_t number) {
    const stretch& range = graph_->stretches()[number];
    std::vector<lifetime> blocks;
    std::vector<std::size_t> block_storages;
    std::vector<std::size_t> block_of(storages_.size(), no_index);
    lane_memory memory;
    const auto piece_bytes = [&](std::size_t bytes) { return bytes / range.rows * range.piece; };
    for (std::size_t n = range.first; n < range.end; ++n) {
      const graph_node& node = graph_->nodes()[n];
      const roles role = roles_of(*graph_, node);
      const auto touch = [&](value_id id) {
        const std::size_t index = storage_of_[id];
        if (storages_[index].region != home::arena || !storages_[index].one_stretch) {
          return;
        }
        if (block_of[index] == no_index) {
          block_of[index] = blocks.size();
          block_storages.push_back(index);
          blocks.push_back({piece_bytes(storages_[index].bytes), n, n});
        }
        blocks[block_of[index]].last = n;
      };
      for (const value_id id : node.operands) {
        if (id != no_value) {
          touch(id);
        }
      }
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        const value_id id = node.results[r];
        if (id == no_value) {
          continue;
        }
        if (role.results[r] == batch_axis::summed) {
          // The sum is only complete after all lanes, so it is a tensor of the run.
          storages_[storage_of_[id]].one_stretch = false;
          memory.sums.push_back({id, blocks.size(), blocks.size() + 1});
          blocks.push_back({bytes_of_value(id), 0, range.end});
          block_storages.push_back(no_index);
          blocks.push_back({bytes_of_value(id), n, n});
          block_storages.push_back(no_index);
        } else {
          touch(id);
        }
      }
    }
    const memory_layout layout = lay_out(blocks);
    for (std::size_t i = 0; i < block_storages.size(); ++i) {
      if (block_storages[i] != no_index) {
        storages_[block_storages[i]].region = home::lane;
        storages_[block_storages[i]].index = layout.offsets[i];
      }
    }
    for (lane_memory::sum& s : memory.sums) {
      s.part = layout.offsets[s.part];
      s.addend = layout.offsets[s.addend];
    }
    memory.bytes = layout.bytes;
    lanes_.push_back(std::move(memory));
  }

  const graph* graph_;
  std::size_t real_bytes_;
  std::vector<std::size_t> stretch_of_;  // one for each node
  std::vector<std::size_t> step_of_;
  std::vector<std::size_t> storage_of_;  // one for each value
  std::vector<storage> storages_;
  std::vector<location> locations_;
  std::vector<lane_memory> lanes_;
  std::size_t arena_bytes_ = 0;
};

}  // namespace glia
