// The MNIST perceptron as benchmarks/run compares it: prints one JSON line per epoch, in the form
// of the programs in benchmarks/peers.

#include <CLI/CLI.hpp>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) try {
  std::string data = "examples/data/mnist";
  std::size_t epochs = 3;
  std::size_t batch = 100;
  std::size_t threads = 2;
  std::size_t images = 60000;
  std::uint64_t seed = 1;
  CLI::App app{"Trains the MNIST perceptron"};
  app.add_option("--data", data);
  app.add_option("--epochs", epochs);
  app.add_option("--batch", batch);
  app.add_option("--threads", threads);
  app.add_option("--images", images);
  app.add_option("--seed", seed);
  CLI11_PARSE(app, argc, argv);

  auto sets = glia::load_mnist(data, glia::gzip_files{});
  sets.train.keep_first(images);
  const auto train = std::move(sets.train).reshaped({784});
  const auto test = std::move(sets.test).reshaped({784});
  glia::model net{glia::sequential{glia::dense{400, glia::relu}, glia::dense{400, glia::relu},
                                   glia::dense{500, glia::relu}, glia::dense{10}},
                  {784},
                  glia::cpu<>({.threads = threads}),
                  {.seed = seed}};
  const auto peak_mb = [] { return static_cast<double>(glia::peak_resident_bytes()) / 1e6; };
  const auto report = [&](const glia::epoch_record& epoch) {
    std::cout << nlohmann::json{{"peer", "glia"},
                                {"version", "0.1.0"},
                                {"blas", "OpenBLAS, glia's threads"},
                                {"threads", threads},
                                {"epoch", epoch.epoch},
                                {"seconds", epoch.seconds},
                                {"images", train.size()},
                                {"loss", epoch.training.loss},
                                {"peak_mb", peak_mb()}}
              << std::endl;
  };
  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, glia::adam{}, {.seed = seed}};
  trainer.fit(train,
              {.epochs = epochs, .batch_size = batch, .progress = nullptr, .on_epoch_end = report});
  std::cout << nlohmann::json{{"peer", "glia"},
                              {"test_accuracy", glia::evaluate(net, test, loss).metrics.at(0)},
                              {"peak_mb", peak_mb()}}
            << '\n';
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
