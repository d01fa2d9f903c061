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
  explicit forwarding_backend(glia::device target) : target_(std::move(target)) {}

  [[nodiscard]] std::string_view name() const override { return target_.name(); }
  [[nodiscard]] std::size_t real_bytes() const override { return target_.real_bytes(); }
  [[nodiscard]] glia::tensor from_host(std::span<const float> values,
                                       const glia::shape& s) const override {
    return target_.from_host(values, s);
  }
  [[nodiscard]] glia::tensor from_host(std::span<const double> values,
                                       const glia::shape& s) const override {
    return target_.from_host(values, s);
  }
  [[nodiscard]] glia::tensor from_host(std::span<const std::int32_t> values,
                                       const glia::shape& s) const override {
    return target_.from_host(values, s);
  }
  void to_host(const glia::tensor& x, std::span<float> destination) const override {
    target_.to_host(x, destination);
  }
  void to_host(const glia::tensor& x, std::span<double> destination) const override {
    target_.to_host(x, destination);
  }
  void to_host(const glia::tensor& x, std::span<std::int32_t> destination) const override {
    target_.to_host(x, destination);
  }
  void run(const glia::kernel_call& call) const override { target_.implementation().run(call); }
  [[nodiscard]] glia::fused_kernel_set fused() const override { return target_.fused(); }

 private:
  glia::device target_;
};

}  // namespace test
