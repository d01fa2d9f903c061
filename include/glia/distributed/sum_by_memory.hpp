#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "glia/distributed/pieces.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/sum_transport.hpp"

namespace glia {

/// A sum over ranks on one machine. The ranks read each other's vectors in shared memory, and write
/// one common sum. No messages are sent.
template <class T>
class sum_by_memory final : public detail::sum_transport<T> {
 public:
  /// Creates a sum, or returns nullptr if the ranks cannot share memory.
  [[nodiscard]] static std::unique_ptr<sum_by_memory> make(rank_group& ranks,
                                                           const detail::sum_plan& plan) {
    const std::size_t bytes = words_at(plan) + plan.buckets.size() * sizeof(bucket_word);
    auto memory = ranks.share_memory(bytes);
    return memory
               ? std::unique_ptr<sum_by_memory>(new sum_by_memory(ranks, plan, std::move(memory)))
               : nullptr;
  }

  [[nodiscard]] T* vector(std::size_t i) const noexcept override { return vector_of(rank_, i); }
  [[nodiscard]] T* sum() const noexcept override { return vector_of(0, plan_->order.depth()); }

  void begin() override {
    ++turn_;
    std::fill(stages_.begin(), stages_.end(), stage::computed);
  }
  void start(std::size_t bucket) override { tell(bucket, &bucket_word::computed); }
  bool move_on(std::size_t bucket) override {
    const stage previous = stages_[bucket];
    if (stages_[bucket] == stage::computed && all_told(bucket, &bucket_word::computed)) {
      add_slice(detail::slice_of(plan_->buckets[bucket], rank_, words_.size()));
      tell(bucket, &bucket_word::summed);
      stages_[bucket] = stage::summed;
    }
    if (stages_[bucket] == stage::summed && all_told(bucket, &bucket_word::summed)) {
      stages_[bucket] = stage::done;
    }
    return stages_[bucket] != previous;
  }
  [[nodiscard]] bool is_done(std::size_t bucket) const override {
    return stages_[bucket] == stage::done;
  }
  [[nodiscard]] bool needs_looking_after() const noexcept override { return false; }
  [[nodiscard]] detail::sum_traffic sent() const noexcept override { return {}; }

 private:
  static constexpr std::size_t line = 64;
  enum class stage : std::uint8_t { computed, summed, done };

  /// The progress of a rank in a bucket: the number of the last sum for which it has computed its
  /// vectors (`computed`), and for which it has added its slice (`summed`).
  struct alignas(line) bucket_word {
    std::atomic<std::uint64_t> computed{0};
    std::atomic<std::uint64_t> summed{0};
  };

  sum_by_memory(rank_group& ranks, const detail::sum_plan& plan,
                std::shared_ptr<const shared_memory> memory)
      : plan_(&plan),
        rank_(ranks.rank()),
        memory_(std::move(memory)),
        stages_(plan.buckets.size()) {
    for (std::byte* const of_rank : memory_->of_rank) {
      words_.push_back(reinterpret_cast<bucket_word*>(of_rank + words_at(plan)));
    }
  }

  // The memory of each rank: a cache line, its vectors, the sum (used only for rank 0), a cache
  // line, and its bucket words.
  [[nodiscard]] T* vector_of(std::size_t rank, std::size_t i) const noexcept {
    return reinterpret_cast<T*>(memory_->of_rank[rank] + line +
                                i * detail::line_bytes<T>(plan_->size));
  }
  [[nodiscard]] static std::size_t words_at(const detail::sum_plan& plan) {
    return 2 * line + (plan.order.depth() + 1) * detail::line_bytes<T>(plan.size);
  }

  void tell(std::size_t bucket, std::atomic<std::uint64_t> bucket_word::*field) const {
    (words_[rank_][bucket].*field).store(turn_, std::memory_order_release);
  }
  [[nodiscard]] bool all_told(std::size_t bucket,
                              std::atomic<std::uint64_t> bucket_word::*field) const {
    return std::all_of(words_.begin(), words_.end(), [&](bucket_word* words) {
      return (words[bucket].*field).load(std::memory_order_acquire) >= turn_;
    });
  }

  void add_slice(const index_range& slice) const {
    T* const destination = sum() + slice.first;
    if (plan_->order.additions().size() == 2) {  // the same as below, without copies
      detail::add_numbers(vector_of(0, 0) + slice.first, vector_of(1, 0) + slice.first,
                          slice.size(), destination);
      return;
    }
    const auto take = [&](const detail::sum_order::addition& term, std::size_t offset,
                          std::size_t n, T* out) {
      std::copy_n(vector_of(term.rank, term.sum) + slice.first + offset, n, out);
    };
    plan_->order.add(slice.size(), take, destination);
  }

  const detail::sum_plan* plan_;
  std::size_t rank_;
  std::shared_ptr<const shared_memory> memory_;
  std::vector<bucket_word*> words_;  // one for each rank
  std::vector<stage> stages_;        // one for each bucket
  std::uint64_t turn_ = 0;           // number of sums begun so far
};

}  // namespace glia
