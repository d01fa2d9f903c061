#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <glia/core/number_text.hpp>
#include <glia/core/text_table.hpp>
#include <glia/training/profile.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "comparison.hpp"
#include "network.hpp"
#include "samples.hpp"

struct bench_settings {
  std::filesystem::path network, against;
  sample_source source;
  std::vector<std::size_t> batches{1};
  std::size_t threads = 0;
  double seconds = 1;
  bool profile = false, json = false;
};

/// Returns `count` rows of the samples x, from the beginning again after the last one.
[[nodiscard]] inline std::vector<float> repeated_rows(const std::vector<float>& x,
                                                      std::size_t count, std::size_t size) {
  std::vector<float> result(count * size);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = x[i % x.size()];
  }
  return result;
}

inline void print_kernel_profile(network& net, const std::vector<float>& x, std::size_t batch,
                                 bool json, json_document& document) {
  glia::profile profile;
  std::vector<float> y;
  net.run(x, y, batch);
  for (int run = 0; run < 20; ++run) {
    net.run(x, y, batch, &profile);
  }
  std::vector<std::vector<std::string>> rows;
  for (std::vector<std::string> row : profile.kernel_rows(30)) {
    row.erase(row.begin() + 2);  // the phase, which is always the forward pass
    std::swap(row[0], row[1]);
    rows.push_back(std::move(row));
  }
  if (!json) {
    std::cout << "\nkernels for a batch of " << batch << ":\n\n" << glia::text_table(rows, 2);
    return;
  }
  document["profile"] = json_document::array();
  for (const glia::profile_entry& entry : profile.entries) {
    document["profile"].push_back(
        {{"layer", entry.layer},
         {"kernel", entry.kernel},
         {"ms", 1e3 * entry.seconds / static_cast<double>(profile.steps)}});
  }
}

inline int bench(const bench_settings& s) {
  const network_options options{.threads = s.threads, .images = !s.source.pictures.empty()};
  std::vector<std::unique_ptr<network>> nets;
  nets.push_back(std::make_unique<network>(s.network, options));
  if (!s.against.empty()) {
    nets.push_back(std::make_unique<network>(s.against, options));
  }
  network& net = *nets[0];
  const std::vector<float> given =
      s.source.is_empty() ? std::vector<float>{}
                          : read_samples(s.source, net, info_of(net, s.source.info)).numbers;
  for (const auto& other : nets) {
    glia::require<glia::data_error>(
        other->inputs() == net.inputs() && other->outputs() == net.outputs(),
        other->path().string(), ": takes samples ", other->model().sample_shape(), " and gives ",
        other->outputs(), " outputs, but ", net.path().string(), " takes ",
        net.model().sample_shape(), " and gives ", net.outputs());
  }
  json_document document{{"network", s.network.string()},
                         {"threads", net.threads()},
                         {"batches", json_document::array()}};
  std::vector<std::vector<std::string>> rows{
      {"network", "batch", "median ms", "p99 ms", "samples/s", "runs"}};
  for (const std::size_t batch : s.batches) {
    const std::vector<float> x =
        given.empty() ? random_samples(net, batch) : repeated_rows(given, batch, net.inputs());
    std::vector<std::vector<float>> y(nets.size());
    std::vector<std::function<void()>> calls;
    for (std::size_t i = 0; i < nets.size(); ++i) {
      calls.emplace_back([&, i] { nets[i]->run(x, y[i], batch); });
    }
    const std::vector<call_times> times =
        measure_in_turns(calls, s.seconds * static_cast<double>(nets.size()));
    for (std::size_t i = 0; i < nets.size(); ++i) {
      const double median = times[i].quantile(0.5);
      const double rate = 1e3 * static_cast<double>(batch) / median;
      rows.push_back({nets[i]->path().string(), std::to_string(batch), glia::digits_text(median, 4),
                      glia::digits_text(times[i].quantile(0.99), 4), glia::fixed_text(rate, 0),
                      std::to_string(times[i].milliseconds.size())});
      document["batches"].push_back({{"network", nets[i]->path().string()},
                                     {"batch", batch},
                                     {"median_ms", median},
                                     {"p99_ms", times[i].quantile(0.99)},
                                     {"samples_per_second", rate},
                                     {"runs", times[i].milliseconds.size()}});
    }
  }
  if (!s.json) {
    std::cout << net.threads() << (net.threads() == 1 ? " thread" : " threads") << ", "
              << (given.empty() ? "random samples" : "the samples given") << "\n\n"
              << glia::text_table(rows, 1);
  }
  if (nets.size() > 1) {
    const std::size_t count = given.empty() ? 32 : given.size() / net.inputs();
    const std::vector<float> x = given.empty() ? random_samples(net, count) : given;
    std::vector<std::vector<float>> y(2);
    nets[0]->run(x, y[0], 1);
    nets[1]->run(x, y[1], 1);
    const output_comparison compared = compare_outputs(y[0], y[1], net.outputs());
    document["largest_difference"] = compared.largest_difference;
    document["same_class"] = compared.agreements;
    document["samples"] = compared.samples;
    if (!s.json) {
      std::cout << "\nThe outputs differ by at most "
                << glia::digits_text(compared.largest_difference, 3)
                << ". The most likely class is the same for " << compared.agreements << " of "
                << compared.samples << " samples.\n";
    }
  }
  if (s.profile) {
    const std::size_t batch = s.batches.back();
    print_kernel_profile(
        net, given.empty() ? random_samples(net, batch) : repeated_rows(given, batch, net.inputs()),
        batch, s.json, document);
  }
  if (s.json) {
    print_json(document);
  }
  return exit_fine;
}

inline void add_bench(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<bench_settings>();
  CLI::App& command =
      add_command(app, action, "bench", "Measure the time of predictions", s, &bench);
  add_network_option(command, s->network);
  add_sample_options(command, s->source);
  command.add_option("--batch", s->batches, "Batch sizes, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 65536));
  command
      .add_option("--against", s->against,
                  "Another network, which is measured in turns on the same samples")
      ->type_name("FILE");
  command.add_option("--seconds", s->seconds, "Seconds for each network and batch size")
      ->check(CLI::Range(0.0, 3600.0));
  command.add_flag("--profile", s->profile, "Show the time of each kernel");
  add_threads_option(command, s->threads);
  add_json_option(command, s->json);
  command.footer(
      "Without samples, the inputs are random numbers. With --against, the differences between "
      "the\n"
      "outputs of both networks are shown, too.\n\n"
      "Examples:\n"
      "  glia bench net.onnx --batch 1,32 --threads 1\n"
      "  glia bench net.onnx --against quantized.onnx --csv samples.csv --profile");
}
