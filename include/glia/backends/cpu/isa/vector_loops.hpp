#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/patch_grid.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/core/flush_denormals.hpp"
#include "glia/core/random.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/updates.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Dispatches at run time, without special compiler flags. The same loops (vector_loops.inl) are
// compiled three times: for the instruction set of the build, for AVX2 with FMA and BMI2 (every
// processor with AVX2 has them), and for AVX-512. `with_isa` chooses at run time.
// The pragmas also request optimization, because g++ 12 hardly vectorizes at -O2.

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

}  // namespace glia::cpu_loops

#if defined(__clang__)
// The hint allows vectorization but does not demand it.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#define GLIA_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GLIA_INDEPENDENT _Pragma("GCC ivdep")
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math")
#endif

namespace glia::cpu_loops {

#define GLIA_ISA baseline_loops
#define GLIA_REGISTER_BYTES 16
#include "glia/backends/cpu/loops/vector_loops.inl"
#undef GLIA_REGISTER_BYTES
#undef GLIA_ISA

}  // namespace glia::cpu_loops

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,popcnt")
#endif

namespace glia::cpu_loops {

#define GLIA_ISA avx2_loops
#define GLIA_REGISTER_BYTES 32
#define GLIA_ISA_IS_AVX2
#include "glia/backends/cpu/loops/vector_loops.inl"
#undef GLIA_ISA_IS_AVX2
#undef GLIA_REGISTER_BYTES
#undef GLIA_ISA

}  // namespace glia::cpu_loops

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(                                                           \
    __attribute__((target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace glia::cpu_loops {

#define GLIA_ISA avx512_loops
#define GLIA_REGISTER_BYTES 64
#define GLIA_ISA_IS_AVX512
#include "glia/backends/cpu/loops/vector_loops.inl"
#undef GLIA_ISA_IS_AVX512
#undef GLIA_REGISTER_BYTES
#undef GLIA_ISA

}  // namespace glia::cpu_loops

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

#if defined(__clang__)
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#undef GLIA_INDEPENDENT

namespace glia::cpu_loops {

/// Calls `body` with the struct of loops compiled for `level`. Denormals are flushed to zero during
/// the call.
template <class Body>
decltype(auto) with_isa(isa level, const Body& body) {
  const flush_denormals on_this_thread;
#if defined(__x86_64__)
  if (level >= isa::avx512) {
    return body(avx512_loops{});
  }
  if (level >= isa::avx2) {
    return body(avx2_loops{});
  }
#endif
  static_cast<void>(level);
  return body(baseline_loops{});
}

}  // namespace glia::cpu_loops
