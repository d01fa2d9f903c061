#pragma once

#include <string>
#include <variant>
#include <vector>

#include "glia/models/zoo/zoo_network.hpp"

namespace glia::detail {

/// Returns the names of a layer's parameters, in their order.
[[nodiscard]] inline std::vector<std::string> parameter_names(const zoo_layer& layer) {
  std::vector<std::string> names;
  bool bias = false;
  if (const auto* convolution = std::get_if<conv2d>(&layer)) {
    names = {"kernel"};
    bias = convolution->use_bias;
  } else if (const auto* separable = std::get_if<separable_conv2d>(&layer)) {
    names = {"depthwise_kernel", "pointwise_kernel"};
    bias = separable->use_bias;
  } else if (const auto* normalization = std::get_if<batch_norm>(&layer)) {
    names = {"beta", "moving_mean", "moving_variance"};
    if (normalization->scale) {
      names.insert(names.begin(), "gamma");
    }
  } else if (const auto* product = std::get_if<dense>(&layer)) {
    names = {"kernel"};
    bias = product->use_bias;
  }
  if (bias) {
    names.emplace_back("bias");
  }
  return names;
}

}  // namespace glia::detail
