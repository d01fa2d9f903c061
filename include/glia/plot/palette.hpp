#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace glia::plot {

/// The colours of a chart's series. The first four differ in lightness by more than a tenth of the
/// way from black to white, and neighbours in blue against yellow: they can be told apart with
/// every kind of colour vision, and printed in grey. Lines also differ in their dashes and points.
inline constexpr std::array<std::string_view, 6> palette{"#17407a", "#d9642b", "#f2c230",
                                                         "#4aa3c7", "#7d4a8c", "#8a8a8a"};

/// The colour of what is there for comparison.
inline constexpr std::string_view muted = "#7a8ca8";

namespace detail {

[[nodiscard]] constexpr std::string_view colour(std::size_t series) {
  return palette[series % palette.size()];
}

}  // namespace detail

}  // namespace glia::plot
