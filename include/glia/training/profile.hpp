#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/number_text.hpp"
#include "glia/core/text_table.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/layers/plan.hpp"
#include "glia/models/summary.hpp"
#include "glia/training/callback.hpp"

namespace glia {

/// The time of all calls of one kernel in one layer and one phase, over all steps of a profile.
struct profile_entry {
  /// Name of the layer, such as "dense_0"; or "loss", "metrics", or "the step" for the rest.
  std::string layer;
  step_phase phase = step_phase::forward;  ///< Forward, backward or update.
  std::string kernel;                      ///< Name of the kernel.
  std::size_t calls = 0;                   ///< Number of calls.
  double seconds = 0;                      ///< Seconds of wall time; parallel threads count once.
  double flops = 0;                        ///< Number of floating-point operations.
  double bytes = 0;  ///< Bytes of operands and results, as if there were no cache.
};

/// The memory of a training, in bytes.
struct profile_memory {
  std::size_t baseline = 0;  ///< Resident bytes before the training: program, libraries and data.
  training_memory training;  ///< Memory that the training uses.
  std::size_t peak = 0;      ///< Peak of the resident bytes.
};

/// The result of a `profiler`: where the time of some training steps went, and the memory of the
/// training.
struct profile {
  std::size_t first_step = 0;          ///< Number of the first measured step.
  std::size_t steps = 0;               ///< Number of measured steps.
  double seconds = 0;                  ///< Seconds of all measured steps together.
  std::vector<profile_entry> entries;  ///< Times by layer, phase and kernel.
  /// Seconds spent on other activities by name, such as waiting for data.
  std::vector<std::pair<std::string, double>> activities;
  std::vector<layer_summary> layers;         ///< Layers of the model.
  std::size_t batch_size = 0;                ///< Samples in a batch.
  std::size_t number_bytes = sizeof(float);  ///< Bytes of an element.
  profile_memory memory;                     ///< Memory of the training.
  double peak_flops = 0;                     ///< Measured peak FLOP/s of the machine; 0: unknown.

  /// The fraction of `seconds` that belongs to an entry or to another activity.
  [[nodiscard]] double accounted() const {
    double known = 0;
    for (const profile_entry& e : entries) {
      known += e.seconds;
    }
    for (const auto& [name, took] : activities) {
      known += took;
    }
    return seconds > 0 ? known / seconds : 0;
  }

  /// Adds the recording of one step that took `took` seconds.
  void add(const timeline& times, double took);

  /// A text table with a row for each layer. The columns are: the milliseconds of a step in the
  /// forward pass, in the backward pass and in the update; the percentage of the step; the speed;
  /// the speed in percent of the machine's peak; and the memory for one batch. Further rows are for
  /// other activities, such as waiting for data.
  [[nodiscard]] std::string layer_table() const;
  /// A text table of the kernels that take the longest time, at most `max_kernels` of them.
  [[nodiscard]] std::string kernel_table(std::size_t max_kernels = 12) const;
  /// A text table of the memory of the training.
  [[nodiscard]] std::string memory_table() const;
  /// A sentence about the measured steps and the machine's peak.
  [[nodiscard]] std::string note() const;

  /// The cells of `layer_table`, with a header.
  [[nodiscard]] std::vector<std::vector<std::string>> layer_rows() const;
  /// The cells of `kernel_table`, with a header.
  [[nodiscard]] std::vector<std::vector<std::string>> kernel_rows(
      std::size_t max_kernels = 12) const;
  /// The cells of `memory_table`, with a header.
  [[nodiscard]] std::vector<std::vector<std::string>> memory_rows() const;

 private:
  [[nodiscard]] profile_entry& entry(const graph& calls, const graph_node& node);
  void add_kernel(const graph& calls, std::size_t node, double took);
  [[nodiscard]] std::string milliseconds(double took) const {
    return fixed_text(1e3 * took / static_cast<double>(std::max<std::size_t>(steps, 1)), 3);
  }
  [[nodiscard]] std::string share_of(double took) const {
    return seconds > 0 ? fixed_text(100 * took / seconds, 1) : "";
  }
  [[nodiscard]] static std::string rate(double amount, double took) {
    return took > 0 && amount > 0 ? fixed_text(amount / took / 1e9, 1) : "";
  }
};

inline profile_entry& profile::entry(const graph& calls, const graph_node& node) {
  const graph_place& place = calls.place_of(node);
  const std::string_view layer = place.name.empty() ? "the step" : std::string_view(place.name);
  for (profile_entry& e : entries) {
    if (e.layer == layer && e.phase == place.phase && e.kernel == node.kernel.name()) {
      return e;
    }
  }
  profile_entry result;
  result.layer = layer;
  result.phase = place.phase;
  result.kernel = node.kernel.name();
  return entries.emplace_back(std::move(result));
}

inline void profile::add_kernel(const graph& calls, std::size_t number, double took) {
  const graph_node& node = calls.nodes()[number];
  profile_entry& e = entry(calls, node);
  e.seconds += took;
  ++e.calls;
  e.flops += node.kernel.flops(calls.specs(node.operands));
  for (const std::vector<value_id>* ids : {&node.operands, &node.results}) {
    for (const value_id id : *ids) {
      const tensor_spec s = calls.spec(id);
      e.bytes += id == no_value
                     ? 0.0
                     : static_cast<double>(s.shape.size() * bytes_of(s.type, number_bytes));
    }
  }
}

inline void profile::add(const timeline& times, double took) {
  ++steps;
  seconds += took;
  const auto seconds_of = [](const auto& e) { return 1e-9 * static_cast<double>(e.end - e.begin); };
  for (const kernel_time& e : times.kernels) {
    if (e.node != kernel_time::no_node) {
      add_kernel(*e.calls, e.node, seconds_of(e));
      continue;
    }
    // The time of several kernels on batch tiles is divided among them by their busy time.
    const auto in_stretch = [&](const kernel_time& k) {
      return k.calls == e.calls && k.stretch == e.stretch && k.begin >= e.begin && k.end <= e.end;
    };
    std::map<std::size_t, double> busy;
    double total = 0;
    for (const std::vector<kernel_time>& lane : times.lanes) {
      for (const kernel_time& k : lane) {
        if (in_stretch(k)) {
          busy[k.node] += seconds_of(k);
          total += seconds_of(k);
        }
      }
    }
    for (const auto& [node, part] : busy) {
      add_kernel(*e.calls, node, part / total * seconds_of(e));
    }
  }
  for (const named_time& other : times.activities) {
    const auto known = std::find_if(activities.begin(), activities.end(),
                                    [&](const auto& o) { return o.first == other.name; });
    if (known == activities.end()) {
      activities.emplace_back(other.name, seconds_of(other));
    } else {
      known->second += seconds_of(other);
    }
  }
}

inline std::vector<std::vector<std::string>> profile::layer_rows() const {
  struct sums {
    double phases[3] = {0, 0, 0};
    double flops = 0;
    double bytes = 0;
    [[nodiscard]] double seconds() const { return phases[0] + phases[1] + phases[2]; }
  };
  std::vector<std::string> names;
  std::map<std::string, sums> layer_sums;
  sums total;
  for (const layer_summary& l : layers) {
    names.push_back(l.name);
  }
  for (const profile_entry& e : entries) {
    if (std::find(names.begin(), names.end(), e.layer) == names.end()) {
      names.push_back(e.layer);
    }
    for (sums* s : {&layer_sums[e.layer], &total}) {
      s->phases[static_cast<std::size_t>(e.phase)] += e.seconds;
      s->flops += e.flops;
      s->bytes += e.bytes;
    }
  }
  std::vector<std::vector<std::string>> rows{{"layer", "forward ms", "backward ms", "update ms",
                                              "other ms", "share %", "GFLOP/s", "of peak %", "GB/s",
                                              "activations", "gradients", "parameters"}};
  const auto add = [&](const std::string& name, const sums& s, const std::vector<std::string>& held,
                       double other = 0) {
    const double took = s.seconds();
    rows.push_back({name, milliseconds(s.phases[0]), milliseconds(s.phases[1]),
                    milliseconds(s.phases[2]), other > 0 ? milliseconds(other) : "",
                    share_of(took + other), rate(s.flops, took),
                    took > 0 && peak_flops > 0 && s.flops > 0
                        ? fixed_text(100 * s.flops / took / peak_flops, 1)
                        : "",
                    rate(s.bytes, took)});
    rows.back().insert(rows.back().end(), held.begin(), held.end());
  };
  const auto size = [](double bytes) { return bytes > 0 ? scaled(bytes, "B") : ""; };
  double activations = 0;
  double parameters = 0;
  double gradients = 0;
  for (const std::string& name : names) {
    const auto layer = std::find_if(layers.begin(), layers.end(),
                                    [&](const layer_summary& l) { return l.name == name; });
    std::vector<std::string> held(3);
    if (layer != layers.end()) {
      const double activation_bytes = static_cast<double>(layer->activation_bytes) / sizeof(float) *
                                      static_cast<double>(number_bytes * batch_size);
      const auto parameter_bytes = static_cast<double>(layer->parameters * number_bytes);
      activations += activation_bytes;
      parameters += parameter_bytes;
      gradients += layer->frozen ? 0 : parameter_bytes;
      held = {size(activation_bytes), layer->frozen ? "" : size(parameter_bytes),
              size(parameter_bytes)};
    }
    add(name, layer_sums[name], held);
  }
  const auto add_other = [&](const std::string& name, double took) {
    rows.push_back({name, "", "", "", milliseconds(took), share_of(took), "", "", "", "", "", ""});
  };
  for (const auto& [name, took] : activities) {
    add_other(name, took);
  }
  add_other("not accounted for", seconds * (1 - accounted()));
  add("a step: " + milliseconds(seconds) + " ms", total,
      {size(activations), size(gradients), size(parameters)}, seconds - total.seconds());
  return rows;
}

inline std::vector<std::vector<std::string>> profile::kernel_rows(std::size_t max_kernels) const {
  static constexpr const char* phases[] = {"forward", "backward", "update"};
  std::vector<const profile_entry*> longest;
  for (const profile_entry& e : entries) {
    longest.push_back(&e);
  }
  std::sort(longest.begin(), longest.end(),
            [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  longest.resize(std::min(longest.size(), max_kernels));
  std::vector<std::vector<std::string>> rows{
      {"kernel", "layer", "phase", "ms", "share %", "GFLOP/s", "GB/s"}};
  for (const profile_entry* e : longest) {
    rows.push_back({e->kernel, e->layer, phases[static_cast<std::size_t>(e->phase)],
                    milliseconds(e->seconds), share_of(e->seconds), rate(e->flops, e->seconds),
                    rate(e->bytes, e->seconds)});
  }
  return rows;
}

inline std::vector<std::vector<std::string>> profile::memory_rows() const {
  const auto size = [](std::size_t bytes) { return scaled(static_cast<double>(bytes), "B"); };
  const std::size_t known = memory.baseline + memory.training.graph + memory.training.batch_tiles;
  return {{"memory", ""},
          {"before the training: program, libraries, data, model", size(memory.baseline)},
          {"  of which parameters", size(memory.training.parameters)},
          {"  of which optimizer state", size(memory.training.optimizer_state)},
          {"activations and gradients of a step", size(memory.training.graph)},
          {"working memory of batch tiles", size(memory.training.batch_tiles)},
          {"batches, graphs and the rest", size(memory.peak - std::min(memory.peak, known))},
          {"peak resident memory", size(memory.peak)}};
}

inline std::string profile::note() const {
  if (steps == 0) {
    return "No step was measured: the training has not run, or it ended within the first steps, "
           "which profiler_options::skip excludes.";
  }
  std::string result = text("Steps ", first_step, " to ", first_step + steps - 1, ", ", batch_size,
                            " samples each; times are for one step, GFLOP/s and GB/s for kernels.");
  if (peak_flops > 0) {
    result += " The machine's measured peak is " + scaled(peak_flops, "FLOP/s") + '.';
  }
  return result;
}

inline std::string profile::layer_table() const {
  return text_table(layer_rows(), 1, true) + note() + '\n';
}
inline std::string profile::kernel_table(std::size_t max_kernels) const {
  return text_table(kernel_rows(max_kernels), 3);
}
inline std::string profile::memory_table() const { return text_table(memory_rows(), 1, true); }

}  // namespace glia
