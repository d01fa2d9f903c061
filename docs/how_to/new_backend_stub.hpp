#pragma once

#include <glia/backends/reference.hpp>

// A backend to start from: copy it, then replace one kernel after the other. The stub passes every
// kernel to the reference backend, so it is correct from the first day. The comments say what your
// device does instead.

namespace my {

/// A backend without kernels of its own.
class stub_backend : public glia::backend {
 public:
  std::string_view name() const override { return "stub"; }
  // The bytes of the numbers with which the device computes: 4 for float, 8 for double.
  std::size_t real_bytes() const override { return sizeof(float); }

  // --- copies: the only place where host memory and device meet ---

  // Enqueue the transfer. The caller may free `values` after the call, so copy them first. Your
  // tensors refer to your own buffers: glia::tensor::holding(buffer, {s, glia::element::real}).
  glia::tensor from_host(std::span<const float> values, const glia::shape& s) const override {
    return host_.from_host(values, s);
  }
  glia::tensor from_host(std::span<const double> values, const glia::shape& s) const override {
    return host_.from_host(values, s);
  }
  glia::tensor from_host(std::span<const std::int32_t> values,
                         const glia::shape& s) const override {
    return host_.from_host(values, s);
  }
  // The only functions that wait for results. All others may return before their work is done.
  void to_host(const glia::tensor& x, std::span<float> destination) const override {
    host_.to_host(x, destination);
  }
  void to_host(const glia::tensor& x, std::span<double> destination) const override {
    host_.to_host(x, destination);
  }
  void to_host(const glia::tensor& x, std::span<std::int32_t> destination) const override {
    host_.to_host(x, destination);
  }

  // --- kernels ---

  void run(const glia::kernel_call& call) const override {
    if (const auto* k = call.as<glia::kernels::softmax>()) {
      run(*k, call);
    } else {
      host_.implementation().run(call);  // all kernels that are not written yet
    }
  }

 private:
  // One kernel. `result_specs` checks the shapes of the operands and returns those of the results.
  // A kernel may overwrite an operand whose handle is the last one.
  void run(const glia::kernels::softmax& k, const glia::kernel_call& call) const {
    [[maybe_unused]] const auto [y] = glia::result_specs(k, glia::spec_of(call.operands[0]));
    host_.implementation().run(call);  // launch your kernel here: one row of y.shape at a time
  }

  glia::reference<float> host_;
};

/// The device: a handle to the backend.
inline glia::device stub() { return glia::device(std::make_shared<const stub_backend>()); }

}  // namespace my
