#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/distributed/bfloat16.hpp"
#include "glia/distributed/pieces.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/sum_transport.hpp"

namespace glia {

/// A sum over ranks by messages. Each rank adds up one slice of every bucket. It sends the other
/// slices of its vectors to the ranks that add them up, and later sends its slice of the sum to all
/// ranks. With one vector for each rank, it sends 2 (ranks - 1) / ranks times the size of the
/// vector, the minimum of any method. The first `sum_plan::rounded` elements are sent as bfloat16.
template <class T>
class sum_by_messages final : public detail::sum_transport<T> {
 public:
  sum_by_messages(rank_group& ranks, const detail::sum_plan& plan)
      : ranks_(&ranks), plan_(&plan), room_(std::make_shared<room>()) {
    const std::size_t bytes = 2 * line + plan.order.depth() * detail::line_bytes<T>(plan.size);
    room_->memory.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{line})));
    std::fill_n(room_->memory.get(), bytes, std::byte{0});
    for (const index_range& range : plan.buckets) {
      room_->buckets.push_back(make_bucket(range));
    }
  }
  ~sum_by_messages() override {
    const bool moving = std::any_of(room_->buckets.begin(), room_->buckets.end(), [](auto& one) {
      return one.now == stage::sends_parts || one.now == stage::sends_sums;
    });
    if (moving) {
      ranks_->keep(room_);
    }
  }
  sum_by_messages(const sum_by_messages&) = delete;
  sum_by_messages& operator=(const sum_by_messages&) = delete;

  [[nodiscard]] T* vector(std::size_t i) const noexcept override {
    return reinterpret_cast<T*>(room_->memory.get() + line +
                                i * detail::line_bytes<T>(plan_->size));
  }
  /// Returns the memory of the sum, which replaces the first vector.
  [[nodiscard]] T* sum() const noexcept override { return vector(0); }

  void begin() override {
    sent_back_ = 0;
    sent_ = {};
  }
  void start(std::size_t k) override {
    bucket& one = room_->buckets[k];
    sent_.messages += ranks_->size() - 1;
    sent_.bytes += one.sent_parts.total;
    void* from = vector(0) + one.range.first;
    if (!sends_in_place(one)) {
      pack(one);
      from = one.sent.data();
    }
    one.moving = ranks_->start_exchange(transfer_kind::parts, one.sent_parts.in(from),
                                        one.taken_parts.in(one.taken.data()));
    one.now = stage::sends_parts;
  }
  bool move_on(std::size_t k) override {
    bucket& one = room_->buckets[k];
    const stage before = one.now;
    if (one.now == stage::sends_parts && ranks_->is_done(one.moving)) {
      add_slice(one);
      one.now = stage::has_parts;
    }
    // All ranks send sums back in the same order, in whatever order the parts arrived.
    if (one.now == stage::has_parts && sent_back_ == k) {
      ++sent_back_;
      sent_.messages += ranks_->size() - 1;
      sent_.bytes += (ranks_->size() - 1) * own_slice(one).size() * one.number_bytes();
      void* const sums = one.rounds ? one.sent.data() : static_cast<void*>(sum() + one.range.first);
      one.moving = ranks_->start_gather(transfer_kind::sums, one.sums.in(sums));
      one.now = stage::sends_sums;
    }
    if (one.now == stage::sends_sums && ranks_->is_done(one.moving)) {
      if (one.rounds) {
        read(one, one.sent.data(), one.range.size(), sum() + one.range.first);
      }
      one.now = stage::done;
    }
    return one.now != before;
  }
  [[nodiscard]] bool is_done(std::size_t k) const override {
    return room_->buckets[k].now == stage::done;
  }
  [[nodiscard]] bool needs_looking_after() const noexcept override { return ranks_->size() > 1; }
  [[nodiscard]] detail::sum_traffic sent() const noexcept override { return sent_; }

 private:
  static constexpr std::size_t line = 64;
  enum class stage : std::uint8_t { sends_parts, has_parts, sends_sums, done };

  /// The sizes and offsets of the blocks of one transfer of a bucket. Throws `value_error` for 2^31
  /// bytes or more, which MPI cannot count.
  struct layout {
    std::vector<int> bytes;
    std::vector<int> offsets;
    std::size_t total = 0;

    void add(std::size_t count) {
      constexpr std::size_t most = std::numeric_limits<int>::max();
      require<value_error>(count <= most - total, "distributed: a bucket of gradients takes ",
                           total + count, " bytes for all pieces, but MPI can send at most ", most,
                           "; use smaller bucket_bytes or fewer pieces");
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
    bool rounds = false;
    std::vector<index_range> slices;  // one for each rank
    layout sent_parts, taken_parts, sums;
    std::vector<std::byte> sent, taken;  // memory of parts, and of sums if they are rounded
    stage now = stage::done;
    rank_group::transfer moving{};

    [[nodiscard]] std::size_t number_bytes() const noexcept {
      return rounds ? sizeof(bfloat16) : sizeof(T);
    }
  };

  /// Returns the number of this rank's sums, of which it sends slices.
  [[nodiscard]] std::size_t held() const { return plan_->order.held_by(ranks_->rank()); }
  /// Returns whether slices are sent without a copy, from the memory in which they were computed.
  [[nodiscard]] bool sends_in_place(const bucket& one) const { return !one.rounds && held() == 1; }
  [[nodiscard]] const index_range& own_slice(const bucket& one) const {
    return one.slices[ranks_->rank()];
  }

  [[nodiscard]] bucket make_bucket(const index_range& range) const {
    const std::size_t count = ranks_->size();
    const std::size_t own = ranks_->rank();
    bucket result;
    result.range = range;
    result.rounds = count > 1 && range.end <= plan_->rounded;
    const std::size_t each = result.number_bytes();
    for (std::size_t i = 0; i < count; ++i) {
      result.slices.push_back(detail::slice_of(range, i, count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool other = i != own;
      const std::size_t theirs = plan_->order.held_by(i);
      result.sent_parts.add(other ? result.slices[i].size() * held() * each : 0);
      result.taken_parts.add(other ? result.slices[own].size() * theirs * each : 0);
      result.sums.add(result.slices[i].size() * each);
    }
    if (sends_in_place(result)) {
      result.sent_parts.offsets = result.sums.offsets;
    }
    const std::size_t packed = sends_in_place(result) ? 0 : result.sent_parts.total;
    result.sent.resize(std::max(packed, result.rounds ? result.sums.total : 0));
    result.taken.resize(result.taken_parts.total);
    return result;
  }

  /// Copies the slices for the other ranks to one buffer: for each other rank, its slice of each of
  /// this rank's sums.
  void pack(bucket& one) {
    std::byte* to = one.sent.data();
    for (std::size_t i = 0; i < one.slices.size(); ++i) {
      for (std::size_t sum = 0; i != ranks_->rank() && sum < held(); ++sum) {
        to = write(one, vector(sum) + one.slices[i].first, one.slices[i].size(), to);
      }
    }
  }

  /// Adds up this rank's slice of a bucket.
  void add_slice(bucket& one) {
    if (plan_->order.additions().size() == 1) {
      return;
    }
    const index_range slice = own_slice(one);
    const auto take = [&](const detail::sum_order::addition& which, std::size_t at, std::size_t n,
                          T* into) {
      if (which.rank == ranks_->rank()) {
        std::copy_n(vector(which.sum) + slice.first + at, n, into);
        return;
      }
      const auto block = static_cast<std::size_t>(one.taken_parts.offsets[which.rank]);
      const std::size_t first = which.sum * slice.size() + at;
      read(one, one.taken.data() + block + first * one.number_bytes(), n, into);
    };
    plan_->order.add(slice.size(), take, sum() + slice.first);
    if (one.rounds) {
      const auto own = static_cast<std::size_t>(one.sums.offsets[ranks_->rank()]);
      write(one, sum() + slice.first, slice.size(), one.sent.data() + own);
    }
  }

  /// Writes elements in the format in which they are sent. Returns the end of the output.
  static std::byte* write(const bucket& one, const T* from, std::size_t count, std::byte* to) {
    if (one.rounds) {
      auto* const rounded = reinterpret_cast<bfloat16*>(to);
      for (std::size_t n = 0; n < count; ++n) {
        rounded[n] = bfloat16(static_cast<float>(from[n]));
      }
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(from), count * sizeof(T), to);
    }
    return to + count * one.number_bytes();
  }
  static void read(const bucket& one, const std::byte* from, std::size_t count, T* to) {
    if (one.rounds) {
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

  /// The memory that transfers read and write. It may outlive the sum.
  struct room {
    std::unique_ptr<std::byte[], free_memory> memory;  // a cache line, the vectors, a cache line
    std::vector<bucket> buckets;
  };

  rank_group* ranks_;
  const detail::sum_plan* plan_;
  std::shared_ptr<room> room_;
  std::size_t sent_back_ = 0;  // buckets whose sums are being or have been sent
  detail::sum_traffic sent_;
};

}  // namespace glia
