#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/quantization.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::passes {

GLIA_INLINE std::vector<product_place> fixed_products(const graph& g,
                                                      const std::vector<bool>& fixed) {
  std::vector<product_place> all;
  std::map<std::string, std::size_t> counts;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const graph_node& node = g.nodes()[n];
    const bool product =
        node.kernel.as<kernels::dense>() != nullptr || node.kernel.as<kernels::conv2d>() != nullptr;
    if (product && fixed[node.operands[1]] && !fixed[node.operands[0]]) {
      const std::string& layer = g.place_of(node).name;
      all.push_back({n, layer, counts[layer]++});
    }
  }
  return all;
}

GLIA_INLINE void require_scales(const quantized_product& one) {
  const auto fits = [](float scale) { return std::isfinite(scale) && scale > 0; };
  for (const float scale : one.weight_scales) {
    require<value_error>(fits(scale), "quantization: expected scales above 0 for the weights of '",
                         one.layer, "', got ", scale);
  }
  require<value_error>(fits(one.input_scale) && one.input_zero >= 0 && one.input_zero <= 255,
                       "quantization: expected a scale above 0 and a zero of 0 to 255 for the "
                       "inputs of '",
                       one.layer, "', got ", one.input_scale, " and ", one.input_zero);
}

GLIA_INLINE void quantize_products(graph& g, const std::vector<bool>& fixed,
                                   const quantization& how) {
  std::vector<const quantized_product*> wanted(g.nodes().size(), nullptr);
  const std::vector<product_place> places = fixed_products(g, fixed);
  for (const quantized_product& one : how.products) {
    require_scales(one);
    bool found = false;
    for (const product_place& place : places) {
      if (place.layer == one.layer && place.number == one.number) {
        const std::size_t outputs = g.spec(g.nodes()[place.node].operands[1]).shape.back();
        require<value_error>(one.weight_scales.size() == outputs,
                             "quantization: expected one scale for each of ", outputs,
                             " outputs of '", one.layer, "', got ", one.weight_scales.size());
        wanted[place.node] = &one;
        found = true;
      }
    }
    require<value_error>(found, "quantization: the model has no product ", one.number,
                         " with fixed weights in the layer '", one.layer,
                         "'; calibrate the model again");
  }
  std::vector<graph_node> made;
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    graph_node& node = g.nodes()[n];
    if (wanted[n] != nullptr) {
      const quantized_product& one = *wanted[n];
      const auto quantized = [&](value_id x, const kernels::byte_range& range,
                                 const std::vector<double>& scales) {
        const value_id by = g.add_constant(real_of({scales.size()}), scales);
        const value_id y = g.add_value(g.spec(x));
        made.push_back({kernels::fake_quantize{range}, {x, by}, {y}, node.place});
        return y;
      };
      node.operands[0] =
          quantized(node.operands[0], {one.input_zero, 0, 255}, {double{one.input_scale}});
      node.operands[1] =
          quantized(node.operands[1], signed_bytes,
                    std::vector<double>(one.weight_scales.begin(), one.weight_scales.end()));
    }
    made.push_back(std::move(node));
  }
  g.nodes() = std::move(made);
}

}  // namespace glia::passes
