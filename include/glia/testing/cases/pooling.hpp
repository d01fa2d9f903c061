#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/testing/values.hpp"

namespace glia::testing::detail {

/// The test cases of pooling.
template <class Check>
void check_pooling(const Check& check) {
  struct pooling {
    shape x;
    window2d window;
  };
  const std::vector<pooling> poolings{{{1, 4, 6, 1}, {2, 2, 2, 2}},
                                      {{2, 5, 7, 3}, {2, 2, 2, 2}},
                                      {{2, 5, 7, 3}, {3, 2, 1, 2}},
                                      {{3, 6, 5, 4}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
                                      {{2, 5, 4, 2}, {2, 2, 2, 2, 1, 1, 0, 1, 0, 1}},
                                      {{9, 12, 10, 17}, {2, 3, 2, 3}}};
  for (const pooling& p : poolings) {
    const std::string name = text(" of ", p.x, ", window ", p.window.height, "x", p.window.width);
    const shape y = kernels::pool_rule(p.x, p.window).output();
    check("max_pool2d" + name, [&](auto& b) {
      const auto result = b.device().run(kernels::max_pool2d{p.window}, b.input(p.x, 19));
      b.out(result[0]);
      b.out(result[1]);
    });
    // Rounding to multiples of 0.5 gives windows with equal maxima. The kernel must select the
    // first of them.
    check("max_pool2d with ties" + name, [&](auto& b) {
      std::vector<float> values = test_values(p.x, 20);
      for (float& value : values) {
        value = std::round(value * 2) / 2;
      }
      b.out(b.device().run(kernels::max_pool2d{p.window}, b.input(p.x, std::move(values)))[1]);
    });
    check("max_pool2d_gradient" + name, [&](auto& b) {
      auto position = b.device().run(kernels::max_pool2d{p.window}, b.input(p.x, 19))[1];
      b.out(b.device().run(kernels::max_pool2d_gradient{p.window, sample_of(p.x)}, b.input(y, 21),
                           std::move(position)));
    });
    check("avg_pool2d" + name,
          [&](auto& b) { b.out(b.device().run(kernels::avg_pool2d{p.window}, b.input(p.x, 22))); });
    check("avg_pool2d_gradient" + name, [&](auto& b) {
      b.out(b.device().run(kernels::avg_pool2d_gradient{p.window, sample_of(p.x)}, b.input(y, 23)));
    });
  }
}

}  // namespace glia::testing::detail
