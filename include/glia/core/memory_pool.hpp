#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/memory_limit.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

class memory_block;

/// Allocates blocks of memory and keeps released blocks for later requests. A training step repeats
/// its requests, so only the first step allocates memory from the system.
///
/// Sizes are rounded up in steps of one eighth of the next lower power of two, so at most 12.5 % is
/// wasted. Each rounded size has a list of free blocks. Blocks are aligned to 64 bytes, a cache
/// line. The pool's memory is limited to about four times the largest amount in use at once (summed
/// over the lists of all threads). If a request would exceed this limit, the pool first frees the
/// blocks that have not been in use since it last reached the limit.
///
/// Copies share the pool, and blocks keep it alive. It is safe to use from several threads: each
/// thread has its own lists, and searches the lists of other threads if its own are empty.
class memory_pool {
 public:
  static constexpr std::size_t max_shards = 8;

  /// Creates a pool with lists for `shards` threads, from 1 to max_shards. With 1, the memory taken
  /// from the system depends only on the requests, not on the threads that make them.
  explicit memory_pool(std::size_t shards = max_shards)
      : state_(new state(std::clamp<std::size_t>(shards, 1, max_shards)),
               [](state* last) { last->close(); }) {}

  /// Returns a block of at least `bytes` bytes. Throws `value_error` for sizes that no machine has,
  /// and `std::bad_alloc` if there is not enough memory.
  [[nodiscard]] memory_block allocate(std::size_t bytes) const;
  /// Returns a block for short use. Use it for requests whose sizes vary: it may return a free
  /// block of up to four times the requested size.
  [[nodiscard]] memory_block borrow(std::size_t bytes) const;

  /// Returns the number of bytes that the pool has taken from the system and not given back.
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return state_->reserved.load(); }

  /// Gives all unused memory back to the system.
  void trim() const { state_->trim(); }

 private:
  friend class memory_block;
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t steps_per_power = 8;
  static constexpr std::size_t max_bytes = std::size_t{1} << detail::max_memory_bits;
  // Enough for the tensors of successive steps and for the tensors of a smaller last batch.
  static constexpr std::size_t max_kept = 4;
  static constexpr std::size_t classes = (detail::max_memory_bits + 1) * steps_per_power;

  struct state;
  struct shard;

  struct header {
    std::atomic<std::size_t> owners;
    std::size_t size_class;  // bytes, if the block does not belong to a pool
    header* next_free;
    state* home;  // null if the block does not belong to a pool
    void (*release)(void* memory, std::size_t bytes) noexcept;
    shard* current_shard;
    std::size_t round;  // round of the shard in which the block was released
  };
  static_assert(sizeof(header) <= alignment);

  /// The free blocks of some threads.
  struct alignas(64) shard {
    detail::spin_lock lock;
    bool closed = false;
    std::size_t round = 0;      // number of times that memory was freed to stay within the limit
    std::ptrdiff_t blocks = 0;  // blocks in use
    std::size_t bytes = 0;      // bytes of the blocks in use
    std::size_t peak = 0;       // largest value of `bytes`
    std::array<header*, classes> free{};

    void hand_out(const header* head) noexcept {
      ++blocks;
      bytes += total_of(head->size_class);
      peak = std::max(peak, bytes);
    }
  };

  struct state {
    std::size_t used;                                      // number of shards
    std::array<std::atomic<shard*>, max_shards> shards{};  // created when a thread first needs one
    detail::spin_lock growing;
    bool closed = false;
    std::atomic<std::size_t> reserved{0};
    // The number of blocks that are still in use after the pool is closed.
    std::atomic<std::ptrdiff_t> remaining{0};

    explicit state(std::size_t count) : used(count) {}
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
      trim();
      for (auto& slot : shards) {
        delete slot.load();
      }
    }

    static std::size_t thread_number() {
      static std::atomic<std::size_t> threads{0};
      thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
      return number;
    }
    shard& of_this_thread() {
      // The first use of a variable of a thread can allocate memory.
      std::atomic<shard*>& mine = shards[used == 1 ? 0 : thread_number() % used];
      if (shard* const existing = mine.load(std::memory_order_acquire)) {
        return *existing;
      }
      const std::lock_guard guard(growing);
      if (mine.load(std::memory_order_relaxed) == nullptr) {
        auto created = std::make_unique<shard>();
        created->closed = closed;
        mine.store(created.release(), std::memory_order_release);
      }
      return *mine.load(std::memory_order_relaxed);
    }

    template <class Visit>
    void for_each_shard(const Visit& visit) {
      for (auto& slot : shards) {
        if (shard* const s = slot.load(std::memory_order_acquire)) {
          const std::lock_guard guard(s->lock);
          visit(*s);
        }
      }
    }

    static header* take_from(shard& s, std::size_t size_class, std::size_t last_class) noexcept {
      for (; size_class <= last_class; ++size_class) {
        if (header* const head = s.free[size_class]) {
          s.free[size_class] = head->next_free;
          return head;
        }
      }
      return nullptr;
    }
    /// Returns a free block of a size class from `size_class` to `last_class`. If there is none,
    /// returns a new block from the system.
    header* take(std::size_t size_class, std::size_t last_class) {
      shard& mine = of_this_thread();
      {
        const std::lock_guard guard(mine.lock);
        if (header* const head = take_from(mine, size_class, last_class)) {
          mine.hand_out(head);
          return head;
        }
      }
      header* found = nullptr;
      for_each_shard([&](shard& s) {
        if (found == nullptr && (found = take_from(s, size_class, last_class)) != nullptr) {
          s.peak = std::max(s.bytes, s.peak - std::min(s.peak, total_of(found->size_class)));
        }
      });
      if (found == nullptr) {
        found = make(size_class);
      }
      // A block from another thread's list belongs to this thread's list from now on. Otherwise,
      // both threads would always lock the same list.
      found->current_shard = &mine;
      const std::lock_guard guard(mine.lock);
      mine.hand_out(found);
      return found;
    }
    /// Returns a new block from the system.
    header* make(std::size_t size_class) {
      const std::size_t total = total_of(size_class);
      make_room(total);
      auto* head = new (::operator new (total, std::align_val_t{alignment})) header{};
      head->size_class = size_class;
      head->home = this;
      reserved.fetch_add(total);
      return head;
    }
    void give_back(header* head) noexcept {
      shard& s = *head->current_shard;
      {
        const std::lock_guard guard(s.lock);
        if (!s.closed) {
          --s.blocks;
          s.bytes -= total_of(head->size_class);
          head->round = s.round;
          // This order is necessary for a child process that is forked in between: see spin_lock.
          head->next_free = s.free[head->size_class];
          std::atomic_signal_fence(std::memory_order_release);
          s.free[head->size_class] = head;
          return;
        }
      }
      release(head);
      if (remaining.fetch_sub(1) == 1) {
        delete this;
      }
    }

    void release(header* head) noexcept {
      reserved.fetch_sub(total_of(head->size_class));
      head->~header();
      ::operator delete (head, std::align_val_t{alignment});
    }
    /// Frees the unused blocks that were released at least `rounds` rounds ago.
    void trim(std::size_t rounds = 0) {
      for_each_shard([&](shard& s) {
        for (header*& list : s.free) {
          for (header** link = &list; *link != nullptr;) {
            if ((*link)->round + rounds <= s.round) {
              release(std::exchange(*link, (*link)->next_free));
            } else {
              link = &(*link)->next_free;
            }
          }
        }
        ++s.round;
      });
    }
    /// Frees memory, if necessary, so that the pool stays approximately within its limit with
    /// `bytes` bytes more.
    void make_room(std::size_t bytes) {
      std::size_t peak_sum = bytes;
      for_each_shard([&](const shard& s) { peak_sum += s.peak; });
      if (reserved.load() + bytes > max_kept * peak_sum) {
        trim(1);
      }
    }

    /// Called when the last copy of the pool is destroyed. Blocks in use are freed when they are
    /// released, and the last one also deletes the state.
    void close() {
      trim();
      {
        const std::lock_guard guard(growing);
        closed = true;
      }
      remaining.store(1);  // counts this call
      for_each_shard([&](shard& s) {
        s.closed = true;
        remaining.fetch_add(s.blocks);
      });
      if (remaining.fetch_sub(1) == 1) {
        delete this;
      }
    }
  };

  [[nodiscard]] memory_block take(std::size_t bytes, std::size_t larger) const;

  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    const auto power =
        static_cast<std::size_t>(std::bit_width(std::max(bytes, std::size_t{alignment}) - 1)) - 1;
    const std::size_t step = (std::size_t{1} << power) / steps_per_power;
    const std::size_t steps = (bytes - (std::size_t{1} << power) + step - 1) / step;
    return bytes <= alignment ? 0 : power * steps_per_power + steps;
  }
  static constexpr std::size_t bytes_of(std::size_t size_class) noexcept {
    const std::size_t base = std::size_t{1} << (size_class / steps_per_power);
    return size_class == 0 ? alignment
                           : base + (size_class % steps_per_power) * (base / steps_per_power);
  }
  static constexpr std::size_t total_of(std::size_t size_class) noexcept {
    return alignment + bytes_of(size_class);
  }

  std::shared_ptr<state> state_;
};

/// A counted reference to a block of a memory pool, or to other memory. The last reference releases
/// the block.
class memory_block {
 public:
  memory_block() = default;
  memory_block(const memory_block& other) noexcept : head_(other.head_), counted_(other.counted_) {
    if (counted_) {
      head_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  memory_block(memory_block&& other) noexcept
      : head_(std::exchange(other.head_, nullptr)),
        counted_(std::exchange(other.counted_, false)) {}
  memory_block& operator=(const memory_block& other) noexcept {
    return *this = memory_block(other);
  }
  memory_block& operator=(memory_block&& other) noexcept {
    std::swap(head_, other.head_);
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~memory_block() {
    if (counted_) {  // the only part that is worth inlining
      drop();
    }
  }

  [[nodiscard]] void* data() const noexcept {
    return reinterpret_cast<std::byte*>(head_) + memory_pool::alignment;
  }

  /// Returns whether this is the only reference, so that the memory may be overwritten.
  [[nodiscard]] bool unique() const noexcept {
    return counted_ && head_->owners.load(std::memory_order_acquire) == 1;
  }

  /// Returns an uncounted reference, which is valid while this reference exists. Its copies are not
  /// counted either. Use it if several threads read one block at the same time, because counting
  /// would slow them down.
  [[nodiscard]] memory_block borrowed() const noexcept { return {head_, false}; }
  /// Returns a counted reference to the same block. Another counted reference must exist during
  /// this call.
  [[nodiscard]] memory_block counted() const noexcept {
    if (head_ != nullptr) {
      head_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    return {head_, head_ != nullptr};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return head_ != nullptr; }

  /// Returns an uncounted reference to memory of another owner. The `memory_block::ahead` bytes
  /// before this memory must exist and be unused.
  [[nodiscard]] static memory_block of_others(void* memory) noexcept {
    std::byte* const head = static_cast<std::byte*>(memory) - memory_pool::alignment;
    return {reinterpret_cast<memory_pool::header*>(head), false};
  }
  static constexpr std::size_t ahead = memory_pool::alignment;

  /// Returns a counted reference to memory outside of pools. The `ahead` bytes before this memory
  /// must exist and are overwritten. The last reference calls release(memory, bytes).
  [[nodiscard]] static memory_block taken_over(void* memory, std::size_t bytes,
                                               void (*release)(void*,
                                                               std::size_t) noexcept) noexcept {
    auto* const head = new (static_cast<std::byte*>(memory) - ahead) memory_pool::header{};
    head->owners.store(1, std::memory_order_relaxed);
    head->size_class = bytes;
    head->release = release;
    return {head, true};
  }

 private:
  friend class memory_pool;
  void drop() const noexcept {
    if (head_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      if (head_->home != nullptr) {
        head_->home->give_back(head_);
      } else {
        head_->release(data(), head_->size_class);
      }
    }
  }
  memory_block(memory_pool::header* head, bool counts) noexcept : head_(head), counted_(counts) {}

  memory_pool::header* head_ = nullptr;
  bool counted_ = false;
};

inline memory_block memory_pool::take(std::size_t bytes, std::size_t larger) const {
  require<value_error>(bytes <= max_bytes, "memory_pool: ", bytes,
                       " bytes are more than any machine has; check the requested sizes");
  const std::size_t size_class = class_of(bytes);
  header* const head = state_->take(size_class, std::min(size_class + larger, classes - 1));
  head->owners.store(1, std::memory_order_relaxed);
  return {head, true};
}
inline memory_block memory_pool::allocate(std::size_t bytes) const { return take(bytes, 0); }
inline memory_block memory_pool::borrow(std::size_t bytes) const {
  return take(bytes, 2 * steps_per_power);
}

}  // namespace glia
