#pragma once

#include <glia/glia.hpp>

// The networks that people have measured on MNIST's digits, each described once.

/// 784-400-400-500-10, of 2018.
[[nodiscard]] inline auto perceptron() {
  return glia::sequential{glia::dense{400, glia::relu}, glia::dense{400, glia::relu},
                          glia::dense{500, glia::relu}, glia::dense{10}};
}

/// What Keras users have measured on Colab's GPUs and TPUs in 2021.
[[nodiscard]] inline auto convolutional_network() {
  const auto convolution = [](std::size_t filters) {
    return glia::conv2d{
        .filters = filters, .kernel_size = 2, .padding = glia::same, .activation = glia::relu};
  };
  return glia::sequential{convolution(64), glia::max_pool2d{},           glia::dropout{0.3},  //
                          convolution(32), glia::max_pool2d{},           glia::dropout{0.3},  //
                          glia::flatten{}, glia::dense{256, glia::relu}, glia::dropout{0.5},
                          glia::dense{10}};
}

/// TensorFlow's model garden's, for TPUs.
[[nodiscard]] inline auto garden_network() {
  const glia::conv2d convolution{
      .filters = 32, .kernel_size = 5, .padding = glia::same, .activation = glia::relu};
  return glia::sequential{convolution,        glia::max_pool2d{}, convolution,
                          glia::max_pool2d{}, glia::flatten{},    glia::dense{1024, glia::relu},
                          glia::dropout{0.4}, glia::dense{10}};
}

/// Its smaller sibling.
[[nodiscard]] inline auto one_layer_network() {
  return glia::sequential{glia::flatten{}, glia::dense{1024, glia::relu}, glia::dense{10}};
}
