#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/graph/gradient_call.hpp"
#include "glia/graph/made_by_passes.hpp"
#include "glia/kernels/host_function.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/tensor.hpp"

namespace glia {

class any_kernel;

/// The most operands and results of a kernel.
inline constexpr std::size_t most_operands = 16;
inline constexpr std::size_t most_results = 4;

namespace detail {

/// An object whose address identifies the type K. It is not constant, because a linker can merge
/// equal constants.
template <class K>
inline char id_of = 0;

}  // namespace detail

/// The derivative of a kernel type; see `differentiable`.
struct kernel_derivative {
  /// Returns whether this kernel of the type has a derivative. Null if all of them have one.
  bool (*exists)(const void* kernel);
  saved_tensors (*saved)(const void* kernel);
  void (*add_gradients)(const void* kernel, gradient_call& call);

  [[nodiscard]] bool exists_for(const void* kernel) const {
    return exists == nullptr || exists(kernel);
  }
};

/// The functions and properties of a kernel type, which are known only at run time; see `kernel`.
/// Optional members are null if the type does not have them.
struct kernel_type {
  const char* id;
  std::string_view name;
  std::size_t operands;
  std::size_t results;
  bool updates;
  void (*specs)(const void* kernel, std::span<const tensor_spec> operands,
                std::span<tensor_spec> results);
  /// Does the same for tensors, and writes to memory that is not initialized. Returns whether the
  /// result has the same elements as the operand.
  bool (*specs_for)(const void* kernel, std::span<const tensor> operands, tensor_spec* results);
  double (*flops)(const void* kernel, std::span<const tensor_spec> operands);
  void (*axes)(const void* kernel, std::span<const tensor_spec> operands,
               std::span<batch_axis> of_operands, std::span<batch_axis> of_results);
  bool (*relabels)(const void* kernel, std::span<const tensor_spec> operands);
  std::span<const overwrite> overwrites;
  bool (*equal)(const void* a, const void* b);
  std::size_t bytes;
  std::size_t alignment;
  void (*copy_to)(const void* kernel, void* memory);
  void (*destroy)(void* kernel);        ///< Null if destroying a kernel does nothing.
  const kernel_derivative* derivative;  ///< Null if the type has none.
  any_kernel (*for_rows)(const any_kernel& kernel, std::size_t rows);
  /// Runs the kernel on the `cpu` device in float. A program that names a kernel contains its loops
  /// through this pointer.
  host_function on_cpu;
  /// Runs the kernel on all devices in host memory.
  host_function on_host;
  /// The types into which passes can turn the kernel.
  std::span<const kernel_type* const> becomes;
};

/// A kernel of any type. The nodes of a graph contain it. Copies share one value, which does not
/// change.
class any_kernel {
 public:
  template <class K>
  requires(!std::same_as<K, any_kernel> && kernel<K>) any_kernel(const K& k);
  /// Copies the kernel of a call.
  any_kernel(const kernel_type& type, const void* kernel)
      : type_(&type), value_(copy_of(type, kernel)) {}

  [[nodiscard]] const kernel_type& type() const noexcept { return *type_; }
  [[nodiscard]] const void* value() const noexcept { return value_.get(); }
  [[nodiscard]] std::string_view name() const noexcept { return type_->name; }

  /// Returns the kernel if its type is K, else null.
  template <kernel K>
  [[nodiscard]] const K* as() const noexcept;

  /// Writes the specs of the results to `results`, which has one element for each result.
  void specs(std::span<const tensor_spec> operands, std::span<tensor_spec> results) const {
    type_->specs(value(), operands, results);
  }
  [[nodiscard]] double flops(std::span<const tensor_spec> operands) const {
    return type_->flops(value(), operands);
  }
  [[nodiscard]] bool relabels(std::span<const tensor_spec> operands) const {
    return type_->relabels != nullptr && type_->relabels(value(), operands);
  }
  void axes(std::span<const tensor_spec> operands, std::span<batch_axis> of_operands,
            std::span<batch_axis> of_results) const {
    type_->axes(value(), operands, of_operands, of_results);
  }
  /// Returns a kernel into which a pass turns this one. Throws `value_error` if
  /// graph/made_by_passes.hpp does not list the type.
  template <kernel K>
  [[nodiscard]] any_kernel made_into(const K& k) const;

  /// Returns the kernel for a batch of `rows` samples. Only a kernel whose attributes contain the
  /// batch size, such as `reshape`, changes.
  [[nodiscard]] any_kernel for_rows(std::size_t rows) const {
    return type_->for_rows == nullptr ? *this : type_->for_rows(*this, rows);
  }

  friend bool operator==(const any_kernel& a, const any_kernel& b) {
    return a.type_ == b.type_ && a.type_->equal(a.value(), b.value());
  }

 private:
  [[nodiscard]] static std::shared_ptr<const void> copy_of(const kernel_type& type,
                                                           const void* kernel) {
    struct deleter {
      void (*destroy)(void* kernel);
      void operator()(void* last) const {
        if (destroy != nullptr) {
          destroy(last);
        }
        delete[] static_cast<std::byte*>(last);
      }
    };
    std::unique_ptr<std::byte[]> memory(new std::byte[type.bytes]);
    type.copy_to(kernel, memory.get());
    return {static_cast<void*>(memory.release()), deleter{type.destroy}};
  }

  const kernel_type* type_;
  std::shared_ptr<const void> value_;
};

namespace detail {

template <kernel K>
[[nodiscard]] constexpr const kernel_type* address_of_type();

// Each of these functions returns null if the kernel type does not have the member. No function is
// compiled for it then.
template <kernel K>
[[nodiscard]] constexpr auto relabels_function() -> decltype(kernel_type::relabels) {
  if constexpr (requires(const K& k, const tensor_spec& x) { k.relabels(x); }) {
    return [](const void* k, std::span<const tensor_spec> operands) {
      return static_cast<const K*>(k)->relabels(operands[0]);
    };
  } else {
    return nullptr;
  }
}

template <kernel K>
[[nodiscard]] constexpr auto for_rows_function() -> decltype(kernel_type::for_rows) {
  if constexpr (requires(const K& k, std::size_t rows) { k.for_rows(rows); }) {
    return [](const any_kernel& k, std::size_t rows) -> any_kernel {
      return k.made_into(k.as<K>()->for_rows(rows));
    };
  } else {
    return nullptr;
  }
}

template <kernel K>
[[nodiscard]] constexpr std::span<const overwrite> overwrites_of() {
  if constexpr (requires { K::overwrites; }) {
    return K::overwrites;
  } else {
    return {};
  }
}

template <kernel K>
[[nodiscard]] constexpr std::size_t count_made_of() {
  std::size_t count = 0;
  passes::for_each_made_of<K>([&](const auto&) { ++count; });
  return count;
}

template <kernel K>
inline constexpr auto made_of = [] {
  std::array<const kernel_type*, count_made_of<K>()> types{};
  std::size_t next = 0;
  passes::for_each_made_of<K>(
      [&]<class Made>(std::type_identity<Made>) { types[next++] = address_of_type<Made>(); });
  return types;
}();

template <differentiable K>
[[nodiscard]] constexpr auto exists_function() -> decltype(kernel_derivative::exists) {
  if constexpr (requires(const K& k) { has_gradients(k); }) {
    return [](const void* k) { return has_gradients(*static_cast<const K*>(k)); };
  } else {
    return nullptr;
  }
}

template <kernel K>
[[nodiscard]] constexpr auto destroy_function() -> decltype(kernel_type::destroy) {
  if constexpr (std::is_trivially_destructible_v<K>) {
    return nullptr;
  } else {
    return [](void* k) { static_cast<K*>(k)->~K(); };
  }
}

template <differentiable K>
inline constexpr kernel_derivative derivative_of{
    exists_function<K>(),
    [](const void* k) { return saved_for_gradients(*static_cast<const K*>(k)); },
    [](const void* k, gradient_call& call) { add_gradients(*static_cast<const K*>(k), call); }};

template <kernel K>
[[nodiscard]] constexpr const kernel_derivative* derivative_or_null() {
  if constexpr (differentiable<K>) {
    return &derivative_of<K>;
  } else {
    return nullptr;
  }
}

template <kernel K>
requires(K::operands <= most_operands && K::results <= most_results &&
         alignof(K) <= alignof(std::max_align_t)) inline constexpr kernel_type table_of{
    &id_of<K>,
    K::name,
    K::operands,
    K::results,
    updates<K>(),
    [](const void* k, std::span<const tensor_spec> operands, std::span<tensor_spec> results) {
      with_operands<K>(operands, [&](const auto&... operand) {
        const auto specs = result_specs(*static_cast<const K*>(k), operand...);
        std::copy(specs.begin(), specs.end(), results.begin());
      });
    },
    [](const void* kernel, std::span<const tensor> operands, tensor_spec* results) {
      const K& k = *static_cast<const K*>(kernel);
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        const std::array<tensor_spec, K::operands> operand_specs{spec_of(operands[I])...};
        const auto specs = result_specs(k, operand_specs[I]...);
        std::uninitialized_copy(specs.begin(), specs.end(), results);
        return glia::relabels(k, operand_specs[I]...);
      }
      (std::make_index_sequence<K::operands>{});
    },
    [](const void* k, std::span<const tensor_spec> operands) -> double {
      return with_operands<K>(operands, [&](const auto&... operand) {
        return static_cast<const K*>(k)->flops(operand...);
      });
    },
    [](const void* k, std::span<const tensor_spec> operands, std::span<batch_axis> of_operands,
       std::span<batch_axis> of_results) {
      with_operands<K>(operands, [&](const auto&... operand) {
        const auto axes = axes_of(*static_cast<const K*>(k), operand...);
        std::copy(axes.operands.begin(), axes.operands.end(), of_operands.begin());
        std::copy(axes.results.begin(), axes.results.end(), of_results.begin());
      });
    },
    relabels_function<K>(),
    overwrites_of<K>(),
    [](const void* a, const void* b) {
      return *static_cast<const K*>(a) == *static_cast<const K*>(b);
    },
    sizeof(K),
    alignof(K),
    [](const void* k, void* memory) { new (memory) K(*static_cast<const K*>(k)); },
    destroy_function<K>(),
    derivative_or_null<K>(),
    for_rows_function<K>(),
    cpu_loops::function_of<float, K>(),
    host_function_of<K>(),
    made_of<K>};

template <kernel K>
constexpr const kernel_type* address_of_type() {
  return &table_of<K>;
}

/// Returns the type of the kernels K. It is a function, so that a program with glia::compiled does
/// not compile the tables of the kernels in compiled/kernel_types.inl again.
template <kernel K>
[[nodiscard]] const kernel_type& type_of() {
  return table_of<K>;
}

}  // namespace detail

template <class K>
requires(!std::same_as<K, any_kernel> && kernel<K>) any_kernel::any_kernel(const K& k)
    : any_kernel(detail::type_of<K>(), &k) {}

template <kernel K>
const K* any_kernel::as() const noexcept {
  return type_->id == &detail::id_of<K> ? static_cast<const K*>(value_.get()) : nullptr;
}

template <kernel K>
any_kernel any_kernel::made_into(const K& k) const {
  const kernel_type* found = type_->id == &detail::id_of<K> ? type_ : nullptr;
  for (const kernel_type* const type : type_->becomes) {
    found = type->id == &detail::id_of<K> ? type : found;
  }
  require<value_error>(found != nullptr, "graph: a pass turns the kernel '", name(), "' into '",
                       K::name, "', which graph/made_by_passes.hpp does not list");
  return {*found, &k};
}

template <kernel K, class... Operands>
results_t<K, tensor> gradient_call::run(const K& k, Operands&&... operands) const {
  std::array<tensor, K::operands> values{tensor(std::forward<Operands>(operands))...};
  std::array<tensor, K::results> results;
  run_kernel(detail::type_of<K>(), &k, values, results);
  if constexpr (K::results == 1) {
    return std::move(results[0]);
  } else {
    return results;
  }
}

/// Calls visit(k) and returns true if the type of the kernel is in the list; returns false for
/// other types.
template <class... Kernels, class Visit>
bool visit_kernel(const any_kernel& kernel, kernel_list<Kernels...>, const Visit& visit) {
  const auto tried = [&]<class K>(std::type_identity<K>) {
    const K* const k = kernel.as<K>();
    if (k != nullptr) {
      visit(*k);
    }
    return k != nullptr;
  };
  return (tried(std::type_identity<Kernels>{}) || ...);
}

}  // namespace glia
