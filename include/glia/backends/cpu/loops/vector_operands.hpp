#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/patch_grid.hpp"
#include "glia/backends/cpu/loops/patch_tiles.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/core/random.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/updates.hpp"

// The operands of the vectorized loops, and all that vector_loops.inl needs from other headers.

namespace glia::cpu_loops {

/// A nonzero element of a row and its index in the row.
template <class T>
struct nonzero {
  T value;
  std::uint32_t index;
};

/// One list of nonzeros per row. The list of row i begins at entries + i * list_step and has
/// counts[i] entries.
template <class T>
struct nonzero_lists {
  const nonzero<T>* entries;
  std::size_t list_step;
  const std::uint32_t* counts;
  std::size_t rows;
};

/// The operands of products of patches: the runs of contiguous elements of a patch, and the panels
/// of weights.
template <class T>
struct patch_products {
  const std::uint32_t* run;     ///< Offset of each run within the patch.
  std::size_t run_length;       ///< Elements of a run; the last run may be shorter.
  std::size_t depth;            ///< Elements of a patch.
  const T* panels;              ///< Panels of weights, each of 1 + panel_depth rows.
  std::size_t outputs;          ///< Outputs of all panels; the last panel may be partly empty.
  std::size_t out_step;         ///< Elements from a panel's outputs to the next panel's outputs.
  std::size_t panel_depth = 0;  ///< Rows of a panel after the biases; 0: `depth` rows.
};

/// The run list of a patch that is a single run.
inline constexpr std::uint32_t single_run = 0;

/// Policies for the sums of a product: `store_sums` stores them, and `add_sums` adds them to the
/// output without the biases. A `clamp_range` stores them clamped.
struct store_sums {};
struct add_sums {};

/// Output rows of a depthwise convolution for a panel of channels: the numbers of rows, columns and
/// channels, the window with its steps in pixels, and distances in elements.
struct depthwise_rows {
  std::size_t rows;
  std::size_t columns;
  std::size_t channels;
  std::size_t height;
  std::size_t width;
  std::size_t stride;
  std::size_t dilation;
  std::size_t w_step;        ///< From the weights of a pixel to the weights of the next pixel.
  std::size_t out_step;      ///< From an output to the output on its right.
  std::size_t out_row_step;  ///< From an output to the output below.
};

/// Number of vectors of sums that stay in registers. Half of the sixteen registers of AVX2 remain
/// for factors.
inline constexpr std::size_t max_accumulators = 8;

/// Number of elements of a kernel whose gradients `add_channel_kernel_gradient` sums together: all
/// of a 3x3 window. With a tenth register for dy, they fit into the sixteen of AVX2.
inline constexpr std::size_t max_kernel_sums = 9;

}  // namespace glia::cpu_loops
