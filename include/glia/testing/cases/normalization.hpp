#pragma once

#include <cstdint>
#include <string>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/noise.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::testing::detail {

/// The cases of normalisation, dropout and noise.
template <class Check>
void check_normalization(const Check& check) {
  for (const shape& s : {shape{6, 5}, shape{3, 4, 2, 70}, shape{2, 1}, shape{400, 3},
                         shape{300, 70}, shape{90, 1100}}) {
    for (const normalization kind : {normalization::batch, normalization::layer}) {
      if (kind == normalization::layer && s.back() == 1) {
        continue;  // One feature is its own mean: nothing is left to normalise.
      }
      const std::string name =
          text(kind == normalization::batch ? "batch" : "layer", " normalisation of ", s);
      const shape channels{s.back()};
      check(name, [&](auto& b) {
        auto result = b.device().run(kernels::normalize{kind, 1e-3}, b.in(s, 24, 2, 0.5F),
                                     b.in(channels, 25), b.in(channels, 26));
        b.out(result[0]);
        b.out(result[1]);
        b.out(result[2]);
      });
      check(name + ", gradient", [&](auto& b) {
        auto x = b.in(s, 24, 2, 0.5F);
        auto gamma = b.in(channels, 25);
        auto forward = b.device().run(kernels::normalize{kind, 1e-3}, x, gamma, b.in(channels, 26));
        auto result = b.device().run(kernels::normalize_gradient{kind, 1e-3}, b.in(s, 27), x, gamma,
                                     forward[1], forward[2]);
        b.out(result[0]);
        b.out(result[1]);
        b.out(result[2]);
      });
    }
  }

  // With samples of one element, the first one's number is that of the element.
  for (const std::uint32_t first : {0U, 3U, 4294967290U}) {
    check(text("dropout from element ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(b.device().run(kernels::dropout{0.3, 5}, b.in({40003}, 28, 1, 3), b.integers(words)));
    });
    // Each of these is made of whole blocks of random numbers.
    check(text("dropout from sample ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(
          b.device().run(kernels::dropout{0.3, 5}, b.in({7, 3, 16}, 28, 1, 3), b.integers(words)));
    });
    check(text("gaussian_noise from element ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(b.device().run(kernels::gaussian_noise{0.3, 5}, b.in({40003}, 28), b.integers(words)));
    });
    check(text("gaussian_noise from sample ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(b.device().run(kernels::gaussian_noise{2, 5}, b.in({7, 3, 16}, 28), b.integers(words)));
    });
  }
}

}  // namespace glia::testing::detail
