#include <glia/backends/cpu.hpp>
#include <glia/testing/conformance.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

template <glia::backend B>
void require_special_values(const B& device) {
  for (const auto& result : glia::testing::run_special_values(device)) {
    INFO(result.name << ": error " << result.error << ", " << result.where);
    CHECK(result.error <= tolerance::float_kernel);
  }
}

}  // namespace

TEST_CASE("NaN and infinity come out of every kernel where IEEE 754 says: reference in float") {
  require_special_values(glia::reference<float>());
}
TEST_CASE("NaN and infinity come out of every kernel where IEEE 754 says: cpu") {
  for (const auto level :
       {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2, glia::cpu_loops::isa::avx512}) {
    if (level <= glia::cpu_loops::best_isa()) {
      INFO("instruction set " << static_cast<int>(level));
      require_special_values(glia::cpu<float>({.threads = 2, .isa = level}));
    }
  }
}
TEST_CASE("NaN and infinity come out of every kernel where IEEE 754 says: cpu in double") {
  require_special_values(glia::cpu<double>({.threads = 2}));
}
