#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/training/feed.hpp"
#include "glia/training/running_scores.hpp"

namespace glia {

template <backend B>
running_scores<B>::running_scores(B device, std::vector<metric> metrics, double border)
    : device_(std::move(device)), how_{std::move(metrics), border} {
  for (const metric& m : how_.metrics) {
    require<value_error>(
        m.update_state || m.k > 0, m.name,
        ": expected the metric to have .update_state, a function that adds to its sums, or .k of "
        "at least 1, the number of highest scores in which a class counts");
    require<value_error>(m.state_size > 0 || m.counts_classes(), m.name,
                         ": expected .state_size of at least 1");
    require<value_error>(!m.per_sample || m.result || m.counts_classes(), m.name,
                         ": a metric with .per_sample needs .result, a function that computes the "
                         "metric from the numbers of all samples");
  }
  reset();
  if constexpr (!compiling_backend<B>) {
    pending_.reserve(batches_at_a_time * sums_.size());
    read_.reserve(batches_at_a_time * sums_.size());
  }
}

template <backend B>
void running_scores<B>::reset() {
  count_ = 0;
  pending_.clear();
  own_.clear();
  for (const metric& m : how_.metrics) {
    own_.emplace_back(m.counts_classes() || m.per_sample ? 0 : m.state_size);
  }
  sums_.assign(how_.sums(), 0);
}

template <backend B>
void running_scores<B>::add_sums(std::size_t count, std::span<const typename B::tensor> sums) {
  make_room();
  count_ += count;
  pending_.insert(pending_.end(), sums.begin(), sums.end());
}

template <backend B>
void running_scores<B>::add(const typename B::tensor& losses, const typename B::tensor& y,
                            const targets<B>& t, const batch& b) {
  const typename B::tensor present =
      how_.counted.all() ? typename B::tensor{} : present_rows(device_, how_.counted, b, b.size);
  add_sums(count_of(how_.counted, b), detail::sums_of(device_, losses, y, t, how_, present));
  if (how_.needs_outputs()) {
    add_outputs(y, b);
  }
}

template <backend B>
void running_scores<B>::add_results(std::span<const typename B::tensor> results, const batch& b) {
  add_sums(count_of(how_.counted, b), results.first(sums_.size()));
  if (results.size() > sums_.size()) {
    add_outputs(results.back(), b);
  }
}

template <backend B>
void running_scores<B>::add_outputs(const typename B::tensor& y, const batch& b) {
  outputs_.resize(y.shape().size());
  device_.to_host(y, std::span(outputs_));
  const std::size_t each = b.size == 0 ? 0 : outputs_.size() / y.shape()[0];
  add_outputs(std::span<const float>(outputs_).first(b.size * each), b);
}

template <backend B>
void running_scores<B>::add_read(std::size_t count, std::span<const double> sums) {
  read_pending();
  count_ += count;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += sums[i];
  }
}

template <backend B>
void running_scores<B>::add_outputs(std::span<const float> all, const batch& b) {
  const std::size_t outputs = b.size == 0 ? 0 : all.size() / b.size;
  for (std::size_t n = 0; n < b.size; ++n) {
    const std::span<const float> values = b.target_of(n);
    if (!how_.counted.counts(values)) {
      continue;
    }
    const auto own = b.labels.empty() ? values : std::span<const float>();
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const metric& m = how_.metrics[i];
      if (!m.counts_classes()) {
        if (m.per_sample) {
          own_[i].resize(own_[i].size() + m.state_size);
        }
        const sample_target target{.label = b.labels.empty() ? -1 : b.labels[n],
                                   .values = {own, m.name},
                                   .threshold = how_.border};
        m.update_state(all.subspan(n * outputs, outputs), target,
                       std::span(own_[i]).last(m.state_size));
      }
    }
  }
}

template <backend B>
scores running_scores<B>::means() const {
  scores result;
  result.loss = loss();
  std::size_t counted = 0;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const metric& m = how_.metrics[i];
    const auto samples = static_cast<double>(count_);
    result.metric_names.push_back(m.name);
    result.metric_values.push_back(m.counts_classes() ? mean(++counted)
                                   : count_ == 0      ? 0
                                   : m.result         ? m.result(own_[i], samples)
                                                      : own_[i][0] / samples);
  }
  return result;
}

template <backend B>
std::vector<double> running_scores<B>::sums_so_far() const {
  std::vector<double> result{static_cast<double>(count_)};
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    result.push_back(sum(i));
  }
  for (const std::vector<double>& own : own_) {
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

template <backend B>
void running_scores<B>::go_on_from(std::span<const double> numbers) {
  const double samples = numbers.empty() ? 0 : numbers[0];
  double expected = 1 + static_cast<double>(sums_.size());
  for (const metric& m : how_.metrics) {
    if (!m.counts_classes()) {
      expected += static_cast<double>(m.state_size) * (m.per_sample ? samples : 1);
    }
  }
  constexpr double most = 0x1p53;
  require<value_error>(samples >= 0 && samples < most && samples == std::floor(samples),
                       "running_scores: expected a number of samples as the first value, got ",
                       samples);
  require<value_error>(static_cast<double>(numbers.size()) == expected, "running_scores: expected ",
                       expected, " values for ", samples, " samples, got ", numbers.size(),
                       "; the values belong to other metrics");
  reset();
  count_ = static_cast<std::size_t>(samples);
  numbers = numbers.subspan(1);
  const auto next = [&](std::size_t count) {
    const auto taken = numbers.first(count);
    numbers = numbers.subspan(count);
    return taken;
  };
  const auto of_all = next(sums_.size());
  sums_.assign(of_all.begin(), of_all.end());
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const metric& m = how_.metrics[i];
    if (!m.counts_classes()) {
      const auto own = next(m.state_size * (m.per_sample ? count_ : 1));
      own_[i].assign(own.begin(), own.end());
    }
  }
}

template <backend B>
void running_scores<B>::make_room() {
  if (pending_.size() == batches_at_a_time * sums_.size()) {
    read_pending();
  }
}

template <backend B>
void running_scores<B>::read_pending() const {
  read_.resize(pending_.size());
  numbers_to_host(device_, std::span<const typename B::tensor>(pending_), std::span(read_));
  for (std::size_t i = 0; i < read_.size(); ++i) {
    sums_[i % sums_.size()] += read_[i];
  }
  pending_.clear();
}

/// The sum over all batches; index 0 is the loss.
template <backend B>
double running_scores<B>::sum(std::size_t i) const {
  read_pending();
  return sums_[i];
}

}  // namespace glia
