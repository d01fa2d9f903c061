#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "glia/onnx/reading/numbers.hpp"

namespace glia::onnx {

/// A type of real numbers with fewer digits than single precision: those of size 2^e, with e from
/// `least` to `most`, have `digits` binary digits, smaller ones the steps of 2^least.
struct number_format {
  int digits;
  int least;
  int most;

  [[nodiscard]] double step() const { return std::ldexp(1, 1 - digits); }
  [[nodiscard]] double limit() const { return std::ldexp(1, most + 1); }

  /// The nearest number of the type, of two the even one; infinity for what is too large.
  [[nodiscard]] double nearest(double x) const {
    if (!std::isfinite(x) || x == 0) {
      return x;
    }
    const double scale = std::ldexp(1, std::max(std::ilogb(x), least)) * step();
    const double near = std::nearbyint(x / scale) * scale;
    return std::abs(near) < limit() ? near
                                    : std::copysign(std::numeric_limits<double>::infinity(), x);
  }
};

/// The format of half precision and of bfloat16; none of other types, which have the digits of
/// single precision or more.
[[nodiscard]] inline std::optional<number_format> format_of(element_type type) {
  using P = ::onnx::TensorProto;
  return type == P::FLOAT16    ? std::optional<number_format>({11, -14, 15})
         : type == P::BFLOAT16 ? std::optional<number_format>({8, -126, 127})
                               : std::nullopt;
}

}  // namespace glia::onnx
