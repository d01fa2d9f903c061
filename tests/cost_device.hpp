#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <glia/backends/device.hpp>
#include <glia/backends/shape_backend.hpp>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace test {

/// The cost of a computation, counted without running it.
struct cost_totals {
  double flops = 0;            ///< floating-point operations; a multiply-add counts as two
  double bytes_moved = 0;      ///< operands read and results written, each once per kernel
  std::size_t live_bytes = 0;  ///< bytes of the tensors that exist now
  std::size_t peak_bytes = 0;  ///< highest value of live_bytes so far
};

/// The backend of a `cost` device.
class cost_backend final : public glia::detail::shape_backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "cost"; }
  [[nodiscard]] std::size_t real_bytes() const override { return sizeof(float); }
  [[nodiscard]] glia::fused_kernel_set fused() const override {
    return glia::fused_kernel_set::of([]<class K>(const K*) {
      return std::same_as<K, glia::kernels::recurrence> ||
             std::same_as<K, glia::kernels::recurrence_gradient>;
    });
  }
  [[nodiscard]] const cost_totals& totals() const { return *totals_; }

  [[nodiscard]] std::shared_ptr<const std::size_t> start_section() const {
    section_ = std::make_shared<std::size_t>(0);
    return section_;
  }

  // As on other devices, a result takes the memory of an operand that has no other handle, if the
  // kernel allows it.
  void run(const glia::kernel_call& call) const override {
    std::array<glia::tensor_spec, glia::most_operands> operand_specs;
    double traffic = 0;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      operand_specs[i] = spec_of(call.operands[i]);
      traffic += static_cast<double>(size_of(operand_specs[i]));
    }
    const std::span<const glia::tensor_spec> specs =
        std::span(operand_specs).first(call.operands.size());
    std::array<glia::tensor_spec, glia::most_results> result_specs;
    call.type.specs(call.kernel, specs, std::span(result_specs).first(call.results.size()));
    const bool relabeled = call.type.relabels != nullptr && call.type.relabels(call.kernel, specs);
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      traffic += static_cast<double>(size_of(result_specs[i]));
      if (result_specs[i]) {
        const glia::tensor* const reused = call.reusable(i, result_specs[i]);
        call.results[i] = relabeled ? std::move(call.operands[0]).reshaped(result_specs[0].shape)
                          : reused != nullptr ? *reused
                                              : make(result_specs[i]);
      }
    }
    totals_->flops += call.type.flops(call.kernel, specs);
    totals_->bytes_moved += relabeled ? 0 : traffic;
  }

 private:
  [[nodiscard]] static std::size_t size_of(const glia::tensor_spec& s) {
    return s ? s.shape.size() * glia::bytes_of<float>(s.type) : 0;
  }
  [[nodiscard]] glia::tensor make(const glia::tensor_spec& s) const override {
    const std::size_t size = size_of(s);
    totals_->live_bytes += size;
    totals_->peak_bytes = std::max(totals_->peak_bytes, totals_->live_bytes);
    if (section_) {
      *section_ += size;
    }
    // The pointer's deleter subtracts the bytes from the counts again.
    const auto forget = [totals = totals_, of_section = section_, size](const void*) {
      totals->live_bytes -= size;
      if (of_section) {
        *of_section -= size;
      }
    };
    return glia::tensor::holding(std::shared_ptr<const void>(totals_.get(), forget), s);
  }

  std::shared_ptr<cost_totals> totals_ = std::make_shared<cost_totals>();
  mutable std::shared_ptr<std::size_t> section_;  // the current section, if there is one
};

/// A device that computes no numbers: its tensors are shapes, and its kernels count their
/// operations and bytes.
///
/// The counts are nominal (see `kernel`): use them for comparisons, not to predict times. Copies
/// share the counters. Do not use it from several threads at once.
class cost : public glia::device {
 public:
  /// Creates a device whose counts are zero.
  cost() : device(std::make_shared<const cost_backend>()) {}

  /// Returns the counts so far.
  [[nodiscard]] const cost_totals& totals() const { return backend().totals(); }
  /// Starts a section and returns its count: the bytes of all tensors that are created before the
  /// next call and still exist.
  [[nodiscard]] std::shared_ptr<const std::size_t> start_section() const {
    return backend().start_section();
  }

 private:
  [[nodiscard]] const cost_backend& backend() const {
    return static_cast<const cost_backend&>(implementation());
  }
};

}  // namespace test
