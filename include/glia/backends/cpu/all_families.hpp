#pragma once

#include <cstddef>

#include "glia/backends/call_loops.hpp"
#include "glia/backends/cpu/attention/attention.hpp"
#include "glia/backends/cpu/convolution/convolution.hpp"
#include "glia/backends/cpu/convolution/convolution_chain.hpp"
#include "glia/backends/cpu/convolution/pooled_convolution.hpp"
#include "glia/backends/cpu/convolution/pooling.hpp"
#include "glia/backends/cpu/elementwise/arrangement.hpp"
#include "glia/backends/cpu/elementwise/classification.hpp"
#include "glia/backends/cpu/elementwise/elementwise.hpp"
#include "glia/backends/cpu/elementwise/indexing.hpp"
#include "glia/backends/cpu/elementwise/updates.hpp"
#include "glia/backends/cpu/integers/quantized_chain.hpp"
#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/backends/cpu/normalization/normalization.hpp"
#include "glia/backends/cpu/products/blas_check.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/products.hpp"
#include "glia/backends/cpu/recurrence/recurrence.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_loops.hpp"

namespace glia::cpu_loops {

/// The threads and some families of loops. The threads come first among the base classes, because
/// the families refer to them.
template <class T, class... Families>
class families : private workers, public detail::host_loops<T>, public Families... {
 public:
  families(std::size_t threads, isa level, const cpu_products& precision)
      : workers(threads, level, precision, use_of_blas<T>(level) == blas_use::used),
        Families(static_cast<const workers&>(*this))... {}

  /// Returns whether the factors of products are rounded.
  [[nodiscard]] bool rounds() const noexcept { return workers::rounded<T>() != nullptr; }
  using workers::log;
  using workers::run;
  using workers::threads;

  using detail::host_loops<T>::compute;
  using Families::compute...;
};

template <class T>
class all_families
    : public families<T, arrangement<T>, indexing<T>, elementwise<T>, packing<T>, products<T>,
                      quantization<T>, convolution<T>, convolution_chain<T>, pooled_convolution<T>,
                      pooling<T>, normalizing<T>, recurrence<T>, attention<T>, classification<T>,
                      updates<T>> {
 public:
  using all_families::families::families;
};

template <class T, kernel K>
void run(const host_context& context, const void* kernel, const tensor* const* operands,
         const tensor* const* results) {
  glia::detail::call_loops<T, K>(*static_cast<const all_families<T>*>(context.loops),
                                 context.memory, kernel, operands, results);
}

}  // namespace glia::cpu_loops
