#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/parse_number.hpp"
#include "glia/training/history.hpp"

namespace glia {

namespace detail {

/// Splits a line of comma-separated values without quotes.
[[nodiscard]] inline std::vector<std::string> history_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace detail

/// Reads a history that `write_history_csv` or `csv_logger` wrote.
///
/// The metrics of the result contain only their names. The number of samples of an epoch is
/// computed from samples_per_second and seconds, and rounded.
///
/// Throws `data_error`, with the path and the line, if the file is missing or has another format.
[[nodiscard]] inline history read_history_csv(const std::filesystem::path& path) {
  detail::require_no_folder(path);
  std::ifstream in(path);
  require<data_error>(in.is_open(), path.string(), ": cannot be read; does the file exist?");
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> header = detail::history_cells(line);
  const std::vector<std::string> fixed{"epoch", "seconds", "samples_per_second", "learning_rate",
                                       "loss"};
  require<data_error>(
      header.size() >= fixed.size() && std::equal(fixed.begin(), fixed.end(), header.begin()),
      path.string(),
      ": expected the columns of write_history_csv, "
      "epoch,seconds,samples_per_second,learning_rate,loss,..., got '",
      line, "'");
  std::vector<std::string> names(header.begin() + 4, header.end());
  const std::size_t half = names.size() / 2;
  bool validated = names.size() % 2 == 0;
  for (std::size_t i = 0; i < half; ++i) {
    validated = validated && names[half + i] == "validation_" + names[i];
  }
  names.resize(validated ? half : names.size());
  names.erase(names.begin());  // the loss

  history result;
  for (const std::string& name : names) {
    result.metrics.push_back({.name = name});
  }
  for (std::size_t row = 2; std::getline(in, line); ++row) {
    const std::vector<std::string> cells = detail::history_cells(line);
    require<data_error>(cells.size() == header.size(), path.string(), ": line ", row, " has ",
                        cells.size(), " values, but the header has ", header.size(), " columns");
    const auto value = [&](std::size_t i) {
      double number = 0;
      const char* const end = cells[i].data() + cells[i].size();
      const auto [at, failure] = detail::parse_number(cells[i].data(), end, number);
      require<data_error>(failure == std::errc() && at == end, path.string(), ": line ", row,
                          ": expected a number, got '", cells[i], "'");
      return number;
    };
    const auto scores_from = [&](std::size_t first) {
      scores s{.loss = value(first), .metric_values = {}, .metric_names = names};
      for (std::size_t i = 1; i <= names.size(); ++i) {
        s.metric_values.push_back(value(first + i));
      }
      return s;
    };
    const double epoch = value(0);
    require<data_error>(epoch >= 0 && epoch < 1e15 && epoch == std::floor(epoch), path.string(),
                        ": line ", row, ": expected an epoch number, got '", cells[0], "'");
    epoch_record e{.epoch = static_cast<std::size_t>(epoch),
                   .seconds = value(1),
                   .samples_per_second = value(2),
                   .learning_rate = value(3),
                   .training = scores_from(4),
                   .validation = {}};
    const double samples = std::round(e.seconds * e.samples_per_second);
    e.samples = samples >= 0 && samples < 1e15 ? static_cast<std::size_t>(samples) : 0;
    // An interrupted epoch has no validation.
    if (validated && !cells[5 + names.size()].empty()) {
      e.validation = scores_from(5 + names.size());
    }
    result.epochs.push_back(std::move(e));
  }
  return result;
}

}  // namespace glia
