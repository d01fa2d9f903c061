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

namespace glia {

/// How sums over the ranks are cut and sent.
struct batch_sum_options {
  std::size_t pieces = 1;  ///< that a batch is cut into; at least as many as ranks
  std::size_t bucket_bytes = std::size_t{1} << 20;  ///< that are sent at once
  std::size_t rounded = 0;   ///< of the first so many numbers only 8 bits are sent, as bfloat16
  bool overlap = true;       ///< false: sends begin once all is there
  bool share_memory = true;  ///< where all ranks are on one machine, and nothing is rounded
};

/// What the last sum took.
struct batch_sum_record {
  double waited_seconds = 0;  ///< while there was nothing else to do
  double seconds = 0;         ///< from the first bucket's start to the end
  std::size_t bytes = 0;      ///< that this rank sent
  std::size_t messages = 0;   ///< that it sent
};

/// The sum of a vector over the pieces of a batch, which ranks share: each rank computes it for its
/// pieces, one after the other, and all have the whole sum in the end, to the same bits whoever
/// computed which piece. It is cut into buckets, which travel while the next ones are computed.
template <class T>
class batch_sum {
 public:
  using clock = std::chrono::steady_clock;

  /// Of `size` numbers. Throws `value_error` for fewer pieces than ranks.
  batch_sum(rank_group& ranks, std::size_t size, const batch_sum_options& options)
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
  /// Those that this rank computes.
  [[nodiscard]] index_range pieces() const noexcept { return mine_; }
  /// Where a piece's numbers are to be written, zeros at first. Before and behind it there is room
  /// for memory_block::ahead bytes.
  [[nodiscard]] T* memory_for(std::size_t piece) const {
    return way_->vector(arrivals_[piece - mine_.first].depth);
  }
  /// Where the whole sum is once it is finished, until the next one begins on any rank.
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

  /// Numbers first ... end - 1 of a piece are in their vector. Each is to be told of once for each
  /// piece of this rank, the pieces one after the other.
  void add(std::size_t piece, std::size_t first, std::size_t end) {
    const auto [depth, joins] = arrivals_[piece - mine_.first];
    for (std::size_t i = 0; i < joins; ++i) {
      T* const to = way_->vector(depth - i - 1) + first;
      add_numbers(to, way_->vector(depth - i) + first, end - first, to);
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

  /// Waits until all is summed. Throws what went wrong, such as `rank_error`.
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
  /// How long the thread in the background leaves the cores to what is computed.
  static constexpr std::chrono::microseconds pause{200};

  /// Buckets of a range, as even as they can be.
  void cut(const index_range& range, std::size_t bucket_bytes) {
    const std::size_t most = std::max(bucket_bytes / sizeof(T), slice_alignment);
    const std::size_t count = std::max<std::size_t>((range.size() + most - 1) / most, 1);
    const std::size_t even = (range.size() + count - 1) / count;
    const std::size_t each = (even + slice_alignment - 1) / slice_alignment * slice_alignment;
    for (std::size_t first = range.first; first < range.end; first += each) {
      plan_.buckets.push_back({first, std::min(first + each, range.end)});
    }
  }
  [[nodiscard]] std::size_t bucket_of(std::size_t number) const {
    const auto holds = std::partition_point(plan_.buckets.begin(), plan_.buckets.end(),
                                            [&](auto& one) { return one.end <= number; });
    return static_cast<std::size_t>(holds - plan_.buckets.begin());
  }

  void look_for_failures() {
    try {
      ranks_->look_for_failures();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  /// Takes every bucket as far as it comes; false where nothing moved. What goes wrong is kept.
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

  /// In the background.
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
  sum_plan plan_;
  index_range mine_;
  std::vector<piece_stack::arrival> arrivals_;  // of each of this rank's pieces
  std::unique_ptr<sum_transport<T>> way_;
  clock::time_point begun_{};
  batch_sum_record record_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> missing_;  // numbers of each bucket that are not computed yet
  std::size_t started_ = 0;           // buckets whose parts travel, or have
  std::size_t finished_ = 0;          // buckets that are done, up to the first that is not
  std::exception_ptr failure_;
  bool waiting_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace glia
