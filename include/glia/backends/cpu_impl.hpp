#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/cpu.hpp"
#include "glia/backends/cpu/arrangement.hpp"
#include "glia/backends/cpu/classification.hpp"
#include "glia/backends/cpu/convolution.hpp"
#include "glia/backends/cpu/convolution_chain.hpp"
#include "glia/backends/cpu/elementwise.hpp"
#include "glia/backends/cpu/indexing.hpp"
#include "glia/backends/cpu/normalization.hpp"
#include "glia/backends/cpu/packing.hpp"
#include "glia/backends/cpu/pooled_convolution.hpp"
#include "glia/backends/cpu/pooling.hpp"
#include "glia/backends/cpu/products.hpp"
#include "glia/backends/cpu/quantized_chain.hpp"
#include "glia/backends/cpu/recurrence.hpp"
#include "glia/backends/cpu/updates.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_loops.hpp"

namespace glia {

namespace cpu_loops {

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
void run(const all_families<T>& families, const K& k, const memory_pool& memory,
         const host_tensor<T>* const* tensors) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { families.compute(k, memory, *tensors[I]...); }
  (std::make_index_sequence<K::operands + K::results>{});
}

/// Returns the functions that run the kernels of a list. Naming this function for a list compiles
/// the functions.
template <class T, class... Kernels>
[[nodiscard]] auto runs_of(kernel_list<Kernels...>) {
  return std::tuple(&run<T, Kernels>...);
}

}  // namespace cpu_loops

template <class T>
cpu_kernels<T>::cpu_kernels(const cpu_options& options)
    : families_(std::make_unique<const cpu_loops::all_families<T>>(options.threads, options.isa)) {}

template <class T>
cpu_kernels<T>::~cpu_kernels() = default;

template <class T>
std::size_t cpu_kernels<T>::threads() const noexcept {
  return families_->threads();
}

template <class T>
busy_log& cpu_kernels<T>::log() const noexcept {
  return families_->log();
}

template <class T>
void cpu_kernels<T>::run_side_by_side(std::size_t count, void (*body)(const void*, std::size_t),
                                      const void* context) const {
  const cpu_loops::single_threaded_blas one_thread_each;
  families_->run(count, [&](std::size_t i, std::size_t) { body(context, i); });
}

template <class T>
cpu<T>::cpu(const cpu_options& options)
    : host_backend<cpu_kernels<T>>(std::in_place, options),
      lanes_(std::make_shared<std::vector<cpu>>()) {
  for (std::size_t i = 0; i < lanes; ++i) {
    lanes_->push_back(cpu(lane_tag{}, options.isa));
  }
}

template <class T>
cpu<T>::cpu(lane_tag, cpu_loops::isa level)
    : host_backend<cpu_kernels<T>>(std::in_place, cpu_options{.threads = 1, .isa = level}) {}

}  // namespace glia
