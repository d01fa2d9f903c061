#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::testing::detail {

/// The test cases of element-wise kernels.
template <class Check>
void check_elementwise(const Check& check) {
  for (int f = 0; f <= static_cast<int>(unary_function::gelu); ++f) {
    const auto function = static_cast<unary_function>(f);
    // The inputs are positive if the function requires it. Otherwise they lie on both sides of zero
    // and of the kinks.
    const bool positive = function == unary_function::sqrt || function == unary_function::log ||
                          function == unary_function::reciprocal || function == unary_function::pow;
    const unary_map map{function, function == unary_function::clamp ? -0.5 : 0.75, 1.25};
    for (std::size_t n : {std::size_t{1}, std::size_t{37}, std::size_t{40001}}) {
      const std::string name = text(name_of(function), " of ", n, " elements");
      check(name, [&](auto& b) {
        b.out(b.device().run(kernels::unary{map}, b.input({n}, 2, 4, positive ? 5.0F : 0.0F)));
      });
      check(name + ", gradient", [&](auto& b) {
        auto saved = b.input({n}, 3, 4, positive ? 5.0F : 0.0F);
        if (kernels::saved_for_gradient(function) == kernels::saved_operand::output) {
          saved = b.device().run(kernels::unary{map}, saved);
        }
        b.out(b.device().run(kernels::unary_gradient{map}, b.input({n}, 4), std::move(saved)));
      });
    }
  }

  const std::vector<std::pair<shape, shape>> pairs{
      {{5, 7}, {5, 7}},    {{5, 7}, {7}},       {{5, 7}, {5, 1}},
      {{5, 7}, {}},        {{}, {5, 7}},        {{1, 7}, {5, 1}},
      {{2, 3, 5}, {3, 1}}, {{3, 1}, {2, 1, 5}}, {{200, 300}, {200, 300}},
      {{200, 300}, {300}}, {{1}, {1}},          {{4, 1, 3}, {4, 2, 1}}};
  for (const auto& [left, right] : pairs) {
    const shape a = left;
    const shape c = right;
    for (int f = 0; f <= static_cast<int>(binary_function::equal); ++f) {
      check(text("binary function ", f, " of ", a, " and ", c), [&](auto& b) {
        b.out(b.device().run(kernels::binary{static_cast<binary_function>(f)}, b.input(a, 5),
                             b.input(c, 6, 1, 2)));
      });
    }
    check(text("broadcast_to from ", c), [&](auto& b) {
      b.out(b.device().run(kernels::broadcast_to{kernels::broadcast_shape(a, c)}, b.input(c, 7)));
    });
    check(text("sum_to ", c), [&](auto& b) {
      b.out(b.device().run(kernels::sum_to{c}, b.input(kernels::broadcast_shape(a, c), 8)));
    });
  }

  for (const shape& s : {shape{}, shape{1}, shape{7, 3}, shape{300, 301}}) {
    check(text("norm of ", s),
          [&](auto& b) { b.out(b.device().run(kernels::norm{}, b.input(s, 90, 0.01F))); });
  }

  const std::vector<std::array<shape, 3>> choices{{{{5, 7}, {5, 7}, {5, 7}}},
                                                  {{{5, 7}, {}, {5, 7}}},
                                                  {{{5, 7}, {5, 7}, {1}}},
                                                  {{{5, 7}, {}, {}}},
                                                  {{{5, 1}, {5, 7}, {7}}},
                                                  {{{5, 1}, {}, {7}}},
                                                  {{{}, {5, 7}, {5, 1}}},
                                                  {{{3, 1}, {2, 1, 5}, {}}},
                                                  {{{}, {}, {}}},
                                                  {{{40001}, {40001}, {40001}}},
                                                  {{{300}, {200, 1}, {200, 300}}}};
  for (const auto& shapes : choices) {
    check(text("select by ", shapes[0], " of ", shapes[1], " and ", shapes[2]), [&](auto& b) {
      auto condition = b.sparse(shapes[0], 48);
      b.out(b.device().run(kernels::select{}, std::move(condition), b.input(shapes[1], 49),
                           b.input(shapes[2], 50)));
    });
  }
  // Includes numbers halfway between two integers, both limits, and one scale for each channel.
  check("fake_quantize", [](auto& b) {
    b.out(
        b.device().run(kernels::fake_quantize{{3, 0, 10}},
                       b.input({2, 5}, {0.25F, 0.75F, -0.25F, 1.25F, 9, -9, 0, 0.1F, -1.6F, 3.4F}),
                       b.input({1}, std::vector<float>{0.5F})));
    b.out(b.device().run(kernels::fake_quantize{signed_bytes}, b.input({3, 2, 5}, 71, 40),
                         b.input({5}, {0.125F, 0.25F, 0.5F, 1, 0.3F})));
  });
}

}  // namespace glia::testing::detail
