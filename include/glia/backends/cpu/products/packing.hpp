#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/product_tiles.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/packing.hpp"

namespace glia::cpu_loops {

/// Packs `count` columns of weights (depth, outputs) and their bias into one panel. A panel has a
/// row of biases and then `depth` rows of weights. Each row has `width` elements; the elements
/// after the first `count` are 0. Without a bias, the first row is 0. `step` is the distance
/// between rows of w.
template <class T>
void pack_panel(const T* w, std::size_t step, const T* bias, std::size_t count, std::size_t depth,
                std::size_t width, T* target) {
  if (count < width || bias == nullptr) {
    std::fill_n(target, (count < width ? 1 + depth : 1) * width, T{0});
  }
  if (bias != nullptr) {
    std::copy_n(bias, count, target);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    std::copy_n(w + k * step, count, target + (1 + k) * width);
  }
}

/// Packs weights (depth, outputs), whose rows are `step` apart, and a bias into consecutive panels.
/// A panel is two registers wide.
template <class T, class Loops>
void pack_panels(const Loops&, const T* w, std::size_t step, const T* bias, std::size_t depth,
                 std::size_t outputs, T* target) {
  constexpr std::size_t width = Loops::template panel_width<T>;
  static_assert(kernels::pack_panels::outputs_at_a_time % width == 0);
  for (std::size_t first = 0; first < outputs; first += width, target += (1 + depth) * width) {
    pack_panel(w + first, step, bias == nullptr ? nullptr : bias + first,
               std::min(width, outputs - first), depth, width, target);
  }
}

/// Number of panels of a matrix that are copied together if its rows are too far apart for a cache.
template <class Loops>
inline constexpr std::size_t panel_group = Loops::register_bytes == 64 ? 1 : 8;

/// Copies columns of a matrix into panels that are `panel_step` apart. It copies a few rows at a
/// time, because cache lines that are next to each other arrive together, and because one page
/// after another is used then. The rows of a panel are padded with zeros to whole registers.
template <class T, class Loops>
void copy_panels(const Loops& loops, const T* source, std::size_t source_row, std::size_t rows,
                 std::size_t columns, T* target, std::size_t panel_step) {
  constexpr std::size_t width = Loops::template panel_width<T>;
  const std::size_t rows_together = columns > width ? 8 : rows;
  for (std::size_t row = 0; row < rows; row += rows_together) {
    const std::size_t count = std::min(rows_together, rows - row);
    T* panel = target + row * width;
    for (std::size_t column = 0; column < columns; column += width, panel += panel_step) {
      loops.copy_columns(source + row * source_row + column, source_row, count,
                         std::min(width, columns - column), panel, width);
    }
  }
}

/// Packs a matrix (depth, outputs), transposed or not, into panels without biases, on all threads.
/// The copy pays off for products in which several blocks of rows read each panel.
template <class T, class Loops>
[[nodiscard]] detail::host_tensor<T> packed_matrix(const Loops& loops, const workers& team,
                                                   const memory_pool& memory, const matrix<T>& b,
                                                   std::size_t depth, std::size_t outputs) {
  constexpr std::size_t width = Loops::template panel_width<T>;
  const std::size_t panels = (outputs + width - 1) / width;
  const std::size_t panel_size = (1 + depth) * width;
  detail::host_tensor<T> packed(memory, {panels, 1 + depth, width});
  const std::size_t max_group = std::max<std::size_t>(panels / row_blocks::enough_tasks, 1);
  const std::size_t group = b.transposed ? 1 : std::min(max_group, panel_group<Loops>);
  team.run((panels + group - 1) / group, [&](std::size_t task, std::size_t) {
    const std::size_t panel = task * group;
    const std::size_t first = panel * width;
    const std::size_t count = std::min(group * width, outputs - first);
    T* const target = packed.data() + panel * panel_size;
    for (std::size_t i = 0; i * width < count; ++i) {
      const bool whole = (i + 1) * width <= count;
      std::fill_n(target + i * panel_size, whole ? width : panel_size, T{0});
    }
    if (b.transposed) {
      loops.transpose_matrix(b.data + first * b.row_step, b.row_step, target + width, width, count,
                             depth);
    } else {
      copy_panels(loops, b.data + first, b.row_step, depth, count, target + width, panel_size);
    }
  });
  return packed;
}

/// Packs a kernel w, whose shape is (2, 2, C, O) or (3, 3, C, O), as consecutive matrices for
/// Winograd's products. Each matrix is cut into panels as in `pack_panels`.
template <class T, class Loops>
void pack_transformed(const Loops& loops, const workers& team, const T* w, const shape& extents,
                      T* target) {
  constexpr std::size_t width = Loops::template panel_width<T>;
  const std::size_t inputs = extents[2];
  const std::size_t outputs = extents[3];
  const std::size_t panels = (outputs + width - 1) / width;
  const std::size_t panel_size = (1 + inputs) * width;
  team.run(panels, [&](std::size_t panel, std::size_t) {
    const T* const source = w + panel * width;
    const std::size_t count = std::min(width, outputs - panel * width);
    T* const packed = target + panel * panel_size;
    if (extents[0] == 2) {
      loops.template pack_transformed_panel<3>(source, inputs, outputs, count, packed,
                                               panels * panel_size);
    } else {
      loops.template pack_transformed_panel<4>(source, inputs, outputs, count, packed,
                                               panels * panel_size);
    }
  });
}

/// Packs weights once for all later calls of the other kernel families.
template <class T>
class packing {
 public:
  using tensor = detail::tensor_view<T>;

  explicit packing(const workers& team) : team_(&team) {}

  void compute(const kernels::pack_panels& k, const memory_pool&, const tensor& w,
               const tensor& bias, const tensor& packed) const {
    const std::size_t outputs = w.shape().back();
    const std::size_t depth = packed.shape()[0] - 1;
    if (k.rounded && team_->rounded<T>() != nullptr) {
      team_->rounded<T>()->pack_panels(w.data(), outputs, bias.data(), depth, outputs,
                                       packed.data());
      return;
    }
    with_isa(team_->level(), [&](auto loops) {
      pack_panels(loops, w.data(), outputs, bias.data(), depth, outputs, packed.data());
    });
  }
  void compute(const kernels::pack_transformed&, const memory_pool&, const tensor& w,
               const tensor& packed) const {
    with_isa(team_->level(), [&](auto loops) {
      pack_transformed(loops, *team_, w.data(), w.shape(), packed.data());
    });
  }

 private:
  const workers* team_;
};

}  // namespace glia::cpu_loops
