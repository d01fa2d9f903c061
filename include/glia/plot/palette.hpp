#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace glia::plot {

/// The colors of a chart's series. The first four colors can be distinguished with every kind of
/// color vision and in gray print: any two of them differ in lightness by more than 7 (CIE 1976 L*,
/// 0 for black to 100 for white). Lines also differ in their dashes and points.
inline constexpr std::array<std::string_view, 6> palette{"#17407a", "#d9642b", "#f2c230",
                                                         "#4aa3c7", "#7d4a8c", "#8a8a8a"};

/// The gray color of bars that are shown for comparison.
inline constexpr std::string_view muted = "#7a8ca8";

namespace detail {

[[nodiscard]] constexpr std::string_view color(std::size_t series) {
  return palette[series % palette.size()];
}

}  // namespace detail

}  // namespace glia::plot
