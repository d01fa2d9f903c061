#pragma once

// The settings of a call of fit: a text for checkpoints and for other ranks, and whether an
// interrupted training can continue with them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/metrics.hpp"
#include "glia/training/training_job.hpp"
#include "glia/training/training_ranks.hpp"
#include "glia/training/training_state.hpp"

namespace glia::detail {

template <class T>
[[nodiscard]] std::string_view bytes_of_all(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A checksum of four samples of a data set, to detect that ranks have different data.
[[nodiscard]] inline std::string sampled_checksum(const dataset_view& data) {
  const auto last = static_cast<std::uint32_t>(data.size() - 1);
  const std::array samples{std::uint32_t{0}, last / 3, last / 3 * 2, last};
  batch b;
  data.gather(samples, b);
  checksum sum;
  sum.add(bytes_of_all(b.inputs));
  sum.add(bytes_of_all(b.labels));
  sum.add(bytes_of_all(b.targets));
  sum.add(bytes_of_all(b.weights));
  return text(sum.value());
}

/// The first line of the text of the settings. Version 0.4 wrote other texts.
inline constexpr std::string_view setup_title = "settings\n";

/// Describes the settings of a call of fit on which its result depends: the loss, the optimizer,
/// the data, the batches and the network. Each setting has a line "NAME is VALUE". Checkpoints
/// store this text.
[[nodiscard]] inline std::string setup_text(const training_job& job, const fit_options& options,
                                            const dataset_view& train) {
  std::string result(setup_title);
  const auto add = [&](std::string_view name, std::string value) {
    std::replace(value.begin(), value.end(), '\n', ' ');
    result += text(name, " is ", value.empty() ? "none" : value, '\n');
  };
  std::string transforms;
  for (const gradient_transform& transform : job.gradient_transforms) {
    transforms += text(transforms.empty() ? "" : ", ",
                       transform.type == gradient_transform::kind::clip_by_global_norm
                           ? "clip_by_global_norm("
                           : "clip_by_value(",
                       transform.bound, ')');
  }
  add("the loss", job.loss.description);
  add("the optimizer", job.optimizer.description);
  add("the list of gradient transforms", transforms);
  add("the list of parameter groups", text_of(job.parameter_groups));
  add("the batch size", text(options.batch_size));
  add("the order of the samples", options.shuffle ? "shuffled" : "that of the data set");
  add("the number of samples", text(train.size()));
  add("the shape of a sample", text(train.input_shape()));
  add("the shape of a target", train.target_shape() ? text(*train.target_shape()) : "a class");
  add("the network", job.net.plan().description);
  return result;
}

/// Describes the settings that differ between two texts of `setup_text`: "the batch size is 64, it
/// was 32". Only settings that both texts have are compared. Empty if none differs, or if one of
/// the texts is empty or of version 0.4.
[[nodiscard]] inline std::string setup_changes(std::string_view before, std::string_view current) {
  if (!before.starts_with(setup_title) || !current.starts_with(setup_title)) {
    return {};
  }
  constexpr std::string_view is = " is ";
  const auto settings = [&](std::string_view lines) {
    std::vector<std::pair<std::string_view, std::string_view>> result;
    for (lines.remove_prefix(setup_title.size()); !lines.empty();) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      const std::size_t end = std::min(line.find(is), line.size());
      result.emplace_back(line.substr(0, end), line.substr(std::min(end + is.size(), line.size())));
      lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    }
    return result;
  };
  const auto value_in = [](const auto& list, std::string_view name) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& s) { return s.first == name; });
    return found == list.end() ? std::string_view() : found->second;
  };
  const auto old_settings = settings(before);
  std::string changes;
  for (const auto& [name, value] : settings(current)) {
    const std::string_view old_value = value_in(old_settings, name);
    if (!old_value.empty() && old_value != value) {
      changes += text(changes.empty() ? "" : "; ", name, is, value, ", it was ", old_value);
    }
  }
  return changes;
}

/// Throws `value_error` unless an incomplete epoch has the same samples and batches as before.
inline void require_same_epoch(const training_state& begun, const fit_options& options,
                               std::size_t samples) {
  const auto described = [](std::uint64_t count, std::uint64_t size, bool shuffled) {
    return text(count, shuffled ? " shuffled" : "", " samples in batches of ", size);
  };
  const std::string was = described(begun.samples, begun.batch_size, begun.shuffled);
  const std::string is = described(samples, options.batch_size, options.shuffle);
  require<value_error>(was == is, "fit: the epoch to resume has ", was,
                       ", but this call of fit has ", is,
                       "; either finish this epoch with the data and options that it had, which "
                       "end it with .epochs = ",
                       begun.history.size() + 1,
                       ", and change them then; or begin a new epoch with .resume = false, which, "
                       "with checkpoints, needs another folder and glia::load(net, checkpoint)");
  require<value_error>(begun.position <= samples &&
                           (begun.position == samples || begun.position % options.batch_size == 0),
                       "fit: an epoch of ", was, " cannot be resumed at sample ", begun.position,
                       "; the training state is damaged");
}

/// Returns the names of metrics.
[[nodiscard]] inline std::vector<std::string> names_of(const std::vector<metric>& metrics) {
  std::vector<std::string> names;
  names.reserve(metrics.size());
  for (const metric& m : metrics) {
    names.push_back(m.name);
  }
  return names;
}

/// Throws `value_error` unless a training continues with the metrics that it had.
inline void require_same_metrics(const training_state& begun,
                                 const std::vector<std::string>& metrics) {
  const auto listed = [](const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    return names.empty() ? "none" : list;
  };
  require<value_error>(begun.metrics == metrics, "fit: the training to resume has the metrics ",
                       listed(begun.metrics), ", but this call of fit has ", listed(metrics),
                       "; use the same metrics, or begin a new training without resume");
}

/// The settings of a call of fit that must be the same on all ranks.
[[nodiscard]] inline std::vector<rank_setting> settings_of(
    const training_job& job, const training_state& counters, const fit_options& options,
    const std::vector<metric>& metrics, const dataset_view& train, const dataset_view* validation) {
  const auto described = [](const dataset_view* data) {
    return data == nullptr ? std::string("none")
                           : text(data->size(), " of ", data->input_shape(), " with ",
                                  data->target_shape() ? text(*data->target_shape()) : "classes");
  };
  std::string parameters;
  for (const parameter& p : job.net.parameters()) {
    parameters += text(p.spec.name, ' ', p.spec.shape, "; ");
  }
  std::string names;
  for (const metric& m : metrics) {
    names += m.name + ' ';
  }
  return {
      {"parameters", parameters},
      {"loss", job.loss.description},
      {"slots", text(job.optimizer.state_count)},
      {"optimizer", counters.optimizer},
      {"learning rate", text(job.optimizer.learning_rate(0))},
      {"seed", text(counters.seed)},
      {"training samples", described(&train)},
      {"training data", detail::sampled_checksum(train)},
      {"validation samples", described(validation)},
      {"validation data", validation == nullptr ? "none" : detail::sampled_checksum(*validation)},
      {"epochs", text(options.epochs)},
      {"batch size", text(options.batch_size)},
      {"shuffled", text(options.shuffle)},
      {"resume", text(options.resume)},
      {"metrics", names},
      {"gradient transforms", text(job.gradient_transforms.size())},
      {"parameter groups", text_of(job.parameter_groups)}};
}

}  // namespace glia::detail
