#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "glia/distributed/pieces.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/sum_by_memory.hpp"
#include "glia/distributed/sum_by_messages.hpp"
#include "glia/distributed/sum_order.hpp"
#include "glia/distributed/sum_transport.hpp"
#include "glia/training/step_runner.hpp"

namespace glia {

namespace detail {

/// Options of sums over ranks.
struct batch_sum_options {
  std::size_t pieces = 1;  ///< Number of pieces of a batch, at least the number of ranks.
  std::size_t bucket_bytes = std::size_t{1} << 20;  ///< Bytes in a bucket.
  std::size_t rounded = 0;  ///< Number of leading values that are sent as bfloat16.
  bool overlap = true;      ///< Whether sending begins before the whole vector is computed.
  /// Whether to use shared memory if all ranks are on one machine and `rounded` is 0.
  bool share_memory = true;
};

}  // namespace detail

/// The sum of vectors, one for each piece of a batch. The pieces are divided among the ranks. Each
/// rank computes the vectors of its pieces, one after the other, and all ranks get the sum. The sum
/// has the same bits for every assignment of pieces to ranks. The vectors are cut into buckets. A
/// bucket is sent while the next buckets are computed.
template <class T>
class batch_sum {
 public:
  using clock = std::chrono::steady_clock;

  /// Creates a sum of vectors with `size` elements. Throws `value_error` if there are fewer pieces
  /// than ranks.
  batch_sum(rank_group& ranks, std::size_t size, const detail::batch_sum_options& options)
      : ranks_(&ranks),
        overlap_(options.overlap),
        plan_{size, std::min(options.rounded, size), {}, {options.pieces, ranks.size()}},
        mine_(plan_.order.pieces_of(ranks.rank())),
        arrivals_(plan_.order.arrivals(ranks.rank())) {
    cut({0, plan_.rounded}, options.bucket_bytes);
    cut({plan_.rounded, size}, options.bucket_bytes);
    missing_.resize(plan_.buckets.size());
    if (ranks.size() > 1 && options.share_memory && plan_.rounded == 0) {
      way_ = sum_by_memory<T>::make(ranks, plan_);
      shares_memory_ = way_ != nullptr;
    }
    if (!way_) {
      way_ = std::make_unique<sum_by_messages<T>>(ranks, plan_);
    }
    if (overlap_ && way_->needs_looking_after()) {
      thread_ = std::thread([this] { work(); });
    }
  }
  batch_sum(const batch_sum&) = delete;
  batch_sum& operator=(const batch_sum&) = delete;
  ~batch_sum() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return plan_.size; }
  /// Returns the pieces that this rank computes.
  [[nodiscard]] index_range pieces() const noexcept { return mine_; }
  /// Returns the memory for a piece's vector, initially zeros. There are memory_block::ahead unused
  /// bytes before and after it.
  [[nodiscard]] T* memory_for(std::size_t piece) const {
    return way_->vector(arrivals_[piece - mine_.first].depth);
  }
  /// Returns the memory of the sum. It is valid after `finish`, until any rank begins the next sum.
  [[nodiscard]] T* sum() const noexcept { return way_->sum(); }
  [[nodiscard]] bool shares_memory() const noexcept { return shares_memory_; }

  /// Begins a sum.
  void begin() {
    const std::lock_guard lock(mutex_);
    way_->begin();
    for (std::size_t k = 0; k < missing_.size(); ++k) {
      missing_[k] = plan_.buckets[k].size();
    }
    started_ = 0;
    finished_ = 0;
    failure_ = nullptr;
    record_ = {};
  }

  /// Reports that elements first ... end - 1 of a piece are computed. Each element must be reported
  /// once for each piece of this rank, one piece after the other.
  void add(std::size_t piece, std::size_t first, std::size_t end) {
    const auto [depth, joins] = arrivals_[piece - mine_.first];
    for (std::size_t i = 0; i < joins; ++i) {
      T* const accumulator = way_->vector(depth - i - 1) + first;
      detail::add_numbers(accumulator, way_->vector(depth - i) + first, end - first, accumulator);
    }
    if (piece + 1 < mine_.end) {
      return;
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t k = bucket_of(first); k < missing_.size(); ++k) {
      const index_range& range = plan_.buckets[k];
      if (range.first >= end) {
        break;
      }
      missing_[k] -= std::min(end, range.end) - std::max(first, range.first);
    }
    if (overlap_) {
      move_on();
      if (started_ > finished_) {
        changed_.notify_all();
      }
    }
  }

  /// Waits until the sum is complete. If sending has failed, throws the exception, such as
  /// `rank_error`.
  void finish() {
    const auto start = clock::now();
    std::unique_lock lock(mutex_);
    waiting_ = true;
    while (finished_ < missing_.size() && failure_ == nullptr) {
      if (!move_on()) {
        std::this_thread::yield();  // there may be more ranks than cores
        look_for_failures();
      }
    }
    waiting_ = false;
    const auto end = clock::now();
    record_ = {std::chrono::duration<double>(end - start).count(),
               std::chrono::duration<double>(end - begun_).count(), way_->sent().bytes,
               way_->sent().messages};
    if (failure_ != nullptr) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

  [[nodiscard]] const batch_sum_record& record() const noexcept { return record_; }

 private:
  /// Pause of the background thread, so that the computation can use the cores.
  static constexpr std::chrono::microseconds pause{200};

  /// Cuts a range into buckets of nearly equal size.
  void cut(const index_range& range, std::size_t bucket_bytes) {
    const std::size_t maximum = std::max(bucket_bytes / sizeof(T), detail::slice_alignment);
    const std::size_t count = std::max<std::size_t>((range.size() + maximum - 1) / maximum, 1);
    const std::size_t even = (range.size() + count - 1) / count;
    const std::size_t bucket_size =
        (even + detail::slice_alignment - 1) / detail::slice_alignment * detail::slice_alignment;
    for (std::size_t first = range.first; first < range.end; first += bucket_size) {
      plan_.buckets.push_back({first, std::min(first + bucket_size, range.end)});
    }
  }
  [[nodiscard]] std::size_t bucket_of(std::size_t number) const {
    const auto holds = std::partition_point(plan_.buckets.begin(), plan_.buckets.end(),
                                            [&](auto& bucket) { return bucket.end <= number; });
    return static_cast<std::size_t>(holds - plan_.buckets.begin());
  }

  void look_for_failures() {
    try {
      ranks_->look_for_failures();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  /// Advances every bucket as far as possible; returns false if nothing changed. Stores an
  /// exception for `finish`.
  bool move_on() {
    bool moved = false;
    try {
      while (started_ < missing_.size() && missing_[started_] == 0) {
        if (started_ == 0) {
          begun_ = clock::now();
        }
        way_->start(started_++);
        moved = true;
      }
      for (std::size_t k = finished_; k < started_; ++k) {
        moved = way_->move_on(k) || moved;
      }
      while (finished_ < started_ && way_->is_done(finished_)) {
        ++finished_;
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    return moved;
  }

  /// The loop of the background thread.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return stopping_ || (!waiting_ && failure_ == nullptr && started_ > finished_);
      });
      if (stopping_) {
        return;
      }
      move_on();
      lock.unlock();
      std::this_thread::sleep_for(pause);
      lock.lock();
    }
  }

  rank_group* ranks_;
  bool overlap_;
  bool shares_memory_ = false;
  detail::sum_plan plan_;
  index_range mine_;
  std::vector<detail::piece_stack::arrival> arrivals_;  // one for each of this rank's pieces
  std::unique_ptr<detail::sum_transport<T>> way_;
  clock::time_point begun_{};
  batch_sum_record record_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> missing_;  // number of elements not computed yet, by bucket
  std::size_t started_ = 0;           // buckets whose transfers have started
  std::size_t finished_ = 0;          // buckets that are done, up to the first unfinished one
  std::exception_ptr failure_;
  bool waiting_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace glia
