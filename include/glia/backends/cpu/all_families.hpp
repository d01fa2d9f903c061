#pragma once

#include <cstddef>

#include "glia/backends/call_loops.hpp"
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
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/products.hpp"
#include "glia/backends/cpu/recurrence/recurrence.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_loops.hpp"

namespace glia::cpu_loops {

// The threads come first among the base classes, because the families of loops refer to them.
template <class T>
class all_families : private workers,
                     public host_loops<T>,
                     public arrangement<T>,
                     public indexing<T>,
                     public elementwise<T>,
                     public packing<T>,
                     public products<T>,
                     public quantization<T>,
                     public convolution<T>,
                     public convolution_chain<T>,
                     public pooled_convolution<T>,
                     public pooling<T>,
                     public normalizing<T>,
                     public recurrence<T>,
                     public classification<T>,
                     public updates<T> {
 public:
  all_families(std::size_t threads, isa level)
      : workers(threads, level),
        arrangement<T>(team()),
        indexing<T>(team()),
        elementwise<T>(team()),
        packing<T>(team()),
        products<T>(team()),
        quantization<T>(team()),
        convolution<T>(team()),
        convolution_chain<T>(team()),
        pooled_convolution<T>(team()),
        pooling<T>(team()),
        normalizing<T>(team()),
        recurrence<T>(team()),
        classification<T>(team()),
        updates<T>(team()) {}

  using workers::log;
  using workers::run;
  using workers::threads;

  using arrangement<T>::compute;
  using classification<T>::compute;
  using convolution<T>::compute;
  using convolution_chain<T>::compute;
  using elementwise<T>::compute;
  using host_loops<T>::compute;
  using indexing<T>::compute;
  using normalizing<T>::compute;
  using packing<T>::compute;
  using pooled_convolution<T>::compute;
  using pooling<T>::compute;
  using products<T>::compute;
  using quantization<T>::compute;
  using recurrence<T>::compute;
  using updates<T>::compute;

 private:
  [[nodiscard]] const workers& team() const { return *this; }
};

template <class T, kernel K>
void run(const host_context& on, const void* kernel, const tensor* const* operands,
         const tensor* const* results) {
  glia::detail::call_loops<T, K>(*static_cast<const all_families<T>*>(on.loops), on.memory, kernel,
                                 operands, results);
}

}  // namespace glia::cpu_loops
