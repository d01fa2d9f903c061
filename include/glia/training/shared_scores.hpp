#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/running_scores.hpp"

namespace glia {

namespace detail {

template <class T>
[[nodiscard]] std::string_view bytes_of_all(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A checksum of four samples of a data set, to detect that ranks have different data.
[[nodiscard]] inline std::string sampled_checksum(const dataset_view& data) {
  const auto last = static_cast<std::uint32_t>(data.size() - 1);
  const std::array samples{std::uint32_t{0}, last / 3, last / 3 * 2, last};
  batch some;
  data.gather(samples, some);
  checksum sum;
  sum.add(bytes_of_all(some.inputs));
  sum.add(bytes_of_all(some.labels));
  sum.add(bytes_of_all(some.targets));
  return text(sum.value());
}

}  // namespace detail

/// Collects the outputs for a batch from all ranks, and adds them to the metrics that need outputs,
/// in the order of the samples.
inline void add_outputs_of_all(rank_group& ranks, const batch& own,
                               const std::vector<float>& outputs, running_scores& sums) {
  batch whole;
  whole.size = own.whole_size();
  whole.labels = gather_all(ranks, own.labels);
  whole.targets = gather_all(ranks, own.targets);
  const std::vector<float> all = gather_all(ranks, outputs);
  sums.add_outputs(std::span<const float>(all), whole);
}

/// Sums the scores of batches that the ranks take in turn. All ranks add the scores in the order of
/// the batches, so that the result is the same, bit for bit, for every number of ranks.
class shared_scores {
 public:
  /// `ranks` can be null; then all batches belong to this process.
  shared_scores(rank_group* ranks, const glia::device& device, running_scores& into)
      : ranks_(ranks), device_(&device), into_(&into) {}

  /// Adds the results of a batch; see scoring::results.
  void add(std::span<const tensor> results, const batch& b) {
    if (ranks_ == nullptr) {
      into_->add_results(results, b);
      return;
    }
    sizes_.push_back(b.size);
    counts_.push_back(count_of(into_->how().counted, b));
    const std::size_t count = into_->how().sums();
    for (const tensor& sum : results.first(count)) {
      device_->to_host(sum, std::span(&sums_.emplace_back(), 1));
    }
    if (into_->how().needs_outputs()) {
      const tensor& y = results.back();
      std::vector<float> all(y.shape().size());
      device_->to_host(y, std::span(all));
      const auto end = static_cast<std::ptrdiff_t>(all.size() / y.shape()[0] * b.size);
      outputs_.insert(outputs_.end(), all.begin(), all.begin() + end);
      classes_.insert(classes_.end(), b.labels.begin(), b.labels.end());
      targets_.insert(targets_.end(), b.targets.begin(), b.targets.end());
    }
  }

  /// Exchanges the scores after all ranks have added all their batches.
  void finish() {
    if (ranks_ == nullptr) {
      return;
    }
    const auto sizes = gather_each(*ranks_, sizes_);
    const auto counts = gather_each(*ranks_, counts_);
    const auto sums = gather_each(*ranks_, sums_);
    const bool scored = into_->how().needs_outputs();
    const auto outputs = scored ? gather_each(*ranks_, outputs_) : nothing<float>();
    const auto classes = scored ? gather_each(*ranks_, classes_) : nothing<std::int32_t>();
    const auto targets = scored ? gather_each(*ranks_, targets_) : nothing<float>();
    std::vector<std::size_t> seen(sizes.size());  // samples of each rank
    const std::size_t count = into_->how().sums();
    for (std::size_t turn = 0; turn < sizes[0].size(); ++turn) {
      for (std::size_t i = 0; i < sizes.size() && turn < sizes[i].size(); ++i) {
        const std::size_t size = sizes[i][turn];
        into_->add_read(counts[i][turn], std::span(sums[i]).subspan(turn * count, count));
        if (scored) {
          const auto of_batch = [&](const auto& values) {
            const std::size_t each = values[i].size() / total(sizes[i]);
            return std::span(values[i]).subspan(seen[i] * each, size * each);
          };
          batch b;
          b.size = size;
          b.labels.assign(of_batch(classes).begin(), of_batch(classes).end());
          b.targets.assign(of_batch(targets).begin(), of_batch(targets).end());
          into_->add_outputs(of_batch(outputs), b);
        }
        seen[i] += size;
      }
    }
  }

 private:
  template <class T>
  [[nodiscard]] static std::vector<std::vector<T>> nothing() {
    return {};
  }
  [[nodiscard]] static std::size_t total(const std::vector<std::size_t>& sizes) {
    std::size_t sum = 0;
    for (const std::size_t size : sizes) {
      sum += size;
    }
    return sum;
  }

  rank_group* ranks_;
  const glia::device* device_;
  running_scores* into_;
  // The values of all batches of this rank, concatenated:
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> counts_;  // numbers of samples that are not ignored
  std::vector<double> sums_;
  std::vector<float> outputs_;
  std::vector<std::int32_t> classes_;
  std::vector<float> targets_;
};

}  // namespace glia
