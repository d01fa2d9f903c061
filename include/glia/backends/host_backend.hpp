#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/backends/backend.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/memory_pool.hpp"

namespace glia {

namespace detail {

template <class Loops, class K, class Tensor, std::size_t... Operand, std::size_t... Result>
[[nodiscard]] constexpr bool computes(std::index_sequence<Operand...>,
                                      std::index_sequence<Result...>) {
  return requires(const Loops& loops, const K& k, const memory_pool& memory, const Tensor& t) {
    loops.compute(k, memory, (static_cast<void>(Operand), t)..., (static_cast<void>(Result), t)...);
  };
}

/// Satisfied if `Loops` implements a kernel.
template <class Loops, class K, class Tensor>
concept has_loops = computes<Loops, K, Tensor>(std::make_index_sequence<K::operands>{},
                                               std::make_index_sequence<K::results>{});

}  // namespace detail

/// A backend in host memory. It checks operands, allocates or reuses memory, and passes the tensors
/// to `Loops`, which computes. `reference` and `cpu` differ only in the loops.
///
/// `Loops` provides `value_type`, `name` and, for every kernel that it implements, the const member
/// function `compute(kernel, memory, operands..., results...)`, which writes the results. An
/// omitted operand is a tensor without elements.
template <class Loops>
class host_backend {
 public:
  using value_type = typename Loops::value_type;
  using tensor = host_tensor<value_type>;

  template <class... Arguments>
  explicit host_backend(std::in_place_t, Arguments&&... arguments)
      : state_(std::make_shared<state>(std::forward<Arguments>(arguments)...)) {}

  [[nodiscard]] std::string_view name() const { return Loops::name; }
  [[nodiscard]] const memory_pool& memory() const { return state_->pool; }
  [[nodiscard]] const Loops& loops() const { return state_->loops; }

  [[nodiscard]] tensor from_host(std::span<const float> values, const shape& s) const {
    return copied(values, {s, element::real});
  }
  [[nodiscard]] tensor from_host(std::span<const double> values, const shape& s) const {
    return copied(values, {s, element::real});
  }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t> values, const shape& s) const {
    return copied(values, {s, element::index});
  }
  void to_host(const tensor& x, std::span<float> out) const { copy_out(x, out); }
  void to_host(const tensor& x, std::span<double> out) const { copy_out(x, out); }
  void to_host(const tensor& x, std::span<std::int32_t> out) const { copy_out(x, out); }

  /// Runs a kernel immediately; see `backend`.
  template <kernel K, std::same_as<tensor>... Operands>
  requires(sizeof...(Operands) == K::operands && detail::has_loops<Loops, K, tensor>)
      [[nodiscard]] results_t<K, tensor> run(const K& k, Operands... operands) const {
    const std::array<tensor_spec, K::results> specs = result_specs(k, spec_of(operands)...);
    std::array<tensor, K::operands> in{std::move(operands)...};
    if constexpr (K::operands == 1 && K::results == 1) {
      if (relabels(k, spec_of(in[0]))) {
        return std::move(in[0]).reshaped(specs[0].shape);
      }
    }
    std::array<tensor, K::results> out;
    for (std::size_t i = 0; i < K::results; ++i) {
      if (specs[i]) {
        out[i] = place_for<K>(i, specs[i], in);
      }
    }
    compute(k, in, out, std::make_index_sequence<K::operands>{},
            std::make_index_sequence<K::results>{});
    if constexpr (K::results == 1) {
      return std::move(out[0]);
    } else {
      return out;
    }
  }

  /// Runs a kernel with existing result tensors, which must have the specs that the kernel's
  /// `result` returns. Does not check anything. For `updates` kernels, the results contain the
  /// initial values.
  template <kernel K, std::same_as<tensor>... Tensors>
  requires(sizeof...(Tensors) ==
           K::operands + K::results) void run_into(const K& k,
                                                   const Tensors&... operands_and_results) const {
    loops().compute(k, memory(), operands_and_results...);
  }

  /// Returns a block of bytes for temporary use.
  [[nodiscard]] tensor scratch(std::size_t bytes) const { return tensor::scratch(memory(), bytes); }
  /// Returns a copy of a tensor in new memory.
  [[nodiscard]] tensor copy(const tensor& x) const {
    tensor y = make(spec_of(x));
    copy_elements(x, y);
    return y;
  }
  static void copy_into(const tensor& x, const tensor& y) { copy_elements(x, y); }

  // See lane_backend.
  [[nodiscard]] tensor uninitialized(const tensor_spec& s) const { return make(s); }

 private:
  struct state {
    template <class... Arguments>
    explicit state(Arguments&&... arguments)
        : loops(std::forward<Arguments>(arguments)...), pool(shards_for(loops)) {}
    // Aligned, to keep the loops out of the cache line of the reference count. The count changes
    // when the device is copied.
    alignas(64) Loops loops;
    memory_pool pool;

    // A device of one thread, such as a lane, has one shard: another thread may run it in the next
    // step, but must find the same memory.
    static std::size_t shards_for(const Loops& loops) {
      if constexpr (requires { loops.threads(); }) {
        return loops.threads() == 1 ? 1 : memory_pool::max_shards;
      } else {
        return memory_pool::max_shards;
      }
    }
  };

  [[nodiscard]] tensor make(const tensor_spec& s) const {
    return tensor(memory(), s.shape, s.type);
  }

  template <class K, std::size_t... Operand, std::size_t... Result>
  void compute(const K& k, const std::array<tensor, K::operands>& in,
               const std::array<tensor, K::results>& out, std::index_sequence<Operand...>,
               std::index_sequence<Result...>) const {
    loops().compute(k, memory(), in[Operand]..., out[Result]...);
  }

  /// Returns the memory of an operand that the result may overwrite and that has no other handle,
  /// or else new memory. If the kernel updates the operand, the memory contains its elements.
  template <class K>
  [[nodiscard]] tensor place_for(std::size_t result, const tensor_spec& spec,
                                 const std::array<tensor, K::operands>& in) const {
    for (std::size_t choice = 0; overwritten_by<K>(result, choice) < K::operands; ++choice) {
      const tensor& operand = in[overwritten_by<K>(result, choice)];
      if (operand.unique() && operand.shape() == spec.shape) {
        return operand;
      }
    }
    tensor made = make(spec);
    if constexpr (updates<K>()) {
      copy_elements(in[overwritten_by<K>(result)], made);
    }
    return made;
  }

  static void copy_elements(const tensor& from, const tensor& to) {
    std::copy_n(from.bytes(), from.size() * bytes_of<value_type>(from.type()), to.bytes());
  }

  template <class T>
  [[nodiscard]] tensor copied(std::span<const T> values, const tensor_spec& s) const {
    require<shape_error>(values.size() == s.shape.size(), "from_host: ", values.size(),
                         " values do not match the shape ", s.shape);
    tensor y = make(s);
    if constexpr (std::same_as<T, std::int32_t>) {
      std::copy_n(values.data(), values.size(), y.integers());
    } else {
      convert(values.data(), values.size(), y.data());
    }
    return y;
  }
  template <class T>
  static void copy_out(const tensor& x, std::span<T> out) {
    require_not_empty(x);
    require<shape_error>(out.size() == x.size(), "to_host: ", x.size(),
                         " values do not match a destination of size ", out.size());
    constexpr bool integers = std::same_as<T, std::int32_t>;
    require_elements("to_host", spec_of(x), integers ? element::index : element::real);
    if constexpr (integers) {
      std::copy_n(x.integers(), x.size(), out.data());
    } else {
      convert(x.data(), x.size(), out.data());
    }
  }
  template <class From, class To>
  static void convert(const From* from, std::size_t count, To* to) {
    if constexpr (std::is_same_v<From, To>) {
      std::copy_n(from, count, to);
    } else {
      std::transform(from, from + count, to, [](From v) { return static_cast<To>(v); });
    }
  }

  std::shared_ptr<state> state_;
};

}  // namespace glia
