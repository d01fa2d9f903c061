#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/cpu/isa.hpp"
#include "glia/backends/host_backend.hpp"
#include "glia/core/busy_time.hpp"

namespace glia {

/// Options of the `cpu` device.
struct cpu_options {
  std::size_t threads = 0;  ///< Number of threads, including the caller; 0: one per core.
  cpu_loops::isa isa = cpu_loops::best_isa();  ///< Instruction set of glia's loops; default: the
                                               ///< best of this processor.
};

namespace cpu_loops {

template <class T>
class all_families;

/// Runs a kernel. `tensors` holds the operands, followed by the results.
template <class T, kernel K>
void run(const all_families<T>& families, const K& k, const memory_pool& memory,
         const host_tensor<T>* const* tensors);

}  // namespace cpu_loops

/// The loops of the `cpu` device. Their implementation is in cpu_impl.hpp and in cpu/; programs
/// need not include these files.
template <class T>
class cpu_kernels {
 public:
  using value_type = T;
  static constexpr std::string_view name = "cpu";

  explicit cpu_kernels(const cpu_options& options);
  cpu_kernels(const cpu_kernels&) = delete;
  cpu_kernels& operator=(const cpu_kernels&) = delete;
  ~cpu_kernels();

  [[nodiscard]] std::size_t threads() const noexcept;
  [[nodiscard]] busy_log& log() const noexcept;

  /// Calls body(i) for i = 0 ... count - 1 on the threads. During the call, BLAS runs
  /// single-threaded on each thread.
  template <class Body>
  void run_side_by_side(std::size_t count, const Body& body) const {
    run_side_by_side(
        count, [](const void* self, std::size_t i) { (*static_cast<const Body*>(self))(i); },
        &body);
  }

  template <kernel K, std::same_as<host_tensor<T>>... Tensors>
  requires(is_basic<K> || is_fused<K>) void compute(const K& k, const memory_pool& memory,
                                                    const Tensors&... tensors) const {
    const host_tensor<T>* const all[] = {&tensors...};
    cpu_loops::run(*families_, k, memory, all);
  }

 private:
  void run_side_by_side(std::size_t count, void (*body)(const void*, std::size_t),
                        const void* context) const;

  std::unique_ptr<const cpu_loops::all_families<T>> families_;
};

/// The fast device of glia: the processor. OpenBLAS computes matrix products, and glia's vectorized
/// loops compute everything else. Both use glia's threads. They compute in `float` or `double`. The
/// same seed gives the same bits for any number of threads.
template <class T = float>
class cpu : public host_backend<cpu_kernels<T>> {
 public:
  /// Starts the threads. Throws `value_error` if the system cannot start this number of threads.
  explicit cpu(const cpu_options& options = {});

  /// Returns the number of threads, including the caller.
  [[nodiscard]] std::size_t threads() const { return this->loops().threads(); }
  /// Returns the busy times of each thread except the caller's; used for profiles.
  [[nodiscard]] busy_log& log() const { return this->loops().log(); }

  // See lane_backend. Each lane has its own memory, so the memory of a step does not depend on how
  // the threads overlap.
  [[nodiscard]] std::size_t lane_count() const { return lanes_ ? lanes_->size() : 0; }
  [[nodiscard]] const cpu& lane(std::size_t i) const { return (*lanes_)[i]; }
  template <class Body>
  void for_each_lane(const Body& body) const {
    this->loops().run_side_by_side(lane_count(), body);
  }

 private:
  struct lane_tag {};
  cpu(lane_tag, cpu_loops::isa level);

  // Enough lanes for the threads of a large machine, but few enough that summing a step's gradients
  // over them costs little.
  static constexpr std::size_t lanes = 16;
  std::shared_ptr<std::vector<cpu>> lanes_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/cpu_impl.hpp"
#endif
