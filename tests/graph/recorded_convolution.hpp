#pragma once

#include <glia/backends/recorder.hpp>
#include <string>

#include "helpers.hpp"

namespace test {

/// What a graph's nodes call, in order.
inline std::string calls(const glia::graph& g) {
  std::string result;
  for (const glia::graph_node& node : g.nodes()) {
    result += (result.empty() ? "" : " ") + std::string(node.kernel.name());
  }
  return result;
}

/// The convolution of a pair of images with two filters, recorded, and what comes behind it.
struct recorded_convolution {
  glia::recorder rec;
  glia::tensor x = rec.input("x", glia::real_of({2, 6, 6, 3}));
  glia::tensor w = rec.input("w", glia::real_of({3, 3, 3, 4}));
  glia::tensor b = rec.input("b", glia::real_of({4}));
  glia::tensor y = rec.run(kernels::conv2d{{3, 3}}, x, w, b);

  [[nodiscard]] glia::tensor unary(const glia::unary_map& map, const glia::tensor& operand) const {
    return rec.run(kernels::unary{map}, operand);
  }
};

}  // namespace test
