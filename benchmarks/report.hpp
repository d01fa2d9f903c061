#pragma once

// What the programs that benchmarks/run compares with other libraries share: flags, and JSON lines
// in the form of those of benchmarks/peers.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <glia/backends/cpu/isa/blas.hpp>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "../examples/device.hpp"
#include "../examples/mnist_networks.hpp"

namespace report {

struct settings {
  std::string data = "examples/data/mnist";
  std::size_t epochs = 3;
  std::size_t batch = 100;
  device_choice device{.threads = 2};
  std::size_t images = 60000;
  std::uint64_t seed = 1;
};

/// Declares a flag for each setting.
inline void add_flags(CLI::App& app, settings& s) {
  app.add_option("--data", s.data);
  app.add_option("--epochs", s.epochs);
  app.add_option("--batch", s.batch);
  add_device_options(app, s.device);
  app.add_option("--images", s.images);
  app.add_option("--seed", s.seed);
}

inline void print(nlohmann::json line) {
  line["peer"] = "glia";
  line["version"] =
      glia::text(GLIA_VERSION_MAJOR, ".", GLIA_VERSION_MINOR, ".", GLIA_VERSION_PATCH);
  line["peak_mb"] = static_cast<double>(glia::peak_resident_bytes()) / 1e6;
  std::cout << line << std::endl;
}

/// Normally distributed numbers, the same for the same seed.
[[nodiscard]] inline std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<float> numbers(count);
  glia::random_stream random({.seed = seed});
  std::generate(numbers.begin(), numbers.end(),
                [&] { return static_cast<float>(random.normal()); });
  return numbers;
}

inline double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The value below which the given share of the values lies.
inline double quantile(std::vector<double> values, double share) {
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

/// Takes single steps on one batch, and waits for the loss of each.
template <class Trainer, class Model>
void print_step_time(Trainer& trainer, const Model& net, const glia::image_bytes& images,
                     const settings& s) {
  std::vector<std::uint32_t> first(std::min(s.batch, images.size()));
  std::iota(first.begin(), first.end(), 0U);
  const glia::dataset_view data(images);
  glia::batch b;
  data.gather(first, b, 0);
  std::vector<double> steps;
  double total = 0;
  constexpr std::size_t warm_up = 3;  // of another program: without metrics
  constexpr double limit = 5e3;
  while (s.epochs > 0 && steps.size() < 110 && (steps.size() < 2 * warm_up || total < limit)) {
    glia::running_scores sums(net.device(), {});
    steps.push_back(1e3 * seconds_of([&] {
                      trainer.step(b, &sums);
                      (void)sums.loss();
                    }));
    total += steps.back();
  }
  if (!steps.empty()) {
    steps.erase(steps.begin(), steps.begin() + warm_up);
    print({{"step_ms", quantile(steps, 0.5)}});
  }
}

/// Trains with Adam at its defaults, a line per epoch, and tests; returns the model's accuracy.
template <class Model>
void train(Model& net, const glia::image_bytes& images, const glia::image_bytes& test,
           const settings& s) {
  const auto print_epoch = glia::on_event(glia::event::epoch_end, [&](const glia::training& t) {
    const glia::epoch_record& epoch = t.history.epochs.back();
    print({{"blas", glia::text(glia::cpu_loops::blas_name(), ", glia's threads")},
           {"threads", s.device.threads},
           {"epoch", epoch.epoch},
           {"seconds", epoch.seconds},
           {"images", images.size()},
           {"loss", epoch.training.loss}});
  });
  const auto start = std::chrono::steady_clock::now();
  const auto print_first_step =
      glia::on_event(glia::event::train_batch_end, [&](const glia::training& t) {
        if (t.step == 1) {
          (void)t.loss();  // which waits for it
          const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
          print({{"first_step_seconds", duration.count()},
                 {"compile_seconds", t.history.compilations.seconds},
                 {"compiled", t.history.compilations.compiled},
                 {"loaded", t.history.compilations.loaded}});
        }
      });
  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, glia::adam{}, {.seed = s.seed}};
  trainer.fit(images, {.epochs = s.epochs,
                       .batch_size = s.batch,
                       .progress = nullptr,
                       .callbacks = {print_first_step, print_epoch}});
  print_step_time(trainer, net, images, s);
  print({{"test_accuracy", glia::evaluate(net, test, loss).metric_values.at(0)}});
}

/// Times the outputs for all images in batches, and for one image at a time.
template <class Model>
void predict(Model& net, const glia::image_bytes& images, std::size_t batch) {
  const std::size_t size = net.sample_shape().size();
  const std::size_t outputs = net.output_shape().size();
  std::vector<float> x(images.size() * size);
  std::vector<float> y(images.size() * outputs);
  for (std::size_t i = 0; i < images.size(); ++i) {
    images.input(i, std::span(x).subspan(i * size, size));
  }
  const auto run = [&](std::size_t first, std::size_t count) {
    net.predict_batch(std::span(x).subspan(first * size, count * size),
                      std::span(y).subspan(first * outputs, count * outputs));
  };
  std::vector<double> passes;
  for (int pass = 0; pass < 6; ++pass) {
    passes.push_back(seconds_of([&] {
      for (std::size_t first = 0; first < images.size(); first += batch) {
        run(first, std::min(batch, images.size() - first));
      }
    }));
  }
  passes.erase(passes.begin());  // the memory was not there yet
  print({{"predict_seconds", quantile(passes, 0.5)},
         {"predict_images", images.size()},
         {"predict_batch", batch}});

  std::vector<double> calls;
  for (std::size_t i = 0; i < 1050; ++i) {
    calls.push_back(1e6 * seconds_of([&] { run(i % images.size(), 1); }));
  }
  calls.erase(calls.begin(), calls.begin() + 50);
  print({{"single_us_median", quantile(calls, 0.5)},
         {"single_us_p99", quantile(calls, 0.99)},
         {"single_calls", calls.size()}});
}

}  // namespace report
