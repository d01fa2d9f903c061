#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/blas.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"

namespace glia::cpu_loops {

/// Where a lane's sums are added up. Whoever adds to `data()` says so, so that what long sums lose
/// stays within product_error.
template <class T, class Loops>
class lane_sums {
 public:
  /// `sum` is the result; `room` for 2 * size elements, or null where `chains_in_total` are not
  /// exceeded.
  lane_sums(const Loops& loops, T* sum, T* room, std::size_t size)
      : loops_(loops), sum_(sum), room_(room), size_(size) {
    std::fill_n(sum, size, T{0});
    if (room != nullptr) {
      std::fill_n(room, 2 * size, T{0});
    }
  }

  [[nodiscard]] T* data() const { return room_ == nullptr ? sum_ : room_; }

  /// To be called after so many sums were added to each element.
  void added(std::size_t count) {
    pending_ += count;
    if (room_ != nullptr && pending_ >= chains_in_total) {
      add_to_total();
      std::fill_n(room_, size_, T{0});
      pending_ = 0;
    }
  }
  void end() {
    if (room_ != nullptr) {
      add_to_total();
      loops_.end_compensated(sum_, room_ + size_, size_);
    }
  }

 private:
  void add_to_total() { loops_.add_compensated(room_, sum_, room_ + size_, size_); }

  Loops loops_;
  T* sum_;
  T* room_;
  std::size_t size_;
  std::size_t pending_ = 0;
};

/// A sum over images, or over their pixels, of `size` elements: images are dealt out to lanes whose
/// number depends on theirs alone, each lane sums its own, and the lanes are added in order. So the
/// threads do not show in the result. Loops are those of `level`; body(loops, first image, images,
/// sums, thread) adds to a lane's sums, of so many images at most `adds_of(images)` times.
template <class T, class AddsOf, class Body>
void sum_over_lanes(const workers& team, isa level, const memory_pool& memory, std::size_t images,
                    std::size_t size, T* sum, const AddsOf& adds_of, const Body& body) {
  // A few images are not worth the sums of their own.
  const std::size_t lanes = images < 8 ? 1 : 8;
  const bool is_long = adds_of((images + lanes - 1) / lanes) > chains_in_total;
  const host_tensor<T> partial(memory, {lanes - 1, size});
  const host_tensor<T> room(memory, {is_long ? team.threads() : 0, 2 * size});
  const single_threaded_blas one_thread_each;
  with_isa(level, [&](auto loops) {
    team.run(lanes, [&](std::size_t lane, std::size_t thread) {
      const std::size_t first = lane * images / lanes;
      lane_sums<T, decltype(loops)> sums(loops,
                                         lane == 0 ? sum : partial.data() + (lane - 1) * size,
                                         is_long ? room.data() + thread * 2 * size : nullptr, size);
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
