#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "glia/onnx/reading/numbers.hpp"

namespace glia::onnx {

/// A floating-point type with fewer digits than single precision. Numbers from 2^e to 2^(e + 1),
/// with e from `min_exponent` to `max_exponent`, have `digits` binary digits. Smaller numbers have
/// the same step size as 2^min_exponent.
struct number_format {
  int digits;
  int min_exponent;
  int max_exponent;

  [[nodiscard]] double step() const { return std::ldexp(1, 1 - digits); }
  [[nodiscard]] double limit() const { return std::ldexp(1, max_exponent + 1); }

  /// Returns the nearest number of the type. Ties go to the even number. Numbers that are too large
  /// become infinity.
  [[nodiscard]] double nearest(double x) const {
    if (!std::isfinite(x) || x == 0) {
      return x;
    }
    const double scale = std::ldexp(1, std::max(std::ilogb(x), min_exponent)) * step();
    const double near = std::nearbyint(x / scale) * scale;
    return std::abs(near) < limit() ? near
                                    : std::copysign(std::numeric_limits<double>::infinity(), x);
  }
};

/// Returns the format of half precision or bfloat16. Returns nothing for other types, which have at
/// least as many digits as single precision.
[[nodiscard]] inline std::optional<number_format> format_of(element_type type) {
  using P = ::onnx::TensorProto;
  return type == P::FLOAT16    ? std::optional<number_format>({11, -14, 15})
         : type == P::BFLOAT16 ? std::optional<number_format>({8, -126, 127})
                               : std::nullopt;
}

}  // namespace glia::onnx
