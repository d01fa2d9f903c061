#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <glia/backends/about.hpp>
#include <glia/backends/cpu/isa/isa.hpp>
#include <glia/backends/cpu/products/blas_check.hpp>
#include <glia/core/number_text.hpp>
#include <glia/glia.hpp>
#include <glia/pjrt/plugin.hpp>
#include <iomanip>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "network.hpp"

struct doctor_settings {
  std::vector<std::string> plugins;
  std::size_t threads = 0;
  bool json = false;
};

enum class severity : std::uint8_t { fine, slow, wrong };

/// A line of the report: a property of the machine, or a check.
struct finding {
  std::string name, value;
  severity level = severity::fine;
  std::string advice = {};  ///< What to do, unless the level is `fine`.
};

/// Returns the lines of `about` as findings.
[[nodiscard]] inline std::vector<finding> about_findings() {
  std::vector<finding> result;
  std::istringstream lines(glia::about());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t separator = line.find(": ");
    result.push_back({.name = line.substr(0, separator), .value = line.substr(separator + 2)});
  }
  using glia::cpu_loops::blas_use;
  finding& blas = result.back();
  switch (glia::cpu_loops::use_of_blas<float>(glia::cpu_loops::best_isa())) {
    case blas_use::unknown_processor:
      blas.level = severity::slow;
      blas.advice = "a newer version of OpenBLAS is faster";
      break;
    case blas_use::wrong:
      blas.level = severity::wrong;
      blas.advice = "install another version of BLAS";
      break;
    default:
      break;
  }
  return result;
}

/// Compares a product of two matrices with sums in double precision, which are the reference.
[[nodiscard]] inline finding product_finding(const glia::device& device) {
  constexpr std::size_t size = 192;
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<float> a(size * size);
  std::vector<float> b(size * size);
  for (std::vector<float>* factor : {&a, &b}) {
    std::generate(factor->begin(), factor->end(), [&] { return numbers(generator); });
  }
  std::vector<float> y(size * size);
  const glia::shape extents{size, size};
  device.to_host(
      device.run(glia::kernels::matmul{}, device.from_host(std::span<const float>(a), extents),
                 device.from_host(std::span<const float>(b), extents)),
      std::span<float>(y));
  double largest = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k) {
        sum += static_cast<double>(a[i * size + k]) * static_cast<double>(b[k * size + j]);
      }
      const double difference = std::abs(sum - static_cast<double>(y[i * size + j]));
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
  }
  constexpr double tolerance = 1e-3;  // of numbers of about 5
  finding result{.name = "product by glia",
                 .value = "differs from the reference by at most " + glia::digits_text(largest, 2)};
  if (!(largest <= tolerance)) {
    result.level = severity::wrong;
    result.advice =
        "the product is wrong: check this machine's memory, or try another version of BLAS";
  }
  return result;
}

[[nodiscard]] inline finding plugin_finding(const std::string& path) {
  try {
    const glia::detail::pjrt_plugin plugin(path);
    const auto& version = plugin.api().version;
    return {.name = "PJRT plugin",
            .value = glia::text(path, ": version ", version.major_version, '.',
                                version.minor_version, " of PJRT's C API")};
  } catch (const glia::error& e) {
    return {"PJRT plugin", path, severity::wrong, one_line(e.what())};
  }
}

[[nodiscard]] inline std::vector<finding> findings(const doctor_settings& s) {
  std::vector<finding> result = about_findings();
  result.push_back(product_finding(glia::cpu<float>({.threads = s.threads})));
  std::vector<std::string> plugins = s.plugins;
  if (const char* const chosen = std::getenv("GLIA_PJRT_PLUGIN");
      chosen != nullptr && plugins.empty()) {
    plugins.emplace_back(chosen);
  }
  for (const std::string& path : plugins) {
    result.push_back(plugin_finding(path));
  }
  if (plugins.empty()) {
    result.push_back({.name = "PJRT plugin",
                      .value = "none; GLIA_PJRT_PLUGIN or --plugin names one, for a GPU or TPU"});
  }
  return result;
}

inline int examine(const doctor_settings& s) {
  const std::vector<finding> found = findings(s);
  json_document document = json_document::array();
  bool is_fine = true;
  constexpr const char* words[] = {"ok", "slow", "wrong"};
  for (const finding& entry : found) {
    const char* const word = words[static_cast<std::size_t>(entry.level)];
    is_fine = is_fine && entry.level != severity::wrong;
    document.push_back({{"name", entry.name}, {"status", word}, {"value", entry.value}});
    if (!entry.advice.empty()) {
      document.back()["advice"] = entry.advice;
    }
    if (!s.json) {
      std::cout << std::left << std::setw(7) << word << entry.name << ": " << entry.value
                << (entry.advice.empty() ? "" : "\n       " + entry.advice) << '\n';
    }
  }
  if (s.json) {
    print_json({{"ok", is_fine}, {"findings", document}});
  }
  if (!is_fine) {
    std::cerr << "glia: a check failed; the report says what to do\n";
  }
  return is_fine ? exit_fine : exit_wrong_data;
}

inline void add_doctor(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<doctor_settings>();
  CLI::App& command = add_command(
      app, action, "doctor", "Check this machine: processor, BLAS, threads, plugins", s, &examine);
  command
      .add_option("--plugin", s->plugins,
                  "PJRT plugin of a GPU or TPU to load; default: $GLIA_PJRT_PLUGIN")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_threads_option(command, s->threads);
  add_json_option(command, s->json);
  command.footer(
      "Multiplies two matrices and compares the product with sums in double precision. Exits\n"
      "with 1 if a check fails.\n\n"
      "Examples:\n"
      "  glia doctor\n"
      "  glia doctor --plugin xla_cuda_plugin.so --json");
}
