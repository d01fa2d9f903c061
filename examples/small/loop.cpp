// Your own training loop: the steps of fit, one by one.

#include <glia/glia.hpp>
#include <glia/training/optimizer_state.hpp>
#include <iostream>

int main() {
  using B = glia::cpu<float>;
  const B device;
  const std::vector<float> inputs{0, 0, 0, 1, 1, 0, 1, 1};
  const std::vector<std::int32_t> classes{0, 1, 1, 0};
  const auto x = device.from_host(std::span(inputs), {4, 2});
  const auto t = device.from_host(std::span(classes), {4});

  glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}, {2}, device};
  glia::optimizer_state adam{net, glia::adam{0.05}};
  const glia::softmax_cross_entropy loss_of;

  for (std::uint32_t step = 0; step <= 200; ++step) {
    glia::tape tape(device);                 // records what is computed
    std::vector<glia::gradient_slot> slots;  // where gradients are collected
    const auto y = net.forward(tape.constant(x), slots, glia::run_mode::training, {.step = step});
    const auto loss = glia::ops::mean(loss_of(y, glia::targets{.labels = t}));
    tape.backward(loss);
    adam.update(tape, slots);

    float value = 0;
    device.to_host(loss.value(), std::span(&value, 1));
    if (step % 100 == 0) {
      std::cout << "step " << step << ": the loss is " << (value > 0.05F ? "large" : "small")
                << '\n';
    }
  }
}
