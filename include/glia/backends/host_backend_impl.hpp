#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "glia/backends/host_backend.hpp"
#include "glia/backends/host_program.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/passes.hpp"

namespace glia {

namespace detail {

template <class From, class To>
void convert(const From* source, std::size_t count, To* destination) {
  if constexpr (std::is_same_v<From, To>) {
    std::copy_n(source, count, destination);
  } else {
    std::transform(source, source + count, destination, [](From v) { return static_cast<To>(v); });
  }
}

}  // namespace detail

template <class T>
tensor host_memory_backend::copied(std::span<const T> values, const tensor_spec& spec) const {
  detail::require_values(values.size(), spec.shape);
  tensor y = uninitialized(spec);
  const detail::tensor_view<float> floats(y);
  if constexpr (std::is_same_v<T, std::int32_t>) {
    std::copy_n(values.data(), values.size(), floats.integers());
  } else if (real_bytes_ == sizeof(float)) {
    detail::convert(values.data(), values.size(), floats.data());
  } else {
    detail::convert(values.data(), values.size(), detail::tensor_view<double>(y).data());
  }
  return y;
}

template <class T>
void host_memory_backend::copy_out(const tensor& x, std::span<T> destination) const {
  detail::require_not_empty(x);
  require<shape_error>(destination.size() == x.size(), "to_host: ", x.size(),
                       " values do not match a destination of size ", destination.size());
  constexpr bool integers = std::is_same_v<T, std::int32_t>;
  require_elements("to_host", spec_of(x), integers ? element::index : element::real);
  require_own(x);
  if constexpr (integers) {
    std::copy_n(x.integers(), x.size(), destination.data());
  } else if (real_bytes_ == sizeof(float)) {
    detail::convert(detail::tensor_view<float>(x).data(), x.size(), destination.data());
  } else {
    detail::convert(detail::tensor_view<double>(x).data(), x.size(), destination.data());
  }
}

GLIA_INLINE tensor host_memory_backend::from_host(std::span<const float> values,
                                                  const shape& s) const {
  return copied(values, {s, element::real});
}
GLIA_INLINE tensor host_memory_backend::from_host(std::span<const double> values,
                                                  const shape& s) const {
  return copied(values, {s, element::real});
}
GLIA_INLINE tensor host_memory_backend::from_host(std::span<const std::int32_t> values,
                                                  const shape& s) const {
  return copied(values, {s, element::index});
}
GLIA_INLINE tensor host_memory_backend::from_memory(const shared_floats& floats,
                                                    const shape& s) const {
  detail::require_values(floats.values.size(), s);
  return real_bytes_ == sizeof(float) && floats.is_aligned() && s.size() > 0
             ? tensor::view(floats, s)
             : backend::from_memory(floats, s);
}
GLIA_INLINE void host_memory_backend::to_host(const tensor& x, std::span<float> destination) const {
  copy_out(x, destination);
}
GLIA_INLINE void host_memory_backend::to_host(const tensor& x,
                                              std::span<double> destination) const {
  copy_out(x, destination);
}
GLIA_INLINE void host_memory_backend::to_host(const tensor& x,
                                              std::span<std::int32_t> destination) const {
  copy_out(x, destination);
}

GLIA_INLINE void host_memory_backend::require_own(const tensor& x) const {
  if (x.home() == tensor_home::host && x.real_bytes() == real_bytes_) {
    return;
  }
  throw value_error(text(name(), ": the tensor ", x.shape(),
                         x.home() == tensor_home::host
                             ? " has numbers of another type than the device"
                         : x.home() == tensor_home::graph ? " is a value of a recorded graph"
                                                          : " belongs to another device",
                         "; copy numbers to the host and then to this device"));
}

GLIA_INLINE host_function host_memory_backend::function_for(const kernel_type& type) const {
  const host_function function = type.on_host != nullptr ? type.on_host : find(type);
  if (function == nullptr) {  // `require` would ask for the name in each call of a kernel
    throw value_error(
        text("the device ", name(), " has no implementation of the kernel '", type.name, "'"));
  }
  return function;
}

GLIA_INLINE void host_memory_backend::run(const kernel_call& call) const {
  const kernel_type& type = call.type;
  std::array<const tensor*, most_operands> operands;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (call.operands[i]) {
      require_own(call.operands[i]);
    }
    operands[i] = &call.operands[i];
  }
  static_assert(std::is_trivially_destructible_v<tensor_spec>);
  alignas(tensor_spec) std::array<std::byte, most_results * sizeof(tensor_spec)> room;
  auto* const specs = reinterpret_cast<tensor_spec*>(room.data());
  if (type.specs_for(call.kernel, call.operands, specs)) {
    call.results[0] = std::move(call.operands[0]).reshaped(specs[0].shape);
    return;
  }
  std::array<const tensor*, most_results> results;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    if (specs[i]) {
      const tensor* const reused = call.reusable(i, specs[i]);
      if (reused != nullptr) {
        call.results[i] = *reused;
      } else {
        call.results[i] = uninitialized(specs[i]);
      }
    }
    results[i] = &call.results[i];
  }
  function_for(type)(context(), call.kernel, operands.data(), results.data());
}

GLIA_INLINE tensor host_memory_backend::copy(const tensor& x) const {
  tensor y = uninitialized(spec_of(x));
  copy_into(x, y);
  return y;
}

GLIA_INLINE void host_memory_backend::copy_into(const tensor& source, const tensor& destination) {
  std::copy_n(source.bytes(), source.size() * bytes_of(source.type(), source.real_bytes()),
              destination.bytes());
}

GLIA_INLINE std::shared_ptr<const executable> host_memory_backend::compile(graph calls) const {
  return std::make_shared<const host_program>(
      std::move(calls), std::static_pointer_cast<const host_memory_backend>(shared_from_this()));
}

GLIA_INLINE void host_memory_backend::cut_batch(graph& calls, std::size_t rows) const {
  if (lane_count() > 0) {
    passes::cut_batch(calls, rows, {.lanes = lane_count(), .real_bytes = real_bytes_});
  }
}

}  // namespace glia
