#pragma once

#include <cstddef>
#include <memory>

#include "glia/backends/bfloat16.hpp"
#include "glia/backends/cpu_backend.hpp"
#include "glia/backends/device.hpp"
#include "glia/core/busy_time.hpp"

namespace glia {

/// The fast device of glia: the processor. glia's vectorized loops compute in `float` or `double`,
/// on glia's threads. A BLAS library computes large matrix products where it is faster. The same
/// seed gives the same bits for any number of threads.
template <class T = float>
class cpu : public device {
 public:
  using value_type = T;

  /// Starts the threads. Throws `value_error` if the system cannot start this number of threads.
  explicit cpu(const cpu_options& options = {})
      : device(std::make_shared<const cpu_backend<T>>(options)) {}

  /// Returns the number of threads, including the caller.
  [[nodiscard]] std::size_t threads() const { return typed_backend().threads(); }
  /// Returns the memory of the device's tensors.
  [[nodiscard]] const memory_pool& memory() const { return typed_backend().memory(); }
  /// Returns the busy times of each thread except the caller's; used for profiles.
  [[nodiscard]] detail::busy_log& log() const { return *typed_backend().log(); }

 private:
  [[nodiscard]] const cpu_backend<T>& typed_backend() const {
    return static_cast<const cpu_backend<T>&>(implementation());
  }
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/cpu_functions_impl.hpp"
#include "glia/backends/cpu_impl.hpp"
#endif
