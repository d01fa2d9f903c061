#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/backends/cpu_products.hpp"
#include "glia/backends/device.hpp"
#include "glia/backends/host_backend.hpp"
#include "glia/core/busy_time.hpp"

namespace glia {

/// Options of the `cpu` device.
struct cpu_options {
  std::size_t threads = 0;  ///< Number of threads, including the caller; 0: one per core.
  cpu_loops::isa isa = cpu_loops::best_isa();  ///< Instruction set of glia's loops; default: the
                                               ///< best of this processor.
  cpu_products products = {};  ///< Precision of the factors of products; see `bfloat16`.
};

namespace cpu_loops {

template <class T>
class all_families;

/// Returns the function for kernels of this type in numbers of type T.
template <class T>
[[nodiscard]] host_function find_function(const kernel_type& type);

}  // namespace cpu_loops

/// The backend of the `cpu` device. The loops are in cpu/.
template <class T>
class cpu_backend final : public host_memory_backend {
 public:
  explicit cpu_backend(const cpu_options& options);
  ~cpu_backend() override;

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  /// Returns all fused kernels. If factors are rounded, `packed_conv2d` is missing: Winograd's
  /// method would round other numbers.
  [[nodiscard]] fused_kernel_set fused() const override;
  [[nodiscard]] detail::busy_log* log() const override;
  /// Returns the number of threads, including the caller.
  [[nodiscard]] std::size_t threads() const noexcept;

  // Each lane has its own memory, so the memory of a step does not depend on how the threads
  // overlap.
  [[nodiscard]] std::size_t lane_count() const override { return lanes_.size(); }
  [[nodiscard]] const cpu_backend& lane(std::size_t i) const override { return *lanes_[i]; }
  void for_each_lane(function_ref<void(std::size_t lane)> body) const override;

 protected:
  [[nodiscard]] host_function find(const kernel_type& type) const override {
    return cpu_loops::find_function<T>(type);
  }

 private:
  // Enough lanes for the threads of a large machine, but few enough that summing a step's gradients
  // over them costs little.
  static constexpr std::size_t lanes = 16;

  /// Makes a backend without lanes.
  explicit cpu_backend(std::unique_ptr<const cpu_loops::all_families<T>> families);

  std::unique_ptr<const cpu_loops::all_families<T>> families_;
  std::vector<std::unique_ptr<const cpu_backend>> lanes_;
};

}  // namespace glia
