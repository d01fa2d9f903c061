#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"

namespace glia::cpu_loops {

/// Two lists of the nonzero elements in a band of a convolution's output gradient. The gradient of
/// the input uses the list by output position. The gradient of the kernel uses the list by output
/// channel.
template <class T>
struct gradient_lists {
  /// Entries of each position, with room for O. The index of an entry is its output channel.
  nonzero<T>* by_position;
  /// Entries of each channel, with room for `positions`. The index of an entry is the offset of its
  /// patch.
  nonzero<T>* by_channel;
  std::uint32_t* position_count;  ///< Number of entries of each position.
  std::uint32_t* channel_count;   ///< Number of entries of each channel.
  std::size_t positions;
};

/// Computes the gradients of a convolution whose output gradient is mostly zeros, as after a ReLU
/// and a max pooling. For the kernel's gradient, each nonzero multiplies a patch, and the product
/// is added to a row of the transposed gradient (O, height * width * C). For the input's gradient,
/// each nonzero multiplies a row of the transposed kernel, and the product is added to a patch.
template <class T>
class sparse_convolution {
 public:
  /// Below this fraction of nonzeros, the lists are faster than dense products (measured with 64
  /// channels).
  static constexpr double worthwhile_density = 0.35;

  /// Returns whether patches consist of long enough runs of whole vectors. Lists skip products with
  /// 0, so the other factors must be finite.
  [[nodiscard]] static bool possible(const patch_convolution<T>& c) {
    constexpr std::size_t bytes = 32;
    const std::size_t run = c.run_length() * sizeof(T);
    return c.sizes().groups == 1 && run % bytes == 0 && run >= 4 * bytes;
  }

  /// Returns the widest instruction set up to `level` whose registers the runs fill.
  [[nodiscard]] isa fitting(isa level) const {
    return c_->run_length() % (64 / sizeof(T)) == 0 ? level : std::min(level, isa::avx2);
  }

  explicit sparse_convolution(const patch_convolution<T>& c) : c_(&c) {}

  /// Memory for the lists of `rows` output rows for each thread.
  class scratch {
   public:
    scratch(const kernels::window_sizes& s, std::size_t rows, std::size_t threads,
            const memory_pool& memory)
        : outputs_(s.o),
          positions_(rows * s.ow),
          entries_(memory, {threads, 2 * s.o * positions_}),
          counts_(memory, {threads, positions_ + s.o}) {}

    [[nodiscard]] gradient_lists<T> of_thread(std::size_t thread) const {
      nonzero<T>* entries = entries_.data() + thread * 2 * outputs_ * positions_;
      std::uint32_t* counts = counts_.data() + thread * (positions_ + outputs_);
      return {entries, entries + outputs_ * positions_, counts, counts + positions_, positions_};
    }

   private:
    std::size_t outputs_;
    std::size_t positions_;
    detail::host_tensor<nonzero<T>> entries_;
    detail::host_tensor<std::uint32_t> counts_;
  };

  /// Lists the nonzeros of dy (rows, OW, O).
  template <class Loops>
  void list(const Loops& loops, const T* dy, const row_band& band,
            const gradient_lists<T>& lists) const {
    const std::size_t outputs = c_->sizes().o;
    clear(lists);
    for_positions(band, [&](std::size_t position, std::uint32_t patch) {
      nonzero<T>* const row = lists.by_position + position * outputs;
      const std::size_t count = loops.list_nonzeros(dy + position * outputs, outputs, row);
      lists.position_count[position] = static_cast<std::uint32_t>(count);
      for (std::size_t i = 0; i < count; ++i) {
        append_to_channel(lists, row[i].index, {row[i].value, patch});
      }
    });
  }

  /// Lists the gradient dy (rows, columns, O) of a max pooling after the convolution. `winner`
  /// holds, for each element, the position of the maximum in its window.
  template <class Loops>
  void list_pooled(const Loops& loops, const T* dy, const std::uint8_t* winner,
                   const kernels::window_sizes& pool, std::size_t rows,
                   const gradient_lists<T>& lists) const {
    const std::size_t outputs = c_->sizes().o;
    const patch_grid grid = c_->image().grid(c_->image().band(0, 1));
    clear(lists);
    nonzero<T> nonzeros[max_outputs];
    for (std::size_t py = 0; py < rows; ++py) {
      for (std::size_t px = 0; px < pool.ow; ++px, dy += outputs, winner += outputs) {
        const std::size_t top = py * pool.window.stride_height;
        const std::size_t left = px * pool.window.stride_width;
        for (std::size_t o = 0; o < outputs; o += max_outputs) {
          const std::size_t count =
              loops.list_nonzeros(dy + o, std::min(max_outputs, outputs - o), nonzeros);
          for (std::size_t i = 0; i < count; ++i) {
            const std::size_t channel = o + nonzeros[i].index;
            const std::size_t winner_position = winner[channel];
            if (winner_position >= pool.window.height * pool.window.width) {
              continue;
            }
            const std::size_t y = top + winner_position / pool.window.width;
            const std::size_t x = left + winner_position % pool.window.width;
            const std::size_t position = y * grid.columns + x;
            lists.by_position[position * outputs + lists.position_count[position]++] = {
                nonzeros[i].value, static_cast<std::uint32_t>(channel)};
            append_to_channel(lists, channel,
                              {nonzeros[i].value, static_cast<std::uint32_t>(
                                                      y * grid.row_step + x * grid.column_step)});
          }
        }
      }
    }
  }

  /// Multiplies the listed gradients by their patches in x and adds the products to dwt (O, depth).
  template <class Loops>
  void add_kernel_gradient(const Loops& loops, const T* x, const gradient_lists<T>& lists,
                           T* dwt) const {
    const std::size_t outputs = c_->sizes().o;
    for_run_blocks<Loops>([&](std::size_t k, std::size_t vectors) {
      loops.multiply_nonzeros(
          nonzero_lists<T>{lists.by_channel, lists.positions, lists.channel_count, outputs},
          x + c_->offsets()[k], 1, dwt + k, c_->depth(), vectors, true);
    });
  }

  /// Multiplies the listed gradients by their rows of wt (O, depth) and adds the products to dx
  /// (padded rows of the band).
  template <class Loops>
  void add_input_gradient(const Loops& loops, const gradient_lists<T>& lists, const row_band& band,
                          const T* wt, T* dx) const {
    const std::size_t outputs = c_->sizes().o;
    const patch_grid grid = c_->image().grid(band);
    for (std::size_t row = 0; row < grid.rows; ++row) {
      const std::size_t first = row * grid.columns;
      for_run_blocks<Loops>([&](std::size_t k, std::size_t vectors) {
        loops.multiply_nonzeros(nonzero_lists<T>{lists.by_position + first * outputs, outputs,
                                                 lists.position_count + first, grid.columns},
                                wt + k, c_->depth(), dx + row * grid.row_step + c_->offsets()[k],
                                grid.column_step, vectors, true);
      });
    }
  }

 private:
  static constexpr std::size_t max_outputs = 256;

  static void append_to_channel(const gradient_lists<T>& lists, std::size_t channel,
                                const nonzero<T>& entry) {
    lists.by_channel[channel * lists.positions + lists.channel_count[channel]++] = entry;
  }

  void clear(const gradient_lists<T>& lists) const {
    std::fill_n(lists.position_count, lists.positions, 0U);
    std::fill_n(lists.channel_count, c_->sizes().o, 0U);
  }

  template <class Visit>
  void for_positions(const row_band& band, const Visit& visit) const {
    const patch_grid grid = c_->image().grid(band);
    std::size_t position = 0;
    for (std::size_t row = 0; row < grid.rows; ++row) {
      for (std::size_t column = 0; column < grid.columns; ++column) {
        visit(position++,
              static_cast<std::uint32_t>(row * grid.row_step + column * grid.column_step));
      }
    }
  }

  /// Divides each run into pieces that fit into registers, and calls visit(first row of the kernel,
  /// number of vectors) for each piece.
  template <class Loops, class Visit>
  void for_run_blocks(const Visit& visit) const {
    constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
    const std::size_t vectors = c_->run_length() / per_register;
    const std::size_t blocks = (vectors + Loops::max_sums - 1) / Loops::max_sums;
    for (std::size_t run = 0; run < c_->runs().size(); ++run) {
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t first = b * vectors / blocks;
        visit(run * c_->run_length() + first * per_register, (b + 1) * vectors / blocks - first);
      }
    }
  }

  const patch_convolution<T>* c_;
};

}  // namespace glia::cpu_loops
