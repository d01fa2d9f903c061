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
  std::vector<product_place> products;
  std::map<std::string, std::size_t> counts;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const graph_node& node = g.nodes()[n];
    const bool product =
        node.kernel.as<kernels::dense>() != nullptr || node.kernel.as<kernels::conv2d>() != nullptr;
    if (product && fixed[node.operands[1]] && !fixed[node.operands[0]]) {
      const std::string& layer = g.place_of(node).name;
      products.push_back({n, layer, counts[layer]++});
    }
  }
  return products;
}

GLIA_INLINE void require_scales(const quantized_product& product) {
  const auto fits = [](float scale) { return std::isfinite(scale) && scale > 0; };
  for (const float scale : product.weight_scales) {
    require<value_error>(fits(scale), "quantization: expected scales above 0 for the weights of '",
                         product.layer, "', got ", scale);
  }
  require<value_error>(
      fits(product.input_scale) && product.input_zero >= 0 && product.input_zero <= 255,
      "quantization: expected a scale above 0 and a zero of 0 to 255 for the "
      "inputs of '",
      product.layer, "', got ", product.input_scale, " and ", product.input_zero);
}

GLIA_INLINE void quantize_products(graph& g, const std::vector<bool>& fixed,
                                   const quantization& plan) {
  std::vector<const quantized_product*> requested(g.nodes().size(), nullptr);
  const std::vector<product_place> places = fixed_products(g, fixed);
  for (const quantized_product& product : plan.products) {
    require_scales(product);
    bool found = false;
    for (const product_place& place : places) {
      if (place.layer == product.layer && place.number == product.number) {
        const std::size_t outputs = g.spec(g.nodes()[place.node].operands[1]).shape.back();
        require<value_error>(product.weight_scales.size() == outputs,
                             "quantization: expected one scale for each of ", outputs,
                             " outputs of '", product.layer, "', got ",
                             product.weight_scales.size());
        requested[place.node] = &product;
        found = true;
      }
    }
    require<value_error>(found, "quantization: the model has no product ", product.number,
                         " with fixed weights in the layer '", product.layer,
                         "'; calibrate the model again");
  }
  std::vector<graph_node> nodes;
  for (std::size_t n = 0; n < requested.size(); ++n) {
    graph_node& node = g.nodes()[n];
    if (requested[n] != nullptr) {
      const quantized_product& product = *requested[n];
      const auto quantized = [&](value_id x, const kernels::byte_range& range,
                                 const std::vector<double>& scales) {
        const value_id factors = g.add_constant(real_of({scales.size()}), scales);
        const value_id y = g.add_value(g.spec(x));
        nodes.push_back({kernels::fake_quantize{range}, {x, factors}, {y}, node.place});
        return y;
      };
      node.operands[0] =
          quantized(node.operands[0], {product.input_zero, 0, 255}, {double{product.input_scale}});
      node.operands[1] = quantized(
          node.operands[1], signed_bytes,
          std::vector<double>(product.weight_scales.begin(), product.weight_scales.end()));
    }
    nodes.push_back(std::move(node));
  }
  g.nodes() = std::move(nodes);
}

}  // namespace glia::passes
