#pragma once

#include <glia/testing/conformance.hpp>
#include <vector>

#include "catch.hpp"
#include "tolerances.hpp"

namespace test {

/// Holds backends to the reference backend in double, each to the precision of its numbers.
inline void require_conformance(const std::vector<glia::device>& devices) {
  const auto results = glia::testing::run_conformance(devices);
  CHECK(results.size() > 500 * devices.size());
  for (const auto& result : results) {
    INFO("backend " << result.candidate << ", " << result.name << ": error " << result.error
                    << ", operands kept " << result.operands_kept << ", reuse agrees "
                    << result.reuse_agrees);
    CHECK(result.passed(devices[result.candidate].real_bytes() == sizeof(double)
                            ? tolerance::double_kernel
                            : tolerance::float_kernel));
  }
}

}  // namespace test
