#pragma once

#include <cstdint>
#include <string_view>

#include "glia/core/random.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia::kernels {

/// Adds `deviation` times normal_of(random_bits(key, i)) to element i of the batch. i is the index
/// in the whole batch; x begins at the key's first sample.
struct gaussian_noise {
  double deviation = 0;  ///< standard deviation, at least 0
  std::uint32_t stream = 0;

  static constexpr std::string_view name = "gaussian_noise";
  static constexpr std::size_t operands = 2;  // x, key
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& x, const tensor_spec& key) {
    require_elements("gaussian_noise", x, element::real);
    require_elements("gaussian_noise: key", key, element::index);
    require_same_shape("gaussian_noise: key", {step_key::words}, key.shape);
    return x;
  }
  [[nodiscard]] static double flops(const tensor_spec& x, const tensor_spec&) {
    return 2 * detail::count(x.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return {{batch_axis::rows, batch_axis::key}, {batch_axis::rows}};
  }
  friend bool operator==(const gaussian_noise&, const gaussian_noise&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const gaussian_noise&) { return {}; }
template <class Call>
void add_gradients(const gaussian_noise&, Call& call) {
  call.add(0, call.dy());
}

}  // namespace glia::kernels
