#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/checked_sums.hpp"
#include "glia/training/running_scores.hpp"

namespace glia {

namespace detail {

/// Returns the mean of each sample's numbers in `found` (N, ...) over the rows whose class is not
/// -1. The numbers of other rows must be 0. The result has the shape (N).
[[nodiscard]] inline tensor shares_of_counting(const glia::device& device, const tensor& found,
                                               const tensor& classes) {
  const std::size_t samples = classes.shape()[0];
  const shape rows{samples, sample_of(classes.shape()).size()};
  const auto counting = device.run(kernels::reshape{rows}, class_mask(device, classes));
  const auto shares = device.run(
      kernels::binary{binary_function::divide},
      device.run(kernels::sum_to{{samples, 1}}, device.run(kernels::reshape{rows}, found)),
      count_of_ones(device, counting));
  return device.run(kernels::reshape{{samples}}, shares);
}

/// Returns the hits (N) of a metric that counts classes: 1 if a sample's class is among the k
/// highest outputs, otherwise 0. For outputs (N, ..., K) with a class for each row, a hit is the
/// fraction of a sample's rows. A single output above `border` predicts class 1. Throws
/// `shape_error` or `value_error` if the metric does not fit the outputs.
[[nodiscard]] inline tensor hits(const glia::device& device, const metric& m, const tensor& y,
                                 const targets& t, double border) {
  const bool rows = t.values && are_classes_of_rows(t.values.shape(), y.shape());
  require<shape_error>(y.shape().rank() == 2 || rows, m.name,
                       ": expected outputs (N, K), or (N, ..., K) with a class for each row, got "
                       "outputs of shape ",
                       y.shape());
  const std::size_t outputs = y.shape().back();
  require<value_error>(m.k > 0 && m.k <= outputs, m.name, ": expected k from 1 to the model's ",
                       outputs, " outputs, got ", m.k);
  if (outputs == 1) {
    // Targets can also be the values 0 and 1, probabilities, or -1 and 1.
    const auto truth = t.values ? device.run(kernels::binary{binary_function::greater}, t.values,
                                             device.run(kernels::full{{}, 0.5}))
                                : device.run(kernels::one_hot{1, 0, 1}, t.labels);
    const auto guess = device.run(kernels::binary{binary_function::greater}, y,
                                  device.run(kernels::full{{}, border}));
    const auto right = device.run(kernels::binary{binary_function::equal}, guess, truth);
    // NaN is never correct.
    const auto number = device.run(kernels::binary{binary_function::equal}, y, y);
    return device.run(kernels::reshape{{y.shape()[0]}},
                      device.run(kernels::binary{binary_function::multiply}, right, number));
  }
  if (rows) {
    const auto classes = device.run(kernels::to_index{}, t.values);
    const auto one_each = device.run(kernels::reshape{{classes.shape().size()}}, classes);
    const auto found = device.run(kernels::in_top_k{m.k}, y, one_each);
    return shares_of_counting(device, device.run(kernels::reshape{classes.shape()}, found),
                              t.values);
  }
  return device.run(kernels::in_top_k{m.k}, y,
                    t.values ? device.run(kernels::argmax{}, t.values) : t.labels);
}

GLIA_INLINE std::vector<tensor> sums_of(const glia::device& device, const tensor& losses,
                                        const tensor& y, const targets& t, const scoring& spec,
                                        const tensor& present) {
  const auto sum = [&](const tensor& of_each) {
    return device.run(kernels::sum_to{{}},
                      present
                          ? device.run(kernels::binary{binary_function::multiply}, of_each, present)
                          : of_each);
  };
  std::vector<tensor> sums{sum(losses)};
  for (const metric& m : spec.metrics) {
    if (m.counts_classes()) {
      const tensor found = hits(device, m, y, t, spec.border);
      sums.push_back(
          sum(m.is_weighted && t.weights
                  ? device.run(kernels::binary{binary_function::multiply}, found, t.weights)
                  : found));
    }
  }
  return sums;
}

}  // namespace detail

GLIA_INLINE running_scores::running_scores(glia::device device, std::vector<metric> metrics,
                                           double border)
    : device_(std::move(device)), spec_{std::move(metrics), border} {
  for (const metric& m : spec_.metrics) {
    require<value_error>(
        m.update_state || m.k > 0, m.name,
        ": expected the metric to have .update_state, a function that adds to its sums, or .k of "
        "at least 1, the number of highest scores in which a class counts");
    require<value_error>(m.state_size > 0 || m.counts_classes(), m.name,
                         ": expected .state_size of at least 1");
    require<value_error>(!m.per_sample || m.result || m.counts_classes(), m.name,
                         ": a metric with .per_sample needs .result, a function that computes the "
                         "metric from the numbers of all samples");
    require<value_error>(!m.is_weighted || !m.per_sample || m.reads_weight || m.counts_classes(),
                         m.name,
                         ": a weighted metric with .per_sample needs an .update_state that uses "
                         "target.weight; set .reads_weight = true if it does");
  }
  reset();
  if (!device_.compiles_whole_graphs()) {
    pending_.reserve(batches_at_a_time() * sums_.size());
    read_.reserve(batches_at_a_time() * sums_.size());
  }
}

GLIA_INLINE void running_scores::reset() {
  count_ = 0;
  weight_ = 0;
  last_count_ = 0;
  pending_.clear();
  states_.clear();
  for (const metric& m : spec_.metrics) {
    states_.emplace_back(m.counts_classes() || m.per_sample ? 0 : m.state_size);
  }
  sums_.assign(spec_.sums(), 0);
}

GLIA_INLINE void running_scores::add_sums(std::size_t count, double weight,
                                          std::span<const tensor> sums) {
  make_room();
  count_ += count;
  weight_ += weight;
  last_count_ = count;
  pending_.insert(pending_.end(), sums.begin(), sums.end());
}

GLIA_INLINE void running_scores::add(const tensor& losses, const tensor& y, const targets& t,
                                     const batch& b) {
  const tensor present = spec_.counted.counts_all()
                             ? tensor{}
                             : detail::present_rows(device_, spec_.counted, b, b.size);
  add_sums(detail::count_of(spec_.counted, b), detail::weight_of(spec_.counted, b),
           detail::sums_of(device_, losses, y, t, spec_, present));
  if (spec_.needs_outputs()) {
    add_outputs(y, b);
  }
}

GLIA_INLINE void running_scores::add_results(std::span<const tensor> results, const batch& b) {
  add_sums(detail::count_of(spec_.counted, b), detail::weight_of(spec_.counted, b),
           results.first(sums_.size()));
  if (results.size() > sums_.size()) {
    add_outputs(results.back(), b);
  }
}

GLIA_INLINE void running_scores::add_outputs(const tensor& y, const batch& b) {
  outputs_.resize(y.shape().size());
  device_.to_host(y, std::span(outputs_));
  const std::size_t width = b.size == 0 ? 0 : outputs_.size() / y.shape()[0];
  add_outputs(std::span<const float>(outputs_).first(b.size * width), b);
}

GLIA_INLINE void running_scores::add_read(std::size_t count, double weight,
                                          std::span<const double> sums) {
  read_pending();
  count_ += count;
  weight_ += weight;
  last_count_ = count;
  last_sum_ = sums[0];
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += sums[i];
  }
}

GLIA_INLINE void running_scores::add_outputs(std::span<const float> outputs, const batch& b) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!spec_.metrics[i].counts_classes()) {
      add_outputs(outputs, b, spec_.metrics[i], states_[i]);
    }
  }
}

GLIA_INLINE void running_scores::add_outputs(std::span<const float> outputs, const batch& b,
                                             const metric& m, std::vector<double>& state) {
  const std::size_t width = b.size == 0 ? 0 : outputs.size() / b.size;
  const bool has_weight = m.is_weighted && !b.weights.empty();
  // The numbers of each sample are multiplied by its weight, unless the metric does that itself.
  const bool multiplies = has_weight && !m.reads_weight;
  additions_.assign(m.state_size, 0);
  std::vector<double>& numbers = multiplies ? additions_ : state;
  std::optional<detail::checked_sums> sums;
  if (multiplies || !m.per_sample) {
    sums.emplace(numbers, m.state_size);
  }
  for (std::size_t n = 0; n < b.size; ++n) {
    const std::span<const float> values = b.target_of(n);
    const float weight = has_weight ? b.weights[n] : 1;
    if (!spec_.counted.counts(values)) {
      continue;
    }
    if (m.per_sample) {
      state.resize(state.size() + m.state_size);
    }
    if (multiplies && weight == 0) {
      continue;  // 0 times NaN is NaN
    }
    if (!multiplies && m.per_sample) {
      sums.emplace(numbers, m.state_size);
    }
    const auto real_values = b.labels.empty() ? values : std::span<const float>();
    m.update_state(outputs.subspan(n * width, width),
                   {.label = b.labels.empty() ? -1 : b.labels[n],
                    .values = {real_values, m.name},
                    .threshold = spec_.border,
                    .weight = weight},
                   sums->numbers());
    if (!multiplies && m.per_sample) {
      sums->check(m.name);
      sums.reset();
    } else if (multiplies) {
      const std::span<double> totals = std::span(state).last(m.state_size);
      for (std::size_t k = 0; k < totals.size(); ++k) {
        totals[k] += weight * std::exchange(sums->numbers()[k], 0);
      }
    }
  }
  if (sums) {
    sums->check(m.name);
  }
}

GLIA_INLINE scores running_scores::means() const {
  scores result;
  result.loss = loss();
  std::size_t counted = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const metric& m = spec_.metrics[i];
    const double samples = samples_for(m);
    const double total = m.counts_classes() ? sum(++counted) : 0;
    result.metric_names.push_back(m.name);
    result.metric_values.push_back(samples == 0         ? 0
                                   : m.counts_classes() ? total / samples
                                   : m.result           ? m.result(states_[i], samples)
                                                        : states_[i][0] / samples);
  }
  return result;
}

GLIA_INLINE std::vector<double> running_scores::sums_so_far() const {
  std::vector<double> result{static_cast<double>(count_)};
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    result.push_back(sum(i));
  }
  for (const std::vector<double>& state : states_) {
    result.insert(result.end(), state.begin(), state.end());
  }
  if (spec_.is_weighted()) {
    result.push_back(weight_);
  }
  return result;
}

GLIA_INLINE void running_scores::go_on_from(std::span<const double> numbers) {
  const double samples = numbers.empty() ? 0 : numbers[0];
  double expected = 1 + static_cast<double>(sums_.size()) + (spec_.is_weighted() ? 1 : 0);
  for (const metric& m : spec_.metrics) {
    if (!m.counts_classes()) {
      expected += static_cast<double>(m.state_size) * (m.per_sample ? samples : 1);
    }
  }
  constexpr double limit = 0x1p53;
  require<value_error>(samples >= 0 && samples < limit && samples == std::floor(samples),
                       "running_scores: expected a number of samples as the first value, got ",
                       samples);
  require<value_error>(static_cast<double>(numbers.size()) == expected, "running_scores: expected ",
                       expected, " values for ", samples, " samples, got ", numbers.size(),
                       "; the values belong to other metrics");
  reset();
  count_ = static_cast<std::size_t>(samples);
  numbers = numbers.subspan(1);
  const auto next = [&](std::size_t count) {
    const auto result = numbers.first(count);
    numbers = numbers.subspan(count);
    return result;
  };
  const auto of_all = next(sums_.size());
  sums_.assign(of_all.begin(), of_all.end());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const metric& m = spec_.metrics[i];
    if (!m.counts_classes()) {
      const auto state = next(m.state_size * (m.per_sample ? count_ : 1));
      states_[i].assign(state.begin(), state.end());
    }
  }
  weight_ = spec_.is_weighted() ? next(1)[0] : samples;
}

GLIA_INLINE void running_scores::make_room() {
  if (pending_.size() == batches_at_a_time() * sums_.size()) {
    read_pending();
  }
}

GLIA_INLINE void running_scores::read_pending() const {
  read_.resize(pending_.size());
  device_.numbers_to_host(pending_, read_);
  for (std::size_t i = 0; i < read_.size(); ++i) {
    sums_[i % sums_.size()] += read_[i];
  }
  if (!pending_.empty()) {
    last_sum_ = read_[read_.size() - sums_.size()];
  }
  pending_.clear();
}

/// The sum over all batches; index 0 is the loss.
GLIA_INLINE double running_scores::sum(std::size_t i) const {
  read_pending();
  return sums_[i];
}

}  // namespace glia
