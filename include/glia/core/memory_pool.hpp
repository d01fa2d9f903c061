#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

class memory_block;

/// Hands out blocks of memory and keeps those that come back for later requests, so that a training
/// step, whose requests repeat, allocates from the system only the first time.
///
/// Sizes are rounded up to a multiple of an eighth of their power of two (at most 12.5 % is wasted)
/// and each rounded size has a list of its own; where it is empty, blocks of up to twice the size
/// serve. What the pool keeps is bounded: before it asks the system for more than twice of what was
/// ever in use at once, it gives back what lies idle. Blocks are aligned to 64 bytes, a cache line.
///
/// A copy shares the pool; blocks keep it alive. Safe to use from several threads, which come into
/// each other's way only where one has nothing left.
class memory_pool {
 public:
  memory_pool() : state_(std::make_shared<state>()) {}

  /// Throws `value_error` for sizes that no machine has, `std::bad_alloc` where this one has not.
  [[nodiscard]] memory_block allocate(std::size_t bytes) const;

  /// Bytes taken from the system so far and not given back.
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return state_->reserved.load(); }

  /// Gives back to the system what is not in use.
  void trim() const noexcept { state_->trim(); }

 private:
  friend class memory_block;
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t steps_per_power = 8;
  static constexpr std::size_t max_bytes = std::size_t{1} << 56;
  static constexpr std::size_t classes = 57 * steps_per_power;

  struct state;

  struct header {
    std::atomic<std::size_t> owners;
    std::size_t size_class;
    header* next_free;
    std::shared_ptr<state> home;  // only while the block is in use: a free one must not hold it
  };
  static_assert(sizeof(header) <= alignment);

  struct state {
    spin_lock lock;
    std::array<header*, classes> free{};
    std::size_t idle = 0;          // bytes in the lists
    std::size_t most_in_use = 0;   // as far as seen when the system was asked
    std::atomic<std::size_t> reserved{0};

    state() = default;
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() { trim(); }

    /// A free block for the class, or none.
    header* take(std::size_t size_class) noexcept {
      const std::size_t last = std::min(size_class + steps_per_power, classes - 1);
      const std::lock_guard guard(lock);
      for (std::size_t c = size_class; c <= last; ++c) {
        if (header* const head = free[c]) {
          free[c] = head->next_free;
          idle -= total_of(c);
          return head;
        }
      }
      return nullptr;
    }
    void give_back(header* head) noexcept {
      const std::lock_guard guard(lock);
      head->next_free = std::exchange(free[head->size_class], head);
      idle += total_of(head->size_class);
    }
    void trim() noexcept {
      std::array<header*, classes> old{};
      {
        const std::lock_guard guard(lock);
        old = std::exchange(free, {});
        idle = 0;
      }
      for (header* head : old) {
        while (head != nullptr) {
          header* const next = head->next_free;
          reserved.fetch_sub(total_of(head->size_class));
          head->~header();
          ::operator delete (head, std::align_val_t{alignment});
          head = next;
        }
      }
    }
    /// Makes sure that `bytes` more keep within the bound.
    void make_room(std::size_t bytes) noexcept {
      bool too_much = false;
      {
        const std::lock_guard guard(lock);
        const std::size_t in_use = reserved.load() - idle;
        most_in_use = std::max(most_in_use, in_use + bytes);
        too_much = reserved.load() + bytes > 2 * most_in_use;
      }
      if (too_much) {
        trim();
      }
    }
  };

  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t power = std::bit_width(std::max(bytes, std::size_t{alignment}) - 1) - 1;
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

/// A counted reference to a block of a memory pool; the last one to go hands the block back.
class memory_block {
 public:
  memory_block() = default;
  memory_block(const memory_block& other) noexcept : head_(other.head_) {
    if (head_ != nullptr) {
      head_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  memory_block(memory_block&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  memory_block& operator=(memory_block other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~memory_block() {
    if (head_ != nullptr && head_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::shared_ptr<memory_pool::state> home = std::move(head_->home);
      home->give_back(head_);
    }
  }

  [[nodiscard]] void* data() const noexcept {
    return reinterpret_cast<std::byte*>(head_) + memory_pool::alignment;
  }

  /// Whether nobody else can see the memory, which is then free to be overwritten.
  [[nodiscard]] bool unique() const noexcept {
    return head_ != nullptr && head_->owners.load(std::memory_order_acquire) == 1;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return head_ != nullptr; }

 private:
  friend class memory_pool;
  explicit memory_block(memory_pool::header* head) noexcept : head_(head) {}

  memory_pool::header* head_ = nullptr;
};

inline memory_block memory_pool::allocate(std::size_t bytes) const {
  require<value_error>(bytes <= max_bytes, "memory_pool: ", bytes,
                       " bytes are more than any machine has; check the sizes asked for");
  const std::size_t size_class = class_of(bytes);
  header* head = state_->take(size_class);
  if (head == nullptr) {
    const std::size_t total = total_of(size_class);
    state_->make_room(total);
    head = new (::operator new (total, std::align_val_t{alignment})) header{};
    head->size_class = size_class;
    state_->reserved.fetch_add(total);
  }
  head->home = state_;
  head->owners.store(1, std::memory_order_relaxed);
  return memory_block(head);
}

}  // namespace glia
