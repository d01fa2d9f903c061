#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "glia/backends/backend.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

/// A device: a handle to a backend, which implements it. It is chosen at run time:
///
///     glia::device device = glia::cpu();
///     if (argc > 1) {
///       device = glia::pjrt({.plugin = argv[1]});
///     }
///     glia::model net{description, {784}, device};
///
/// Copies refer to the same device and memory.
class device {
 public:
  /// Makes a handle to a backend.
  explicit device(std::shared_ptr<const glia::backend> implementation)
      : backend_(std::move(implementation)) {}

  /// Returns the backend.
  [[nodiscard]] const glia::backend& implementation() const noexcept { return *backend_; }

  /// Returns the name of the device, for messages and reports.
  [[nodiscard]] std::string_view name() const { return backend_->name(); }
  /// Returns the bytes of the numbers with which it computes: 4 for float, 8 for double.
  [[nodiscard]] std::size_t real_bytes() const { return backend_->real_bytes(); }
  /// Returns the fused kernels that the device runs.
  [[nodiscard]] fused_kernel_set fused() const { return backend_->fused(); }
  /// Returns whether the device compiles each graph as a whole; see backend.
  [[nodiscard]] bool compiles_whole_graphs() const { return backend_->compiles_whole_graphs(); }
  /// Returns the number of graphs that were compiled or loaded so far, and the time for this.
  [[nodiscard]] glia::compilations compilations() const { return backend_->compilations(); }

  /// Copies elements in row-major order to the device. Throws `shape_error` if their number does
  /// not fit the shape.
  [[nodiscard]] tensor from_host(std::span<const float> values, const shape& s) const {
    return backend_->from_host(values, s);
  }
  [[nodiscard]] tensor from_host(std::span<const double> values, const shape& s) const {
    return backend_->from_host(values, s);
  }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t> values, const shape& s) const {
    return backend_->from_host(values, s);
  }
  /// Copies the elements of a tensor to the host, in row-major order. Throws `shape_error` if the
  /// destination has another size, and `value_error` if the tensor is empty, has elements of
  /// another type or belongs to another device.
  void to_host(const tensor& x, std::span<float> destination) const {
    backend_->to_host(x, destination);
  }
  void to_host(const tensor& x, std::span<double> destination) const {
    backend_->to_host(x, destination);
  }
  void to_host(const tensor& x, std::span<std::int32_t> destination) const {
    backend_->to_host(x, destination);
  }

  /// Copies a tensor with one row for each sample to the device. A device that consists of several
  /// can split the rows among them.
  template <class Number>
  [[nodiscard]] tensor samples_from_host(std::span<const Number> values, const shape& s) const {
    return backend_->samples_from_host(values, s);
  }
  /// Makes a tensor of floats in host memory. The device may use them where they are, without
  /// changing them.
  [[nodiscard]] tensor from_memory(const shared_floats& floats, const shape& s) const {
    return backend_->from_memory(floats, s);
  }
  /// Copies tensors of one number each to the host.
  void numbers_to_host(std::span<const tensor> tensors, std::span<double> destination) const {
    backend_->numbers_to_host(tensors, destination);
  }

  /// Runs a kernel immediately and returns its result, or an array of several results. The kernel
  /// may reuse the memory of an operand that is moved into the call. Throws `shape_error` or
  /// `value_error` if the operands do not fit the kernel.
  template <kernel K, std::same_as<tensor>... Operands>
  requires(sizeof...(Operands) == K::operands)
      [[nodiscard]] results_t<K, tensor> run(const K& k, Operands... operands) const {
    std::array<tensor, K::operands> inputs{std::move(operands)...};
    std::array<tensor, K::results> out;
    backend_->run({detail::type_of<K>(), &k, inputs, out});
    if constexpr (K::results == 1) {
      return std::move(out[0]);
    } else {
      return out;
    }
  }

  /// Returns the graph to which `run` adds nodes, or null if kernels run immediately.
  [[nodiscard]] graph* recording() const { return backend_->recording(); }

 private:
  std::shared_ptr<const glia::backend> backend_;
};

/// Returns whether a device runs a fused kernel. A recorder answers for the device of its graph.
template <kernel K>
[[nodiscard]] bool has_fused(const glia::device& device) {
  return device.fused().contains<K>();
}

}  // namespace glia

#ifndef GLIA_COMPILED
// The loops of the `cpu` device: a kernel that a program names brings its loops with it.
#include "glia/backends/cpu/all_families.hpp"
// `backend::compile`, which every device's table of functions names.
#include "glia/backends/program.hpp"
#endif
