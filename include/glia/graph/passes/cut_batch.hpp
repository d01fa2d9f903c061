#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/storage_plan.hpp"
#include "glia/graph/uses.hpp"

namespace glia::passes {

namespace detail {

/// Finds nodes that can run on batch tiles and puts them next to each other.
class batch_cutter {
 public:
  batch_cutter(graph& g, std::size_t rows, const cut_options& options)
      : graph_(&g), rows_(rows), options_(&options) {}

  void run() {
    std::vector<graph_node> order;
    std::vector<graph_node> remaining = std::move(graph_->nodes());
    while (!remaining.empty()) {
      remaining = take_stretch(std::move(remaining), order);
    }
    graph_->nodes() = std::move(order);
  }

 private:
  [[nodiscard]] double bytes(value_id id) const {
    const tensor_spec s = graph_->spec(id);
    return static_cast<double>(s.shape.size() * bytes_of(s.type, options_->real_bytes));
  }
  [[nodiscard]] bool has_rows(value_id id) const {
    const shape s = graph_->spec(id).shape;
    return s.rank() > 0 && s[0] == rows_;
  }

  /// Returns whether a node treats samples independently and is worth running on batch tiles. The
  /// data that it reads and writes again for every tile must be small compared with the tiles.
  [[nodiscard]] bool can_join(const graph_node& node) const {
    const storage_plan::roles roles = storage_plan::roles_of(*graph_, node);
    double row_bytes = 0;
    double reread_bytes = 0;
    const auto count = [&](value_id id, batch_axis role) {
      if (id == no_value) {
        return true;
      }
      if (role == batch_axis::rows) {
        row_bytes += bytes(id) / static_cast<double>(rows_);
        return has_rows(id);
      }
      reread_bytes += role == batch_axis::key ? 0 : bytes(id);
      return role != batch_axis::whole;
    };
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!count(node.operands[i], roles.operands[i])) {
        return false;
      }
    }
    const bool relabels = node.kernel.relabels(graph_->specs(node.operands));
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (roles.results[i] == batch_axis::shared || !count(node.results[i], roles.results[i]) ||
          (relabels && roles.results[i] != batch_axis::rows)) {
        return false;
      }
    }
    return row_bytes > 0 && reread_bytes <= row_bytes * static_cast<double>(options_->most_samples);
  }

  /// Returns whether a node uses every value in the same way as the stretch so far; if so, adds it
  /// to the stretch.
  [[nodiscard]] bool agrees(const graph_node& node, std::vector<std::optional<batch_axis>>& known) {
    const storage_plan::roles roles = storage_plan::roles_of(*graph_, node);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const value_id id = node.operands[i];
      if (id != no_value && known[id].value_or(roles.operands[i]) != roles.operands[i]) {
        return false;
      }
    }
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i] != no_value) {
        known[node.operands[i]] = roles.operands[i];
      }
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != no_value) {
        known[node.results[i]] = roles.results[i];
      }
    }
    return true;
  }

  /// Appends the next stretch and the nodes before it to `order`. Returns the remaining nodes.
  [[nodiscard]] std::vector<graph_node> take_stretch(std::vector<graph_node> nodes,
                                                     std::vector<graph_node>& order) {
    std::size_t first = 0;
    while (first < nodes.size() && !can_join(nodes[first])) {
      order.push_back(std::move(nodes[first++]));
    }
    std::vector<graph_node> preceding;
    std::vector<graph_node> inside;
    std::vector<graph_node> following;
    // Whether a value depends on the stretch, but is computed outside of it.
    std::vector<bool> behind(graph_->value_count(), false);
    std::vector<bool> within(graph_->value_count(), false);
    std::vector<std::optional<batch_axis>> roles(graph_->value_count());
    for (; first < nodes.size(); ++first) {
      graph_node& node = nodes[first];
      bool waits = false;
      bool needs_it = false;
      for (const value_id id : node.operands) {
        waits = waits || (id != no_value && behind[id]);
        needs_it = needs_it || (id != no_value && within[id]);
      }
      if (!waits && can_join(node) && agrees(node, roles)) {
        for (const value_id id : node.results) {
          if (id != no_value) {
            within[id] = true;
          }
        }
        inside.push_back(std::move(node));
        continue;
      }
      if (waits || needs_it) {
        for (const value_id id : node.results) {
          if (id != no_value) {
            behind[id] = true;
          }
        }
        following.push_back(std::move(node));
      } else {
        preceding.push_back(std::move(node));
      }
    }
    std::move(preceding.begin(), preceding.end(), std::back_inserter(order));
    const std::size_t begin = order.size();
    std::move(inside.begin(), inside.end(), std::back_inserter(order));
    const std::size_t piece = piece_of(order, begin);
    if (worthwhile(order, begin, piece)) {
      graph_->stretches().push_back({begin, order.size(), rows_, piece});
    }
    return following;
  }

  /// Returns whether the intermediate tensors are larger than the caches, and larger than the data
  /// that each tile reads and packs again.
  [[nodiscard]] bool worthwhile(const std::vector<graph_node>& order, std::size_t begin,
                                std::size_t piece) const {
    double between = 0;
    for (std::size_t n = begin; n + 1 < order.size(); ++n) {
      for (const value_id id : order[n].results) {
        between += id == no_value ? 0 : bytes(id);
      }
    }
    const std::size_t largest = std::min(piece, std::max<std::size_t>(rows_ / options_->lanes, 1));
    const double pieces = static_cast<double>(rows_) / static_cast<double>(largest);
    return order.size() > begin + 1 && between > static_cast<double>(options_->worthwhile_bytes) &&
           between > pieces * options_->packing_cost * shared_bytes(order, begin);
  }

  /// Returns the bytes that every tile reads again: the weights.
  [[nodiscard]] double shared_bytes(const std::vector<graph_node>& order, std::size_t begin) const {
    double sum = 0;
    for (std::size_t n = begin; n < order.size(); ++n) {
      const storage_plan::roles roles = storage_plan::roles_of(*graph_, order[n]);
      for (std::size_t i = 0; i < order[n].operands.size(); ++i) {
        sum += order[n].operands[i] != no_value && roles.operands[i] == batch_axis::shared
                   ? bytes(order[n].operands[i])
                   : 0;
      }
    }
    return sum;
  }

  /// Returns the number of samples in a tile. The data of each kernel should stay in the cache, but
  /// should be large compared with the weights that every tile reads.
  [[nodiscard]] std::size_t piece_of(const std::vector<graph_node>& order,
                                     std::size_t begin) const {
    double largest = 1;
    double between = 1;
    for (std::size_t n = begin; n < order.size(); ++n) {
      double of_node = 0;
      for (const auto* ids : {&order[n].operands, &order[n].results}) {
        for (const value_id id : *ids) {
          of_node += id != no_value && has_rows(id) ? bytes(id) / static_cast<double>(rows_) : 0;
        }
      }
      largest = std::max(largest, of_node);
      for (const value_id id : order[n].results) {
        between += id != no_value && has_rows(id) ? bytes(id) / static_cast<double>(rows_) : 0;
      }
    }
    const double fitting = static_cast<double>(options_->cache_bytes) / largest;
    const double minimum = std::ceil(options_->packing_cost * shared_bytes(order, begin) / between);
    return static_cast<std::size_t>(
        std::clamp(std::max(fitting, minimum), 1.0, static_cast<double>(options_->most_samples)));
  }

  graph* graph_;
  std::size_t rows_;
  const cut_options* options_;
};

}  // namespace detail

GLIA_INLINE void cut_batch(graph& g, std::size_t rows, const cut_options& options) {
  if (rows >= options.lanes) {
    detail::batch_cutter(g, rows, options).run();
  }
}

}  // namespace glia::passes
