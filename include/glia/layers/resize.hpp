#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Every pixel of x (N, H, W, C) so many times below and beside itself: (N, H rows, W columns, C).
///
/// Throws `shape_error` for inputs that are no images, `value_error` for a factor of 0.
struct upsample2d {
  extent2d factor = 2;

  static constexpr std::string_view type_name = "upsample2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() == 4, "expected images (N, H, W, C), got ", batch_text(in));
    s.expect_value(factor.height > 0 && factor.width > 0, "expected a factor of at least 1");
    const shape apart{in[0], in[1], 1, in[2], 1, in[3]};
    const shape repeated{in[0], in[1], factor.height, in[2], factor.width, in[3]};
    const shape out{in[0], in[1] * factor.height, in[2] * factor.width, in[3]};
    return ops::reshape(ops::broadcast_to(ops::reshape(std::move(x), apart), repeated), out);
  }
  [[nodiscard]] std::string description() const { return text("upsample2d(", factor, ')'); }
  friend bool operator==(const upsample2d&, const upsample2d&) = default;
};

/// Rows above and below x (N, H, W, C), columns left and right.
struct border2d {
  std::size_t top = 0;
  std::size_t bottom = 0;
  std::size_t left = 0;
  std::size_t right = 0;

  constexpr border2d(std::size_t all) : border2d(all, all, all, all) {}
  constexpr border2d(std::size_t above, std::size_t below, std::size_t before, std::size_t after)
      : top(above), bottom(below), left(before), right(after) {}

  friend constexpr bool operator==(const border2d&, const border2d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const border2d& b) {
    return out << b.top << '/' << b.bottom << '/' << b.left << '/' << b.right;
  }
};

/// x (N, H, W, C) with so many rows and columns of zeros around it.
///
/// Throws `shape_error` for inputs that are no images.
struct zero_pad2d {
  border2d border = 1;

  static constexpr std::string_view type_name = "zero_pad2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() == 4, "expected images (N, H, W, C), got ", batch_text(x.shape()));
    return ops::pad(
        ops::pad(std::move(x), {.axis = 1, .before = border.top, .after = border.bottom}),
        {.axis = 2, .before = border.left, .after = border.right});
  }
  [[nodiscard]] std::string description() const { return text("zero_pad2d(", border, ')'); }
  friend bool operator==(const zero_pad2d&, const zero_pad2d&) = default;
};

/// x (N, H, W, C) without so many rows and columns at its border.
///
/// Throws `shape_error` for inputs that are no images, or of which nothing were left.
struct crop2d {
  border2d border = 0;

  static constexpr std::string_view type_name = "crop2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() == 4, "expected images (N, H, W, C), got ", batch_text(in));
    const auto leaves = [](std::size_t extent, std::size_t before, std::size_t after) {
      return before < extent && after < extent - before;
    };
    s.expect(leaves(in[1], border.top, border.bottom) && leaves(in[2], border.left, border.right),
             "nothing is left of ", batch_text(in), " without a border of ", border);
    return ops::slice(
        ops::slice(std::move(x),
                   {.axis = 1, .begin = border.top, .extent = in[1] - border.top - border.bottom}),
        {.axis = 2, .begin = border.left, .extent = in[2] - border.left - border.right});
  }
  [[nodiscard]] std::string description() const { return text("crop2d(", border, ')'); }
  friend bool operator==(const crop2d&, const crop2d&) = default;
};

}  // namespace glia
