#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "glia/backends/cpu/clamp_range.hpp"
#include "glia/backends/cpu/isa.hpp"
#include "glia/backends/cpu/patch_grid.hpp"
#include "glia/backends/cpu/pool_window.hpp"
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

// Run-time dispatch without special compiler flags: the same loops (vector_loops.inl) are
// compiled once for the instruction set that the program is built for, once for AVX2 with FMA and
// BMI2 (every processor with AVX2 has them) and once for AVX-512, and `with_isa` chooses when the
// program runs.
// Optimisation is asked for here as well, since g++ 12 hardly vectorises at -O2.

namespace glia::cpu_loops {

/// A nonzero element of a row and where in the row it stands.
template <class T>
struct nonzero {
  T value;
  std::uint32_t index;
};

/// One list of nonzeros per row: row i's begins at entries + i * list_step and is counts[i] long.
template <class T>
struct nonzero_lists {
  const nonzero<T>* entries;
  std::size_t list_step;
  const std::uint32_t* counts;
  std::size_t rows;
};

/// What patches are multiplied with, and of what a patch is made: runs of contiguous elements.
template <class T>
struct patch_products {
  const std::uint32_t* run;     ///< where each run begins, counted from where the patch does
  std::size_t run_length;       ///< the last may be shorter
  std::size_t depth;            ///< elements of a patch
  const T* panels;              ///< of weights, each of 1 + panel_depth rows
  std::size_t outputs;          ///< of all panels; the last may have fewer than it is wide
  std::size_t out_step;         ///< elements from a panel's outputs to the next one's
  std::size_t panel_depth = 0;  ///< rows of a panel after the biases; 0: as many as `depth`
};

/// The runs of a patch that is one.
inline constexpr std::uint32_t single_run = 0;

/// What becomes of a product's sums; a `clamp_range` stores them clamped. Those that are added
/// begin without the biases.
struct store_sums {};
struct add_sums {};

/// Some output rows of a depthwise convolution of a panel of channels: how many rows, columns and
/// channels, the window with its steps in pixels, and how far apart things lie, in elements.
struct depthwise_rows {
  std::size_t rows;
  std::size_t columns;
  std::size_t channels;
  std::size_t height;
  std::size_t width;
  std::size_t stride;
  std::size_t dilation;
  std::size_t w_step;        ///< from a pixel's weights to the next pixel's
  std::size_t out_step;      ///< from an output to the one on its right
  std::size_t out_row_step;  ///< and to the one below
};

/// Vectors of sums that stay in registers: half of AVX2's sixteen leave room for factors.
inline constexpr std::size_t max_accumulators = 8;

}  // namespace glia::cpu_loops

#if defined(__clang__)
// The hint allows vectorising and does not demand it.
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
#include "glia/backends/cpu/vector_loops.inl"
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
#include "glia/backends/cpu/vector_loops.inl"
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
#include "glia/backends/cpu/vector_loops.inl"
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

/// Calls `body` with the struct of loops compiled for `level`; denormals are flushed meanwhile.
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
