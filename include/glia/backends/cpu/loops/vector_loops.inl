// The vectorized loops of the cpu backend, written as plain loops. vector_loops.hpp includes this
// file once per instruction set, each time as another struct and with the compiler options of that
// set. The loops avoid standard-library functions that the compiler could not inline across
// options.

struct GLIA_ISA {
  static constexpr std::size_t register_bytes = GLIA_REGISTER_BYTES;
  // 6 x 2 sums, 2 factors and a broadcast take 15 of the 16 registers of SSE and AVX2. AVX-512 has
  // 32 registers: 12 x 2 sums and 2 factors take 26, and broadcasts are memory operands.
  static constexpr std::size_t tile_patches = register_bytes == 64 ? 12 : 6;
#include "glia/backends/cpu/loops/registers.inl"

 private:
#include "glia/backends/cpu/loops/each.inl"
#include "glia/backends/cpu/loops/math.inl"

 public:
#include "glia/backends/cpu/loops/convolution.inl"
#include "glia/backends/cpu/loops/depthwise.inl"
#include "glia/backends/cpu/loops/elementwise.inl"
#include "glia/backends/cpu/loops/normalization.inl"
#include "glia/backends/cpu/loops/pooled_convolution.inl"
#include "glia/backends/cpu/loops/pooling.inl"
#include "glia/backends/cpu/loops/product.inl"
#include "glia/backends/cpu/loops/random.inl"
#include "glia/backends/cpu/loops/recurrence.inl"
#include "glia/backends/cpu/loops/rows.inl"
#include "glia/backends/cpu/loops/sparse.inl"
#include "glia/backends/cpu/loops/sums.inl"
#include "glia/backends/cpu/loops/updates.inl"
#include "glia/backends/cpu/loops/winograd.inl"
};
