#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "../../device.hpp"

struct settings {
  std::filesystem::path data = GLIA_EXAMPLE_DATA "/mnist", output = "mnist_svm_results";
  std::size_t images = 60000, rows = 5000, unlabeled = 5000, epochs = 5, extrapolate = 60000;
  std::vector<std::string> gammas{"scale", "auto"};
  std::vector<std::size_t> sizes{1000, 2000, 4000, 8000};
  std::uint64_t seed = 1;
  std::string measure;  // what a program that this one starts shall train, and with how many rows
  std::size_t measured_rows = 0;
  device_choice device;  // of the perceptron; the support vector machine runs on the cpu
};

inline void add_options(CLI::App& app, settings& s) {
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  app.add_option("--data", s.data, "folder with the four MNIST files");
  app.add_option("--output", s.output, "folder for the results");
  app.add_option("--images", s.images, "write the first so many as CSV")->check(at_least_one);
  app.add_option("--rows", s.rows, "train with and judge by the first so many")
      ->check(CLI::Range(20, 60000));
  app.add_option("--unlabeled", s.unlabeled, "classify the first so many rows without a label")
      ->check(at_least_one);
  app.add_option("--gamma", s.gammas,
                 "of the kernel: scale, auto or a number; the first one's are the results");
  app.add_option("--sizes", s.sizes, "measure training on so many rows");
  app.add_option("--extrapolate", s.extrapolate, "and say what so many would take")
      ->check(CLI::Range(1.0, 1e12));
  app.add_option("--epochs", s.epochs, "of the perceptron")->check(at_least_one);
  app.add_option("--seed", s.seed, "of the split and of the perceptron");
  add_device_options(app, s.device);
  app.add_option("--measure", s.measure, "train one model alone, and print what it took")
      ->check(CLI::IsMember({"svm", "perceptron"}))
      ->group("");
  app.add_option("--measured-rows", s.measured_rows)->group("");
}
