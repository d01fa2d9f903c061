#include <algorithm>
#include <glia/backends/cpu.hpp>
#include <glia/testing/conformance.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

// What the conformance suite has to notice.

namespace {

/// The cpu backend with one kernel broken, to see that the suite notices.
struct broken : glia::cpu<float> {
  using glia::cpu<float>::cpu;

  template <glia::kernel K, std::same_as<tensor>... Operands>
  requires glia::runs<glia::cpu<float>, K>
  [[nodiscard]] glia::results_t<K, tensor> run(const K& k, Operands... operands) const {
    if constexpr (std::same_as<K, kernels::dropout>) {
      // Overwrites its operand although others may hold it.
      std::get<0>(std::tie(operands...)).data()[0] = 0;
    }
    auto result = glia::cpu<float>::run(k, std::move(operands)...);
    if constexpr (std::same_as<K, kernels::softmax>) {
      result.data()[0] += 0.001F;
    }
    if constexpr (std::same_as<K, kernels::unary>) {
      // Loses what is not a number.
      for (std::size_t i = 0; k.map.function == glia::unary_function::relu && i < result.size();
           ++i) {
        result.data()[i] = result.data()[i] > 0 ? result.data()[i] : 0.0F;
      }
    }
    return result;
  }
};

}  // namespace

TEST_CASE("the conformance suite notices a wrong number and a stolen operand, and whose they are") {
  std::size_t wrong = 0;
  std::size_t stolen = 0;
  for (const auto& result : glia::testing::run_conformance(glia::cpu<float>(), broken())) {
    if (result.candidate == 0) {
      CHECK(result.passed(tolerance::float_kernel));
      continue;
    }
    wrong +=
        result.name.starts_with("softmax of (7, 10)") && !result.passed(tolerance::float_kernel);
    stolen += result.name.starts_with("dropout") && !result.operands_kept;
  }
  CHECK(wrong >= 1);
  CHECK(stolen == 6);
}

TEST_CASE("the suite notices a NaN that is lost, and who lost it") {
  const auto results = glia::testing::run_special_values(broken(), glia::cpu<float>());
  const auto lost = [&](std::size_t candidate) {
    return std::count_if(results.begin(), results.end(), [&](const auto& result) {
      return result.name == "relu of 37 elements" && result.candidate == candidate &&
             result.error > 1;
    });
  };
  CHECK(lost(0) == 1);
  CHECK(lost(1) == 0);
}
