#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "glia/backends/backend.hpp"
#include "glia/backends/call_loops.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

/// A backend in host memory, without its loops: it checks operands and allocates or reuses memory.
/// `reference` and `cpu` differ only in the loops; see `host_backend`.
class host_memory_backend : public backend {
 public:
  [[nodiscard]] std::size_t real_bytes() const final { return real_bytes_; }
  [[nodiscard]] const memory_pool& memory() const noexcept { return pool_; }
  /// Returns the loops and the memory that the functions of the kernels need.
  [[nodiscard]] host_context context() const noexcept { return {loops_, pool_}; }

  [[nodiscard]] GLIA_INLINE tensor from_host(std::span<const float> values,
                                             const shape& s) const final;
  [[nodiscard]] GLIA_INLINE tensor from_host(std::span<const double> values,
                                             const shape& s) const final;
  [[nodiscard]] GLIA_INLINE tensor from_host(std::span<const std::int32_t> values,
                                             const shape& s) const final;
  [[nodiscard]] GLIA_INLINE tensor from_memory(const shared_floats& floats,
                                               const shape& s) const final;
  GLIA_INLINE void to_host(const tensor& x, std::span<float> destination) const final;
  GLIA_INLINE void to_host(const tensor& x, std::span<double> destination) const final;
  GLIA_INLINE void to_host(const tensor& x, std::span<std::int32_t> destination) const final;
  GLIA_INLINE void run(const kernel_call& call) const final;
  [[nodiscard]] GLIA_INLINE std::shared_ptr<const executable> compile(graph calls) const final;
  GLIA_INLINE void cut_batch(graph& calls, std::size_t rows) const final;

  /// Returns the function for kernels of this type. Throws `value_error` if there is none.
  [[nodiscard]] host_function function_for(const kernel_type& type) const;
  /// Throws `value_error` unless the tensor is in host memory and has the numbers of this device.
  void require_own(const tensor& x) const;

  /// Returns a tensor with unspecified elements.
  [[nodiscard]] tensor uninitialized(const tensor_spec& s) const { return {pool_, s, real_bytes_}; }
  /// Returns a block of bytes for temporary use.
  [[nodiscard]] tensor scratch(std::size_t bytes) const {
    return tensor::scratch(pool_, bytes, real_bytes_);
  }
  /// Returns a copy of a tensor in new memory.
  [[nodiscard]] tensor copy(const tensor& x) const;
  /// Copies the elements of a tensor to a tensor of the same shape.
  static void copy_into(const tensor& source, const tensor& destination);

  /// Returns the number of lanes, on which batch tiles run side by side. It does not depend on the
  /// number of threads. A lane has no lanes of its own. Default: 0.
  [[nodiscard]] virtual std::size_t lane_count() const { return 0; }
  /// Returns a lane: a backend whose kernels use one thread and whose memory is its own.
  [[nodiscard]] virtual const host_memory_backend& lane(std::size_t /*number*/) const {
    return *this;
  }
  /// Calls body(lane) for every lane and returns when all calls are done. A body must not throw.
  virtual void for_each_lane(function_ref<void(std::size_t lane)> /*body*/) const {}

 protected:
  /// Makes a backend for numbers of `real_bytes` bytes, from 1 to memory_pool::max_shards threads.
  host_memory_backend(const void* loops, std::size_t real_bytes, std::size_t shards)
      : loops_(loops), real_bytes_(real_bytes), pool_(shards) {}

  /// Returns the function for kernels of this type, or null if there is none.
  [[nodiscard]] virtual host_function find(const kernel_type& type) const = 0;

 private:
  template <class T>
  [[nodiscard]] tensor copied(std::span<const T> values, const tensor_spec& spec) const;
  template <class T>
  void copy_out(const tensor& x, std::span<T> destination) const;

  const void* loops_;
  std::size_t real_bytes_;
  memory_pool pool_;
};

/// The functions of loops for all basic and fused kernels that they implement. A program that names
/// this table contains all of these loops.
class host_functions {
 public:
  /// Makes the table. `function_of(static_cast<const K*>(nullptr))` returns the function for the
  /// kernel K, or null.
  template <class FunctionOf>
  [[nodiscard]] static host_functions make(const FunctionOf& function_of) {
    host_functions result;
    result.add_all(function_of, basic_kernels{});
    result.add_all(function_of, fused_kernels{});
    return result;
  }

  /// Returns the function for kernels of this type, or null if there is none.
  [[nodiscard]] host_function find(const kernel_type& type) const {
    const auto found = functions_.find(type.id);
    return found == functions_.end() ? nullptr : found->second;
  }

 private:
  template <class FunctionOf, class... Kernels>
  void add_all(const FunctionOf& function_of, kernel_list<Kernels...>) {
    (functions_.emplace(&detail::id_of<Kernels>, function_of(static_cast<const Kernels*>(nullptr))),
     ...);
  }

  std::unordered_map<const char*, host_function> functions_;
};

/// A backend in host memory that computes with the given loops.
///
/// `Loops` provides `value_type`, `name` and, for every kernel that it implements, the const member
/// function `compute(kernel, memory, operands..., results...)`, which writes the results. The
/// tensors are tensor_view<value_type>. An omitted operand is a view without elements.
template <class Loops>
class host_backend : public host_memory_backend {
 public:
  using value_type = typename Loops::value_type;

  host_backend() : host_memory_backend(&loops_, sizeof(value_type), memory_pool::max_shards) {}

  [[nodiscard]] std::string_view name() const final { return Loops::name; }
  [[nodiscard]] fused_kernel_set fused() const final {
    static constexpr fused_kernel_set fused = fused_kernel_set::of(
        []<class K>(const K*) { return detail::has_loops<Loops, K, value_type>; });
    return fused;
  }

 protected:
  [[nodiscard]] host_function find(const kernel_type& type) const final {
    static const host_functions functions =
        host_functions::make([]<class K>(const K*) { return function_of<K>(); });
    return functions.find(type);
  }

 private:
  template <class K>
  [[nodiscard]] static constexpr host_function function_of() {
    if constexpr (detail::has_loops<Loops, K, value_type>) {
      return [](const host_context& context, const void* kernel, const tensor* const* operands,
                const tensor* const* results) {
        detail::call_loops<value_type, K>(*static_cast<const Loops*>(context.loops), context.memory,
                                          kernel, operands, results);
      };
    } else {
      return nullptr;
    }
  }

  Loops loops_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/host_backend_impl.hpp"
#endif
