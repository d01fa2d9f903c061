#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <glia/core/number_text.hpp>
#include <glia/core/whole_file.hpp>
#include <glia/io/write_npy.hpp>
#include <glia/training/profile.hpp>
#include <iostream>
#include <memory>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "../../program.hpp"
#include "command.hpp"
#include "network.hpp"
#include "samples.hpp"

struct predict_settings {
  std::filesystem::path network, output;
  sample_source source;
  std::vector<std::string> layers;
  bool from_stdin = false, raw = false, profile = false, json = false;
  std::size_t batch = 1, top = 3, threads = 0;
};

/// Converts logits to probabilities. Probabilities and single numbers stay as they are.
inline void make_probabilities(std::span<float> row, glia::output_kind kind) {
  if (kind == glia::output_kind::softmax || row.size() < 2) {
    return;
  }
  const float maximum = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& value : row) {
    value = std::exp(value - maximum);
    sum += value;
  }
  for (float& value : row) {
    value /= sum;
  }
}

/// Prints the outputs of samples, as the most likely classes or as numbers.
class prediction_printer {
 public:
  prediction_printer(const network& net, const glia::model_info& info,
                     const predict_settings& settings)
      : net_(&net), info_(&info), settings_(&settings) {}

  [[nodiscard]] json_document document(const std::string& name, std::span<const float> row) const {
    json_document result{{"name", name}};
    if (!has_classes(row)) {
      result["outputs"] = row;
      return result;
    }
    std::vector<float> shares(row.begin(), row.end());
    result["classes"] = json_document::array();
    for (const std::size_t k : best(shares)) {
      result["classes"].push_back(
          {{"class", k}, {"name", class_name(k)}, {"probability", shares[k]}});
    }
    return result;
  }

  void print(const std::string& name, std::span<const float> row) const {
    std::cout << name << ':';
    if (has_classes(row)) {
      std::vector<float> shares(row.begin(), row.end());
      for (const std::size_t k : best(shares)) {
        std::cout << "  " << class_name(k) << ' ' << glia::fixed_text(100 * shares[k], 1) << " %";
      }
    } else {
      for (const float value : row) {
        std::cout << ' ' << value;
      }
    }
    std::cout << '\n';
  }

 private:
  [[nodiscard]] bool has_classes(std::span<const float> row) const {
    return !settings_->raw && net_->model().output_shape().rank() == 1 && row.size() > 1 &&
           net_->output_kind() != glia::output_kind::sigmoid;
  }
  [[nodiscard]] std::string class_name(std::size_t k) const {
    return info_->class_names.empty() ? std::to_string(k) : info_->class_names[k];
  }
  /// Makes probabilities of a row, and returns the most likely classes.
  [[nodiscard]] std::vector<std::size_t> best(std::span<float> row) const {
    make_probabilities(row, net_->output_kind());
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t count = std::min(settings_->top, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(), [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    order.resize(count);
    return order;
  }

  const network* net_;
  const glia::model_info* info_;
  const predict_settings* settings_;
};

/// Writes outputs (N, ...) as an array of NumPy, or as a table with one sample in each line.
inline void write_outputs(const std::filesystem::path& path, const std::vector<float>& y,
                          const network& net) {
  const std::size_t count = y.size() / std::max<std::size_t>(net.outputs(), 1);
  if (extension_of(path) == ".npy") {
    const glia::shape extents = glia::batch_of(count, net.model().output_shape());
    xt::xarray<float> array(xt::xarray<float>::shape_type(extents.begin(), extents.end()));
    std::copy(y.begin(), y.end(), array.begin());
    glia::write_npy(path, array);
    return;
  }
  glia::write_whole_file(path, [&](std::ostream& out) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      out << glia::digits_text(y[i], 9) << ((i + 1) % net.outputs() == 0 ? '\n' : ',');
    }
  });
}

inline int predict_lines(network& net, const prediction_printer& printer, const predict_settings& s,
                         glia::profile* profile) {
  std::vector<float> y;
  for (std::size_t line = 1;; ++line) {
    samples sample;
    if (!read_line(line, net.inputs(), sample)) {
      return exit_fine;
    }
    net.run(sample.numbers, y, 1, profile);
    if (s.json) {
      std::cout << printer.document(sample.names[0], y)
                       .dump(-1, ' ', false, json_document::error_handler_t::replace)
                << '\n';
    } else {
      printer.print(sample.names[0], y);
    }
    std::cout.flush();
  }
}

inline int predict(const predict_settings& s) {
  if (s.source.is_empty() && !s.from_stdin) {
    throw usage_error("predict needs samples: name pictures, or use --csv, --npy or --stdin");
  }
  if (const std::string format = extension_of(s.output);
      !s.output.empty() && format != ".npy" && format != ".csv") {
    throw usage_error("--output expects a file that ends in .npy or .csv, got " +
                      s.output.string());
  }
  require_writable(s.output);
  network net(s.network,
              {.threads = s.threads, .layers = s.layers, .images = !s.source.pictures.empty()});
  const glia::model_info info = info_of(net, s.source.info);
  const prediction_printer printer(net, info, s);
  glia::profile profile;
  glia::profile* const watch = s.profile ? &profile : nullptr;
  int status = exit_fine;
  if (s.from_stdin) {
    status = predict_lines(net, printer, s, watch);
  } else {
    const samples data = read_samples(s.source, net, info);
    std::vector<float> y;
    naming_file(s.source.csv.empty() ? s.source.npy : s.source.csv,
                [&] { net.run(data.numbers, y, s.batch, watch); });
    status = data.incomplete ? exit_wrong_data : exit_fine;
    const auto row = [&](std::size_t n) {
      return std::span<const float>(y).subspan(n * net.outputs(), net.outputs());
    };
    json_document rows = json_document::array();
    for (std::size_t n = 0; n < data.names.size(); ++n) {
      if (s.json) {
        rows.push_back(printer.document(data.names[n], row(n)));
      } else if (s.output.empty()) {
        printer.print(data.names[n], row(n));
      }
    }
    if (!s.output.empty()) {
      write_outputs(s.output, y, net);
    }
    if (s.json) {
      print_json({{"network", s.network.string()}, {"samples", rows}});
    }
  }
  if (s.profile) {
    const double seconds_per_batch =
        profile.seconds / static_cast<double>(std::max<std::size_t>(profile.steps, 1));
    std::ostream& out = s.json ? std::cerr : std::cout;
    out << "\n"
        << profile.steps << " batches of up to " << s.batch << ", "
        << glia::fixed_text(1e3 * seconds_per_batch, 3) << " ms each\n\n"
        << profile.kernel_table(30);
  }
  return status;
}

inline void add_predict(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<predict_settings>();
  CLI::App& command = add_command(app, action, "predict",
                                  "Predict for pictures, tables, arrays or lines", s, &predict);
  add_network_option(command, s->network);
  add_sample_options(command, s->source);
  auto* const lines = command.add_flag("--stdin", s->from_stdin,
                                       "Read a sample from each line of the standard input, and "
                                       "answer each line at once");
  for (const char* other : {"pictures", "--csv", "--npy"}) {
    lines->excludes(command.get_option(other));
  }
  auto* const output =
      command
          .add_option("--output", s->output, "Write the outputs to a file, .npy or .csv, instead")
          ->type_name("FILE");
  lines->excludes(output);
  add_batch_option(command, s->batch, "Number of samples in a batch");
  command.add_option("--top", s->top, "Number of classes to show")->check(CLI::Range(1, 1000000));
  command.add_flag("--raw", s->raw, "Show the outputs as numbers, not as classes");
  command
      .add_option("--layer", s->layers,
                  "Layer or tensor of an ONNX file to show instead of its outputs")
      ->allow_extra_args(false);
  command.add_flag("--profile", s->profile, "Show the time of each kernel");
  add_threads_option(command, s->threads);
  add_json_option(command, s->json);
  command.footer(
      "The most likely classes are shown with their probabilities. Names of classes and the\n"
      "preprocessing of pictures come from the metadata of the file, or from the options.\n\n"
      "Examples:\n"
      "  glia predict net.onnx photo.jpg another.png\n"
      "  glia predict net.safetensors --csv samples.csv --output outputs.npy");
}
