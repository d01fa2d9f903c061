#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/distributed/bfloat16.hpp"
#include "glia/distributed/pieces.hpp"
#include "glia/distributed/rank_group.hpp"

namespace glia {

struct batch_sum_options {
  std::size_t pieces = 1;  ///< that a batch is cut into; at least as many as ranks
  std::size_t bucket_bytes = std::size_t{1} << 20;  ///< that are sent at once
  bool bfloat16 = false;                            ///< sends half as much, rounded to 8 bits
  bool overlap = true;                              ///< false: sends begin once all is there
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
///
/// Sums are added in one order: within a rank and over ranks along one binary tree over the pieces.
/// Each rank adds up a slice of each bucket, and sends the sums to all: 2 (ranks - 1) / ranks of
/// the vector for each rank, as much as any way takes. Ranks on one machine send nothing: they read
/// each other's vectors.
template <class T>
class batch_sum {
 public:
  using clock = std::chrono::steady_clock;

  /// Of `size` numbers. Throws `value_error` for fewer pieces than ranks.
  batch_sum(rank_group& ranks, std::size_t size, const batch_sum_options& options)
      : ranks_(&ranks), options_(options), size_(size) {
    const std::size_t count = ranks.size();
    require<value_error>(options.pieces >= count, "distributed: a batch of ", options.pieces,
                         " pieces cannot be shared by ", count,
                         " ranks; ask for as many pieces as there are ranks, or more");
    piece_stack stack;
    for (std::size_t i = 0; i < count; ++i) {
      sums_.push_back(sums_of(part_of(options.pieces, i, count)));
      for (std::size_t j = 0; j < sums_[i].size(); ++j) {
        additions_.push_back({i, j, stack.add(sums_[i][j])});
      }
    }
    left_ = stack.sums().size();
    mine_ = part_of(options.pieces, ranks.rank(), count);
    piece_stack own;
    for (std::size_t piece = mine_.first; piece < mine_.end; ++piece) {
      arrivals_.push_back(own.add({piece, 0}));
    }
    make_buckets();
    make_memory();
    if (!alone() && !shared_) {
      make_room();
    }
    if (!alone() && !shared_ && options.overlap) {  // transfers have to be looked after
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

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Those that this rank computes.
  [[nodiscard]] index_range pieces() const noexcept { return mine_; }
  /// Where a piece's numbers are to be written, zeros at first. Before and behind it there is room
  /// for memory_block::ahead bytes.
  [[nodiscard]] T* memory_for(std::size_t piece) const {
    return memory_[arrivals_[piece - mine_.first].depth];
  }
  /// Where the whole sum is once it is finished, until the next one begins on any rank.
  [[nodiscard]] T* sum() const noexcept { return sum_; }
  [[nodiscard]] bool shares_memory() const noexcept { return shared_ != nullptr; }

  /// Begins a sum.
  void begin() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    for (bucket& one : buckets_) {
      one.missing = one.range.size();
      one.now = stage::computed;
    }
    started_ = 0;
    sent_back_ = 0;
    finished_ = 0;
    failure_ = nullptr;
    record_ = {};
  }

  /// Numbers first ... end - 1 of a piece are in their vector. Each is to be told of once for each
  /// piece of this rank, the pieces one after the other.
  void add(std::size_t piece, std::size_t first, std::size_t end) {
    const auto [depth, joins] = arrivals_[piece - mine_.first];
    for (std::size_t i = 0; i < joins; ++i) {
      add_to(memory_[depth - i - 1] + first, memory_[depth - i] + first, end - first);
    }
    if (piece + 1 < mine_.end || buckets_.empty()) {
      return;
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t k = first / bucket_size_; k < buckets_.size(); ++k) {
      bucket& one = buckets_[k];
      if (one.range.first >= end) {
        break;
      }
      one.missing -= std::min(end, one.range.end) - std::max(first, one.range.first);
    }
    if (options_.overlap) {
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
    while (finished_ < buckets_.size() && failure_ == nullptr) {
      if (!move_on()) {
        std::this_thread::yield();  // there may be more ranks than cores
        look_for_failures();
      }
    }
    waiting_ = false;
    const auto end = clock::now();
    record_.waited_seconds = std::chrono::duration<double>(end - start).count();
    record_.seconds = std::chrono::duration<double>(end - begun_).count();
    if (failure_ != nullptr) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

  [[nodiscard]] const batch_sum_record& record() const noexcept { return record_; }

 private:
  /// Numbers at a time that are added along the tree, so that they stay in the first cache.
  static constexpr std::size_t chunk = 1024;
  /// Slices begin at multiples of so many numbers.
  static constexpr std::size_t alignment = 16;
  static constexpr std::size_t line = 64;
  /// How long the thread in the background leaves the cores to what is computed.
  static constexpr std::chrono::microseconds pause{200};

  enum class stage : std::uint8_t { computed, sends_parts, has_parts, sends_sums, is_done };

  /// The last sum for which a rank has computed its part of a bucket, and added up its slice.
  struct alignas(line) bucket_word {
    std::uint64_t computed = 0;
    std::uint64_t summed = 0;
  };

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
    std::vector<std::byte> sent, taken;  // memory of parts, and of sums in bfloat16
    std::size_t missing = 0;             // numbers that are not computed yet
    stage now = stage::computed;
    rank_group::transfer moving{};
  };

  /// How a sum that a rank holds is added to the others.
  struct addition {
    std::size_t rank;
    std::size_t sum;
    piece_stack::arrival where;
  };

  [[nodiscard]] bool alone() const noexcept { return ranks_->size() == 1; }
  [[nodiscard]] std::size_t number_bytes() const noexcept {
    return options_.bfloat16 ? sizeof(bfloat16) : sizeof(T);
  }
  /// Whether parts are sent from where they were computed.
  [[nodiscard]] bool sends_in_place() const {
    return !options_.bfloat16 && sums_[ranks_->rank()].size() == 1;
  }

  /// Bytes of a vector, in whole lines of the cache.
  [[nodiscard]] std::size_t vector_bytes() const {
    return (size_ * sizeof(T) + line - 1) / line * line;
  }
  /// Vectors that a rank needs: of one rank as of another.
  [[nodiscard]] std::size_t depth() const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < ranks_->size(); ++i) {
      piece_stack stack;
      const auto [first, end] = part_of(options_.pieces, i, ranks_->size());
      for (std::size_t piece = first; piece < end; ++piece) {
        most = std::max(most, stack.add({piece, 0}).depth + 1);
      }
    }
    return most;
  }

  /// A line ahead, the vectors, where memory is shared the sum, a line behind, and what ranks tell
  /// each other of the buckets.
  void make_memory() {
    const std::size_t vectors = depth();
    const std::size_t each = vector_bytes();
    const std::size_t told = 2 * line + (vectors + 1) * each;
    const std::size_t bytes = told + buckets_.size() * sizeof(bucket_word);
    if (!alone() && options_.share_memory && !options_.bfloat16) {
      shared_ = ranks_->share_memory(bytes);
    }
    std::byte* own = nullptr;
    if (shared_) {
      own = shared_->of_rank[ranks_->rank()];
      for (std::byte* const memory : shared_->of_rank) {
        words_.push_back(reinterpret_cast<bucket_word*>(memory + told));
        others_.push_back(reinterpret_cast<T*>(memory + line));
      }
      sum_ = others_[0] + vectors * each / sizeof(T);
    } else {
      own_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{line})));
      own = own_.get();
      std::fill_n(own, bytes, std::byte{0});
      sum_ = reinterpret_cast<T*>(own + line);
    }
    for (std::size_t i = 0; i < vectors; ++i) {
      memory_.push_back(reinterpret_cast<T*>(own + line + i * each));
    }
  }

  void make_buckets() {
    const std::size_t most = std::max<std::size_t>(options_.bucket_bytes / sizeof(T), alignment);
    const std::size_t count = alone() ? 1 : std::max<std::size_t>((size_ + most - 1) / most, 1);
    bucket_size_ = std::max<std::size_t>((size_ + count - 1) / count, 1);
    for (std::size_t first = 0; first < size_; first += bucket_size_) {
      buckets_.push_back(make_bucket({first, std::min(first + bucket_size_, size_)}));
    }
  }

  [[nodiscard]] bucket make_bucket(const index_range& range) const {
    const std::size_t count = ranks_->size();
    const std::size_t own = ranks_->rank();
    bucket result;
    result.range = range;
    for (std::size_t i = 0; i < count; ++i) {
      const auto cut = [&](std::size_t part) {
        const std::size_t at = range.size() * part / count / alignment * alignment;
        return range.first + (part == count ? range.size() : at);
      };
      result.slices.push_back({cut(i), cut(i + 1)});
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool other = i != own;
      const std::size_t each = number_bytes();
      result.sent_parts.add(other ? result.slices[i].size() * sums_[own].size() * each : 0);
      result.taken_parts.add(other ? result.slices[own].size() * sums_[i].size() * each : 0);
      result.sums.add(result.slices[i].size() * each);
    }
    if (sends_in_place()) {
      for (std::size_t i = 0; i < count; ++i) {
        result.sent_parts.offsets[i] = static_cast<int>(result.sums.offsets[i]);
      }
    }
    return result;
  }

  void look_for_failures() {
    try {
      ranks_->look_for_failures();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  /// For what is sent and taken.
  void make_room() {
    for (bucket& one : buckets_) {
      const std::size_t rounded = options_.bfloat16 ? one.sums.total : 0;
      const std::size_t packed = sends_in_place() ? 0 : one.sent_parts.total;
      one.sent.resize(std::max(packed, rounded));
      one.taken.resize(one.taken_parts.total);
    }
  }

  /// Takes every bucket as far as it comes; false where nothing moved. What goes wrong is kept.
  bool move_on() {
    bool moved = false;
    try {
      while (started_ < buckets_.size() && buckets_[started_].missing == 0) {
        start(buckets_[started_++]);
        moved = true;
      }
      for (std::size_t k = finished_; k < started_; ++k) {
        moved = move_on(k) || moved;
      }
      while (finished_ < started_ && buckets_[finished_].now == stage::is_done) {
        ++finished_;
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    return moved;
  }

  bool move_on(std::size_t k) {
    bucket& one = buckets_[k];
    const stage before = one.now;
    if (shared_) {
      if (one.now == stage::sends_parts && all_told(k, &bucket_word::computed)) {
        add_slice(one);
        tell(k, &bucket_word::summed);
        one.now = stage::sends_sums;
      }
      if (one.now == stage::sends_sums && all_told(k, &bucket_word::summed)) {
        one.now = stage::is_done;
      }
      return one.now != before;
    }
    if (one.now == stage::sends_parts && ranks_->is_done(one.moving)) {
      add_slice(one);
      one.now = stage::has_parts;
    }
    // All ranks send sums back in the same order, however the parts came.
    if (one.now == stage::has_parts && sent_back_ == k) {
      ++sent_back_;
      record_.messages += ranks_->size() - 1;
      record_.bytes += (ranks_->size() - 1) * own_slice(one).size() * number_bytes();
      one.moving = ranks_->start_gather(transfer_kind::sums, one.sums.in(sums_memory(one)));
      one.now = stage::sends_sums;
    }
    if (one.now == stage::sends_sums && ranks_->is_done(one.moving)) {
      if (options_.bfloat16) {
        unround(one.sent, one.range);
      }
      one.now = stage::is_done;
    }
    return one.now != before;
  }

  void start(bucket& one) {
    if (started_ == 1) {
      begun_ = clock::now();
    }
    if (alone()) {
      add_slice(one);
      one.now = stage::is_done;
      return;
    }
    if (shared_) {
      tell(static_cast<std::size_t>(&one - buckets_.data()), &bucket_word::computed);
      one.now = stage::sends_parts;
      return;
    }
    record_.messages += ranks_->size() - 1;
    record_.bytes += one.sent_parts.total;
    void* from = memory_[0] + one.range.first;
    if (!sends_in_place()) {
      pack(one);
      from = one.sent.data();
    }
    one.moving = ranks_->start_exchange(transfer_kind::parts, one.sent_parts.in(from),
                                        one.taken_parts.in(one.taken.data()));
    one.now = stage::sends_parts;
  }

  /// Says that this rank has come so far with a bucket, or asks whether all have.
  void tell(std::size_t k, std::uint64_t bucket_word::*what) const {
    std::atomic_ref(words_[ranks_->rank()][k].*what).store(turn_, std::memory_order_release);
  }
  [[nodiscard]] bool all_told(std::size_t k, std::uint64_t bucket_word::*what) const {
    return std::all_of(words_.begin(), words_.end(), [&](bucket_word* words) {
      return std::atomic_ref(words[k].*what).load(std::memory_order_acquire) >= turn_;
    });
  }

  [[nodiscard]] const index_range& own_slice(const bucket& one) const {
    return one.slices[ranks_->rank()];
  }
  [[nodiscard]] void* sums_memory(bucket& one) const {
    return options_.bfloat16 ? static_cast<void*>(one.sent.data()) : sum_ + one.range.first;
  }

  /// For each other rank its slice of each of this rank's sums.
  void pack(bucket& one) {
    std::byte* to = one.sent.data();
    for (std::size_t i = 0; i < one.slices.size(); ++i) {
      for (std::size_t sum = 0; i != ranks_->rank() && sum < sums_[ranks_->rank()].size(); ++sum) {
        to = write(memory_[sum] + one.slices[i].first, one.slices[i].size(), to);
      }
    }
  }
  std::byte* write(const T* from, std::size_t count, std::byte* to) const {
    if (!options_.bfloat16) {
      std::copy_n(reinterpret_cast<const std::byte*>(from), count * sizeof(T), to);
    } else {
      auto* const rounded = reinterpret_cast<bfloat16*>(to);
      for (std::size_t n = 0; n < count; ++n) {
        rounded[n] = bfloat16(static_cast<float>(from[n]));
      }
    }
    return to + count * number_bytes();
  }
  void unround(const std::vector<std::byte>& from, const index_range& range) const {
    const auto* const rounded = reinterpret_cast<const bfloat16*>(from.data());
    for (std::size_t n = 0; n < range.size(); ++n) {
      sum_[range.first + n] = static_cast<T>(rounded[n].value());
    }
  }

  /// Adds up this rank's slice of a bucket, in the order of the tree.
  void add_slice(bucket& one) {
    const index_range slice = own_slice(one);
    if (additions_.size() == 1) {
      return;
    }
    if (shared_ && additions_.size() == 2) {
      add_two(others_[0] + slice.first, others_[1] + slice.first, slice.size(), sum_ + slice.first);
      return;
    }
    room_.resize(additions_.size() * chunk);
    for (std::size_t at = 0; at < slice.size(); at += chunk) {
      const std::size_t count = std::min(chunk, slice.size() - at);
      add_chunk(one, slice, at, count);
      std::copy_n(room_.data(), count, sum_ + slice.first + at);
    }
    if (options_.bfloat16 && !alone()) {
      const auto own = static_cast<std::size_t>(one.sums.offsets[ranks_->rank()]);
      write(sum_ + slice.first, slice.size(), one.sent.data() + own);
    }
  }

  void add_chunk(const bucket& one, const index_range& slice, std::size_t at, std::size_t count) {
    const auto level = [&](std::size_t depth) { return room_.data() + depth * chunk; };
    for (const addition& next : additions_) {
      take(one, slice, next, at, count, level(next.where.depth));
      for (std::size_t i = 0; i < next.where.joins; ++i) {
        add_to(level(next.where.depth - i - 1), level(next.where.depth - i), count);
      }
    }
    for (std::size_t depth = left_; depth-- > 1;) {
      add_to(level(depth - 1), level(depth), count);
    }
  }
  // In blocks of known size, which compilers make vectors of without being asked.
  static void add_two(const T* a, const T* b, std::size_t count, T* to) {
    constexpr std::size_t block = alignment;
    std::size_t n = 0;
    for (; n + block <= count; n += block) {
      std::array<T, block> sums;
      for (std::size_t i = 0; i < block; ++i) {
        sums[i] = a[n + i] + b[n + i];
      }
      std::copy_n(sums.data(), block, to + n);
    }
    for (; n < count; ++n) {
      to[n] = a[n] + b[n];
    }
  }
  static void add_to(T* to, const T* from, std::size_t count) { add_two(to, from, count, to); }
  /// Numbers of a sum that a rank holds of this rank's slice.
  void take(const bucket& one, const index_range& slice, const addition& which, std::size_t at,
            std::size_t count, T* to) const {
    if (which.rank == ranks_->rank()) {
      std::copy_n(memory_[which.sum] + slice.first + at, count, to);
      return;
    }
    if (shared_) {
      const T* const vector = others_[which.rank] + which.sum * vector_bytes() / sizeof(T);
      std::copy_n(vector + slice.first + at, count, to);
      return;
    }
    const auto block = static_cast<std::size_t>(one.taken_parts.offsets[which.rank]);
    const std::byte* const from =
        one.taken.data() + block + (which.sum * slice.size() + at) * number_bytes();
    if (!options_.bfloat16) {
      std::copy_n(from, count * sizeof(T), reinterpret_cast<std::byte*>(to));
      return;
    }
    const auto* const rounded = reinterpret_cast<const bfloat16*>(from);
    for (std::size_t n = 0; n < count; ++n) {
      to[n] = static_cast<T>(rounded[n].value());
    }
  }

  /// In the background: transfers move on only when they are looked after.
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
  batch_sum_options options_;
  std::size_t size_;
  std::size_t bucket_size_ = 1;
  index_range mine_;
  std::vector<piece_stack::arrival> arrivals_;  // of each of this rank's pieces
  std::vector<std::vector<partial_sum>> sums_;  // that each rank holds once it has its pieces
  std::vector<addition> additions_;             // of all of them, in order
  std::size_t left_ = 0;                        // on the stack then
  std::vector<bucket> buckets_;
  struct free_memory {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{line}); }
  };
  std::unique_ptr<std::byte[], free_memory> own_;  // or
  std::shared_ptr<const shared_memory> shared_;
  std::vector<T*> memory_;           // this rank's vectors
  std::vector<T*> others_;           // the first one of each rank, where memory is shared,
  std::vector<bucket_word*> words_;  // and what it says of the buckets
  T* sum_ = nullptr;
  std::uint64_t turn_ = 0;  // sums begun
  std::vector<T> room_;
  clock::time_point begun_{};
  batch_sum_record record_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t started_ = 0;    // buckets whose parts travel, or have
  std::size_t sent_back_ = 0;  // buckets whose sums travel, or have
  std::size_t finished_ = 0;   // buckets that are done, up to the first that is not
  std::exception_ptr failure_;
  bool waiting_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace glia
