// A training that may be ended at any moment and run again: what killed_test kills.
//
//     glia_killed_training FOLDER mlp|cnn float|double
//
// Writes the trained model to FOLDER/model.safetensors; returns 130 after Ctrl-C, as shells do.

#include <cmath>
#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <glia/training/checkpoints.hpp>
#include <iostream>
#include <string>

namespace {

/// Images of noise, of which one quarter is brighter. They are made where they are asked for, so
/// that a program that is ended early has most of its time for the training.
struct bright_corners {
  static constexpr std::size_t side = 12;
  glia::shape sample;
  std::size_t count;

  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] glia::shape input_shape() const { return sample; }
  [[nodiscard]] std::int32_t label(std::size_t i) const {
    return static_cast<std::int32_t>(i * 7 / 3 % 4);
  }
  void input(std::size_t i, std::span<float> values) const {
    const auto corner = static_cast<std::size_t>(label(i));
    for (std::size_t index = 0; index < values.size(); ++index) {
      const std::size_t quarter = index / side / (side / 2) * 2 + index % side / (side / 2);
      const float noise = static_cast<float>(
          glia::detail::random_bits({.seed = i}, static_cast<std::uint32_t>(index)) * 0x1p-32);
      values[index] = noise + (quarter == corner ? 0.2F : 0.0F);
    }
  }
};

template <class T, class Network>
int train(const std::filesystem::path& folder, const Network& network, const glia::shape& sample) {
  const bright_corners images{sample, 350};
  const bright_corners test{sample, 50};
  glia::model net{network, sample, glia::cpu<T>({.threads = 2})};
  glia::trainer trainer{net, glia::softmax_cross_entropy{},
                        glia::adam{.learning_rate = glia::exponential_decay(2e-3, 20, 0.5)}};
  const auto history = trainer.fit(
      images, test,
      {.epochs = 4,
       .batch_size = 40,
       .progress = nullptr,
       .callbacks = {glia::checkpoints(folder, {.every_steps = 1, .monitor = "validation_loss"})},
       .resume = true});
  if (history.interrupted) {
    return 130;
  }
  glia::save(net, folder / "model.safetensors");
  return 0;
}

template <class T>
int train_named(const std::filesystem::path& folder, const std::string& name) {
  using namespace glia;
  if (name == "mlp") {
    return train<T>(folder, sequential{dense{24, glia::relu}, dropout{0.2}, dense{4}}, {144});
  }
  return train<T>(folder,
                  sequential{conv2d{.filters = 4, .kernel_size = 2, .padding = glia::same},
                             glia::relu, max_pool2d{2}, dropout{0.3}, flatten{},
                             dense{16, glia::relu}, dropout{0.5}, dense{4}},
                  {12, 12, 1});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: glia_killed_training FOLDER mlp|cnn float|double\n";
    return 2;
  }
  return std::string(argv[3]) == "float" ? train_named<float>(argv[1], argv[2])
                                         : train_named<double>(argv[1], argv[2]);
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
