#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/core/version.hpp"
#include "glia/distributed/agreement.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/running_build.hpp"
#include "glia/distributed/shared_step.hpp"
#include "glia/distributed/state_bytes.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

GLIA_INLINE std::shared_ptr<step_runner> rank_group::make_step_runner(const distribution& shared) {
  return std::make_shared<detail::shared_step>(shared, *this);
}

GLIA_INLINE void rank_group::require_same_training(std::span<const rank_setting> settings) {
  std::vector<rank_setting> all_settings{{"ranks", text(size())},
                                         {"glia", detail::version_text()},
                                         {"build", detail::running_build()}};
  all_settings.insert(all_settings.end(), settings.begin(), settings.end());
  detail::require_same_settings(*this, all_settings);
}

GLIA_INLINE void rank_group::require_same_tensors(std::span<const named_tensor> tensors) {
  std::vector<std::uint64_t> sums;
  for (const named_tensor& t : tensors) {
    checksum sum;
    std::visit(
        [&](const auto& values) {
          sum.add(std::string_view(reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(values[0])));
        },
        t.values);
    sums.push_back(sum.value());
  }
  const auto of_ranks = detail::gather_each(*this, sums);
  for (std::size_t i = 1; i < of_ranks.size(); ++i) {
    const auto differs = std::mismatch(of_ranks[i].begin(), of_ranks[i].end(), of_ranks[0].begin(),
                                       of_ranks[0].end());
    const auto first = static_cast<std::size_t>(differs.first - of_ranks[i].begin());
    require<rank_error>(of_ranks[i] == of_ranks[0],
                        "the ranks no longer have the same parameters: '",
                        first < tensors.size() ? tensors[first].name : "", "' of ", name_of(i),
                        " differs from that of ", name_of(0),
                        "; run the same build on the same type of processor on all ranks");
  }
}

GLIA_INLINE training_state rank_group::state_of_first(const training_state& state) {
  const std::string bytes =
      detail::from_first(*this, rank() == 0 ? bytes_of(state) : std::string());
  return rank() == 0 ? state : state_of(bytes);
}

GLIA_INLINE callback_result rank_group::agree(const callback_result& result) {
  const auto of_ranks = gather_values(*this, result.next);
  for (std::size_t i = 0; i < of_ranks.size(); ++i) {
    if (of_ranks[i] != callback_result::action::proceed) {
      return {of_ranks[i], gather(*this, result.reason)[i]};
    }
  }
  return {};
}

GLIA_INLINE std::string rank_group::first_text(const std::string& local_text) {
  const std::vector<std::string> texts = gather(*this, local_text);
  const auto first = std::find_if(texts.begin(), texts.end(),
                                  [](const std::string& text) { return !text.empty(); });
  return first == texts.end()
             ? ""
             : *first + ", on " + name_of(static_cast<std::size_t>(first - texts.begin()));
}

GLIA_INLINE bool rank_group::any(bool value) {
  const std::vector<int> values = gather_values(*this, value ? 1 : 0);
  return std::find(values.begin(), values.end(), 1) != values.end();
}

GLIA_INLINE std::vector<float> rank_group::concatenate(const std::vector<float>& values) {
  return detail::gather_all(*this, values);
}

GLIA_INLINE void rank_group::add_scores(const batch_scores& local_scores, running_scores& scores) {
  const auto sizes = detail::gather_each(*this, local_scores.sizes);
  const auto counts = detail::gather_each(*this, local_scores.counts);
  const auto weight_sums = detail::gather_each(*this, local_scores.weight_sums);
  const auto sums = detail::gather_each(*this, local_scores.sums);
  const bool scored = scores.spec().needs_outputs();
  const auto gather_samples = [&]<class T>(const std::vector<T>& values) {
    return scored ? detail::gather_each(*this, values) : std::vector<std::vector<T>>();
  };
  const auto outputs = gather_samples(local_scores.outputs);
  const auto classes = gather_samples(local_scores.classes);
  const auto targets = gather_samples(local_scores.targets);
  const auto sample_weights = gather_samples(local_scores.sample_weights);
  std::vector<std::size_t> done(sizes.size());  // samples of each rank
  const std::size_t count = scores.spec().sums();
  for (std::size_t turn = 0; turn < sizes[0].size(); ++turn) {
    for (std::size_t rank = 0; rank < sizes.size() && turn < sizes[rank].size(); ++rank) {
      const std::size_t size = sizes[rank][turn];
      scores.add_read(counts[rank][turn], weight_sums[rank][turn],
                      std::span(sums[rank]).subspan(turn * count, count));
      if (scored) {
        const std::size_t samples =
            std::accumulate(sizes[rank].begin(), sizes[rank].end(), std::size_t{0});
        const auto of_batch = [&](const auto& values) {
          const std::size_t row = values[rank].size() / samples;
          return std::span(values[rank]).subspan(done[rank] * row, size * row);
        };
        batch b;
        b.size = size;
        b.labels.assign(of_batch(classes).begin(), of_batch(classes).end());
        b.targets.assign(of_batch(targets).begin(), of_batch(targets).end());
        b.weights.assign(of_batch(sample_weights).begin(), of_batch(sample_weights).end());
        scores.add_outputs(of_batch(outputs), b);
      }
      done[rank] += size;
    }
  }
}

GLIA_INLINE void rank_group::wait_for_all() { (void)gather(*this, ""); }

}  // namespace glia
