// The vectorised loops of the cpu backend, written as plain loops. vector_kernels.hpp includes this
// file once per instruction set, each time as another struct and under that set's compiler options.
// Standard-library functions are avoided where the compiler could not inline them across options.

struct GLIA_ISA {
  static constexpr std::size_t register_bytes = GLIA_REGISTER_BYTES;

  // What a comparison of two vectors of T has in each lane.
  template <class T>
  using lane_integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

 private:
#include "glia/backends/cpu/vector_loops.inl"
#include "glia/backends/cpu/vector_math.inl"

 public:
#include "glia/backends/cpu/vector_convolution.inl"
#include "glia/backends/cpu/vector_elementwise.inl"
#include "glia/backends/cpu/vector_pooled_convolution.inl"
#include "glia/backends/cpu/vector_pooling.inl"
#include "glia/backends/cpu/vector_random.inl"
#include "glia/backends/cpu/vector_rows.inl"
#include "glia/backends/cpu/vector_sparse.inl"
#include "glia/backends/cpu/vector_updates.inl"
};
