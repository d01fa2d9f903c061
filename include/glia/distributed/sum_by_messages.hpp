#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "glia/distributed/bfloat16.hpp"
#include "glia/distributed/pieces.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/sum_transport.hpp"

namespace glia {

/// Each rank sends the others their slices of what it has, and then its slice of the sum: 2 (ranks
/// - 1) / ranks of the vector for each rank, as much as any way takes. `round` sends numbers as
/// bfloat16.
template <class T>
class sum_by_messages final : public sum_transport<T> {
 public:
  sum_by_messages(rank_group& ranks, const sum_plan& plan, bool round)
      : ranks_(&ranks), plan_(&plan), rounds_(round && ranks.size() > 1) {
    const std::size_t bytes = 2 * line + plan.order.depth() * line_bytes<T>(plan.size);
    memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{line})));
    std::fill_n(memory_.get(), bytes, std::byte{0});
    for (const index_range& range : plan.buckets) {
      buckets_.push_back(make_bucket(range));
    }
  }

  [[nodiscard]] T* vector(std::size_t i) const noexcept override {
    return reinterpret_cast<T*>(memory_.get() + line + i * line_bytes<T>(plan_->size));
  }
  /// In place of the first vector.
  [[nodiscard]] T* sum() const noexcept override { return vector(0); }

  void begin() override {
    sent_back_ = 0;
    sent_ = {};
  }
  void start(std::size_t k) override {
    bucket& one = buckets_[k];
    sent_.messages += ranks_->size() - 1;
    sent_.bytes += one.sent_parts.total;
    void* from = vector(0) + one.range.first;
    if (!sends_in_place()) {
      pack(one);
      from = one.sent.data();
    }
    one.moving = ranks_->start_exchange(transfer_kind::parts, one.sent_parts.in(from),
                                        one.taken_parts.in(one.taken.data()));
    one.now = stage::sends_parts;
  }
  bool move_on(std::size_t k) override {
    bucket& one = buckets_[k];
    const stage before = one.now;
    if (one.now == stage::sends_parts && ranks_->is_done(one.moving)) {
      add_slice(one);
      one.now = stage::has_parts;
    }
    // All ranks send sums back in the same order, however the parts came.
    if (one.now == stage::has_parts && sent_back_ == k) {
      ++sent_back_;
      sent_.messages += ranks_->size() - 1;
      sent_.bytes += (ranks_->size() - 1) * own_slice(one).size() * number_bytes();
      void* const sums = rounds_ ? one.sent.data() : static_cast<void*>(sum() + one.range.first);
      one.moving = ranks_->start_gather(transfer_kind::sums, one.sums.in(sums));
      one.now = stage::sends_sums;
    }
    if (one.now == stage::sends_sums && ranks_->is_done(one.moving)) {
      if (rounds_) {
        read(one.sent.data(), one.range.size(), sum() + one.range.first);
      }
      one.now = stage::done;
    }
    return one.now != before;
  }
  [[nodiscard]] bool is_done(std::size_t k) const override {
    return buckets_[k].now == stage::done;
  }
  [[nodiscard]] bool needs_looking_after() const noexcept override { return ranks_->size() > 1; }
  [[nodiscard]] sum_traffic sent() const noexcept override { return sent_; }

 private:
  static constexpr std::size_t line = 64;
  enum class stage : std::uint8_t { sends_parts, has_parts, sends_sums, done };

  /// What one kind of transfer of a bucket sends or takes.
  struct layout {
    std::vector<int> bytes;
    std::vector<int> offsets;
    std::size_t total = 0;

    void add(std::size_t count) {
      offsets.push_back(static_cast<int>(total));
      bytes.push_back(static_cast<int>(count));
      total += count;
    }
    [[nodiscard]] rank_blocks in(void* memory) const {
      return {static_cast<std::byte*>(memory), bytes.data(), offsets.data()};
    }
  };

  struct bucket {
    index_range range;
    std::vector<index_range> slices;  // of each rank
    layout sent_parts, taken_parts, sums;
    std::vector<std::byte> sent, taken;  // memory of parts, and of sums where they are rounded
    stage now = stage::done;
    rank_group::transfer moving{};
  };

  [[nodiscard]] std::size_t number_bytes() const noexcept {
    return rounds_ ? sizeof(bfloat16) : sizeof(T);
  }
  /// How many sums this rank sends slices of.
  [[nodiscard]] std::size_t held() const { return plan_->order.held_by(ranks_->rank()); }
  /// Whether parts are sent from where they were computed.
  [[nodiscard]] bool sends_in_place() const { return !rounds_ && held() == 1; }
  [[nodiscard]] const index_range& own_slice(const bucket& one) const {
    return one.slices[ranks_->rank()];
  }

  [[nodiscard]] bucket make_bucket(const index_range& range) const {
    const std::size_t count = ranks_->size();
    const std::size_t own = ranks_->rank();
    const std::size_t each = number_bytes();
    bucket result;
    result.range = range;
    for (std::size_t i = 0; i < count; ++i) {
      result.slices.push_back(slice_of(range, i, count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool other = i != own;
      const std::size_t theirs = plan_->order.held_by(i);
      result.sent_parts.add(other ? result.slices[i].size() * held() * each : 0);
      result.taken_parts.add(other ? result.slices[own].size() * theirs * each : 0);
      result.sums.add(result.slices[i].size() * each);
    }
    if (sends_in_place()) {
      result.sent_parts.offsets = result.sums.offsets;
    }
    const std::size_t packed = sends_in_place() ? 0 : result.sent_parts.total;
    result.sent.resize(std::max(packed, rounds_ ? result.sums.total : 0));
    result.taken.resize(result.taken_parts.total);
    return result;
  }

  /// For each other rank its slice of each of this rank's sums.
  void pack(bucket& one) {
    std::byte* to = one.sent.data();
    for (std::size_t i = 0; i < one.slices.size(); ++i) {
      for (std::size_t sum = 0; i != ranks_->rank() && sum < held(); ++sum) {
        to = write(vector(sum) + one.slices[i].first, one.slices[i].size(), to);
      }
    }
  }

  /// Adds up this rank's slice of a bucket.
  void add_slice(bucket& one) {
    if (plan_->order.additions().size() == 1) {
      return;
    }
    const index_range slice = own_slice(one);
    const auto take = [&](const sum_order::addition& which, std::size_t at, std::size_t n,
                          T* into) {
      if (which.rank == ranks_->rank()) {
        std::copy_n(vector(which.sum) + slice.first + at, n, into);
        return;
      }
      const auto block = static_cast<std::size_t>(one.taken_parts.offsets[which.rank]);
      read(one.taken.data() + block + (which.sum * slice.size() + at) * number_bytes(), n, into);
    };
    plan_->order.add(slice.size(), take, sum() + slice.first);
    if (rounds_) {
      const auto own = static_cast<std::size_t>(one.sums.offsets[ranks_->rank()]);
      write(sum() + slice.first, slice.size(), one.sent.data() + own);
    }
  }

  /// Numbers as they are sent; where the next ones begin.
  std::byte* write(const T* from, std::size_t count, std::byte* to) const {
    if (rounds_) {
      auto* const rounded = reinterpret_cast<bfloat16*>(to);
      for (std::size_t n = 0; n < count; ++n) {
        rounded[n] = bfloat16(static_cast<float>(from[n]));
      }
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(from), count * sizeof(T), to);
    }
    return to + count * number_bytes();
  }
  void read(const std::byte* from, std::size_t count, T* to) const {
    if (rounds_) {
      const auto* const rounded = reinterpret_cast<const bfloat16*>(from);
      for (std::size_t n = 0; n < count; ++n) {
        to[n] = static_cast<T>(rounded[n].value());
      }
    } else {
      std::copy_n(from, count * sizeof(T), reinterpret_cast<std::byte*>(to));
    }
  }

  struct free_memory {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{line}); }
  };

  rank_group* ranks_;
  const sum_plan* plan_;
  bool rounds_;
  std::unique_ptr<std::byte[], free_memory> memory_;  // a line, the vectors, a line
  std::vector<bucket> buckets_;
  std::size_t sent_back_ = 0;  // buckets whose sums travel, or have
  sum_traffic sent_;
};

}  // namespace glia
