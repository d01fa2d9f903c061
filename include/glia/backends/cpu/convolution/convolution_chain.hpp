#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include "glia/backends/cpu/convolution/chain_run.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/convolution_chain.hpp"

namespace glia::cpu_loops {

/// Convolutions that run one after the other on a few rows at a time, so that the rows between them
/// stay in the second-level cache. These rows are stored in panels (see chain_layout), in the order
/// in which products leave their registers. A depthwise convolution reads a panel as contiguous
/// memory.
template <class T>
class convolution_chain {
 public:
  using tensor = detail::tensor_view<T>;

  explicit convolution_chain(const workers& team) : team_(&team) {}

  /// The operands after x are the weights and bias of each link, followed by the result.
  template <std::same_as<tensor>... Others>
  void compute(const kernels::conv2d_chain& k, const memory_pool& memory, const tensor& x,
               const Others&... weights_and_result) const {
    const std::array<const tensor*, sizeof...(Others)> tensors{&weights_and_result...};
    std::array<chain_link<T>, kernels::max_chain> links;
    std::array<kernels::window_sizes, kernels::max_chain> sizes{};
    shape input = x.shape();
    for (std::size_t i = 0; i < k.count; ++i) {
      const tensor& w = *tensors[2 * i];
      sizes[i] = kernels::conv2d_rule(input, k.is_packed() ? k.packed[i] : w.shape(),
                                      k.links[i].window, k.links[i].groups);
      links[i] = {w.data(), tensors[2 * i + 1]->data(), k.links[i].map, k.is_packed()};
      input = sizes[i].output();
    }
    run(x.data(), std::span<const chain_link<T>>(links).first(k.count),
        std::span<const kernels::window_sizes>(sizes).first(k.count), tensors.back()->data(),
        memory);
  }

 private:
  // With fewer images, their rows are distributed over the threads, one part for each thread. Rows
  // that the windows of two parts share are computed in both parts.
  static constexpr std::size_t few_images = 8;
  // Minimum number of rows for each thread. With fewer rows, too many shared rows would be computed
  // twice.
  static constexpr std::size_t few_rows = 4;

  void run(const T* x, std::span<const chain_link<T>> links,
           std::span<const kernels::window_sizes> sizes, T* y, const memory_pool& memory) const {
    with_isa(team_->level(), [&](auto loops) {
      using chain = chain_run<T, decltype(loops)>;
      const std::size_t images = sizes.front().n;
      const std::size_t rows = sizes.back().oh;
      const bool whole = images < few_images && team_->threads() > 1 &&
                         rows < few_rows * team_->threads() && chain::goes_whole(sizes);
      const chain run(loops, *team_, links, sizes, memory, whole);
      for (std::size_t i = 0; whole && i < images; ++i) {
        run.image(x, y, i);
      }
      if (whole) {
        return;
      }
      const std::size_t parts = images >= few_images ? 1 : std::min(rows, team_->threads());
      team_->run(images * parts, [&](std::size_t task, std::size_t thread) {
        const std::size_t part = task % parts;
        run.rows(x, y, task / parts, part * rows / parts, (part + 1) * rows / parts, thread);
      });
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
