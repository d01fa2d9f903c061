#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/indexing.hpp"

namespace glia::testing::detail {

/// The test cases of kernels that arrange elements.
template <class Check>
void check_arrangement(const Check& check) {
  check("full", [](auto& b) { b.out(b.device().run(kernels::full{{2, 3}, 1.5})); });
  check("reshape of samples", [](auto& b) {
    b.out(b.device().run(kernels::reshape{{4, 2, 3}}, b.input({4, 6}, 1)));
  });
  check("reshape", [](auto& b) {
    b.out(b.device().run(kernels::reshape{{2, 3, 4}}, b.input({4, 6}, 1)));
  });

  struct cut {
    shape x;
    std::size_t axis;
    std::size_t begin;
    std::size_t extent;
  };
  const std::vector<cut> cuts{
      {{5, 7}, 0, 1, 3},   {{5, 7}, 1, 0, 4},    {{5, 7}, 1, 6, 1},      {{3, 4, 5}, 1, 1, 2},
      {{40001}, 0, 3, 39}, {{3, 4, 5}, 2, 0, 5}, {{70, 9, 60}, 1, 4, 5}, {{1, 30000}, 1, 2, 29000}};
  for (const cut& c : cuts) {
    const std::string name = text(" of ", c.x, " along axis ", c.axis, " from ", c.begin);
    const kernels::slice slice{c.axis, c.begin, c.extent};
    const std::size_t trailing = c.x[c.axis] - c.begin - c.extent;
    check("slice" + name, [&](auto& b) { b.out(b.device().run(slice, b.input(c.x, 40))); });
    check("pad" + name, [&](auto& b) {
      b.out(b.device().run(kernels::pad{c.axis, c.begin, trailing, -0.75}, b.input(c.x, 41)));
    });
    check("concat" + name, [&](auto& b) {
      const shape thin = slice.result(real_of(c.x)).shape;
      const auto absent = b.absent();
      b.out(b.device().run(kernels::concat{c.axis}, b.input(c.x, 42), b.input(thin, 43), absent,
                           b.input(c.x, 44), absent, absent, absent, absent));
    });
  }
  check("concat and slice of integers", [](auto& b) {
    const auto absent = b.absent();
    const auto x = b.classes({1, -2, 3});
    const auto y = b.device().run(kernels::concat{}, x, x, x, x, x, x, x, x);
    b.out(b.device().run(kernels::slice{0, 2, 7}, y));
  });

  const std::vector<std::pair<shape, kernels::axis_list>> orders{
      {{5, 7}, {1, 0}},
      {{64, 64}, {1, 0}},
      {{100, 333}, {1, 0}},
      {{2, 3, 4, 5}, {0, 2, 1, 3}},
      {{2, 3, 4, 5}, {3, 1, 0, 2}},
      {{3, 9, 17}, {0, 2, 1}},
      {{3, 9, 17}, {2, 0, 1}},
      {{2, 1, 3, 1}, {2, 3, 0, 1}},
      {{3, 2, 4, 2, 3, 2}, {5, 0, 4, 1, 3, 2}},
      {{1, 3, 1}, {2, 1, 0}},
      {{7}, {0}},
      {{}, {}}};
  for (const auto& [extents, order] : orders) {
    const shape s = extents;
    const kernels::permute_axes kernel{order};
    check(text("permute_axes of ", s, " to ", order),
          [&](auto& b) { b.out(b.device().run(kernel, b.input(s, 45))); });
    check(text("permute_axes of integers ", s, " to ", order), [&](auto& b) {
      std::vector<std::int32_t> values(s.size());
      std::iota(values.begin(), values.end(), -3);
      b.out(b.device().run(kernel, b.device().run(kernels::reshape{s}, b.integers(values))));
    });
  }

  struct update_case {
    shape x;
    std::size_t axis;
    std::size_t block;
    std::int32_t begin;
  };
  const std::vector<update_case> updates{{{6}, 0, 2, 3},          {{5, 7}, 0, 2, 1},
                                         {{5, 7}, 1, 3, 4},       {{2, 3, 9, 5}, 2, 1, 8},
                                         {{2, 3, 9, 5}, 2, 4, 7}, {{3, 40, 50}, 1, 40, 5},
                                         {{2, 300, 70}, 1, 9, 1}, {{4, 5}, 1, 2, -3}};
  for (const update_case& update : updates) {
    const update_case c = update;
    check(text("update_slice of ", c.x, " along ", c.axis, ", ", c.block, " from ", c.begin),
          [&](auto& b) {
            shape part = c.x;
            part[c.axis] = c.block;
            b.out(b.device().run(kernels::update_slice{c.axis}, b.input(c.x, 51), b.input(part, 52),
                                 b.device().run(kernels::reshape{{}},
                                                b.integers(std::vector<std::int32_t>{c.begin}))));
          });
  }

  check("to_index", [](auto& b) {
    b.out(b.device().run(kernels::to_index{},
                         b.input({2, 4}, {0, 1, 16777216, 2147483648.F, -1, 0.5F, 7, -0.F})));
  });

  // Some indices appear twice, some never, and some are out of range.
  const auto indices_of = [](auto& b, const shape& s, std::size_t count) {
    std::vector<std::int32_t> values(s.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<std::int32_t>(glia::detail::random_bits({.seed = 8}, i) % (count + 2)) - 1;
    }
    return b.device().run(kernels::reshape{s}, b.integers(values));
  };
  const std::vector<std::pair<shape, shape>> tables{
      {{5, 3}, {7}},      {{4}, {2, 3}}, {{6, 2, 3}, {4, 5}}, {{9, 200}, {300}},
      {{300, 70}, {100}}, {{3, 5}, {}},  {{1, 1}, {1, 1, 1}}, {{50, 4}, {20000}}};
  for (const auto& [rows, s] : tables) {
    const shape table = rows;
    const shape indices = s;
    const std::string name = text(" of ", table, " by ", indices);
    check("gather" + name, [&](auto& b) {
      b.out(
          b.device().run(kernels::gather{}, b.input(table, 46), indices_of(b, indices, table[0])));
    });
    check("scatter_add" + name, [&](auto& b) {
      const shape y = kernels::gather::result(real_of(table), {indices, element::index}).shape;
      b.out(b.device().run(kernels::scatter_add{table[0]}, b.input(y, 47),
                           indices_of(b, indices, table[0])));
    });
  }
}

}  // namespace glia::testing::detail
