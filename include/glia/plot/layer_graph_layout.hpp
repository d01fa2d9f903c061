#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace glia::plot::detail {

/// A box to place, or a point where an edge crosses a level without a box.
struct layout_box {
  double width = 0;
  std::vector<std::size_t> sources = {};  ///< Boxes with edges to this one, by index.
  std::size_t level = 0;                  ///< Row, from the top.
  double x = 0;                           ///< Horizontal position of the center.
};

/// An edge: the boxes and points that it passes, from its source to its reader.
using layout_edge = std::vector<std::size_t>;

/// Places the boxes of an acyclic graph in levels, so that edges go downward.
///
/// A box is one level below the lowest of its sources. The boxes of a level are sorted by the mean
/// position of their neighbors on the level above and below in turns, so that few edges cross. Then
/// each box moves as close to the mean of its neighbors as the distances of a level allow.
/// Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures",
/// 1981.
class layer_graph_layout {
 public:
  /// Places boxes. `gap` is the smallest distance between two boxes of a level.
  layer_graph_layout(std::vector<layout_box> boxes, double gap)
      : boxes_(std::move(boxes)), box_count_(boxes_.size()), gap_(gap) {
    find_levels();
    add_points();
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
      sort_levels(sweep % 2 == 0);
    }
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
      move_boxes(sweep % 2 == 0);
    }
    double left = std::numeric_limits<double>::infinity();
    for (const layout_box& box : boxes_) {
      left = std::min(left, box.x - box.width / 2);
    }
    for (layout_box& box : boxes_) {
      box.x -= left;
      width_ = std::max(width_, box.x + box.width / 2);
    }
  }

  /// Returns the boxes, followed by the points of edges.
  [[nodiscard]] const std::vector<layout_box>& boxes() const { return boxes_; }
  [[nodiscard]] const std::vector<layout_edge>& edges() const { return edges_; }
  [[nodiscard]] std::size_t level_count() const { return levels_.size(); }
  [[nodiscard]] double width() const { return width_; }

 private:
  static constexpr std::size_t sweeps = 12;

  void find_levels() {
    for (std::size_t round = 0; round < box_count_; ++round) {
      bool changed = false;
      for (layout_box& box : boxes_) {
        for (const std::size_t source : box.sources) {
          if (box.level <= boxes_[source].level) {
            box.level = boxes_[source].level + 1;
            changed = true;
          }
        }
      }
      if (!changed) {
        break;
      }
    }
    // A box without sources is directly above its first reader.
    for (std::size_t i = 0; i < box_count_; ++i) {
      std::size_t reader = std::numeric_limits<std::size_t>::max();
      for (const layout_box& box : boxes_) {
        const bool reads =
            std::find(box.sources.begin(), box.sources.end(), i) != box.sources.end();
        reader = reads ? std::min(reader, box.level) : reader;
      }
      if (boxes_[i].sources.empty() && reader != std::numeric_limits<std::size_t>::max()) {
        boxes_[i].level = reader - 1;
      }
    }
  }

  /// Adds a point for each level that an edge crosses, and the lists of neighbors.
  void add_points() {
    for (std::size_t i = 0; i < box_count_; ++i) {
      for (const std::size_t source : boxes_[i].sources) {
        layout_edge edge{source};
        for (std::size_t level = boxes_[source].level + 1; level < boxes_[i].level; ++level) {
          edge.push_back(boxes_.size());
          boxes_.push_back({.level = level});
        }
        edge.push_back(i);
        edges_.push_back(std::move(edge));
      }
    }
    upper_neighbors_.resize(boxes_.size());
    lower_neighbors_.resize(boxes_.size());
    for (const layout_edge& edge : edges_) {
      for (std::size_t i = 1; i < edge.size(); ++i) {
        upper_neighbors_[edge[i]].push_back(edge[i - 1]);
        lower_neighbors_[edge[i - 1]].push_back(edge[i]);
      }
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      levels_.resize(std::max(levels_.size(), boxes_[i].level + 1));
      boxes_[i].x = static_cast<double>(levels_[boxes_[i].level].size());
      levels_[boxes_[i].level].push_back(i);
    }
  }

  /// Returns the mean position of the neighbors of a box on one side, or its own position if it has
  /// none.
  [[nodiscard]] double mean_neighbor(std::size_t box, bool downward) const {
    const std::vector<std::size_t>& neighbors =
        downward ? upper_neighbors_[box] : lower_neighbors_[box];
    const double sum =
        std::accumulate(neighbors.begin(), neighbors.end(), 0.0,
                        [&](double total, std::size_t other) { return total + boxes_[other].x; });
    return neighbors.empty() ? boxes_[box].x : sum / static_cast<double>(neighbors.size());
  }

  /// Calls `place(level)` for each level, from the top if `downward`.
  template <class Place>
  void for_each_level(bool downward, const Place& place) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      place(levels_[downward ? i : levels_.size() - 1 - i]);
    }
  }

  /// Sorts each level by the positions of the neighbors. Positions are ranks here.
  void sort_levels(bool downward) {
    for_each_level(downward, [&](std::vector<std::size_t>& level) {
      std::vector<std::pair<double, std::size_t>> order;
      order.reserve(level.size());
      for (const std::size_t box : level) {
        order.emplace_back(mean_neighbor(box, downward), box);
      }
      std::stable_sort(order.begin(), order.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < level.size(); ++i) {
        level[i] = order[i].second;
        boxes_[level[i]].x = static_cast<double>(i) - static_cast<double>(level.size() - 1) / 2;
      }
    });
  }

  /// Moves the boxes of each level to the mean positions of their neighbors. If they would overlap,
  /// takes the positions with the least sum of squared differences (isotonic regression).
  void move_boxes(bool downward) {
    for_each_level(downward, [&](const std::vector<std::size_t>& level) {
      struct block {
        double sum;
        double count;
        [[nodiscard]] double mean() const { return sum / count; }
      };
      std::vector<block> blocks;
      std::vector<double> offsets;
      for (std::size_t i = 0; i < level.size(); ++i) {
        const layout_box& box = boxes_[level[i]];
        offsets.push_back(
            i == 0 ? 0 : offsets[i - 1] + (boxes_[level[i - 1]].width + box.width) / 2 + gap_);
        blocks.push_back({mean_neighbor(level[i], downward) - offsets[i], 1});
        while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
          const block last = blocks.back();
          blocks.pop_back();
          blocks.back().sum += last.sum;
          blocks.back().count += last.count;
        }
      }
      std::size_t i = 0;
      for (const block& merged : blocks) {
        for (double left = merged.count; left > 0; --left, ++i) {
          boxes_[level[i]].x = merged.mean() + offsets[i];
        }
      }
    });
  }

  std::vector<layout_box> boxes_;  // the boxes, then the points
  std::size_t box_count_;
  double gap_;
  double width_ = 0;
  std::vector<layout_edge> edges_;
  std::vector<std::vector<std::size_t>> levels_;
  std::vector<std::vector<std::size_t>> upper_neighbors_;
  std::vector<std::vector<std::size_t>> lower_neighbors_;
};

}  // namespace glia::plot::detail
