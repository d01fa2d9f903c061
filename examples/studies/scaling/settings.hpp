#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <glia/core/error.hpp>
#include <string>
#include <vector>

#include "../../device.hpp"

struct settings {
  std::filesystem::path data = GLIA_EXAMPLE_DATA "/mnist", output = "scaling_results",
                        devices = GLIA_EXAMPLE_DATA "/../studies/scaling/devices.csv";
  std::string model = "mlp";
  std::size_t batch_size = 0, repetitions = 3, tries = 3, validate = 0;
  device_choice device;
  std::vector<std::size_t> batches{}, sizes{};
  double train = 60e9, test = 10e9, epochs = 1, machines = 8, efficiency = 0.9, price = 0.1;
  std::uint64_t seed = 1;
  bool measure = false;  // what a program that this one starts shall do, and with how many images
  std::size_t images = 0;

  /// What is chosen by the model where nothing was asked for.
  void fill_in() {
    const bool perceptron = model == "mlp";
    batch_size = batch_size > 0 ? batch_size : perceptron ? 100 : 1024;
    if (batches.empty()) {
      batches = perceptron ? std::vector<std::size_t>{50, 100, 200, 400, 800}
                           : std::vector<std::size_t>{64, 128, 256, 512, 1024};
    }
    if (sizes.empty()) {
      // Whole batches: a smaller last one would add steps, and memory, of a kind of their own.
      sizes = perceptron ? std::vector<std::size_t>{5000, 10000, 15000, 20000}
                         : std::vector<std::size_t>{4096, 8192, 12288, 16384};
    }
    for (std::vector<std::size_t>* const list : {&batches, &sizes}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    glia::require<glia::value_error>(sizes.size() > 1 && batches.size() > 1,
                                     "expected at least two different --sizes and two different "
                                     "--batches, for lines to be put through");
    const std::size_t largest = std::max(batches.back(), batch_size);
    glia::require<glia::value_error>(sizes.front() >= largest, "expected --sizes of at least ",
                                     largest, ", the largest batch, got ", sizes.front());
    glia::require<glia::value_error>(validate == 0 || validate > sizes.back(),
                                     "expected --validate above ", sizes.back(),
                                     ", the largest of --sizes, which are fitted, got ", validate);
  }
};

inline void add_options(CLI::App& app, settings& s) {
  app.option_defaults()->always_capture_default();
  const auto count = CLI::Range(1, 10'000'000);
  const auto images = CLI::Range(1.0, 1e15);
  app.add_option("--model", s.model)->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--data", s.data, "folder with the four MNIST files");
  app.add_option("--output", s.output, "folder for the results");
  app.add_option("--batch-size", s.batch_size, "of the estimate; 0: 100 for mlp, 1024 for cnn")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--batches", s.batches, "measure batches of so many images")->check(count);
  app.add_option("--sizes", s.sizes,
                 "measure training with so many images; above MNIST's, some come again")
      ->check(count);
  app.add_option("--repetitions", s.repetitions, "of each measurement")->check(CLI::Range(2, 1000));
  app.add_option("--tries", s.tries,
                 "epochs of each repetition, of which the fastest counts: others may run programs")
      ->check(CLI::Range(1, 1000));
  app.add_option("--validate", s.validate, "predict training with so many images, then measure it")
      ->check(CLI::Range(0, 10'000'000));
  app.add_option("--train", s.train, "estimate training with so many images")->check(images);
  app.add_option("--test", s.test, "and predicting so many")->check(images);
  app.add_option("--epochs", s.epochs, "of that training")->check(CLI::Range(1.0, 1e6));
  app.add_option("--machines", s.machines, "how many of this machine could share the work")
      ->check(CLI::Range(1.0, 1e6));
  app.add_option("--efficiency", s.efficiency, "of them together: their speed over K times one's")
      ->check(CLI::Range(0.01, 1.0));
  app.add_option("--price", s.price, "dollars for an hour of this machine")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--devices", s.devices, "table of devices to compare with")
      ->check(CLI::ExistingFile);
  add_device_options(app, s.device);
  app.add_option("--seed", s.seed, "of initial weights and shuffling");
  app.add_flag("--measure", s.measure, "measure once, and print what it took")->group("");
  app.add_option("--images", s.images)->group("");
}
