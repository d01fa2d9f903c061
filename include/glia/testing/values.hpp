#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"

namespace glia::testing {

/// Returns pseudo-random numbers in [-1, 1]. They are the same on every machine, and `float`
/// represents them exactly, so that every device starts from the same bits.
[[nodiscard]] inline std::vector<float> test_values(const shape& s, std::uint32_t stream) {
  random_stream random({.seed = 2026, .stream = stream});
  std::vector<float> values(s.size());
  for (float& value : values) {
    value = static_cast<float>(2 * random.uniform() - 1);
  }
  return values;
}

}  // namespace glia::testing
