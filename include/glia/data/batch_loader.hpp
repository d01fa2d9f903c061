#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "glia/core/pieces.hpp"
#include "glia/data/dataset_view.hpp"

namespace glia {

/// Prepares batches on a background thread: while the caller works with one batch, the loader reads
/// the next one. All batches share the memory of two.
///
/// The data set must outlive the loader, and the order passed to `start` must live until the end of
/// the epoch. `next` rethrows exceptions of the data set.
class batch_loader {
 public:
  /// With `share`, the loader reads only this rank's samples of each batch. There may be none.
  batch_loader(const dataset_view& data, std::size_t batch_size, const piece_share& share = {})
      : data_(data), batch_size_(batch_size), share_(share), thread_([this] { work(); }) {}

  batch_loader(const batch_loader&) = delete;
  batch_loader& operator=(const batch_loader&) = delete;

  ~batch_loader() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Begins an epoch, in which the samples are read in this order. The last batch may be smaller.
  void start(std::span<const std::uint32_t> order, std::size_t epoch = 0) {
    std::unique_lock lock(mutex_);
    // If the last epoch was not finished, the thread may still be reading one of its batches. Wait,
    // because the old order must live until then.
    order_ = {};
    changed_.wait(lock, [&] { return !gathering_; });
    order_ = order;
    epoch_ = epoch;
    failure_ = nullptr;
    prepared_ = 0;
    delivered_ = 0;
    returned_ = 0;
    lock.unlock();
    changed_.notify_all();
  }

  /// Returns the next batch, which is valid until the next call, or nullptr at the end of the
  /// epoch.
  [[nodiscard]] const batch* next() {
    std::unique_lock lock(mutex_);
    returned_ = delivered_;
    changed_.notify_all();
    if (delivered_ * batch_size_ >= order_.size()) {
      return nullptr;
    }
    changed_.wait(lock, [&] { return prepared_ > delivered_ || failure_ != nullptr; });
    // Batches that were complete before a failure are returned first.
    if (prepared_ == delivered_) {
      order_ = {};
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return &batches_[delivered_++ % batches_.size()];
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return stopping_ || (failure_ == nullptr && prepared_ * batch_size_ < order_.size() &&
                             prepared_ < returned_ + batches_.size());
      });
      if (stopping_) {
        return;
      }
      const std::size_t first = prepared_ * batch_size_;
      const auto whole = order_.subspan(first, std::min(batch_size_, order_.size() - first));
      const index_range range = share_.samples(whole.size());
      batch& target = batches_[prepared_ % batches_.size()];
      gathering_ = true;
      lock.unlock();
      std::exception_ptr failure;
      try {
        data_.gather(whole.subspan(range.first, range.size()), target, epoch_);
        target.first = range.first;
        target.whole = whole.size();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      gathering_ = false;
      if (!order_.empty()) {
        failure_ = failure;
        prepared_ += failure == nullptr ? 1 : 0;
      }
      changed_.notify_all();
    }
  }

  dataset_view data_;
  std::size_t batch_size_;
  piece_share share_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<const std::uint32_t> order_;
  std::size_t epoch_ = 0;
  std::array<batch, 2> batches_;
  std::size_t prepared_ = 0;   // batches gathered so far
  std::size_t delivered_ = 0;  // batches handed out
  std::size_t returned_ = 0;   // batches whose memory may be written again
  bool gathering_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace glia
