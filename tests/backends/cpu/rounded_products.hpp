#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"
#include "conforming.hpp"
#include "helpers.hpp"

// What tests of devices share whose products have rounded factors.
namespace test {

using glia::cpu_loops::isa;

/// A cpu with these products and at most this instruction set.
inline glia::device rounding_cpu(const glia::cpu_products& products, std::size_t threads,
                                 isa level = glia::cpu_loops::best_isa()) {
  return glia::cpu({.threads = threads,
                    .isa = std::min(level, glia::cpu_loops::best_isa()),
                    .products = products});
}

/// Numbers of many sizes.
inline glia::tensor drawn(const glia::device& device, const glia::shape& s, std::uint32_t stream) {
  std::vector<float> values(s.size());
  glia::random_stream random({.seed = 5, .stream = stream});
  for (float& value : values) {
    value = static_cast<float>(std::exp(2 * random.normal()) * random.normal());
  }
  return tensor_of(device, s, values);
}

/// Requires that a product has the same bits with any number of threads, and with the instructions
/// of this processor as with those of every processor.
inline void require_same_bits(const glia::cpu_products& products, const std::string& name,
                              const auto& product) {
  INFO(name);
  const auto on = [&](const glia::device& device) { return values_of(device, product(device)); };
  const std::vector<float> expected = on(rounding_cpu(products, 1));
  // In parentheses, because printing all numbers takes minutes.
  CHECK((on(rounding_cpu(products, 2)) == expected));
  CHECK((on(rounding_cpu(products, 3)) == expected));
  CHECK((on(rounding_cpu(products, 2, isa::avx2)) == expected));
  CHECK((on(rounding_cpu(products, 3, isa::baseline)) == expected));
}

/// Operands that are rounded before do not change, so that only sums are rounded, as in float.
/// Kernels that compute several products also round the numbers between them.
inline void require_rounded_conformance(const std::vector<glia::device>& devices) {
  constexpr double unit = 1.0 / 256;  // bfloat16 has 8 significant bits
  for (const auto& result : glia::testing::run_conformance(devices, {.bfloat16_operands = true})) {
    INFO("device " << result.candidate << ", " << result.name << ": error " << result.error);
    const bool attends = result.name.starts_with("attention");
    const bool chained = result.name.find(" convolutions of ") != std::string::npos;
    // The sums of a chain of convolutions are up to a hundred times as large as its inputs.
    CHECK(result.passed(chained ? 64 * unit : attends ? unit : tolerance::float_kernel));
  }
}

}  // namespace test
