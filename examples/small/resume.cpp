// A training that is interrupted and resumed, with the same result as without the interruption.

#include <filesystem>
#include <glia/glia.hpp>
#include <glia/training/checkpoints.hpp>
#include <iostream>

using glia::training;

auto network() {
  return glia::model{
      glia::sequential{glia::dense{16, glia::relu}, glia::dropout{0.2}, glia::dense{2}}, {2}};
}

int main() {
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const xt::xarray<int> y{0, 1, 1, 0};
  const glia::labeled_arrays data{x, y};
  const auto train = [&](auto& net, std::vector<glia::callback> callbacks) {
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}};
    return trainer.fit(data, {.epochs = 40,
                              .batch_size = 2,
                              .progress = nullptr,
                              .callbacks = std::move(callbacks),
                              .resume = true});
  };

  auto whole = network();
  train(whole, {});

  std::filesystem::remove_all("run");
  auto first = network();  // the power fails in epoch 17
  train(first,
        {glia::checkpoints("run"), glia::on_event(glia::event::epoch_end, [](const training& t) {
           return t.epoch == 17 ? glia::interrupt_training("power cut") : glia::keep_training();
         })});
  auto second = network();  // another process, later
  const auto history = train(second, {glia::checkpoints("run")});

  std::cout << history.epochs.size() << " epochs, and the same weights: " << std::boolalpha
            << (second.get("dense_0.kernel") == whole.get("dense_0.kernel")) << '\n';
}
