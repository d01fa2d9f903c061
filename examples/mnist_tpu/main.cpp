// Trains TensorFlow's model garden's MNIST network, or its smaller sibling, on a CPU, GPU or TPU.
//
//     examples/run mnist_tpu --device pjrt:/path/of/libtpu.so --distribution_strategy tpu
//     examples/run mnist_tpu --network one_layer --train_epochs 10
//
// The options are those of the garden's own script: checkpoints and logs for TensorBoard go to
// --model_dir, and an interrupted training continues from there when the program runs again. The
// garden's network is trained by gradient descent at 0.05, the sibling by Adam at 1e-3, both in
// batches of 1,024. Without a device it runs on the CPU, and says so.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <glia/training/checkpoints.hpp>
#include <glia/training/tensorboard.hpp>
#include <iomanip>
#include <iostream>
#include <string>

#include "../device.hpp"
#include "../mnist_networks.hpp"
#include "../program.hpp"
#include "../ranks.hpp"

struct settings {
  std::filesystem::path data = GLIA_EXAMPLE_DATA "/mnist", output = "mnist_tpu_results";
  std::string network = "garden", strategy = "one_device";
  std::size_t epochs = 10, batch_size = 1024, images = 60000;
  std::uint64_t seed = 1;
  bool download = false;
  device_choice device;
  rank_choice ranks;
};

/// MNIST comes with glia: its files are put where they are missing.
void put_mnist_into(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& file : std::filesystem::directory_iterator(GLIA_EXAMPLE_DATA "/mnist")) {
    std::filesystem::copy(file.path(), folder / file.path().filename(),
                          std::filesystem::copy_options::skip_existing);
  }
}

template <class Network, class Optimizer>
void train(const settings& s, const Network& network, const Optimizer& update,
           const glia::device& device, const run_ranks& ranks) {
  auto [train, test] = glia::load_mnist(s.data, glia::gzip_files{});
  train.keep_first(s.images);
  glia::model net{network, {28, 28, 1}, device, {.seed = s.seed}};
  std::cout << net.summary() << '\n';
  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, update, ranks.share({.seed = s.seed})};
  const auto digits = std::move(train).reshaped({28, 28, 1});
  const auto held_out = std::move(test).reshaped({28, 28, 1});
  const glia::history history = trainer.fit(
      digits, held_out,
      {.epochs = s.epochs,
       .batch_size = s.batch_size,
       .callbacks = {glia::checkpoints(s.output / "checkpoints"), glia::tensorboard(s.output)},
       .resume = true});
  if (ranks.is_first()) {
    glia::save(net, s.output / "model.safetensors");
  }
  std::cout << std::fixed << std::setprecision(2) << "\ntest accuracy "
            << 100 * glia::evaluate(net, held_out, loss, ranks.share())["accuracy"] << " %, "
            << history.seconds() << " s of training, " << glia::scaled(history.samples_per_second())
            << " images/s; checkpoints, logs and the model are in " << s.output.string() << '\n';
}

void train_on(const settings& s, const glia::device& device, const run_ranks& ranks) {
#ifdef GLIA_WITH_DEVICES
  if (const auto* const found =
          dynamic_cast<const glia::pjrt_backend<float>*>(&device.implementation())) {
    glia::require<glia::value_error>(
        s.strategy != "tpu" || found->platform() == "tpu",
        "--distribution_strategy tpu needs a TPU, the plugin has found ", found->device_count(),
        " of ", found->kind(), "; ask for mirrored or one_device");
    const bool is_single = found->device_count() == 1;
    std::cout << "on " << found->device_count() << (is_single ? " device: " : " devices: ")
              << found->kind() << " (" << found->platform() << ")\n";
  }
#endif
  if (device.name() != "pjrt") {
    glia::require<glia::value_error>(
        s.strategy != "tpu",
        "--distribution_strategy tpu needs a TPU: --device pjrt: and the path of libtpu.so");
    std::cout << "on the " << device.name()
              << (device.name() == "cpu" ? ", as no other --device is asked for\n" : "\n");
  }
  if (s.network == "garden") {
    train(s, garden_network(), glia::sgd{glia::exponential_decay(0.05, 100'000, 0.96)}, device,
          ranks);
  } else {
    train(s, one_layer_network(), glia::adam{1e-3}, device, ranks);
  }
}

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Trains the model garden's MNIST network on a CPU, GPU or TPU"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  app.add_option("--data_dir", s.data, "folder with the four MNIST files");
  app.add_option("--model_dir", s.output, "folder for checkpoints, logs and the model");
  app.add_option("--train_epochs", s.epochs, "passes over the images")->check(at_least_one);
  app.add_option("--batch_size", s.batch_size, "images per step")->check(at_least_one);
  app.add_option("--distribution_strategy", s.strategy,
                 "one_device, mirrored: all that the plugin finds, tpu: all cores of a TPU")
      ->check(CLI::IsMember({"one_device", "mirrored", "tpu"}));
  app.add_option("--network", s.network)->check(CLI::IsMember({"garden", "one_layer"}));
  app.add_flag("--download", s.download, "put MNIST into --data_dir; it comes with glia");
  app.add_option("--images", s.images, "train on the first so many")->check(at_least_one);
  app.add_option("--seed", s.seed, "of initial weights, shuffling and dropout");
  add_device_options(app, s.device);
  add_rank_options(app, s.ranks);
  CLI11_PARSE(app, argc, argv);

  if (s.download) {
    put_mnist_into(s.data);
  }
  s.device.devices = s.strategy == "one_device" ? 1 : 0;
  return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
    train_on(s, make_device(s.device), ranks);
    return 0;
  });
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("mnist_tpu", argc, argv, &run);
}
