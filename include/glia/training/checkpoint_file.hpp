#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/io/checked_content.hpp"
#include "glia/models/model_file.hpp"
#include "glia/models/model_identity.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

namespace detail {

// A checkpoint is a safetensors file. Parameters and optimizer state are stored by their names, so
// that `load` and other programs find the model in it. The state of callbacks, the history and the
// sums of the current epoch are tensors with names that no parameter has. Integers are stored as
// text.
inline constexpr std::string_view kept_prefix = "glia/kept/";
inline constexpr std::string_view history_name = "glia/history";
inline constexpr std::string_view sums_name = "glia/sums";
inline constexpr std::string_view numbers_name = "glia/numbers";

/// The largest number of bytes in the name of a metric. When a file is read, each score of each
/// epoch gets a copy of the name, so a small file with a long name could otherwise use up all
/// memory.
inline constexpr std::size_t max_metric_name = 256;

inline void require_short_names(const std::vector<std::string>& metrics, const std::string& file) {
  for (const std::string& name : metrics) {
    require<data_error>(name.size() <= max_metric_name, file,
                        ": expected names of metrics of at most ", max_metric_name,
                        " bytes, got one of ", name.size());
  }
}

/// The history has one row for each epoch. Its columns before the scores are samples, seconds,
/// samples per second, learning rate, and whether the epoch was validated. This is their number.
inline constexpr std::size_t epoch_columns = 5;

[[nodiscard]] inline named_tensor history_tensor(const std::vector<epoch_record>& history) {
  const std::size_t scores = 1 + (history.empty() ? 0 : history[0].training.metric_values.size());
  std::vector<double> values;
  for (const epoch_record& e : history) {
    values.insert(values.end(), {static_cast<double>(e.samples), e.seconds, e.samples_per_second,
                                 e.learning_rate, e.validation ? 1.0 : 0.0});
    for (const glia::scores& s : {e.training, e.validation.value_or(glia::scores{})}) {
      values.push_back(s.loss);
      values.insert(values.end(), s.metric_values.begin(), s.metric_values.end());
      values.resize(values.size() + scores - 1 - s.metric_values.size());
    }
  }
  return {
      std::string(history_name), {history.size(), epoch_columns + 2 * scores}, std::move(values)};
}

[[nodiscard]] inline std::vector<epoch_record> history_of(const named_tensor& t,
                                                          const std::vector<std::string>& metrics,
                                                          const std::string& file) {
  const std::size_t scores = 1 + metrics.size();
  const auto* values = std::get_if<std::vector<double>>(&t.values);
  require<data_error>(t.shape.rank() == 2 && t.shape[1] == epoch_columns + 2 * scores &&
                          values != nullptr && values->size() == t.shape.size(),
                      file, ": the history does not have the scores of ", metrics.size(),
                      " metrics; the file is damaged");
  std::vector<epoch_record> history;
  for (std::size_t row = 0; row < t.shape[0]; ++row) {
    const double* columns = values->data() + row * t.shape[1];
    const auto scores_at = [&](const double* first) {
      return glia::scores{*first, {first + 1, first + scores}, metrics};
    };
    require<data_error>(columns[0] >= 0 && columns[0] < 0x1p53, file,
                        ": the number of samples of an epoch in the history is not valid; the file "
                        "is damaged");
    epoch_record e{.epoch = row + 1,
                   .samples = static_cast<std::size_t>(columns[0]),
                   .seconds = columns[1],
                   .samples_per_second = columns[2],
                   .learning_rate = columns[3],
                   .training = scores_at(columns + epoch_columns),
                   .validation = {}};
    if (columns[4] != 0) {
      e.validation = scores_at(columns + epoch_columns + scores);
    }
    history.push_back(std::move(e));
  }
  return history;
}

/// Writes the state of a training to a safetensors file, as a whole or not at all. `identity`
/// describes the model; see `model_identity`.
///
/// Throws `data_error`, with the path, if the file cannot be written or if the name of a metric has
/// more than 256 bytes. Needs nlohmann-json: link `glia::safetensors`.
inline void write_checkpoint(const std::filesystem::path& path, training_state state,
                             std::map<std::string, std::string> identity) {
  detail::require_short_names(state.metrics, path.string());
  safetensors_content content{.tensors = std::move(state.tensors), .metadata = std::move(identity)};
  content.metadata["glia"] = detail::checkpoint_file;
  const std::pair<const char*, std::uint64_t> numbers[] = {{"seed", state.seed},
                                                           {"step", state.step},
                                                           {"epoch", state.epoch},
                                                           {"position", state.position},
                                                           {"samples", state.samples},
                                                           {"batch_size", state.batch_size},
                                                           {"shuffled", state.shuffled ? 1 : 0}};
  for (const auto& [name, value] : numbers) {
    content.metadata[name] = text(value);
  }
  content.tensors.push_back({std::string(detail::numbers_name),
                             {2},
                             std::vector<double>{state.learning_rate_scale, state.seconds}});
  content.metadata["metrics"] = detail::joined_lines(state.metrics);
  content.metadata["optimizer"] = state.optimizer;
  content.metadata["setup"] = state.setup;
  if (!state.history.empty()) {
    content.tensors.push_back(detail::history_tensor(state.history));
  }
  if (!state.sums.empty()) {
    content.tensors.push_back(
        {std::string(detail::sums_name), {state.sums.size()}, std::move(state.sums)});
  }
  for (named_tensor& k : state.callback_state) {
    k.name.insert(0, detail::kept_prefix);
    content.tensors.push_back(std::move(k));
  }
  write_checked_content(path, std::move(content));
}

/// Converts the content of a checkpoint file to the state of a training.
[[nodiscard]] inline training_state checkpoint_of(
    const std::string& file, safetensors_content content,
    const std::map<std::string, std::string>& identity) {
  const auto said = [&](const char* name) -> const std::string& {
    const auto found = content.metadata.find(name);
    require<data_error>(found != content.metadata.end(), file, ": the metadata have no '", name,
                        "'; the file is not a checkpoint");
    return found->second;
  };
  require<data_error>(said("glia") == checkpoint_file, file, ": expected '", checkpoint_file,
                      "' in the metadata, got '", said("glia"),
                      "'; the file is not a checkpoint, or it is of another version of glia");
  require_identity(file, content.metadata, identity);
  const auto number = [&](const char* name) {
    const std::string& digits = said(name);
    std::uint64_t value = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    require<data_error>(failure == std::errc() && end == digits.data() + digits.size(), file,
                        ": expected an integer as ", name, ", got '", digits,
                        "'; the file is damaged");
    return value;
  };
  const auto said_since = [&](const char* name) {  // missing in files of older versions of glia
    const auto found = content.metadata.find(name);
    return found == content.metadata.end() ? std::string() : found->second;
  };
  training_state state{.tensors = {},
                       .seed = number("seed"),
                       .step = number("step"),
                       .epoch = number("epoch"),
                       .position = number("position"),
                       .samples = number("samples"),
                       .batch_size = number("batch_size"),
                       .shuffled = number("shuffled") != 0,
                       .metrics = lines_of(said("metrics")),
                       .optimizer = said_since("optimizer"),
                       .setup = said_since("setup")};
  require_short_names(state.metrics, file);
  bool complete = false;
  for (named_tensor& t : content.tensors) {
    const auto* doubles = std::get_if<std::vector<double>>(&t.values);
    if (t.name.starts_with(kept_prefix)) {
      t.name.erase(0, kept_prefix.size());
      state.callback_state.push_back(std::move(t));
    } else if (t.name == history_name) {
      state.history = history_of(t, state.metrics, file);
    } else if (t.name == sums_name && doubles != nullptr) {
      state.sums = *doubles;
    } else if (t.name == numbers_name && doubles != nullptr && doubles->size() == 2) {
      state.learning_rate_scale = (*doubles)[0];
      state.seconds = (*doubles)[1];
      complete = true;
    } else {
      state.tensors.push_back(std::move(t));
    }
  }
  require<data_error>(complete, file, ": there is no tensor '", numbers_name,
                      "'; the file is damaged");
  return state;
}

}  // namespace detail

/// Reads the state of a training from a file that `write_checkpoint` wrote. All numbers are
/// restored bit for bit.
///
/// Throws `data_error`, with the path, if the file is damaged, is not a checkpoint, or belongs to
/// another model than `identity` describes; the message names the first difference.
[[nodiscard]] inline training_state read_checkpoint(
    const std::filesystem::path& path, const std::map<std::string, std::string>& identity) {
  return detail::checkpoint_of(path.string(), detail::read_checked_content(path), identity);
}

}  // namespace glia
