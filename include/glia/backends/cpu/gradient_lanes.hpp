#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/blas.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"

namespace glia::cpu_loops {

/// A sum over images, or over their pixels, of `size` elements: images are dealt out to lanes whose
/// number depends on theirs alone, each lane sums its own, and the lanes are added in order. So the
/// threads do not show in the result. Loops are those of `level`; body(loops, first image, images,
/// sum, thread) writes a lane's sum.
template <class T, class Body>
void sum_over_lanes(const workers& team, isa level, const memory_pool& memory, std::size_t images,
                    std::size_t size, T* sum, const Body& body) {
  // A few images are not worth the sums of their own.
  const std::size_t lanes = images < 8 ? 1 : 8;
  const host_tensor<T> partial(memory, {lanes - 1, size});
  const single_threaded_blas one_thread_each;
  with_isa(level, [&](auto loops) {
    team.run(lanes, [&](std::size_t lane, std::size_t thread) {
      const std::size_t first = lane * images / lanes;
      body(loops, first, (lane + 1) * images / lanes - first,
           lane == 0 ? sum : partial.data() + (lane - 1) * size, thread);
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
