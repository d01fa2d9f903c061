#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "glia/backends/cpu.hpp"
#include "glia/backends/cpu/all_families.hpp"

namespace glia {

template <class T>
cpu_backend<T>::cpu_backend(const cpu_options& options)
    : cpu_backend(std::make_unique<const cpu_loops::all_families<T>>(options.threads, options.isa,
                                                                     options.products)) {
  require<value_error>(sizeof(T) == sizeof(float) || options.products.rounded == nullptr,
                       "cpu: products in bfloat16 need a device of float numbers, cpu<float>");
  for (std::size_t i = 0; i < lanes; ++i) {
    lanes_.emplace_back(new cpu_backend(std::make_unique<const cpu_loops::all_families<T>>(
        std::size_t{1}, options.isa, options.products)));
  }
}

// A device of one thread, such as a lane, has one list of memory: another thread may run it in the
// next step, but must find the same memory.
template <class T>
cpu_backend<T>::cpu_backend(std::unique_ptr<const cpu_loops::all_families<T>> families)
    : host_memory_backend(families.get(), sizeof(T),
                          families->threads() == 1 ? 1 : memory_pool::max_shards),
      families_(std::move(families)) {}

template <class T>
cpu_backend<T>::~cpu_backend() = default;

template <class T>
std::size_t cpu_backend<T>::threads() const noexcept {
  return families_->threads();
}

template <class T>
fused_kernel_set cpu_backend<T>::fused() const {
  return families_->rounds() ? fused_kernel_set::of([]<class K>(const K*) {
    return !std::is_same_v<K, kernels::packed_conv2d>;
  })
                             : fused_kernel_set::all();
}

template <class T>
detail::busy_log* cpu_backend<T>::log() const {
  return &families_->log();
}

template <class T>
void cpu_backend<T>::for_each_lane(function_ref<void(std::size_t lane)> body) const {
  const cpu_loops::single_threaded_blas one_thread_each;
  families_->run(lane_count(), [&](std::size_t i, std::size_t) { body(i); });
}

}  // namespace glia
