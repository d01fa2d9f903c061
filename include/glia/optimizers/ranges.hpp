#pragma once

#include <cmath>
#include <string_view>

#include "glia/core/error.hpp"

namespace glia::detail {

/// Throws `value_error` if `weight_decay` is negative, if `epsilon` is not positive, or if one of
/// them is not finite.
inline void require_ranges(std::string_view optimizer, double weight_decay, double epsilon = 1) {
  require<value_error>(weight_decay >= 0 && std::isfinite(weight_decay), optimizer,
                       ": expected a finite weight_decay of at least 0, got ", weight_decay);
  require<value_error>(epsilon > 0 && std::isfinite(epsilon), optimizer,
                       ": expected a finite positive epsilon, got ", epsilon);
}

}  // namespace glia::detail
