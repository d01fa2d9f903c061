#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/noise.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::testing::detail {

template <class Check>
void check_normalization_of(const Check& check, normalization kind, const shape& s,
                            std::size_t groups) {
  constexpr std::string_view names[] = {"batch", "layer", "group", "rms"};
  const std::string name = text(names[static_cast<std::size_t>(kind)], " normalization of ", s,
                                groups == 1 ? "" : text(" in ", groups, " groups"));
  const shape channels{s.back()};
  check(name, [&](auto& b) {
    auto result = b.device().run(kernels::normalize{kind, 1e-3, groups}, b.input(s, 24, 2, 0.5F),
                                 b.input(channels, 25), b.input(channels, 26));
    b.out(result[0]);
    b.out(result[1]);
    b.out(result[2]);
  });
  check(name + ", gradient", [&](auto& b) {
    auto x = b.input(s, 24, 2, 0.5F);
    auto gamma = b.input(channels, 25);
    auto forward =
        b.device().run(kernels::normalize{kind, 1e-3, groups}, x, gamma, b.input(channels, 26));
    auto result = b.device().run(kernels::normalize_gradient{kind, 1e-3, groups}, b.input(s, 27), x,
                                 gamma, forward[1], forward[2]);
    b.out(result[0]);
    b.out(result[1]);
    b.out(result[2]);
  });
}

/// The test cases of normalization, dropout and noise.
template <class Check>
void check_normalization(const Check& check) {
  for (const shape& s : {shape{6, 5}, shape{3, 4, 2, 70}, shape{2, 1}, shape{400, 3},
                         shape{300, 70}, shape{90, 1100}}) {
    for (const normalization kind :
         {normalization::batch, normalization::layer, normalization::group, normalization::rms}) {
      const bool grouped = kind == normalization::group;
      for (const std::size_t groups : {std::size_t{1}, std::size_t{2}, s.back()}) {
        if (s.back() % groups != 0 || (groups > 1 && (!grouped || groups > s.back()))) {
          continue;
        }
        const std::size_t together = grouped ? s.size() / s[0] / groups : s.back();
        // A single number is its own mean, so there is nothing to normalize.
        if (together > 1 || kind == normalization::batch) {
          check_normalization_of(check, kind, s, groups);
        }
        if (s.back() <= 2) {
          break;
        }
      }
    }
  }

  // Each sample has one element, so the index of the first sample is also the index of the first
  // element.
  for (const std::uint32_t first : {0U, 3U, 4294967290U}) {
    check(text("dropout from element ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(
          b.device().run(kernels::dropout{0.3, 5}, b.input({40003}, 28, 1, 3), b.integers(words)));
    });
    // Each of these samples uses whole blocks of random numbers.
    check(text("dropout from sample ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(b.device().run(kernels::dropout{0.3, 5}, b.input({7, 3, 16}, 28, 1, 3),
                           b.integers(words)));
    });
    check(text("gaussian_noise from element ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(
          b.device().run(kernels::gaussian_noise{0.3, 5}, b.input({40003}, 28), b.integers(words)));
    });
    check(text("gaussian_noise from sample ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(b.device().run(kernels::gaussian_noise{2, 5}, b.input({7, 3, 16}, 28),
                           b.integers(words)));
    });
  }
}

}  // namespace glia::testing::detail
