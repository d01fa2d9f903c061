#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <glia/core/number_text.hpp>
#include <glia/data/csv.hpp>
#include <glia/image/image_folder.hpp>
#include <glia/io/npy.hpp>
#include <glia/training/confusion.hpp>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "command.hpp"
#include "network.hpp"
#include "predict.hpp"
#include "samples.hpp"

struct evaluate_settings {
  std::filesystem::path network, targets, folder;
  sample_source source;
  std::string task = "auto";
  bool target_header = false, json = false;
  std::size_t batch = 32, threads = 0;
};

/// The targets of samples: one or several numbers for each.
struct target_rows {
  std::vector<float> numbers;
  std::size_t rows = 0;

  [[nodiscard]] std::size_t columns() const { return rows == 0 ? 0 : numbers.size() / rows; }
};

/// Outputs for samples, with their targets.
struct evaluated_samples {
  std::vector<float> outputs;
  target_rows targets;
  std::string source;  ///< Name of the targets' file, for messages.
};

/// Reads columns of a table. Texts are names of classes.
[[nodiscard]] inline target_rows read_target_columns(const std::filesystem::path& path, bool header,
                                                     const std::vector<std::string>& columns,
                                                     const std::vector<std::string>& class_names) {
  const glia::csv_table table = [&] {
    try {
      return glia::read_csv(path, {.header = header, .columns = columns});
    } catch (const glia::data_error&) {
      if (class_names.empty() || columns.size() != 1) {
        throw;
      }
      return glia::read_csv(
          path, {.header = header, .columns = columns, .class_names = {{columns[0], class_names}}});
    }
  }();
  const xt::xarray<float> array = table.columns(table.names());
  return {{array.begin(), array.end()}, table.rows()};
}

/// Reads targets from columns of the table of samples, from another table or from an array.
[[nodiscard]] inline target_rows read_targets(const evaluate_settings& s,
                                              const std::vector<std::string>& class_names) {
  if (s.targets.empty()) {
    return read_target_columns(s.source.csv, s.source.header, s.source.skipped, class_names);
  }
  if (extension_of(s.targets) != ".npy") {
    return read_target_columns(s.targets, s.target_header, column_names(s.targets, s.target_header),
                               class_names);
  }
  const xt::xarray<float> array = glia::read_npy(s.targets);
  return {{array.begin(), array.end()}, array.dimension() == 0 ? 1 : array.shape()[0]};
}

/// Returns whether each target is one class index.
[[nodiscard]] inline bool are_classes(const target_rows& targets, std::size_t classes) {
  return targets.columns() == 1 &&
         std::all_of(targets.numbers.begin(), targets.numbers.end(), [&](float target) {
           return target >= 0 && target < static_cast<float>(classes) &&
                  target == std::floor(target);
         });
}

/// Prints accuracy, cross-entropy and the confusion matrix. One output means two classes.
inline void report_classes(const evaluate_settings& s, const network& net,
                           const glia::model_info& info, const evaluated_samples& data) {
  const target_rows& targets = data.targets;
  const std::vector<float>& y = data.outputs;
  const bool is_binary = net.outputs() == 1;
  const std::size_t classes = net.classes();
  glia::require<glia::data_error>(are_classes(targets, classes), data.source,
                                  ": expected one class from 0 to ", classes - 1,
                                  " for each sample; use --task values for other targets");
  glia::confusion_matrix confusion(classes);
  double loss = 0;
  for (std::size_t n = 0; n < targets.rows; ++n) {
    const auto truth = static_cast<std::size_t>(targets.numbers[n]);
    std::vector<float> shares(y.begin() + static_cast<std::ptrdiff_t>(n * net.outputs()),
                              y.begin() + static_cast<std::ptrdiff_t>((n + 1) * net.outputs()));
    if (is_binary) {
      const float share = net.output_kind() == glia::output_kind::sigmoid
                              ? shares[0]
                              : 1 / (1 + std::exp(-shares[0]));
      shares = {1 - share, share};
    } else if (net.output_kind() != glia::output_kind::sigmoid) {
      make_probabilities(shares, net.output_kind());
    }
    glia::require<glia::data_error>(
        std::none_of(shares.begin(), shares.end(), [](float share) { return std::isnan(share); }),
        s.network.string(), ": the outputs for sample ", n + 1, " are not numbers (NaN)");
    constexpr double smallest = 1e-12;
    loss -= std::log(std::max(static_cast<double>(shares[truth]), smallest));
    const auto best = std::max_element(shares.begin(), shares.end()) - shares.begin();
    confusion.add(truth, static_cast<std::size_t>(best));
  }
  loss /= static_cast<double>(targets.rows);
  if (s.json) {
    json_document counts = json_document::array();
    for (std::size_t truth = 0; truth < classes; ++truth) {
      json_document row = json_document::array();
      for (std::size_t k = 0; k < classes; ++k) {
        row.push_back(confusion.count(truth, k));
      }
      counts.push_back(row);
    }
    print_json({{"network", s.network.string()},
                {"samples", targets.rows},
                {"accuracy", confusion.accuracy()},
                {"cross_entropy", loss},
                {"class_names", info.class_names},
                {"confusion", counts}});
    return;
  }
  std::cout << targets.rows << " samples: accuracy "
            << glia::fixed_text(100 * confusion.accuracy(), 2) << " %, cross-entropy "
            << glia::digits_text(loss, 4) << '\n';
  constexpr std::size_t widest_table = 20;
  if (classes <= widest_table) {
    std::vector<std::string> names = info.class_names;
    for (std::size_t k = names.size(); k < classes; ++k) {
      names.push_back(std::to_string(k));
    }
    std::cout << '\n' << confusion.table(std::span(names).first(classes));
  }
}

/// Prints the errors of real-valued outputs.
inline void report_values(const evaluate_settings& s, const std::vector<float>& y,
                          const target_rows& targets) {
  double squares = 0;
  double distances = 0;
  double sum = 0;
  double square_sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double target = targets.numbers[i];
    const double error = y[i] - target;
    squares += error * error;
    distances += std::abs(error);
    sum += target;
    square_sum += target * target;
  }
  const auto count = static_cast<double>(y.size());
  const double variance = square_sum / count - sum / count * (sum / count);
  const double mean_square = squares / count;
  const double mean_distance = distances / count;
  json_document document{{"network", s.network.string()},
                         {"samples", targets.rows},
                         {"mean_squared_error", mean_square},
                         {"root_mean_squared_error", std::sqrt(mean_square)},
                         {"mean_absolute_error", mean_distance}};
  if (variance > 0) {
    document["r2"] = 1 - mean_square / variance;
  }
  if (s.json) {
    print_json(document);
    return;
  }
  std::cout << targets.rows << " samples: mean squared error " << glia::digits_text(mean_square, 5)
            << ", its root " << glia::digits_text(std::sqrt(mean_square), 5)
            << ", mean absolute error " << glia::digits_text(mean_distance, 5);
  if (variance > 0) {
    std::cout << ", R2 " << glia::digits_text(1 - mean_square / variance, 4);
  }
  std::cout << '\n';
}

/// Evaluates the pictures in the folders of their classes, a batch at a time.
[[nodiscard]] inline evaluated_samples evaluate_folder(const evaluate_settings& s, network& net,
                                                       glia::model_info& info) {
  const glia::image_folder folder(s.folder, {.class_names = info.class_names});
  glia::require<glia::data_error>(folder.class_names().size() == net.classes(), s.folder.string(),
                                  ": has ", folder.class_names().size(),
                                  " folders of classes, but ", s.network.string(),
                                  " has outputs for ", net.classes());
  info.class_names = folder.class_names();
  evaluated_samples result;
  result.source = s.folder.string();
  const picture_reader reader(net.model().sample_shape(), info);
  samples batch;
  std::vector<float> y;
  const auto run = [&] {
    net.run(batch.numbers, y, s.batch);
    result.outputs.insert(result.outputs.end(), y.begin(), y.end());
    batch = {};
  };
  for (const glia::image_file& file : folder.files()) {
    reader.read(file.path, batch);
    result.targets.numbers.push_back(static_cast<float>(file.label));
    if (batch.names.size() == s.batch) {
      run();
    }
  }
  run();
  result.targets.rows = result.targets.numbers.size();
  return result;
}

/// Evaluates the samples of a table, an array or image files.
[[nodiscard]] inline evaluated_samples evaluate_samples(const evaluate_settings& s, network& net,
                                                        const glia::model_info& info) {
  evaluated_samples result;
  result.source = (s.targets.empty() ? s.source.csv : s.targets).string();
  const samples data = read_samples(s.source, net, info);
  result.targets = naming_file(result.source, [&] { return read_targets(s, info.class_names); });
  glia::require<glia::data_error>(!data.incomplete && result.targets.rows == data.names.size(),
                                  result.source, ": has targets of ", result.targets.rows,
                                  " samples, but there are ", data.names.size(),
                                  "; expected one row for each sample");
  naming_file(s.source.csv.empty() ? s.source.npy : s.source.csv,
              [&] { net.run(data.numbers, result.outputs, s.batch); });
  return result;
}

inline void require_consistent(const evaluate_settings& s) {
  if (!s.folder.empty()) {
    if (!s.source.is_empty() || !s.targets.empty()) {
      throw usage_error(
          "--folder brings samples and targets; use it without --csv, --npy and --targets");
    }
    return;
  }
  if (s.source.is_empty()) {
    throw usage_error("evaluate needs samples: name pictures, or use --folder, --csv or --npy");
  }
  if (s.targets.empty() == s.source.skipped.empty() ||
      (!s.source.skipped.empty() && s.source.csv.empty())) {
    throw usage_error(
        "evaluate needs targets: use --targets with a file, or --target with a column of --csv");
  }
}

inline int evaluate(const evaluate_settings& s) {
  require_consistent(s);
  network net(s.network,
              {.threads = s.threads, .images = !s.source.pictures.empty() || !s.folder.empty()});
  glia::model_info info = info_of(net, s.source.info);
  const evaluated_samples data =
      s.folder.empty() ? evaluate_samples(s, net, info) : evaluate_folder(s, net, info);
  const target_rows& targets = data.targets;
  const bool values_fit = targets.columns() == net.outputs();
  const bool has_classes =
      s.task == "classes" || !s.folder.empty() ||
      (s.task == "auto" && (net.outputs() > 1 ? are_classes(targets, net.outputs())
                                              : net.output_kind() == glia::output_kind::sigmoid &&
                                                    are_classes(targets, 2)));
  glia::require<glia::data_error>(
      has_classes || values_fit, data.source, ": has ", targets.columns(),
      " numbers for each sample; ", s.network.string(), " has ", net.outputs(),
      " outputs: expected one class below ", net.outputs(), ", or a number for each output");
  if (has_classes) {
    report_classes(s, net, info, data);
  } else {
    report_values(s, data.outputs, targets);
  }
  return exit_fine;
}

inline void add_evaluate(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<evaluate_settings>();
  CLI::App& command = add_command(app, action, "evaluate",
                                  "Compare the outputs for samples with targets", s, &evaluate);
  add_network_option(command, s->network);
  add_sample_options(command, s->source);
  command
      .add_option("--folder", s->folder,
                  "Folder that has one folder of pictures for each class, named after the class")
      ->type_name("FOLDER");
  auto* const file =
      command
          .add_option("--targets", s->targets,
                      "Table or array (.npy) with the targets: one class for each sample, or a "
                      "number for each output")
          ->type_name("FILE");
  command
      .add_option("--target", s->source.skipped,
                  "Column of the table with targets: its name or, without --header, its number "
                  "from 0")
      ->allow_extra_args(false)
      ->excludes(file);
  command.add_flag("--target-header", s->target_header,
                   "The first line of the table of targets has the columns' names");
  command
      .add_option("--task", s->task,
                  "What the targets are: classes, values, or auto, which decides from the targets")
      ->check(CLI::IsMember({"auto", "classes", "values"}));
  add_batch_option(command, s->batch, "Number of samples in a batch");
  add_threads_option(command, s->threads);
  add_json_option(command, s->json);
  command.footer(
      "Classes are numbers from 0, or names of classes of the network. For classes, the accuracy,\n"
      "the cross-entropy and the confusion matrix are shown; for values, the mean squared error,\n"
      "the mean absolute error and R2.\n\n"
      "Examples:\n"
      "  glia evaluate net.onnx --csv flowers.csv --header --target species\n"
      "  glia evaluate net.safetensors --npy inputs.npy --targets outputs.npy --json");
}
