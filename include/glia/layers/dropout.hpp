#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/dropout.hpp"

namespace glia {

/// While training, sets each element to 0 with probability `rate` and divides the others by
/// 1 - rate; otherwise passes its input on. The mask is a function of the model's seed, the step
/// and the element, the same on every backend. Srivastava et al., JMLR 2014 (there without the
/// division).
///
/// Throws `value_error` for a rate outside its range.
struct dropout {
  double rate = 0.5;  ///< in [0, 1); rounded up to a multiple of 2^-16 for the decision

  static constexpr std::string_view type_name = "dropout";
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect_value(rate >= 0 && rate < 1, "expected a rate in [0, 1)");
    if (!s.training() || rate == 0) {
      return x;
    }
    return ops::dropout(std::move(x), rate, s.next_random());
  }
  [[nodiscard]] std::string description() const { return text("dropout(", rate, ')'); }
  friend bool operator==(const dropout&, const dropout&) = default;
};

}  // namespace glia
