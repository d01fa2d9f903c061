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

namespace glia {

class memory_block;

/// Hands out blocks of memory and keeps those that come back for the next request of their size,
/// so that a training step, whose requests repeat, allocates from the system only the first time.
///
/// Sizes are rounded up to a multiple of an eighth of their power of two (at most 12.5 % is wasted)
/// and each rounded size has a list of its own. Blocks are aligned to 64 bytes, a cache line.
/// A copy shares the pool; blocks keep it alive. Safe to use from several threads.
class memory_pool {
 public:
  memory_pool() : state_(std::make_shared<state>()) {}

  [[nodiscard]] memory_block allocate(std::size_t bytes) const;

  /// Bytes taken from the system so far and not given back.
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return state_->reserved.load(); }

 private:
  friend class memory_block;
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t steps_per_power = 8;

  struct state;

  struct header {
    std::atomic<std::size_t> owners;
    std::size_t size_class;
    header* next_free;
    std::shared_ptr<state> home;  // only while the block is in use: a free one must not hold it
  };
  static_assert(sizeof(header) <= alignment);

  struct state {
    std::mutex mutex;
    std::array<header*, 64 * steps_per_power> free{};
    std::atomic<std::size_t> reserved{0};

    state() = default;
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
      for (header* head : free) {
        while (head != nullptr) {
          header* next = head->next_free;
          head->~header();
          ::operator delete (head, std::align_val_t{alignment});
          head = next;
        }
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
      give_back();
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

  void give_back() noexcept {
    const std::shared_ptr<memory_pool::state> home = std::move(head_->home);
    const std::lock_guard lock(home->mutex);
    head_->next_free = std::exchange(home->free[head_->size_class], head_);
  }

  memory_pool::header* head_ = nullptr;
};

inline memory_block memory_pool::allocate(std::size_t bytes) const {
  const std::size_t size_class = class_of(bytes);
  header* head = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    head = state_->free[size_class];
    if (head != nullptr) {
      state_->free[size_class] = head->next_free;
    }
  }
  if (head == nullptr) {
    const std::size_t total = alignment + bytes_of(size_class);
    head = new (::operator new (total, std::align_val_t{alignment})) header{};
    head->size_class = size_class;
    state_->reserved.fetch_add(total);
  }
  head->home = state_;
  head->owners.store(1, std::memory_order_relaxed);
  return memory_block(head);
}

}  // namespace glia
