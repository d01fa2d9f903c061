#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <glia/core/number_text.hpp>
#include <glia/core/text_table.hpp>
#include <glia/models/calibrate.hpp>
#include <glia/onnx.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../program.hpp"
#include "command.hpp"
#include "comparison.hpp"
#include "convert.hpp"
#include "network.hpp"
#include "samples.hpp"

struct quantize_settings {
  std::filesystem::path network, target;
  sample_source source;
  double tolerance = 0.1, seconds = 1;
  std::size_t samples = 256, batch = 1, threads = 0;
  bool json = false;
};

/// Returns at most `count` of the samples x, at equal distances, as an array (N, ...sample).
[[nodiscard]] inline xt::xarray<float> calibration_array(const std::vector<float>& x,
                                                         const network& net, std::size_t count) {
  const std::size_t size = net.inputs();
  const std::size_t rows = x.size() / size;
  count = std::min(count, rows);
  const glia::shape extents = glia::batch_of(count, net.model().sample_shape());
  xt::xarray<float> result(xt::xarray<float>::shape_type(extents.begin(), extents.end()));
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(x.data() + i * rows / count * size, size, result.data() + i * size);
  }
  return result;
}

/// The measured differences between a network and its quantized copy.
struct quantization_report {
  output_comparison outputs;
  double float_ms = 0, int8_ms = 0;  ///< Medians for a batch.
};

[[nodiscard]] inline quantization_report measure_quantization(const quantize_settings& s,
                                                              const network& net,
                                                              const glia::quantization& eight_bits,
                                                              const std::vector<float>& x) {
  const std::size_t rows = std::min(s.batch, x.size() / net.inputs());
  const glia::prepared in_float = net.model().prepare({.batch_size = rows});
  const glia::prepared in_int8 = net.model().prepare(eight_bits, {.batch_size = rows});
  const std::size_t batches = x.size() / net.inputs() / rows;
  std::vector<float> a(batches * rows * net.outputs());
  std::vector<float> b(a.size());
  const auto run = [&](const glia::prepared& ready, std::vector<float>& y, std::size_t batch) {
    ready.run(std::span(x).subspan(batch * rows * net.inputs(), rows * net.inputs()),
              std::span(y).subspan(batch * rows * net.outputs(), rows * net.outputs()));
  };
  for (std::size_t batch = 0; batch < batches; ++batch) {
    run(in_float, a, batch);
    run(in_int8, b, batch);
  }
  quantization_report result{.outputs = compare_outputs(a, b, net.outputs())};
  std::vector<float> y(rows * net.outputs());
  const std::vector<std::function<void()>> calls{[&] { run(in_float, y, 0); },
                                                 [&] { run(in_int8, y, 0); }};
  const std::vector<call_times> times = measure_in_turns(calls, s.seconds);
  result.float_ms = times[0].quantile(0.5);
  result.int8_ms = times[1].quantile(0.5);
  return result;
}

inline int quantize(const quantize_settings& s) {
  if (s.source.is_empty()) {
    throw usage_error("quantize needs some typical samples: name pictures, or use --csv or --npy");
  }
  if (!s.target.empty() && extension_of(s.target) != ".onnx") {
    throw usage_error(s.target.string() +
                      ": expected a file that ends in .onnx, the only format that stores quantized "
                      "networks");
  }
  require_writable(s.target);
  const network net(s.network, {.threads = s.threads, .images = !s.source.pictures.empty()});
  const samples data = read_samples(s.source, net, info_of(net, s.source.info));
  glia::require<glia::data_error>(!data.names.empty(), s.network.string(),
                                  ": cannot be quantized without samples");
  const glia::quantization eight_bits = naming_file(s.network, [&] {
    return glia::calibrate(net.model(), calibration_array(data.numbers, net, s.samples),
                           {.tolerance = s.tolerance});
  });
  const quantization_report report = measure_quantization(s, net, eight_bits, data.numbers);
  json_document document{{"network", s.network.string()},
                         {"samples", report.outputs.samples},
                         {"products_in_int8", eight_bits.products.size()},
                         {"products_in_float", eight_bits.left_in_float},
                         {"relative_difference", report.outputs.relative_difference},
                         {"same_class", report.outputs.agreements},
                         {"batch", s.batch},
                         {"float_ms", report.float_ms},
                         {"int8_ms", report.int8_ms},
                         {"bytes", std::filesystem::file_size(s.network)}};
  std::vector<std::vector<std::string>> rows{{"product in int8", "error alone"}};
  document["products"] = json_document::array();
  for (const glia::quantized_product& product : eight_bits.products) {
    rows.push_back({product.layer, glia::digits_text(product.error, 3)});
    document["products"].push_back({{"layer", product.layer}, {"error", product.error}});
  }
  if (!s.target.empty()) {
    glia::onnx_options options = onnx_options_of(net);
    options.quantization = eight_bits;
    naming_file(s.network, [&] { glia::write_onnx(net.model(), s.target, options); });
    document["target"] = s.target.string();
    document["target_bytes"] = std::filesystem::file_size(s.target);
  }
  if (s.json) {
    print_json(document);
    return exit_fine;
  }
  const auto bytes = [](const std::filesystem::path& path) {
    return glia::scaled(static_cast<double>(std::filesystem::file_size(path)), "B");
  };
  std::cout << glia::text_table(rows) << '\n'
            << eight_bits.products.size() << " products are computed with 8-bit integers, "
            << eight_bits.left_in_float << " stay in floating point.\n"
            << "outputs: differ by "
            << glia::digits_text(100 * report.outputs.relative_difference, 3)
            << " %; the largest output is the same for " << report.outputs.agreements << " of "
            << report.outputs.samples << " samples\n"
            << "time: " << glia::digits_text(report.float_ms, 4) << " ms in float, "
            << glia::digits_text(report.int8_ms, 4) << " ms in int8, for a batch of "
            << std::min(s.batch, data.names.size()) << '\n'
            << "file: " << bytes(s.network);
  if (s.target.empty()) {
    std::cout << "; add --output quantized.onnx to write the quantized network\n";
  } else {
    std::cout << ", " << s.target.string() << ": " << bytes(s.target) << '\n';
  }
  return exit_fine;
}

inline void add_quantize(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<quantize_settings>();
  CLI::App& command =
      add_command(app, action, "quantize", "Quantize a network to 8 bits, and measure the effect",
                  s, &quantize);
  add_network_option(command, s->network);
  add_sample_options(command, s->source);
  command.add_option("--output", s->target, "ONNX file to write; without it, nothing is written")
      ->type_name("FILE");
  command
      .add_option("--tolerance", s->tolerance,
                  "Largest allowed change of the outputs, relative to their size")
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--samples", s->samples, "Largest number of samples to calibrate with")
      ->check(CLI::Range(1, 1000000));
  add_batch_option(command, s->batch, "Batch size of the measurement");
  command.add_option("--seconds", s->seconds, "Seconds of the measurement")
      ->check(CLI::Range(0.0, 3600.0));
  add_threads_option(command, s->threads);
  add_json_option(command, s->json);
  command.footer(
      "The network runs on the samples, which need no targets. Products that would change the\n"
      "outputs too much stay in floating point. The ONNX file runs with glia, ONNX Runtime and\n"
      "OpenVINO.\n\n"
      "Examples:\n"
      "  glia quantize net.onnx --csv samples.csv --output quantized.onnx\n"
      "  glia quantize net.safetensors --npy samples.npy --tolerance 0.02");
}
