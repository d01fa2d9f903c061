// Included by vector_kernels.hpp under the options of AVX-512: only those loops whose speed is the
// processor's arithmetic, not its memory's, are compiled once more; the others are AVX2's.

struct avx512_kernels : avx2_kernels {
  static constexpr std::size_t register_bytes = 64;
  // 12 x 2 sums and 2 factors take 26 of 32 registers; the broadcasts are operands in memory.
  static constexpr std::size_t tile_patches = 12;
#define GLIA_ISA_IS_AVX512
#include "glia/backends/cpu/vector_registers.inl"

#include "glia/backends/cpu/vector_convolution.inl"
#include "glia/backends/cpu/vector_depthwise.inl"
#include "glia/backends/cpu/vector_pooled_convolution.inl"
#include "glia/backends/cpu/vector_product.inl"
#include "glia/backends/cpu/vector_sparse.inl"
#include "glia/backends/cpu/vector_winograd.inl"
#undef GLIA_ISA_IS_AVX512
};
