#pragma once

#include <cstddef>
#include <span>
#include <string>
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
/// where the logit's sign agrees with the class.
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

/// Sums loss and metrics over batches on the device; numbers are read back only when asked for.
template <backend B>
class running_scores {
 public:
  running_scores(B device, std::vector<metric> metrics)
      : device_(std::move(device)), metrics_(std::move(metrics)) {
    reset();
  }

  void reset() {
    count_ = 0;
    sums_.assign(1 + metrics_.size(), device_.full({}, 0));
  }

  /// `losses` (N) and outputs `y` of a batch.
  void add(const typename B::tensor& losses, const typename B::tensor& y, const targets<B>& t) {
    count_ += y.shape()[0];
    accumulate(sums_[0], losses);
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      accumulate(sums_[i + 1], hits(metrics_[i], y, t));
    }
  }

  [[nodiscard]] const std::vector<metric>& metrics() const { return metrics_; }

  /// The mean loss so far.
  [[nodiscard]] double loss() const { return mean_of(sums_[0]); }

  [[nodiscard]] scores means() const {
    scores result;
    result.loss = loss();
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      result.metrics.push_back(mean_of(sums_[i + 1]));
    }
    return result;
  }

 private:
  void accumulate(typename B::tensor& sum, typename B::tensor values) const {
    sum =
        device_.binary(binary_function::add, std::move(sum), device_.sum_to(std::move(values), {}));
  }

  [[nodiscard]] double mean_of(const typename B::tensor& sum) const {
    float value = 0;
    device_.to_host(sum, std::span(&value, 1));
    return count_ == 0 ? 0 : static_cast<double>(value) / static_cast<double>(count_);
  }

  /// (N): 1 for samples that the metric counts, else 0.
  [[nodiscard]] typename B::tensor hits(const metric& m, const typename B::tensor& y,
                                        const targets<B>& t) const {
    require<shape_error>(y.shape().rank() == 2, m.name, ": expected outputs (N, K), got ",
                         y.shape());
    if (y.shape()[1] == 1) {
      const auto truth = t.values ? t.values : device_.one_hot(t.classes, 1, 0, 1);
      const auto guess = device_.binary(binary_function::greater, y, device_.full({}, 0));
      return device_.binary(binary_function::equal, guess, truth);
    }
    return device_.in_top_k(y, t.values ? device_.argmax(t.values) : t.classes, m.k);
  }

  B device_;
  std::vector<metric> metrics_;
  std::vector<typename B::tensor> sums_;
  std::size_t count_ = 0;
};

}  // namespace glia
