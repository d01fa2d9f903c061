#pragma once

#include <CLI/CLI.hpp>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <glia/training/profiler.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>

#include "mnist_report.hpp"
#include "program.hpp"

template <class Network>
void train_mnist(const mnist_settings& s, const Network& network, const glia::image_bytes& train,
                 const glia::image_bytes& test, const glia::device& device,
                 const run_ranks& ranks) {
  glia::model net{network, s.sample, device, {.seed = s.seed}};
  std::cout << net.summary() << '\n';

  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, glia::adam{s.learning_rate}, ranks.share({.seed = s.seed})};
  glia::fit_options options{.epochs = s.epochs, .batch_size = s.batch_size};
  const glia::profiler watch(s.profile, {.print = &std::cout});
  if (!s.profile.empty()) {
    options.callbacks.emplace_back(watch);
  }
  const auto history = trainer.fit(train, test, options);

  std::cout << std::fixed << std::setprecision(2) << "\ntest accuracy "
            << 100 * glia::evaluate(net, test, loss, ranks.share())["accuracy"] << " %, "
            << history.seconds() << " s of training, " << glia::scaled(history.samples_per_second())
            << " images/s, peak memory "
            << glia::scaled(static_cast<double>(glia::peak_resident_bytes()), "B") << '\n';
  if (!s.report.empty() && ranks.is_first()) {
    write_report(s, net, history, options, test, watch.result());
  }
}

template <class Network>
int run_mnist(int argc, char** argv, mnist_settings s, const Network& network) {
  CLI::App app{"Trains " + s.name + " on MNIST, or on data of its format"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  app.add_option("--data", s.data, "folder with the four MNIST files");
  app.add_option("--epochs", s.epochs, "passes over the images")->check(at_least_one);
  app.add_option("--batch-size", s.batch_size, "images per step")->check(at_least_one);
  app.add_option("--learning-rate", s.learning_rate, "of Adam")
      ->check(CLI::Validator(positive_float, ""));
  app.add_option("--seed", s.seed, "of initial weights and shuffling");
  app.add_option("--profile", s.profile, "folder for where time and memory go, with a trace");
  app.add_option("--images", s.images, "train on the first so many")->check(at_least_one);
  app.add_option("--report", s.report, "a page of HTML to write about the run");
  add_device_options(app, s.device);
  add_rank_options(app, s.ranks);
  CLI11_PARSE(app, argc, argv);

  require_writable(s.report);
  return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
    auto sets = glia::load_mnist(s.data, glia::gzip_files{});
    sets.train.keep_first(s.images);
    const auto train = std::move(sets.train).reshaped(s.sample);
    const auto test = std::move(sets.test).reshaped(s.sample);
    train_mnist(s, network, train, test, make_device(s.device), ranks);
    return 0;
  });
}

/// What main returns.
template <class Network>
int mnist_program(int argc, char** argv, const mnist_settings& s, const Network& network) {
  return run_program(s.name, argc, argv, [&](int count, char** arguments) {
    return run_mnist(count, arguments, s, network);
  });
}
