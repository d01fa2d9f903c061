#pragma once

#include <cstddef>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/classification.hpp"

namespace glia::testing::detail {

/// The test cases of kernels for classification.
template <class Check>
void check_classification(const Check& check) {
  for (const shape& s : {shape{1, 2}, shape{7, 10}, shape{3, 1000}}) {
    const shape rows{s[0]};
    check(text("softmax of ", s),
          [&](auto& b) { b.out(b.device().run(kernels::softmax{}, b.input(s, 29, 10))); });
    check(text("softmax of ", s, ", gradient"), [&](auto& b) {
      b.out(b.device().run(kernels::softmax_gradient{}, b.input(s, 30),
                           b.device().run(kernels::softmax{}, b.input(s, 29, 3))));
    });
    check(text("softmax_cross_entropy of ", s), [&](auto& b) {
      auto result = b.device().run(kernels::softmax_cross_entropy{}, b.input(s, 31, 10),
                                   b.input(s, 32, 0.5F, 0.5F));
      b.out(result[0]);
      b.out(result[1]);
    });
    check(text("softmax_cross_entropy of ", s, ", gradient"), [&](auto& b) {
      b.out(b.device().run(kernels::softmax_cross_entropy_gradient{}, b.input(rows, 33),
                           b.device().run(kernels::softmax{}, b.input(s, 31)),
                           b.input(s, 32, 0.5F, 0.5F)));
    });
  }
  check("softmax_cross_entropy of steps", [](auto& b) {
    const shape s{4, 3, 5};
    auto result = b.device().run(kernels::softmax_cross_entropy{}, b.input(s, 31, 10),
                                 b.input(s, 32, 0.5F, 0.5F));
    b.out(result[0]);
    b.out(result[1]);
    b.out(b.device().run(kernels::softmax_cross_entropy_gradient{}, b.input({4, 3}, 33), result[1],
                         b.input(s, 32, 0.5F, 0.5F)));
  });
  check("softmax_cross_entropy of large logits", [](auto& b) {
    auto result = b.device().run(kernels::softmax_cross_entropy{},
                                 b.input({2, 3}, {1000, 0, -1000, 80, 81, 79}),
                                 b.input({2, 3}, {1, 0, 0, 0, 1, 0}));
    b.out(result[0]);
    b.out(result[1]);
  });

  check("one_hot", [](auto& b) {
    b.out(b.device().run(kernels::one_hot{4, 0.9, 0.1}, b.classes({2, 0, 3})));
    const auto steps = b.device().run(kernels::reshape{{2, 2}}, b.classes({2, -1, 3, 4}));
    b.out(b.device().run(kernels::one_hot{4, 0.9, 0.1}, steps));
  });
  check("argmax", [](auto& b) {
    b.out(b.device().run(kernels::argmax{}, b.input({3, 3}, {1, 3, 2, 5, 5, 4, -1, -3, -2})));
  });
  for (std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    check(text("in_top_", k), [&](auto& b) {
      b.out(b.device().run(kernels::in_top_k{k},
                           b.input({3, 4}, {1, 3, 2, 0, 5, 5, 4, 4, 0, 1, 2, 3}),
                           b.classes({2, 1, 0})));
    });
  }
}

}  // namespace glia::testing::detail
