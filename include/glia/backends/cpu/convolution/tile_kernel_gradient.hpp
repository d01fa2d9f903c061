#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/rounded_pixels.hpp"
#include "glia/backends/cpu/products/product_tiles.hpp"
#include "glia/backends/cpu/products/rounded_product.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Computes the gradient of the kernel of a `tile_convolution`: the product of the transposed
/// gradient of the output (O, pixels) and the patches (pixels, C) of one row or pixel of the window
/// at a time, transposed. The words of both factors have consecutive pixels of a row of the output.
template <class Loops>
class tile_kernel_gradient {
 public:
  tile_kernel_gradient(const Loops& loops, const workers& team, const memory_pool& memory,
                       const kernels::window_sizes& s)
      : loops_(loops), team_(&team), memory_(&memory), s_(s), rows_(s.n * s.oh) {
    const window2d& k = s.window;
    const std::size_t pixels = even_number(s.ow);
    columns_ = pixels / factors;
    block_rows_ = std::clamp<std::size_t>(detail::product_chain / pixels, 1, rows_);
    blocks_ = (rows_ + block_rows_ - 1) / block_rows_;
    run_length_ = k.dilation_width == 1 ? k.width * s.c : s.c;
    pieces_ = (run_length_ + max_piece - 1) / max_piece;
    const std::size_t tasks_of_group = k.height * k.width * s.c / run_length_ * pieces_;
    // The sum of a group is a total; see long_sum.hpp.
    const std::size_t max_blocks = std::max<std::size_t>(
        detail::chains_in_total * detail::product_chain / (block_rows_ * pixels), 1);
    groups_ =
        std::clamp(enough_tasks / tasks_of_group, (blocks_ + max_blocks - 1) / max_blocks, blocks_);
    tasks_ = tasks_of_group * groups_;
    partner_ = k.stride_width * s.c;
    // The last patch of a row, which may be outside the image, ends here.
    const std::size_t width = (pixels - 1) * k.stride_width + (k.width - 1) * k.dilation_width + 1;
    row_size_ = std::max(s.w + k.pad_left, width) * s.c + partner_ + slack;
  }

  /// Computes dw from x and dy.
  void compute(const float* x, const float* dy, float* dw) const {
    const std::size_t depth = s_.window.height * s_.window.width * s_.c;
    const detail::host_tensor<float> gradients = transposed_words(dy);
    const std::size_t gradients_of_block = gradients.size() / blocks_;
    // Sums of shape (O, depth) for each group.
    const detail::host_tensor<float> sums(*memory_, {groups_, s_.o * depth});
    const std::size_t words_of_block = block_rows_ * columns_;
    const std::size_t size = 2 * row_size_ + (max_piece + product::width) * words_of_block;
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    team_->run(tasks_, [&](std::size_t task, std::size_t thread) {
      const part of_kernel = part_of(task);
      float* const padded = scratch.data() + thread * size;
      float* const patches = padded + 2 * row_size_;
      float* const target = sums.data() + of_kernel.group * s_.o * depth + of_kernel.first_weight;
      const std::size_t begin = of_kernel.group * blocks_ / groups_;
      const std::size_t end = (of_kernel.group + 1) * blocks_ / groups_;
      std::fill_n(padded, row_size_, 0.0F);
      [[maybe_unused]] const typename Loops::tile_state state{};
      for (std::size_t block = begin; block < end; ++block) {
        const std::size_t first = block * block_rows_;
        const std::size_t rows = std::min(block_rows_, rows_ - first);
        const std::size_t words = rows * columns_;
        for (std::size_t row = 0; row < rows; ++row) {
          copy_row(x, first + row, of_kernel, padded, patches + row * columns_ * product::width,
                   words * product::width);
        }
        for (std::size_t column = 0; column < of_kernel.columns; column += product::width) {
          const std::size_t width = std::min(product::width, of_kernel.columns - column);
          multiply_tiles(loops_, left_rows{gradients.data() + block * gradients_of_block, words, 1},
                         words, patches + column * words, product::width, target, depth,
                         {0, s_.o, column, width}, block > begin);
        }
      }
    });
    add_transposed(sums, dw);
  }

 private:
  using product = rounded_product<Loops>;
  using left_rows = typename product::left_rows;

  /// A part of the gradient that one thread computes: the sum over a group of images' rows, for
  /// some columns of a row of the window or, with dilation, of one of its pixels.
  struct part {
    std::size_t group;
    std::size_t window_row;
    std::size_t offset;  // of the first column in a padded row of the image
    std::size_t columns;
    std::size_t first_weight;  // index of the first column among the weights of an output
  };

  static constexpr std::size_t factors = Loops::factors_per_word;
  /// Number of columns of a part, and of tasks that keep all threads busy.
  static constexpr std::size_t max_piece = 512;
  static constexpr std::size_t enough_tasks = 8;
  static constexpr std::size_t slack = patch_convolution<float>::slack;

  [[nodiscard]] part part_of(std::size_t task) const {
    const window2d& k = s_.window;
    const std::size_t run = task / groups_ / pieces_;
    const std::size_t piece = task / groups_ % pieces_;
    const std::size_t first = piece * run_length_ / pieces_;
    const std::size_t end = (piece + 1) * run_length_ / pieces_;
    const std::size_t first_weight = run * run_length_ + first;
    const std::size_t row_length = k.width * s_.c;
    const std::size_t pixel = k.dilation_width == 1 ? 0 : run % k.width;
    return {.group = task % groups_,
            .window_row = first_weight / row_length,
            .offset = pixel * k.dilation_width * s_.c + first,
            .columns = end - first,
            .first_weight = first_weight};
  }

  /// Returns the words of dy, transposed: for each block of rows, a matrix (O, words of the block)
  /// with room for whole tiles.
  [[nodiscard]] detail::host_tensor<float> transposed_words(const float* dy) const {
    const std::size_t width = product::padded(s_.o);
    const std::size_t size = block_rows_ * columns_ * width;
    detail::host_tensor<float> target(*memory_, {blocks_, size});
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    team_->run(blocks_, [&](std::size_t block, std::size_t thread) {
      float* const words = scratch.data() + thread * size;
      const std::size_t first = block * block_rows_;
      const std::size_t rows = std::min(block_rows_, rows_ - first);
      for (std::size_t row = 0; row < rows; ++row) {
        float* const of_row = words + row * columns_ * width;
        if (factors == 1 && s_.ow % 2 != 0) {
          std::fill_n(of_row + s_.ow * width, width, 0.0F);
        }
        loops_.round_rows(dy + (first + row) * s_.ow * s_.o, s_.o, s_.ow, s_.o, of_row, width);
      }
      loops_.transpose_matrix(words, width, target.data() + block * size, rows * columns_,
                              rows * columns_, s_.o);
    });
    return target;
  }

  /// Copies the patches of a row of the output into panels, in words. In a row with an odd number
  /// of pixels, the second factor of the last word is 0. `padded` has a row of the image between
  /// zeros, and behind it a row of words.
  void copy_row(const float* x, std::size_t output_row, const part& of_kernel, float* padded,
                float* target, std::size_t panel_step) const {
    const window2d& k = s_.window;
    // Wraps around above the image.
    const std::size_t row =
        output_row % s_.oh * k.stride_height + of_kernel.window_row * k.dilation_height - k.pad_top;
    const bool inside = row < s_.h;
    float* const words = padded + row_size_;
    if (inside) {
      std::copy_n(x + (output_row / s_.oh * s_.h + row) * s_.w * s_.c, s_.w * s_.c,
                  padded + k.pad_left * s_.c);
      loops_.round_rows(padded, partner_, factors, row_size_ - partner_ - slack, words, row_size_);
    }
    const std::size_t whole = s_.ow / factors;
    for (std::size_t column = 0; column < of_kernel.columns;
         column += product::width, target += panel_step) {
      if (!inside) {
        std::fill_n(target, columns_ * product::width, 0.0F);
        continue;
      }
      const std::size_t width = std::min(product::width, of_kernel.columns - column);
      const std::size_t offset = of_kernel.offset + column;
      loops_.copy_columns(words + offset, factors * partner_, whole, width, target, product::width);
      if (whole == columns_) {
        continue;
      }
      float* const last = target + whole * product::width;
      if (factors == 1) {
        std::fill_n(last, product::width, 0.0F);
      } else {
        loops_.round_rows(padded + whole * factors * partner_ + offset, 0, 1, width, last,
                          product::width);
      }
    }
  }

  /// Adds the sums of all groups and transposes them.
  void add_transposed(const detail::host_tensor<float>& sums, float* dw) const {
    constexpr std::size_t piece = 64;
    const std::size_t depth = s_.window.height * s_.window.width * s_.c;
    team_->run((depth + piece - 1) / piece, [&](std::size_t task, std::size_t) {
      const std::size_t first = task * piece;
      const std::size_t count = std::min(piece, depth - first);
      for (std::size_t o = 0; groups_ > 1 && o < s_.o; ++o) {
        float* const total = sums.data() + o * depth + first;
        float lost[piece] = {};
        for (std::size_t group = 1; group < groups_; ++group) {
          loops_.add_compensated(total + group * depth * s_.o, total, lost, count);
        }
        loops_.end_compensated(total, lost, count);
      }
      loops_.transpose_matrix(sums.data() + first, depth, dw + first * s_.o, s_.o, s_.o, count);
    });
  }

  Loops loops_;
  const workers* team_;
  const memory_pool* memory_;
  kernels::window_sizes s_;
  std::size_t rows_;            // of the output, in all images
  std::size_t columns_ = 0;     // words of a row of the output
  std::size_t block_rows_ = 0;  // rows whose words are one sum
  std::size_t blocks_ = 0;
  std::size_t run_length_ = 0;  // consecutive weights of an output
  std::size_t pieces_ = 0;      // of a run
  std::size_t groups_ = 0;      // of blocks
  std::size_t tasks_ = 0;
  std::size_t partner_ = 0;   // elements to the second factor of a word
  std::size_t row_size_ = 0;  // of a padded row of the image, with room for registers
};

}  // namespace glia::cpu_loops
