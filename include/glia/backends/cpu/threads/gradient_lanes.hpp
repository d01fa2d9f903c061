#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/threads/single_threaded_blas.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"

namespace glia::cpu_loops {

/// The accumulator of a lane's sums. Code that adds to `data()` reports it by `added`, so that the
/// rounding error of long sums stays within product_error.
template <class T, class Loops>
class lane_sums {
 public:
  /// `sum` is the result. `scratch` has 2 * size elements, or is null if a lane never adds more
  /// than `chains_in_total` times.
  lane_sums(const Loops& loops, T* sum, T* scratch, std::size_t size)
      : loops_(loops), sum_(sum), scratch_(scratch), size_(size) {
    std::fill_n(sum, size, T{0});
    if (scratch != nullptr) {
      std::fill_n(scratch, 2 * size, T{0});
    }
  }

  [[nodiscard]] T* data() const { return scratch_ == nullptr ? sum_ : scratch_; }

  /// Reports that `count` sums were added to each element.
  void added(std::size_t count) {
    pending_ += count;
    if (scratch_ != nullptr && pending_ >= detail::chains_in_total) {
      add_to_total();
      std::fill_n(scratch_, size_, T{0});
      pending_ = 0;
    }
  }
  void end() {
    if (scratch_ != nullptr) {
      add_to_total();
      loops_.end_compensated(sum_, scratch_ + size_, size_);
    }
  }

 private:
  void add_to_total() { loops_.add_compensated(scratch_, sum_, scratch_ + size_, size_); }

  Loops loops_;
  T* sum_;
  T* scratch_;
  std::size_t size_;
  std::size_t pending_ = 0;
};

/// Computes a sum of `size` elements over images or over their pixels. Images are distributed over
/// lanes. The number of lanes depends only on the number of images. Each lane sums its own images,
/// and the lanes are added in order, so the number of threads does not change the result.
///
/// `level` selects the loops. body(loops, first image, images, sums, thread) adds to the sums of a
/// lane, at most `adds_of(images)` times for this number of images.
template <class T, class AddsOf, class Body>
void sum_over_lanes(const workers& team, isa level, const memory_pool& memory, std::size_t images,
                    std::size_t size, T* sum, const AddsOf& adds_of, const Body& body) {
  // A few images are not worth the cost of separate sums.
  const std::size_t lanes = images < 8 ? 1 : 8;
  const bool is_long = adds_of((images + lanes - 1) / lanes) > detail::chains_in_total;
  const detail::host_tensor<T> partial(memory, {lanes - 1, size});
  const detail::host_tensor<T> scratch(memory, {is_long ? team.threads() : 0, 2 * size});
  const single_threaded_blas one_thread_each;
  with_isa(level, [&](auto loops) {
    team.run(lanes, [&](std::size_t lane, std::size_t thread) {
      const std::size_t first = lane * images / lanes;
      lane_sums<T, decltype(loops)> sums(
          loops, lane == 0 ? sum : partial.data() + (lane - 1) * size,
          is_long ? scratch.data() + thread * 2 * size : nullptr, size);
      body(loops, first, (lane + 1) * images / lanes - first, sums, thread);
      sums.end();
    });
  });
  team.for_blocks(lanes > 1 ? size : 0, workers::elements_per_block,
                  [&](auto loops, std::size_t first, std::size_t count) {
                    for (std::size_t lane = 1; lane < lanes; ++lane) {
                      loops.add(partial.data() + (lane - 1) * size + first, sum + first, count);
                    }
                  });
}

}  // namespace glia::cpu_loops
