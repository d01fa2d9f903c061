#pragma once

#include <glia/glia.hpp>
#include <string>

#include "../../mnist_networks.hpp"

/// Calls `use(network, sample)` with the perceptron of mnist_mlp, or the convolutional network of
/// mnist_cnn.
template <class Use>
auto with_network(const std::string& model, const Use& use) {
  return model == "mlp" ? use(perceptron(), glia::shape{784})
                        : use(convolutional_network(), glia::shape{28, 28, 1});
}

/// Floating-point operations for one image.
struct image_flops {
  double training = 0;  ///< forward and backward
  double prediction = 0;
};

/// Counts the operations of a prediction. A training step takes three times as many: the backward
/// pass computes the gradients of each layer's inputs and of its parameters.
inline image_flops count_flops(const std::string& model) {
  return with_network(model, [](const auto& network, const glia::shape& sample) {
    const double prediction = glia::plan_model(network, sample).flops();
    return image_flops{.training = 3 * prediction, .prediction = prediction};
  });
}
