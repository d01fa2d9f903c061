#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/core/random.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

/// The key of the random numbers in a training step. Kernels receive it as a tensor of integers:
/// the seed in two words, the step, and the index of their first sample in the whole batch.
struct step_key {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t first_sample = 0;

  static constexpr std::size_t words = 4;

  [[nodiscard]] constexpr std::array<std::int32_t, words> to_words() const noexcept {
    return {static_cast<std::int32_t>(static_cast<std::uint32_t>(seed)),
            static_cast<std::int32_t>(static_cast<std::uint32_t>(seed >> 32)),
            static_cast<std::int32_t>(step), static_cast<std::int32_t>(first_sample)};
  }
  [[nodiscard]] static constexpr step_key from_words(const std::int32_t* source) noexcept {
    const std::uint64_t low = static_cast<std::uint32_t>(source[0]);
    const std::uint64_t high = static_cast<std::uint32_t>(source[1]);
    return {low | high << 32, static_cast<std::uint32_t>(source[2]),
            static_cast<std::uint32_t>(source[3])};
  }
  /// Returns the key for one stream of random numbers in this step.
  [[nodiscard]] constexpr random_key stream(std::uint32_t number) const noexcept {
    return {seed, number, step};
  }
  /// Returns the index of x's first element in the whole batch.
  [[nodiscard]] std::uint64_t first_element(const shape& x) const {
    return std::uint64_t{first_sample} * sample_of(x).size();
  }
  friend constexpr bool operator==(const step_key&, const step_key&) = default;
};

}  // namespace glia

namespace glia::kernels {

/// Divides element i of the batch by 1 - rate if random_half(key, i) / 2^16 >= rate, and sets it to
/// 0 otherwise. i is the index in the whole batch; x begins at the key's first sample. The gradient
/// is the same kernel, applied to dy.
struct dropout {
  double rate = 0;  ///< fraction of elements that become 0, in [0, 1)
  std::uint32_t stream = 0;

  static constexpr std::string_view name = "dropout";
  static constexpr std::size_t operands = 2;  // x, key
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& x, const tensor_spec& key) {
    require_elements("dropout", x, element::real);
    require_elements("dropout: key", key, element::index);
    require_same_shape("dropout: key", {step_key::words}, key.shape);
    return x;
  }
  [[nodiscard]] static double flops(const tensor_spec& x, const tensor_spec&) {
    return detail::count(x.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return {{batch_axis::rows, batch_axis::key}, {batch_axis::rows}};
  }
  friend bool operator==(const dropout&, const dropout&) = default;
};

/// The gradient passes the same mask: the kernel runs again with the same key.
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const dropout&) {
  return {.operands = 0b10};
}
template <class Call>
void add_gradients(const dropout& k, Call& call) {
  call.add(0, call.run(k, call.dy(), call.operand(1)));
}

}  // namespace glia::kernels
