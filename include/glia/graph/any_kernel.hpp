#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/backends/cpu.hpp"
#include "glia/graph/made_by_passes.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

class any_kernel;

namespace detail {

/// An object whose address identifies the type K. It is not constant, because a linker can merge
/// equal constants.
template <class K>
inline char id_of = 0;

}  // namespace detail

/// A function that runs a kernel on a device, with existing result tensors.
template <class B>
using kernel_function = void (*)(const B& device, const void* kernel,
                                 const typename B::tensor* const* operands,
                                 const typename B::tensor* const* results);

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
  double (*flops)(const void* kernel, std::span<const tensor_spec> operands);
  void (*axes)(const void* kernel, std::span<const tensor_spec> operands,
               std::span<batch_axis> of_operands, std::span<batch_axis> of_results);
  bool (*relabels)(const void* kernel, std::span<const tensor_spec> operands);
  std::span<const overwrite> overwrites;
  bool (*equal)(const void* a, const void* b);
  any_kernel (*for_rows)(const any_kernel& kernel, std::size_t rows);
  /// Runs the kernel on the `cpu` device in float. A program that names a kernel contains its loops
  /// through this pointer.
  kernel_function<cpu<float>> on_cpu;
  /// The types into which passes can turn the kernel.
  std::span<const kernel_type* const> becomes;
};

/// A kernel of any type. The nodes of a graph contain it. Copies share one value, which does not
/// change.
class any_kernel {
 public:
  template <class K>
  requires(!std::same_as<K, any_kernel> && kernel<K>) any_kernel(const K& k);

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
  any_kernel(const kernel_type& type, std::shared_ptr<const void> value)
      : type_(&type), value_(std::move(value)) {}

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

/// Copies the initial value of an update to the result, unless it is already there.
template <class B>
void start_from(const B& device, const typename B::tensor& operand,
                const typename B::tensor& result) {
  if (operand && operand.bytes() != result.bytes()) {
    device.copy_into(operand, result);
  }
}

/// The kernel_function of a kernel type.
template <class B, kernel K>
void run_kernel(const B& device, const void* kernel, const typename B::tensor* const* operands,
                const typename B::tensor* const* results) {
  [&]<std::size_t... I, std::size_t... R>(std::index_sequence<I...>, std::index_sequence<R...>) {
    if constexpr (updates<K>()) {
      (start_from(device, *operands[overwritten_by<K>(R)], *results[R]), ...);
    }
    device.run_into(*static_cast<const K*>(kernel), *operands[I]..., *results[R]...);
  }
  (std::make_index_sequence<K::operands>{}, std::make_index_sequence<K::results>{});
}

template <class B, kernel K>
[[nodiscard]] constexpr kernel_function<B> function_of() {
  if constexpr (runs<B, K>) {
    return &run_kernel<B, K>;
  } else {
    return nullptr;
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

template <kernel K>
inline constexpr kernel_type type_of{
    &id_of<K>,
    K::name,
    K::operands,
    K::results,
    updates<K>(),
    [](const void* k, std::span<const tensor_spec> operands, std::span<tensor_spec> results) {
      with_operands<K>(operands, [&](const auto&... each) {
        const auto all = result_specs(*static_cast<const K*>(k), each...);
        std::copy(all.begin(), all.end(), results.begin());
      });
    },
    [](const void* k, std::span<const tensor_spec> operands) -> double {
      return with_operands<K>(
          operands, [&](const auto&... each) { return static_cast<const K*>(k)->flops(each...); });
    },
    [](const void* k, std::span<const tensor_spec> operands, std::span<batch_axis> of_operands,
       std::span<batch_axis> of_results) {
      with_operands<K>(operands, [&](const auto&... each) {
        const auto all = axes_of(*static_cast<const K*>(k), each...);
        std::copy(all.operands.begin(), all.operands.end(), of_operands.begin());
        std::copy(all.results.begin(), all.results.end(), of_results.begin());
      });
    },
    relabels_function<K>(),
    overwrites_of<K>(),
    [](const void* a, const void* b) {
      return *static_cast<const K*>(a) == *static_cast<const K*>(b);
    },
    for_rows_function<K>(),
    function_of<cpu<float>, K>(),
    made_of<K>};

template <kernel K>
constexpr const kernel_type* address_of_type() {
  return &type_of<K>;
}

}  // namespace detail

template <class K>
requires(!std::same_as<K, any_kernel> && kernel<K>) any_kernel::any_kernel(const K& k)
    : type_(&detail::type_of<K>), value_(std::make_shared<const K>(k)) {}

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
  return {*found, std::make_shared<const K>(k)};
}

/// Calls with(k) and returns true if the type of the kernel is in the list; returns false for other
/// types.
template <class... Kernels, class With>
bool visit_kernel(const any_kernel& kernel, kernel_list<Kernels...>, const With& with) {
  const auto tried = [&]<class K>(std::type_identity<K>) {
    const K* const k = kernel.as<K>();
    if (k != nullptr) {
      with(*k);
    }
    return k != nullptr;
  };
  return (tried(std::type_identity<Kernels>{}) || ...);
}

}  // namespace glia
