#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/core/ranking.hpp"
#include "glia/core/row_part.hpp"
#include "glia/losses/targets.hpp"
#include "glia/training/metric.hpp"
#include "glia/training/output_metrics.hpp"

namespace glia {

GLIA_INLINE metric for_output(const std::string& output, metric m) {
  m.name = output + "_" + m.name;
  m.output = output;
  return m;
}

namespace detail {

/// The fraction of the rows of scores (..., K) whose class is among the k highest scores. Rows of
/// class -1 are ignored. The targets are one class for each row, or one value for each score; in
/// the second case, the class is the highest value.
GLIA_INLINE double share_in_top_k(std::span<const float> scores, std::span<const float> targets,
                                  std::size_t classes, std::size_t k) {
  const std::size_t rows = scores.size() / classes;
  double hits = 0;
  double counting = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t truth = 0;
    if (targets.size() == rows) {
      if (targets[row] < 0) {
        continue;
      }
      truth = static_cast<std::size_t>(targets[row]);
    } else {
      const auto of_row = targets.subspan(row * classes, classes);
      truth =
          static_cast<std::size_t>(std::max_element(of_row.begin(), of_row.end()) - of_row.begin());
    }
    hits += is_in_top_k(scores.subspan(row * classes, classes), truth, k) ? 1 : 0;
    ++counting;
  }
  return counting == 0 ? 0 : hits / counting;
}

/// Returns a metric like `m` that skips ignored samples. An additional sum counts the samples that
/// are not ignored.
GLIA_INLINE metric of_counted(const metric& m, const counted_targets& counted) {
  metric result = m;
  result.state_size = m.state_size + 1;
  result.update_state = [=, add = m.update_state, size = m.state_size, reads = m.reads_weight](
                            auto y, const sample_target& t, std::span<double> sums) {
    if (counted.counts(t.values)) {
      add(y, t, sums.first(size));
      sums[size] += reads ? t.weight : 1;
    }
  };
  result.result = [finish = m.result, size = m.state_size, per_sample = m.per_sample](
                      std::span<const double> sums, double) {
    std::vector<double> states(sums.begin(), sums.end() - 1);
    double count = sums[size];
    if (per_sample) {
      states.clear();
      count = 0;
      for (std::size_t offset = 0; offset < sums.size(); offset += size + 1) {
        if (sums[offset + size] > 0) {
          states.insert(states.end(), sums.begin() + static_cast<std::ptrdiff_t>(offset),
                        sums.begin() + static_cast<std::ptrdiff_t>(offset + size));
          count += sums[offset + size];
        }
      }
    }
    return count == 0 ? 0 : finish ? finish(states, count) : states[0] / count;
  };
  return result;
}

/// Converts the metric of one output to a metric of rows that contain all outputs side by side.
GLIA_INLINE metric of_rows(const metric& m, const std::vector<row_part>& outputs,
                           const std::vector<row_part>& targets) {
  const row_part output = part_called(m.output, outputs, m.name);
  const row_part target = part_called(m.output, targets, m.name);
  metric result = m;
  const bool of_rows = target.classes > 0 && target.extents.rank() > 0;
  const counted_targets counted{{{target.first, target.end()}}};
  if (m.counts_classes()) {
    const std::size_t classes = output.extents.rank() == 0 ? 1 : output.extents.back();
    require<value_error>(classes > 1, m.name,
                         ": the metric needs one score for each class, but the output '", m.output,
                         "' is one number; use another metric, such as glia::mae()");
    require<value_error>(m.k > 0 && m.k <= classes, m.name, ": expected k from 1 to the ", classes,
                         " classes of the output '", m.output, "', got ", m.k);
    result.k = 0;
    result.update_state = [=, k = m.k](auto y, const sample_target& t, std::span<double> sums) {
      sums[0] += share_in_top_k(y.subspan(output.first, output.size()),
                                t.values.subspan(target.first, target.size()), classes, k);
    };
    return of_rows ? of_counted(result, counted) : result;
  }
  const bool label = target.classes > 0 && !of_rows;
  result.update_state = [=, add = m.update_state, name = m.name](auto y, const sample_target& t,
                                                                 std::span<double> sums) {
    const double threshold = output.gives == output_kind::sigmoid ? 0.5 : 0;
    const auto values = t.values.subspan(target.first, target.size());
    add(y.subspan(output.first, output.size()),
        label ? sample_target{.label = static_cast<std::int32_t>(values[0]),
                              .threshold = threshold,
                              .weight = t.weight}
              : sample_target{.values = {values, name}, .threshold = threshold, .weight = t.weight},
        sums);
  };
  if (m.unsupported_reason) {
    result.unsupported_reason = [=, refuses = m.unsupported_reason](const measured_outputs&) {
      return refuses({output.extents, label ? std::nullopt : std::optional(target.extents),
                      output_kind::other});
    };
  }
  return of_rows ? of_counted(result, counted) : result;
}

GLIA_INLINE std::vector<metric> metrics_of_rows(std::vector<metric> metrics,
                                                const std::vector<row_part>& outputs,
                                                const std::vector<row_part>& targets) {
  for (metric& m : metrics) {
    require<value_error>(m.output.empty() == outputs.empty(), m.name,
                         outputs.empty()
                             ? ": the metric is for a named output, but the model has no named "
                               "outputs; remove glia::for_output"
                             : ": the model has several outputs; name one of them, as in "
                               "glia::for_output(\"digit\", ...)");
    if (!m.output.empty()) {
      m = detail::of_rows(m, outputs, targets);
    }
  }
  return metrics;
}

}  // namespace detail

}  // namespace glia
