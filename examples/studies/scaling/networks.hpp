#pragma once

#include <glia/backends/cost.hpp>
#include <glia/glia.hpp>
#include <string>
#include <vector>

#include "../../mnist_networks.hpp"

/// Calls `use(network, sample)` with the perceptron of mnist_mlp, or the convolutional network of
/// mnist_cnn.
template <class Use>
auto with_network(const std::string& model, const Use& use) {
  return model == "mlp" ? use(perceptron(), glia::shape{784})
                        : use(convolutional_network(), glia::shape{28, 28, 1});
}

/// Floating-point operations for one image, counted.
struct image_flops {
  double training = 0;  ///< forward, backward and its share of the update
  double prediction = 0;
};

/// Runs a training step on the backend that counts in place of computing.
inline image_flops count_flops(const std::string& model, std::size_t batch_size) {
  return with_network(model, [&](const auto& network, const glia::shape& sample) {
    const glia::cost device;
    glia::model net{network, sample, device};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{1e-3}};
    const double before = device.totals().flops;
    glia::batch b{.size = batch_size,
                  .input_shape = glia::batch_of(batch_size, sample),
                  .inputs = std::vector<float>(batch_size * sample.size()),
                  .labels = std::vector<std::int32_t>(batch_size),
                  .target_shape = {},
                  .targets = {}};
    trainer.step(b);
    image_flops result{.training =
                           (device.totals().flops - before) / static_cast<double>(batch_size)};
    for (const glia::layer_summary& layer : net.plan().layers) {
      result.prediction += layer.flops;
    }
    return result;
  });
}
