#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "glia/kernels/pooling.hpp"
#include "glia/stablehlo/products.hpp"

namespace glia::stablehlo {

namespace detail {

/// Calls visit(position, row, column) for each position in a window: its index, and its distance
/// from the window's corner in rows and columns.
template <class Visit>
void for_each_position(const window2d& window, const Visit& visit) {
  for (std::size_t y = 0; y < window.height; ++y) {
    for (std::size_t x = 0; x < window.width; ++x) {
      visit(signed_of(y * window.width + x), signed_of(y * window.dilation_height),
            signed_of(x * window.dilation_width));
    }
  }
}

/// The padding along one axis that spreads the `steps` elements of one tensor over the `extent`
/// elements of another one. Element i is placed at element `offset` of window i. The members are
/// the numbers of elements to add before, after and between.
struct placement {
  placement(const window_axis& a, std::int64_t offset, std::size_t extent, std::size_t steps)
      : leading(offset - a.leading),
        trailing(signed_of(extent) - leading - a.spread(signed_of(steps))),
        interior(a.stride - 1) {}

  std::int64_t leading, trailing, interior;
};

/// For each of the oh x ow windows: the number of elements that are not padding, and the position
/// of the first of them.
struct window_census {
  explicit window_census(const kernels::window_sizes& s)
      : count(s.oh * s.ow), first(s.oh * s.ow, 0) {
    for (std::size_t index = 0; index < count.size(); ++index) {
      for_each_position(s.window, [&](std::int64_t position, std::int64_t row,
                                      std::int64_t column) {
        const std::int64_t y =
            signed_of(index / s.ow * s.window.stride_height) + row - signed_of(s.window.pad_top);
        const std::int64_t x =
            signed_of(index % s.ow * s.window.stride_width) + column - signed_of(s.window.pad_left);
        if (y >= 0 && y < signed_of(s.h) && x >= 0 && x < signed_of(s.w) && count[index]++ == 0) {
          first[index] = static_cast<std::int32_t>(position);
        }
      });
    }
  }

  std::vector<std::int32_t> count;
  std::vector<std::int32_t> first;
};

}  // namespace detail

/// Compares the positions in a window one after the other. Each position is a slice of the padded
/// images.
[[nodiscard]] inline values lower(const lowering& l, const kernels::max_pool2d& k, operand_list x) {
  writer& w = l.out;
  const kernels::window_sizes s = kernels::pool_rule(x[0].shape, k.window);
  const auto rows = detail::rows_of(k.window);
  const auto columns = detail::columns_of(k.window);
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  const value padded = w.pad(x[0], lowest, {0, rows.leading, columns.leading, 0},
                             {0, rows.trailing, columns.trailing, 0}, {0, 0, 0, 0});
  value largest = w.constant(lowest, s.output(), l.real);
  const detail::window_census census(s);
  value position = w.broadcast(
      w.elements(std::span<const std::int32_t>(census.first), {s.oh, s.ow}, scalar::i32),
      s.output(), {1, 2});
  detail::for_each_position(
      k.window, [&](std::int64_t number, std::int64_t row, std::int64_t column) {
        const value candidate =
            w.slice(padded, {0, row, column, 0},
                    {detail::signed_of(s.n), row + rows.spread(detail::signed_of(s.oh)),
                     column + columns.spread(detail::signed_of(s.ow)), detail::signed_of(s.c)},
                    {1, rows.stride, columns.stride, 1});
        const value wins = w.binary("or", w.compare("GT", candidate, largest),
                                    w.compare("NE", candidate, candidate));
        largest = w.select(wins, candidate, largest);
        position = w.select(wins, w.constant(static_cast<double>(number), position), position);
      });
  return {largest, position};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::max_pool2d_gradient& k,
                                  operand_list x) {
  writer& w = l.out;
  const kernels::window_sizes s = k.sizes(x[0].shape);
  value sum;
  detail::for_each_position(
      k.window, [&](std::int64_t number, std::int64_t row, std::int64_t column) {
        const value won = w.compare("EQ", x[1], static_cast<double>(number));
        const detail::placement vertical(detail::rows_of(k.window), row, s.h, s.oh);
        const detail::placement horizontal(detail::columns_of(k.window), column, s.w, s.ow);
        const value placed =
            w.pad(w.select(won, x[0], 0), 0, {0, vertical.leading, horizontal.leading, 0},
                  {0, vertical.trailing, horizontal.trailing, 0},
                  {0, vertical.interior, horizontal.interior, 0});
        sum = sum ? w.add(sum, placed) : placed;
      });
  return {sum};
}

namespace detail {

/// Returns, for each window, 1 divided by the number of elements that are not padding, or 0 if all
/// are padding.
[[nodiscard]] inline value shares(const lowering& l, const kernels::window_sizes& s) {
  const window_census census(s);
  std::vector<double> shares(census.count.begin(), census.count.end());
  for (double& share : shares) {
    share = share == 0 ? 0 : 1 / share;
  }
  return l.out.broadcast(l.out.elements(std::span<const double>(shares), {s.oh, s.ow}, l.real),
                         s.output(), {1, 2});
}

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::avg_pool2d& k, operand_list x) {
  const kernels::window_sizes s = kernels::pool_rule(x[0].shape, k.window);
  const auto rows = detail::rows_of(k.window);
  const auto columns = detail::columns_of(k.window);
  const value sums = l.out.window_sums(
      x[0], s.output(), {1, rows.size, columns.size, 1}, {1, rows.stride, columns.stride, 1},
      {1, rows.dilation, columns.dilation, 1},
      {0, 0, rows.leading, rows.trailing, columns.leading, columns.trailing, 0, 0});
  return {l.out.multiply(sums, detail::shares(l, s))};
}

/// Divides each dy among the elements of its window: spreads dy by the stride and sums over
/// reversed windows.
[[nodiscard]] inline values lower(const lowering& l, const kernels::avg_pool2d_gradient& k,
                                  operand_list x) {
  writer& w = l.out;
  const kernels::window_sizes s = k.sizes(x[0].shape);
  const auto rows = detail::rows_of(k.window);
  const auto columns = detail::columns_of(k.window);
  // The last element of the window is the first one of the reversed window.
  const detail::placement vertical(rows, rows.reach() - 1, s.h, s.oh);
  const detail::placement horizontal(columns, columns.reach() - 1, s.w, s.ow);
  const value spread =
      w.pad(w.multiply(x[0], detail::shares(l, s)), 0, {0, vertical.leading, horizontal.leading, 0},
            {0, vertical.trailing + rows.reach() - 1, horizontal.trailing + columns.reach() - 1, 0},
            {0, vertical.interior, horizontal.interior, 0});
  return {w.window_sums(spread, s.input(), {1, rows.size, columns.size, 1}, {1, 1, 1, 1},
                        {1, rows.dilation, columns.dilation, 1}, numbers(8, 0))};
}

}  // namespace glia::stablehlo
