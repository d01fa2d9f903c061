#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"

namespace glia {

/// The padding of sequences: `same`, `valid`, `causal`, or numbers of steps.
///
/// One number pads both ends; two numbers are the steps before and after the sequence.
struct padding1d {
  enum class mode : std::uint8_t { no_padding, same_length, causal, numbers };

  mode kind = mode::numbers;
  std::size_t before = 0;
  std::size_t after = 0;

  template <std::convertible_to<std::string_view> Text>
  constexpr padding1d(const Text&) {
    static_assert(!std::convertible_to<Text, std::string_view>,
                  "expected a padding, got a string: write glia::same, glia::valid or glia::causal "
                  "instead of \"same\", \"valid\" or \"causal\"");
  }
  constexpr padding1d(mode padding_mode) : kind(padding_mode) {}
  constexpr padding1d(std::size_t both) : before(both), after(both) {}
  constexpr padding1d(std::size_t leading, std::size_t trailing)
      : before(leading), after(trailing) {}
  /// Converts the padding of images: `same` and `valid` keep their meaning, and left and right
  /// become before and after.
  constexpr padding1d(const padding2d& of_images)
      : kind(of_images.kind == padding2d::mode::valid  ? mode::no_padding
             : of_images.kind == padding2d::mode::same ? mode::same_length
                                                       : mode::numbers),
        before(of_images.left),
        after(of_images.right) {}

  friend constexpr bool operator==(const padding1d&, const padding1d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const padding1d& p) {
    switch (p.kind) {
      case mode::no_padding:
        return out << "valid";
      case mode::same_length:
        return out << "same";
      case mode::causal:
        return out << "causal";
      default:
        return out << "padding " << p.before << '/' << p.after;
    }
  }
};

/// Padding before the first step, so that an output depends on no later step.
inline constexpr padding1d causal{padding1d::mode::causal};

namespace detail {

/// Returns the shape of sequences (N, T, C) as images of one row, (N, 1, T, C).
[[nodiscard]] inline shape as_row(const shape& x) { return {x[0], 1, x[1], x[2]}; }
/// Returns the shape of images of one row (N, 1, T, C) as sequences, (N, T, C).
[[nodiscard]] inline shape without_row(const shape& x) { return {x[0], x[2], x[3]}; }

/// Returns a window on sequences (N, T, C), which are treated as images of one row. Throws
/// `value_error` if a number is invalid, and `shape_error` if the window does not fit the padded
/// sequences. Error messages call the size of the window `option`.
[[nodiscard]] inline window2d window_on_row(const scope& s, const shape& x, std::string_view option,
                                            std::size_t size, std::size_t stride,
                                            std::size_t dilation, const padding1d& padding) {
  s.expect(x.rank() == 3, "expected sequences (N, T, C), got ", batch_text(x),
           "; add reshape{{T, C}} before it");
  s.expect_value(size > 0 && stride > 0 && dilation > 0, "expected ", option,
                 ", strides and dilation_rate of at least 1");
  const padding2d around = padding.kind == padding1d::mode::same_length
                               ? same
                               : padding2d{0, 0, padding.before, padding.after};
  window2d window = resolve_window(as_row(x), {1, size}, {1, stride}, {1, dilation}, around);
  if (padding.kind == padding1d::mode::causal) {
    window.pad_left = (size - 1) * dilation;
  }
  s.expect_value(size <= largest_window && within_largest_window(window), "expected ", option,
                 ", strides, dilation_rate and padding of at most ", largest_window);
  s.expect(x[1] + window.pad_left + window.pad_right >= (size - 1) * dilation + 1, "the ", option,
           " is larger than the padded sequence ", batch_text(x),
           "; use a smaller one, or .padding = same");
  return window;
}

}  // namespace detail

}  // namespace glia
