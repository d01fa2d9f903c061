#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "glia/core/bfloat16.hpp"
#include "glia/core/error.hpp"
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
    const bool moving = std::any_of(room_->buckets.begin(), room_->buckets.end(), [](auto& b) {
      return b.progress == stage::sends_parts || b.progress == stage::sends_sums;
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
    bucket& b = room_->buckets[k];
    sent_.messages += ranks_->size() - 1;
    sent_.bytes += b.sent_parts.total;
    void* source = vector(0) + b.range.first;
    if (!sends_in_place(b)) {
      pack(b);
      source = b.sent.data();
    }
    b.moving = ranks_->start_exchange(transfer_kind::parts, b.sent_parts.blocks_in(source),
                                      b.received_parts.blocks_in(b.received.data()));
    b.progress = stage::sends_parts;
  }
  bool move_on(std::size_t k) override {
    bucket& b = room_->buckets[k];
    const stage previous = b.progress;
    if (b.progress == stage::sends_parts && ranks_->is_done(b.moving)) {
      add_slice(b);
      b.progress = stage::has_parts;
    }
    // All ranks send sums back in the same order, in whatever order the parts arrived.
    if (b.progress == stage::has_parts && sent_back_ == k) {
      ++sent_back_;
      sent_.messages += ranks_->size() - 1;
      sent_.bytes += (ranks_->size() - 1) * own_slice(b).size() * b.number_bytes();
      void* const sums = b.rounds ? b.sent.data() : static_cast<void*>(sum() + b.range.first);
      b.moving = ranks_->start_gather(transfer_kind::sums, b.sums.blocks_in(sums));
      b.progress = stage::sends_sums;
    }
    if (b.progress == stage::sends_sums && ranks_->is_done(b.moving)) {
      if (b.rounds) {
        read(b, b.sent.data(), b.range.size(), sum() + b.range.first);
      }
      b.progress = stage::done;
    }
    return b.progress != previous;
  }
  [[nodiscard]] bool is_done(std::size_t k) const override {
    return room_->buckets[k].progress == stage::done;
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
      constexpr std::size_t maximum = std::numeric_limits<int>::max();
      require<value_error>(count <= maximum - total, "distributed: a bucket of gradients takes ",
                           total + count, " bytes for all pieces, but MPI can send at most ",
                           maximum, "; use smaller bucket_bytes or fewer pieces");
      offsets.push_back(static_cast<int>(total));
      bytes.push_back(static_cast<int>(count));
      total += count;
    }
    [[nodiscard]] rank_blocks blocks_in(void* memory) const {
      return {static_cast<std::byte*>(memory), bytes.data(), offsets.data()};
    }
  };

  struct bucket {
    index_range range;
    bool rounds = false;
    std::vector<index_range> slices;  // one for each rank
    layout sent_parts, received_parts, sums;
    std::vector<std::byte> sent, received;  // memory of parts, and of sums if they are rounded
    stage progress = stage::done;
    rank_group::transfer moving{};

    [[nodiscard]] std::size_t number_bytes() const noexcept {
      return rounds ? sizeof(detail::bfloat16_number) : sizeof(T);
    }
  };

  /// Returns the number of this rank's sums, of which it sends slices.
  [[nodiscard]] std::size_t held() const { return plan_->order.held_by(ranks_->rank()); }
  /// Returns whether slices are sent without a copy, from the memory in which they were computed.
  [[nodiscard]] bool sends_in_place(const bucket& b) const { return !b.rounds && held() == 1; }
  [[nodiscard]] const index_range& own_slice(const bucket& b) const {
    return b.slices[ranks_->rank()];
  }

  [[nodiscard]] bucket make_bucket(const index_range& range) const {
    const std::size_t count = ranks_->size();
    const std::size_t rank = ranks_->rank();
    bucket result;
    result.range = range;
    result.rounds = count > 1 && range.end <= plan_->rounded;
    const std::size_t number_size = result.number_bytes();
    for (std::size_t i = 0; i < count; ++i) {
      result.slices.push_back(detail::slice_of(range, i, count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool other = i != rank;
      const std::size_t theirs = plan_->order.held_by(i);
      result.sent_parts.add(other ? result.slices[i].size() * held() * number_size : 0);
      result.received_parts.add(other ? result.slices[rank].size() * theirs * number_size : 0);
      result.sums.add(result.slices[i].size() * number_size);
    }
    if (sends_in_place(result)) {
      result.sent_parts.offsets = result.sums.offsets;
    }
    const std::size_t packed = sends_in_place(result) ? 0 : result.sent_parts.total;
    result.sent.resize(std::max(packed, result.rounds ? result.sums.total : 0));
    result.received.resize(result.received_parts.total);
    return result;
  }

  /// Copies the slices for the other ranks to one buffer: for each other rank, its slice of each of
  /// this rank's sums.
  void pack(bucket& b) {
    std::byte* position = b.sent.data();
    for (std::size_t i = 0; i < b.slices.size(); ++i) {
      for (std::size_t sum = 0; i != ranks_->rank() && sum < held(); ++sum) {
        position = write(b, vector(sum) + b.slices[i].first, b.slices[i].size(), position);
      }
    }
  }

  /// Adds up this rank's slice of a bucket.
  void add_slice(bucket& b) {
    if (plan_->order.additions().size() == 1) {
      return;
    }
    const index_range slice = own_slice(b);
    const auto take = [&](const detail::sum_order::addition& term, std::size_t offset,
                          std::size_t n, T* out) {
      if (term.rank == ranks_->rank()) {
        std::copy_n(vector(term.sum) + slice.first + offset, n, out);
        return;
      }
      const auto block = static_cast<std::size_t>(b.received_parts.offsets[term.rank]);
      const std::size_t first = term.sum * slice.size() + offset;
      read(b, b.received.data() + block + first * b.number_bytes(), n, out);
    };
    plan_->order.add(slice.size(), take, sum() + slice.first);
    if (b.rounds) {
      const auto slice_offset = static_cast<std::size_t>(b.sums.offsets[ranks_->rank()]);
      write(b, sum() + slice.first, slice.size(), b.sent.data() + slice_offset);
    }
  }

  /// Writes elements in the format in which they are sent. Returns the end of the output.
  static std::byte* write(const bucket& b, const T* source, std::size_t count,
                          std::byte* destination) {
    if (b.rounds) {
      auto* const rounded = reinterpret_cast<detail::bfloat16_number*>(destination);
      for (std::size_t n = 0; n < count; ++n) {
        rounded[n] = detail::bfloat16_number(static_cast<float>(source[n]));
      }
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(source), count * sizeof(T), destination);
    }
    return destination + count * b.number_bytes();
  }
  static void read(const bucket& b, const std::byte* source, std::size_t count, T* destination) {
    if (b.rounds) {
      const auto* const rounded = reinterpret_cast<const detail::bfloat16_number*>(source);
      for (std::size_t n = 0; n < count; ++n) {
        destination[n] = static_cast<T>(rounded[n].value());
      }
    } else {
      std::copy_n(source, count * sizeof(T), reinterpret_cast<std::byte*>(destination));
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
