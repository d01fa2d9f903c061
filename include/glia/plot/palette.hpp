#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace glia::plot {

/// The colors of a chart's series. They can be distinguished with every kind of color vision and in
/// gray print: the first four differ in lightness by more than a tenth of the range from black to
/// white, and neighbors differ in blue versus yellow. Lines also differ in their dashes and points.
inline constexpr std::array<std::string_view, 6> palette{"#17407a", "#d9642b", "#f2c230",
                                                         "#4aa3c7", "#7d4a8c", "#8a8a8a"};

/// The gray color of series that are shown for comparison.
inline constexpr std::string_view muted = "#7a8ca8";

namespace detail {

[[nodiscard]] constexpr std::string_view colour(std::size_t series) {
  return palette[series % palette.size()];
}

}  // namespace detail

}  // namespace glia::plot
