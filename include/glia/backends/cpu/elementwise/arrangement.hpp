#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/merged_loops.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/indexing.hpp"

namespace glia::cpu_loops {

/// Copies that rearrange tensors. Runs of elements that are contiguous in both tensors are copied
/// as a whole. If an inner axis becomes an outer axis, the elements are copied in tiles, and each
/// tile is transposed.
template <class T>
class arrangement {
 public:
  using tensor = detail::tensor_view<T>;

  explicit arrangement(const workers& team) : team_(&team) {}

  template <class... Tensors>
  void compute(const kernels::concat& k, const memory_pool&,
               const Tensors&... parts_and_result) const {
    const std::array<const tensor*, sizeof...(Tensors)> tensors{&parts_and_result...};
    const tensor& y = *tensors.back();
    std::size_t first = 0;
    for (std::size_t part = 0; part < kernels::concat::operands; ++part) {
      if (const tensor& x = *tensors[part]) {
        const std::size_t length = row_length(x, k.axis);
        with_elements(x, y, [&](const auto* source, auto* target) {
          copy_rows(row_count(x, k.axis), length, source, length, target + first,
                    row_length(y, k.axis));
        });
        first += length;
      }
    }
  }

  void compute(const kernels::slice& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    const std::size_t length = row_length(y, k.axis);
    const std::size_t first = k.begin * step(x, k.axis);
    with_elements(x, y, [&](const auto* source, auto* target) {
      copy_rows(row_count(y, k.axis), length, source + first, row_length(x, k.axis), target,
                length);
    });
  }

  void compute(const kernels::pad& k, const memory_pool&, const tensor& x, const tensor& y) const {
    const std::size_t rows = row_count(y, k.axis);
    const std::size_t y_row = row_length(y, k.axis);
    const std::size_t x_row = row_length(x, k.axis);
    const std::size_t leading = k.before * step(x, k.axis);
    const auto fill = [&](std::size_t source, std::size_t end) {
      team_->for_stretches(
          rows, end - source, [&](auto, std::size_t row, std::size_t first, std::size_t count) {
            std::fill_n(y.data() + row * y_row + source + first, count, static_cast<T>(k.value));
          });
    };
    fill(0, leading);
    copy_rows(rows, x_row, x.data(), x_row, y.data() + leading, y_row);
    fill(leading + x_row, y_row);
  }

  void compute(const kernels::update_slice& k, const memory_pool&, const tensor& x,
               const tensor& part, const tensor& begin, const tensor& y) const {
    const std::size_t extent = part.shape()[k.axis];
    const std::size_t first =
        kernels::update_slice::first_place(*begin.integers(), x.shape()[k.axis], extent);
    if (x.data() != y.data()) {
      copy_rows(1, x.size(), x.data(), x.size(), y.data(), x.size());
    }
    const std::size_t length = row_length(part, k.axis);
    copy_rows(row_count(part, k.axis), length, part.data(), length,
              y.data() + first * step(x, k.axis), row_length(x, k.axis));
  }

  void compute(const kernels::permute_axes& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    with_elements(x, y,
                  [&](const auto* source, auto* target) { permute(k, x.shape(), source, target); });
  }

 private:
  // Number of elements in a transposed block, unless the block has many rows.
  static constexpr std::size_t block_elements = 1024;

  // A tensor is treated as a sequence of rows. One row covers an axis and all axes inside it.
  static std::size_t step(const tensor& x, std::size_t axis) {
    return shape(x.shape().begin() + axis + 1, x.shape().end()).size();
  }
  static std::size_t row_length(const tensor& x, std::size_t axis) {
    return x.shape()[axis] * step(x, axis);
  }
  static std::size_t row_count(const tensor& x, std::size_t axis) {
    return x.size() / std::max<std::size_t>(row_length(x, axis), 1);
  }

  /// Calls body(from, to) with the elements of two tensors of the same type.
  template <class Body>
  static void with_elements(const tensor& x, const tensor& y, const Body& body) {
    switch (x.type()) {
      case element::index:
        return body(x.integers(), y.integers());
      case element::byte:
        return body(x.bytes(), y.bytes());
      default:
        return body(x.data(), y.data());
    }
  }

  /// Copies rows of `length` elements. The steps are the distances between the starts of two rows.
  template <class E>
  void copy_rows(std::size_t rows, std::size_t length, const E* source, std::size_t source_step,
                 E* target, std::size_t target_step) const {
    team_->for_stretches(rows, length,
                         [&](auto, std::size_t row, std::size_t first, std::size_t count) {
                           std::copy_n(source + row * source_step + first, count,
                                       target + row * target_step + first);
                         });
  }

  template <class E>
  void permute(const kernels::permute_axes& k, const shape& s, const E* x, E* y) const {
    const std::size_t size = s.size();
    if (size == 0) {
      return;
    }
    detail::merged_loops<2> axes;  // steps in x and y, innermost axis of y first
    std::size_t y_step = 1;
    for (std::size_t i = s.rank(); i-- > 0; y_step *= s[k.order[i]]) {
      axes.enclose(s[k.order[i]], {shape(s.begin() + k.order[i] + 1, s.end()).size(), y_step});
    }
    const auto inner = axes.inner();
    if (inner.step[0] <= 1) {
      team_->for_stretches(size / inner.extent, inner.extent,
                           [&](auto, std::size_t run, std::size_t first, std::size_t count) {
                             std::copy_n(x + axes.offsets(run)[0] + first, count,
                                         y + run * inner.extent + first);
                           });
      return;
    }
    const auto across = axes.take_contiguous(0);
    // Blocks consist of whole cache lines of x. Long blocks are only one line wide, so that the
    // lines of y that they write stay in a first-level cache until they are full.
    constexpr std::size_t line = 64 / sizeof(E);
    const std::size_t columns =
        std::max<std::size_t>(block_elements / inner.extent / line, 1) * line;
    const std::size_t blocks = (across.extent + columns - 1) / columns;
    team_->for_rows(size / (inner.extent * across.extent) * blocks, inner.extent * columns,
                    [&](auto loops, std::size_t first, std::size_t count) {
                      for (std::size_t block = first; block < first + count; ++block) {
                        const auto [source, target] = axes.offsets(block / blocks);
                        const std::size_t column = block % blocks * columns;
                        loops.transpose_matrix(x + source + column, inner.step[0],
                                               y + target + column * across.step[1], across.step[1],
                                               inner.extent,
                                               std::min(columns, across.extent - column));
                      }
                    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
