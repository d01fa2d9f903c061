#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "glia/backends/backend.hpp"

namespace glia::detail {

/// A backend that computes no numbers: its tensors have only a shape and an element type, and every
/// number that is read from them is 0. A derived class makes the tensors.
class shape_backend : public backend {
 public:
  [[nodiscard]] tensor from_host(std::span<const float>, const shape& s) const final {
    return make(real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const double>, const shape& s) const final {
    return make(real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t>, const shape& s) const final {
    return make({s, element::index});
  }
  void to_host(const tensor&, std::span<float> destination) const final {
    std::fill(destination.begin(), destination.end(), 0.0F);
  }
  void to_host(const tensor&, std::span<double> destination) const final {
    std::fill(destination.begin(), destination.end(), 0.0);
  }
  void to_host(const tensor&, std::span<std::int32_t> destination) const final {
    std::fill(destination.begin(), destination.end(), 0);
  }

 protected:
  /// Makes a tensor without numbers.
  [[nodiscard]] virtual tensor make(const tensor_spec& spec) const = 0;
};

}  // namespace glia::detail
