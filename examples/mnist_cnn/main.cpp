// Trains the convolutional network that Keras users have measured on Colab's GPUs and TPUs, on
// MNIST or any data of its format, and prints its accuracy, speed and memory.
//
//     examples/run mnist_cnn --epochs 12 --batch-size 128
//     examples/run mnist_cnn --data /usr/share/datasets/fashion-mnist
//
// The defaults (Adam at 1e-3, batches of 1,024, 10 epochs) reach at least 98.5 % test accuracy.

#include <CLI/CLI.hpp>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <iomanip>
#include <iostream>

struct settings {
  std::string data = GLIA_EXAMPLE_DATA "/mnist";
  std::string backend = "cpu";
  std::size_t epochs = 10, batch_size = 1024, threads = 0, images = 60000;
  std::uint64_t seed = 1;
  double learning_rate = 1e-3;
};

template <glia::backend B>
void train(const settings& s, const glia::image_bytes& train, const glia::image_bytes& test,
           const B& device) {
  const auto convolution = [](std::size_t filters) {
    return glia::conv2d{
        .filters = filters, .kernel = 2, .padding = glia::same, .activation = glia::relu};
  };
  const glia::sequential network{
      convolution(64), glia::max_pool2d{},           glia::dropout{0.3},  //
      convolution(32), glia::max_pool2d{},           glia::dropout{0.3},  //
      glia::flatten{}, glia::dense{256, glia::relu}, glia::dropout{0.5}, glia::dense{10}};
  glia::model net{network, train.input_shape(), device, {.seed = s.seed}};
  std::cout << net.summary() << '\n';

  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, glia::adam{s.learning_rate}, {.seed = s.seed}};
  const auto history = trainer.fit(train, test, {.epochs = s.epochs, .batch_size = s.batch_size});

  std::cout << std::fixed << std::setprecision(2) << "\ntest accuracy "
            << 100 * glia::evaluate(net, test, loss).metrics.at(0) << " %, " << history.seconds()
            << " s of training, " << glia::scaled(history.samples_per_second())
            << " images/s, peak memory "
            << glia::scaled(static_cast<double>(glia::peak_resident_bytes()), "B") << '\n';
}

int main(int argc, char** argv) try {
  settings s;
  CLI::App app{"Trains the MNIST convolutional network"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  app.add_option("--data", s.data, "folder with the four MNIST files");
  app.add_option("--backend", s.backend)->check(CLI::IsMember({"cpu", "reference"}));
  app.add_option("--epochs", s.epochs, "passes over the images")->check(at_least_one);
  app.add_option("--batch-size", s.batch_size, "images per step")->check(at_least_one);
  app.add_option("--learning-rate", s.learning_rate, "of Adam");
  app.add_option("--threads", s.threads, "0: one per core");
  app.add_option("--seed", s.seed, "of initial weights and shuffling");
  app.add_option("--images", s.images, "train on the first so many")->check(at_least_one);
  CLI11_PARSE(app, argc, argv);

  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(s.images);
  const auto training = std::move(sets.train).reshaped({28, 28, 1});
  const auto test = std::move(sets.test).reshaped({28, 28, 1});
  s.backend == "cpu" ? train(s, training, test, glia::cpu<>({.threads = s.threads}))
                     : train(s, training, test, glia::reference<>());
} catch (const glia::error& e) {
  std::cerr << "mnist_cnn: " << e.what() << '\n';
  return 1;
}
