#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/dropout.hpp"

namespace glia {

/// Sets random elements of its input to 0 during training.
///
/// In training, each element becomes 0 with probability `rate`, and the other elements are divided
/// by 1 - rate. In inference the layer returns its input. Inputs of every shape are accepted. The
/// choice of elements depends only on the model's seed, the training step and the position of the
/// element, so it is the same on every device. Srivastava et al., JMLR 2014 (there without the
/// division).
///
/// Throws `value_error` if `rate` is outside [0, 1).
struct dropout {
  /// Probability that an element becomes 0, in [0, 1); rounded up to a multiple of 2^-16.
  double rate = 0.5;

  static constexpr std::string_view type_name = "dropout";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect_value(rate >= 0 && rate < 1, "expected a rate in [0, 1), got ", rate);
    if (!s.is_training() || rate == 0) {
      return x;
    }
    return ops::dropout(std::move(x), rate, s.next_random());
  }
  [[nodiscard]] std::string description() const { return text("dropout(", rate, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("rate", self.rate);
  }

  friend bool operator==(const dropout&, const dropout&) = default;
};

}  // namespace glia
