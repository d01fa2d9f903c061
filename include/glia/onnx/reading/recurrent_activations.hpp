#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/functions.hpp"

// The activations of recurrent nodes.
namespace glia::onnx::reading::detail {

/// An activation that the ONNX standard defines, and its parameters.
struct recurrent_activation {
  std::string name;  ///< Name in lower case.
  double alpha = 0;
  double beta = 0;

  friend bool operator==(const recurrent_activation&, const recurrent_activation&) = default;
};

/// Returns the activations with these names. `alphas` and `betas` contain only the parameters of
/// activations that need one, in order.
[[nodiscard]] inline std::vector<recurrent_activation> activations_of(
    const std::vector<std::string>& names, const std::vector<double>& alphas,
    const std::vector<double>& betas) {
  // Default parameters. -1 means that the node must give the parameter.
  struct known {
    std::string_view name;
    std::optional<double> alpha{};
    std::optional<double> beta{};
  };
  const known known_activations[] = {{"sigmoid"},
                                     {"tanh"},
                                     {"relu"},
                                     {"softplus"},
                                     {"softsign"},
                                     {"affine", -1, -1},
                                     {"scaledtanh", -1, -1},
                                     {"elu", 1},
                                     {"leakyrelu", 0.01},
                                     {"thresholdedrelu", 1},
                                     {"hardsigmoid", 0.2, 0.5}};
  const auto next = [](const std::vector<double>& parameters, std::size_t& position,
                       double default_value, const std::string& name) {
    require<data_error>(position < parameters.size() || default_value >= 0, "has the activation '",
                        name, "' without its alpha and beta");
    return position < parameters.size() ? parameters[position++] : default_value;
  };
  std::vector<recurrent_activation> result;
  std::size_t alpha = 0;
  std::size_t beta = 0;
  for (const std::string& name : names) {
    recurrent_activation activation{name};
    std::transform(name.begin(), name.end(), activation.name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto* const found =
        std::find_if(std::begin(known_activations), std::end(known_activations),
                     [&](const known& k) { return k.name == activation.name; });
    require<data_error>(found != std::end(known_activations), "has the activation '", name,
                        "', which glia does not support");
    if (found->alpha) {
      activation.alpha = next(alphas, alpha, *found->alpha, name);
    }
    if (found->beta) {
      activation.beta = next(betas, beta, *found->beta, name);
    }
    result.push_back(std::move(activation));
  }
  return result;
}

[[nodiscard]] inline value_id activated(graph_builder& out, const recurrent_activation& f,
                                        value_id x, double clip) {
  const value_id clipped =
      clip > 0 ? out.apply(unary_map{unary_function::clamp, -clip, clip}, x) : x;
  const auto select_above = [&](double limit, value_id other) {
    const value_id mask = out.binary(binary_function::greater, clipped, out.constant({}, {limit}));
    return out.call(kernels::select{}, {mask, clipped, other});
  };
  if (f.name == "sigmoid") {
    return out.apply(unary_function::sigmoid, clipped);
  }
  if (f.name == "tanh") {
    return out.apply(unary_function::tanh, clipped);
  }
  if (f.name == "relu") {
    return out.apply(unary_function::relu, clipped);
  }
  if (f.name == "softplus") {
    return out.apply(unary_function::softplus, clipped);
  }
  if (f.name == "softsign") {
    return out.binary(binary_function::divide, clipped,
                      out.affine(out.apply(unary_function::abs, clipped), 1, 1));
  }
  if (f.name == "affine") {
    return out.affine(clipped, f.alpha, f.beta);
  }
  if (f.name == "scaledtanh") {
    return out.affine(out.apply(unary_function::tanh, out.affine(clipped, f.beta, 0)), f.alpha, 0);
  }
  if (f.name == "elu") {
    return select_above(0, scaled_elu(out, clipped, f.alpha));
  }
  if (f.name == "leakyrelu") {
    return select_above(0, out.affine(clipped, f.alpha, 0));
  }
  if (f.name == "thresholdedrelu") {
    return select_above(f.alpha, out.constant({}, {0}));
  }
  return out.apply(unary_map{unary_function::clamp, 0, 1}, out.affine(clipped, f.alpha, f.beta));
}

}  // namespace glia::onnx::reading::detail
