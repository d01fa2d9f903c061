#include <algorithm>
#include <glia/backends/cpu.hpp>
#include <glia/testing/conformance.hpp>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

// What the conformance suite has to notice.

namespace {

/// The cpu backend with some kernels broken, to see that the suite notices.
class broken_backend : public test::forwarding_backend {
 public:
  broken_backend() : forwarding_backend(glia::cpu<float>()) {}

  void run(const glia::kernel_call& call) const override {
    if (call.as<kernels::dropout>() != nullptr) {
      // Overwrites its operand although others may hold it.
      test::data_of(call.operands[0])[0] = 0;
    }
    forwarding_backend::run(call);
    const glia::tensor& result = call.results[0];
    if (call.as<kernels::softmax>() != nullptr) {
      test::data_of(result)[0] += 0.001F;
    }
    const auto* const unary = call.as<kernels::unary>();
    if (unary != nullptr && unary->map.function == glia::unary_function::relu) {
      // Loses what is not a number.
      float* const values = test::data_of(result);
      for (std::size_t i = 0; i < result.size(); ++i) {
        values[i] = values[i] > 0 ? values[i] : 0.0F;
      }
    }
  }
};

glia::device broken() { return glia::device(std::make_shared<const broken_backend>()); }

}  // namespace

TEST_CASE("the conformance suite notices a wrong number and a stolen operand, and whose they are") {
  std::size_t wrong = 0;
  std::size_t stolen = 0;
  for (const auto& result : glia::testing::run_conformance({glia::cpu<float>(), broken()})) {
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
  const auto results = glia::testing::run_special_values({broken(), glia::cpu<float>()});
  const auto lost = [&](std::size_t candidate) {
    return std::count_if(results.begin(), results.end(), [&](const auto& result) {
      return result.name == "relu of 37 elements" && result.candidate == candidate &&
             result.error > 1;
    });
  };
  CHECK(lost(0) == 1);
  CHECK(lost(1) == 0);
}
