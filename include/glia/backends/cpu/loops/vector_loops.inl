// The vectorized loops of the cpu backend, written as plain loops. The headers in isa include this
// file once per instruction set, each time in another namespace and with the compiler options of
// that set. The loops avoid standard-library functions that the compiler could not inline across
// options.

struct vector_loops : instructions {
 private:
#include "glia/backends/cpu/loops/each.inl"
#include "glia/backends/cpu/loops/math.inl"

 public:
#include "glia/backends/cpu/loops/attention.inl"
#include "glia/backends/cpu/loops/convolution.inl"
#include "glia/backends/cpu/loops/depthwise.inl"
#include "glia/backends/cpu/loops/elementwise.inl"
#include "glia/backends/cpu/loops/normalization.inl"
#include "glia/backends/cpu/loops/pooled_convolution.inl"
#include "glia/backends/cpu/loops/pooling.inl"
#include "glia/backends/cpu/loops/product.inl"
#include "glia/backends/cpu/loops/random.inl"
#include "glia/backends/cpu/loops/recurrence.inl"
#include "glia/backends/cpu/loops/rounding.inl"
#include "glia/backends/cpu/loops/rows.inl"
#include "glia/backends/cpu/loops/sparse.inl"
#include "glia/backends/cpu/loops/sums.inl"
#include "glia/backends/cpu/loops/updates.inl"
#include "glia/backends/cpu/loops/winograd.inl"
};
