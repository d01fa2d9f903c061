#include <algorithm>
#include <array>
#include <glia/backends/cpu.hpp>
#include <glia/testing/conformance.hpp>

#include "catch.hpp"
#include "tolerances.hpp"

TEST_CASE("NaN and infinity come out of every kernel where IEEE 754 says") {
  // Instruction sets that are not here are those that are, a second time.
  const auto cpu_with = [](glia::cpu_loops::isa level) {
    return glia::cpu<float>({.threads = 2, .isa = std::min(level, glia::cpu_loops::best_isa())});
  };
  constexpr std::array candidates{"the reference in float", "the baseline's loops", "AVX2's loops",
                                  "AVX-512's loops", "the cpu in double"};
  for (const auto& result : glia::testing::run_special_values(
           {glia::reference<float>(), cpu_with(glia::cpu_loops::isa::baseline),
            cpu_with(glia::cpu_loops::isa::avx2), cpu_with(glia::cpu_loops::isa::avx512),
            glia::cpu<double>({.threads = 2})})) {
    INFO(candidates[result.candidate] << ", " << result.name << ": error " << result.error << ", "
                                      << result.special_value);
    CHECK(result.error <= tolerance::float_kernel);
  }
}
