#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/products/dense_product.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/gemm.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/single_threaded_blas.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Computes a convolution with a 1 x 1 window, without stride and padding. It is a matrix product
/// whose rows are the pixels of all images. BLAS computes it where it is faster than glia's loops.
template <class T>
class pointwise_convolution {
 public:
  using tensor = detail::tensor_view<T>;

  [[nodiscard]] static bool applies(const kernels::window_sizes& s) {
    return s.window == window2d{.height = 1, .width = 1} && s.groups == 1;
  }

  pointwise_convolution(const workers& team, const kernels::window_sizes& s)
      : team_(&team), pixels_(s.n * s.h * s.w), inputs_(s.c), outputs_(s.o) {}

  /// Computes y = last(x w). With w transposed, it computes the gradient of the input from the
  /// gradient of the output.
  void multiply(const memory_pool& memory, const T* x, const matrix<T>& w, T* y,
                const epilogue<T>& last) const {
    const std::size_t inputs = w.transposed ? outputs_ : inputs_;
    const std::size_t outputs = w.transposed ? inputs_ : outputs_;
    if (team_->rounded<T>() != nullptr && inputs <= rounded_loops<T>::most_products) {
      team_->rounded<T>()->multiply(*team_, memory, {x, inputs}, w, y, {pixels_, outputs, inputs},
                                    last, nullptr);
      return;
    }
    const std::size_t block = pixels_per_block();
    with_isa(team_->level(), [&](auto loops) {
      using dense = dense_product<T, decltype(loops)>;
      const bool by_blas = !dense::replaces_blas(*team_);
      std::optional<single_threaded_blas> one_thread_each;
      if (by_blas) {
        one_thread_each.emplace();
      }
      const detail::host_tensor<T> packed =
          by_blas || pixels_ <= block ? detail::host_tensor<T>{}
                                      : packed_matrix(loops, *team_, memory, w, inputs, outputs);
      team_->run((pixels_ + block - 1) / block, [&](std::size_t task, std::size_t) {
        const std::size_t first = task * block;
        const kernels::matmul_sizes sizes{std::min(block, pixels_ - first), outputs, inputs};
        const matrix<T> source{x + first * inputs, inputs};
        T* const target = y + first * outputs;
        if (!by_blas) {
          dense::multiply_here(loops, source, w, target, outputs, sizes, packed.data());
        } else if constexpr (has_blas) {
          gemm<T>(sizes.m, sizes.n, sizes.k, source, w, T{0}, target, outputs);
        }
        last.apply(loops, target, outputs, sizes.m, 0, outputs);
      });
    });
  }

  /// Computes dw (inputs, outputs), the sum over all pixels of the products of x and dy.
  void kernel_gradient(const memory_pool& memory, const T* x, const T* dy, T* dw) const {
    if (team_->rounded<T>() != nullptr) {
      const std::size_t size = team_->rounded<T>()->scratch_size(
          {inputs_, outputs_, std::min(pixels_, detail::blas_chain)});
      const detail::host_tensor<T> scratch(memory, {team_->threads(), size});
      sum_products(memory, x, dy, dw,
                   [&](auto, const matrix<T>& left, const matrix<T>& right, T* target,
                       const kernels::matmul_sizes& sizes, bool add, std::size_t thread) {
                     team_->rounded<T>()->multiply_here(left, right, target, outputs_, sizes,
                                                        scratch.data() + thread * size, add);
                   });
      return;
    }
    const std::size_t scratch_size = with_isa(team_->level(), [&](auto loops) {
      using dense = dense_product<T, decltype(loops)>;
      return dense::replaces_blas(*team_) ? dense::room_for(outputs_) : 0;
    });
    const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
    sum_products(memory, x, dy, dw,
                 [&](auto loops, const matrix<T>& left, const matrix<T>& right, T* target,
                     const kernels::matmul_sizes& sizes, bool add, std::size_t thread) {
                   using dense = dense_product<T, decltype(loops)>;
                   if (dense::replaces_blas(*team_)) {
                     dense::multiply_deep_here(loops, left, right, target, outputs_, sizes,
                                               scratch.data() + thread * scratch_size, add);
                   } else if constexpr (has_blas) {
                     gemm<T>(sizes.m, sizes.n, sizes.k, left, right, add ? T{1} : T{0}, target,
                             outputs_);
                   }
                 });
  }

 private:
  /// Sums the products of x and dy over the pixels. `multiply_matrices` computes the product for a
  /// range of pixels and inputs.
  template <class Multiply>
  void sum_products(const memory_pool& memory, const T* x, const T* dy, T* dw,
                    const Multiply& multiply_matrices) const {
    const auto multiply = [&](auto loops, std::size_t pixel, std::size_t pixels, std::size_t first,
                              std::size_t inputs, T* sum, bool add, std::size_t thread) {
      multiply_matrices(loops, {x + pixel * inputs_ + first, inputs_, true},
                        {dy + pixel * outputs_, outputs_}, sum + first * outputs_,
                        {inputs, outputs_, pixels}, add, thread);
    };
    // For fewer pixels, adding the sums takes longer than computing them.
    constexpr std::size_t worth_lanes = 2048, inputs_per_block = 128;
    const single_threaded_blas one_thread_each;
    if (pixels_ < worth_lanes) {
      team_->for_blocks_by_thread(
          inputs_, inputs_per_block,
          [&](auto loops, std::size_t first, std::size_t count, std::size_t thread) {
            multiply(loops, 0, pixels_, first, count, dw, false, thread);
          });
    } else {
      // Tile registers add parts of a chain to the sums one after the other.
      const std::size_t additions = team_->rounded<T>() == nullptr ? 1 : 2;
      sum_over_lanes(
          *team_, team_->level(), memory, pixels_, inputs_ * outputs_, dw,
          [&](std::size_t pixels) {
            return (pixels + detail::blas_chain - 1) / detail::blas_chain * additions;
          },
          [&](auto loops, std::size_t pixel, std::size_t pixels, auto& sums, std::size_t thread) {
            for (std::size_t first = 0; first < pixels; first += detail::blas_chain) {
              multiply(loops, pixel + first, std::min(detail::blas_chain, pixels - first), 0,
                       inputs_, sums.data(), true, thread);
              sums.added(additions);
            }
          });
    }
  }

  /// Returns the number of pixels in a block. A block packs the weights, so it must not be small.
  /// However, even a few pixels must be distributed over several threads.
  [[nodiscard]] std::size_t pixels_per_block() const {
    constexpr std::size_t min_pixels = 96, max_pixels = 512, few_blocks = 8, alignment = 8;
    const std::size_t blocks =
        std::max({(pixels_ + max_pixels - 1) / max_pixels,
                  std::min(pixels_ / min_pixels, few_blocks), std::size_t{1}});
    const std::size_t block = (pixels_ + blocks - 1) / blocks;
    return (block + alignment - 1) / alignment * alignment;
  }

  const workers* team_;
  std::size_t pixels_, inputs_, outputs_;
};

}  // namespace glia::cpu_loops
