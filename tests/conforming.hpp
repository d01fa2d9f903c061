#pragma once

#include <array>
#include <glia/testing/conformance.hpp>

#include "catch.hpp"
#include "tolerances.hpp"

namespace test {

/// Holds backends to the reference backend in double, each to the precision of its numbers.
template <glia::backend... B>
void require_conformance(const B&... devices) {
  constexpr std::array tolerances{(sizeof(typename B::value_type) == sizeof(double)
                                       ? tolerance::double_kernel
                                       : tolerance::float_kernel)...};
  const auto results = glia::testing::run_conformance(devices...);
  CHECK(results.size() > 500 * sizeof...(B));
  for (const auto& result : results) {
    INFO("backend " << result.candidate << ", " << result.name << ": error " << result.error
                    << ", operands kept " << result.operands_kept << ", reuse agrees "
                    << result.reuse_agrees);
    CHECK(result.passed(tolerances[result.candidate]));
  }
}

}  // namespace test
