#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/image/image.hpp"

namespace glia {

/// The values that `to_image` shows as black and as white. `black` may be larger than `white`.
struct image_levels {
  float black = 0;  ///< Value shown as black.
  float white = 1;  ///< Value shown as white.
};

/// Converts values to an image. The shape is (H, W), (H, W, 1) or (H, W, 3), without a batch axis.
///
/// Values between `black` and `white` are mapped linearly to 0 to 255. Values outside this range
/// are clamped, and NaN becomes black.
///
/// Throws `shape_error` for another shape or another number of values, and `value_error` if `black`
/// equals `white`.
[[nodiscard]] inline image to_image(std::span<const float> values, const shape& s,
                                    const image_levels& levels = {}) {
  require<shape_error>(s.rank() == 2 || (s.rank() == 3 && (s[2] == 1 || s[2] == 3)),
                       "to_image: expected values (H, W), (H, W, 1) or (H, W, 3), got ", s,
                       "; to convert a batch, pass one sample at a time");
  require<shape_error>(s.size() > 0 && values.size() == s.size(), "to_image: ", values.size(),
                       " values do not fill an image ", s);
  const float range = levels.white - levels.black;
  require<value_error>(range != 0 && std::isfinite(range),
                       "to_image: expected different values for black and white, got ",
                       levels.black, " and ", levels.white);
  image result{s[0], s[1], std::vector<std::uint8_t>(s[0] * s[1] * 3)};
  const std::size_t channels = s.rank() == 3 ? s[2] : 1;
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    const float share = (values[i / 3 * channels + i % 3 % channels] - levels.black) / range;
    const float level = std::isnan(share) ? 0 : std::clamp(share, 0.0F, 1.0F);
    result.pixels[i] = static_cast<std::uint8_t>(std::lround(255 * level));
  }
  return result;
}

/// Converts an xtensor array or expression to an image, such as one sample of a model's
/// predictions. The shape is (H, W), (H, W, 1) or (H, W, 3).
///
///     glia::to_image(xt::view(outputs, 0, xt::all(), xt::all()))
///
/// Throws `shape_error` for another shape, and `value_error` if `black` equals `white`.
template <class E>
[[nodiscard]] image to_image(const xt::xexpression<E>& values, const image_levels& levels = {}) {
  const xt::xarray<float> elements = values.derived_cast();
  return to_image(std::span<const float>(elements.data(), elements.size()),
                  shape(elements.shape().begin(), elements.shape().end()), levels);
}

}  // namespace glia
