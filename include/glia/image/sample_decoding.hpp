#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "glia/core/random.hpp"
#include "glia/core/thread_pool.hpp"

namespace glia::detail {

/// Threads that decode the samples of a batch. Copies share them and take turns.
class sample_decoders {
 public:
  /// `threads` as `thread_pool` has it, which throws `value_error` for too many.
  explicit sample_decoders(std::size_t threads) : shared_(std::make_shared<shared>(threads)) {}

  /// Calls decode(n) for all n < count. When several throw, what the first of them threw is thrown
  /// again, whichever came to it first.
  template <class Decode>
  void for_each(std::size_t count, const Decode& decode) const {
    const std::lock_guard lock(shared_->in_use);
    std::mutex failing;
    std::size_t first_failure = count;
    std::exception_ptr failure;
    shared_->pool.parallel_for(count, [&](std::size_t n, std::size_t) {
      try {
        decode(n);
      } catch (...) {
        const std::lock_guard report(failing);
        if (n < first_failure) {
          first_failure = n;
          failure = std::current_exception();
        }
      }
    });
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
  }

 private:
  struct shared {
    explicit shared(std::size_t threads) : pool(threads) {}
    std::mutex in_use;
    thread_pool pool;
  };

  std::shared_ptr<shared> shared_;
};

/// What sample i is augmented with in an epoch. Each sample of each epoch has a seed of its own, so
/// that its sequence is no other consumer's.
[[nodiscard]] inline random_key augmentation_key(std::uint64_t seed, std::size_t i,
                                                 std::size_t epoch) {
  constexpr std::uint32_t augmentation_stream = 0xFFFFFFFE;
  const auto words = philox(
      {.seed = seed, .stream = augmentation_stream, .step = static_cast<std::uint32_t>(epoch)}, i);
  return {.seed = words[0] | std::uint64_t{words[1]} << 32};
}

}  // namespace glia::detail
