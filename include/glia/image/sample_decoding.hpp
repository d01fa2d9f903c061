#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "glia/core/random.hpp"
#include "glia/core/thread_pool.hpp"

namespace glia::detail {

/// The threads that decode the samples of a batch. Copies share them and use them in turn.
class sample_decoders {
 public:
  /// `threads` is the number of threads; 0: one per core. Throws `value_error` as `thread_pool`
  /// does.
  explicit sample_decoders(std::size_t threads) : shared_(std::make_shared<shared>(threads)) {}

  /// Calls decode(n) for all n < count. If several calls throw, the exception of the smallest n is
  /// rethrown.
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

/// Returns the random key for the augmentation of sample `i` in an epoch. Each sample of each epoch
/// has a different seed, so that no other part of the program uses the same random numbers.
[[nodiscard]] inline random_key augmentation_key(std::uint64_t seed, std::size_t i,
                                                 std::size_t epoch) {
  constexpr std::uint32_t augmentation_stream = 0xFFFFFFFE;
  const auto words = philox(
      {.seed = seed, .stream = augmentation_stream, .step = static_cast<std::uint32_t>(epoch)}, i);
  return {.seed = words[0] | std::uint64_t{words[1]} << 32};
}

}  // namespace glia::detail
