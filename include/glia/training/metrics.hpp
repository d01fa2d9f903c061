#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/losses/targets.hpp"

namespace glia {

/// A share of the samples: those whose class is among the k with the highest scores.
struct metric {
  std::string name;
  std::size_t k = 1;  ///< at least 1

  friend bool operator==(const metric&, const metric&) = default;
};

/// The share of samples whose class has the highest score; for a model with one output, of those
/// that lie on their class's side of the border: 0 for a logit, 1/2 where the model ends in a
/// sigmoid or the loss is that of a regression, which brings outputs close to 0 and 1.
[[nodiscard]] inline metric accuracy() { return {"accuracy", 1}; }
/// The share of samples whose class is among the k highest scores.
[[nodiscard]] inline metric top_k(std::size_t k) {
  require<value_error>(k > 0, "top_k: expected k of at least 1");
  return {text("top_", k), k};
}

/// Loss and metrics, averaged over samples.
struct scores {
  double loss = 0;
  std::vector<double> metrics;  ///< in the order in which they were asked for
};

/// What is measured of outputs beside the loss.
struct scoring {
  std::vector<metric> metrics;
  double border = 0;  ///< above which a single output is taken for class 1
  friend bool operator==(const scoring&, const scoring&) = default;
};

namespace detail {

/// (N): 1 for samples that the metric counts, else 0. A single output above `border` is taken for
/// class 1. Throws where a metric cannot count such outputs.
template <backend B>
[[nodiscard]] typename B::tensor hits(const B& device, const metric& m, const typename B::tensor& y,
                                      const targets<B>& t, double border) {
  require<shape_error>(y.shape().rank() == 2, m.name, ": expected outputs (N, K), got ", y.shape());
  const std::size_t outputs = y.shape()[1];
  require<value_error>(m.k > 0 && m.k <= outputs, m.name, ": expected k from 1 to the model's ",
                       outputs, " outputs, got ", m.k);
  if (outputs == 1) {
    // Classes may also be given as the values 0 and 1, as probabilities, or as -1 and 1.
    const auto truth = t.values ? device.run(kernels::binary{binary_function::greater}, t.values,
                                             device.run(kernels::full{{}, 0.5}))
                                : device.run(kernels::one_hot{1, 0, 1}, t.classes);
    const auto guess = device.run(kernels::binary{binary_function::greater}, y,
                                  device.run(kernels::full{{}, border}));
    return device.run(kernels::binary{binary_function::equal}, guess, truth);
  }
  return device.run(kernels::in_top_k{m.k}, y,
                    t.values ? device.run(kernels::argmax{}, t.values) : t.classes);
}

/// The sums over a batch of the losses (N), then of each metric.
template <backend B>
[[nodiscard]] std::vector<typename B::tensor> sums_of(const B& device,
                                                      const typename B::tensor& losses,
                                                      const typename B::tensor& y,
                                                      const targets<B>& t, const scoring& how) {
  std::vector<typename B::tensor> sums{device.run(kernels::sum_to{{}}, losses)};
  for (const metric& m : how.metrics) {
    sums.push_back(device.run(kernels::sum_to{{}}, hits(device, m, y, t, how.border)));
  }
  return sums;
}

}  // namespace detail

/// Sums loss and metrics over batches: each batch's on the device, these in double on the host.
/// Numbers are read back when they are asked for, and every so many batches.
template <backend B>
class running_scores {
 public:
  /// A single output above `border` is taken for class 1.
  running_scores(B device, std::vector<metric> metrics, double border = 0)
      : device_(std::move(device)), how_{std::move(metrics), border} {
    pending_.reserve(batches_at_a_time * (1 + how_.metrics.size()));
    reset();
  }

  void reset() {
    count_ = 0;
    pending_.clear();
    sums_.assign(1 + how_.metrics.size(), 0);
  }

  /// `losses` (N) and outputs `y` of a batch. Throws where a metric cannot count such outputs.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t) {
    add_sums(y.shape()[0], detail::sums_of(device_, losses, y, t, how_));
  }
  /// The same where the sums over a batch of `count` samples have been computed: of the loss, then
  /// of each metric.
  void add_sums(std::size_t count, const std::vector<typename B::tensor>& sums) {
    make_room();
    count_ += count;
    pending_.insert(pending_.end(), sums.begin(), sums.end());
  }

  [[nodiscard]] const scoring& how() const { return how_; }
  [[nodiscard]] const std::vector<metric>& metrics() const { return how_.metrics; }

  /// The mean loss so far.
  [[nodiscard]] double loss() const { return mean(0); }

  [[nodiscard]] scores means() const {
    scores result;
    result.loss = loss();
    for (std::size_t i = 0; i < how_.metrics.size(); ++i) {
      result.metrics.push_back(mean(i + 1));
    }
    return result;
  }

 private:
  static constexpr std::size_t batches_at_a_time = 4;

  void make_room() {
    if (pending_.size() == batches_at_a_time * sums_.size()) {
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        sums_[i] = sum(i);
      }
      pending_.clear();
    }
  }

  [[nodiscard]] double mean(std::size_t i) const {
    return count_ == 0 ? 0 : sum(i) / static_cast<double>(count_);
  }

  /// Over all batches; the loss is number 0, the metrics follow.
  [[nodiscard]] double sum(std::size_t i) const {
    double result = sums_[i];
    for (std::size_t at = i; at < pending_.size(); at += sums_.size()) {
      result += number_in(pending_[at]);
    }
    return result;
  }

  [[nodiscard]] double number_in(const typename B::tensor& t) const {
    double value = 0;
    device_.to_host(t, std::span(&value, 1));
    return value;
  }

  B device_;
  scoring how_;
  std::vector<double> sums_;                 // the loss, then each metric
  std::vector<typename B::tensor> pending_;  // the same for each batch not yet in the sums
  std::size_t count_ = 0;
};

}  // namespace glia
