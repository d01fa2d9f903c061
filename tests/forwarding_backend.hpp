#pragma once

#include <cstddef>
#include <cstdint>
#include <glia/backends/device.hpp>
#include <glia/backends/host_tensor.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace test {

/// A backend that passes everything to a device in host memory. Tests override what they look at.
class forwarding_backend : public glia::backend {
 public:
  explicit forwarding_backend(glia::device to) : to_(std::move(to)) {}

  [[nodiscard]] std::string_view name() const override { return to_.name(); }
  [[nodiscard]] std::size_t real_bytes() const override { return to_.real_bytes(); }
  [[nodiscard]] glia::tensor from_host(std::span<const float> values,
                                       const glia::shape& s) const override {
    return to_.from_host(values, s);
  }
  [[nodiscard]] glia::tensor from_host(std::span<const double> values,
                                       const glia::shape& s) const override {
    return to_.from_host(values, s);
  }
  [[nodiscard]] glia::tensor from_host(std::span<const std::int32_t> values,
                                       const glia::shape& s) const override {
    return to_.from_host(values, s);
  }
  void to_host(const glia::tensor& x, std::span<float> to) const override { to_.to_host(x, to); }
  void to_host(const glia::tensor& x, std::span<double> to) const override { to_.to_host(x, to); }
  void to_host(const glia::tensor& x, std::span<std::int32_t> to) const override {
    to_.to_host(x, to);
  }
  void run(const glia::kernel_call& call) const override { to_.implementation().run(call); }
  [[nodiscard]] glia::fused_kernel_set fused() const override { return to_.fused(); }

 private:
  glia::device to_;
};

}  // namespace test
