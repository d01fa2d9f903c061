#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "glia/backends/backend.hpp"

namespace glia {

/// The cost of a computation, counted without running it.
struct cost_totals {
  double flops = 0;            ///< floating-point operations; a multiply-add counts as two
  double bytes_moved = 0;      ///< operands read and results written, each once per kernel
  std::size_t live_bytes = 0;  ///< bytes of the tensors that exist now
  std::size_t peak_bytes = 0;  ///< highest value of live_bytes so far
};

/// A device that computes no numbers: its tensors are shapes, and its kernels count their
/// operations and bytes.
///
/// The counts are nominal (see `kernel`): use them for comparisons, not to predict times. Copies
/// share the counters. Do not use it from several threads at once.
template <class T = float>
class cost {
 public:
  using value_type = T;

  /// A shape. Its bytes count as live as long as there is a handle.
  class tensor {
   public:
    tensor() = default;
    [[nodiscard]] const glia::shape& shape() const noexcept { return spec_.shape; }
    [[nodiscard]] element type() const noexcept { return spec_.type; }
    [[nodiscard]] explicit operator bool() const noexcept { return storage_ != nullptr; }

   private:
    friend class cost;
    tensor(const tensor_spec& s, std::shared_ptr<const void> storage)
        : spec_(s), storage_(std::move(storage)) {}
    tensor_spec spec_;
    std::shared_ptr<const void> storage_;
  };
  /// Creates a device whose counts are zero.
  cost() : totals_(std::make_shared<cost_totals>()), section_(std::make_shared<section>()) {}

  [[nodiscard]] std::string_view name() const { return "cost"; }
  /// Returns the counts so far.
  [[nodiscard]] const cost_totals& totals() const { return *totals_; }

  /// Starts a section and returns its count: the bytes of all tensors that are created before the
  /// next call and still exist.
  [[nodiscard]] std::shared_ptr<const std::size_t> start_section() const {
    *section_ = std::make_shared<std::size_t>(0);
    return *section_;
  }

  [[nodiscard]] tensor from_host(std::span<const float>, const shape& s) const {
    return make(real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const double>, const shape& s) const {
    return make(real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t>, const shape& s) const {
    return make({s, element::index});
  }
  /// Fills `out` with zeros, since there are no numbers to copy.
  template <class Number>
  void to_host(const tensor&, std::span<Number> out) const {
    std::fill(out.begin(), out.end(), Number{0});
  }

  /// Counts the cost of a kernel. As on other devices, a result takes the memory of an operand that
  /// has no other handle, if the kernel allows it.
  template <kernel K, std::same_as<tensor>... Operands>
  requires(sizeof...(Operands) == K::operands && (is_basic<K> || is_fused<K>))
      [[nodiscard]] results_t<K, tensor> run(const K& k, Operands... operands) const {
    const std::array<tensor_spec, K::results> specs = result_specs(k, spec_of(operands)...);
    const bool relabeled = relabels(k, spec_of(operands)...);
    totals_->flops += k.flops(spec_of(operands)...);
    totals_->bytes_moved += glia::bytes_moved<T>(k, spec_of(operands)...);
    std::array<tensor, K::operands> in{std::move(operands)...};
    std::array<tensor, K::results> out;
    for (std::size_t i = 0; i < K::results; ++i) {
      if (specs[i]) {
        out[i] = relabeled ? tensor(specs[i], in.front().storage_) : place_for<K>(i, specs[i], in);
      }
    }
    if constexpr (K::results == 1) {
      return std::move(out[0]);
    } else {
      return out;
    }
  }

 private:
  template <class K>
  [[nodiscard]] tensor place_for(std::size_t result, const tensor_spec& spec,
                                 const std::array<tensor, K::operands>& in) const {
    for (std::size_t choice = 0; overwritten_by<K>(result, choice) < K::operands; ++choice) {
      const tensor& operand = in[overwritten_by<K>(result, choice)];
      if (operand.storage_.use_count() == 1 && operand.spec_ == spec) {
        return operand;
      }
    }
    return make(spec);
  }

  [[nodiscard]] tensor make(const tensor_spec& s) const {
    const std::size_t size = s.shape.size() * bytes_of<T>(s.type);
    totals_->live_bytes += size;
    totals_->peak_bytes = std::max(totals_->peak_bytes, totals_->live_bytes);
    const section of_section = *section_;
    if (of_section) {
      *of_section += size;
    }
    // The pointer's deleter subtracts the bytes from the counts again.
    const auto forget = [totals = totals_, of_section, size](const void*) {
      totals->live_bytes -= size;
      if (of_section) {
        *of_section -= size;
      }
    };
    return tensor(s, std::shared_ptr<const void>(totals_.get(), forget));
  }

  using section = std::shared_ptr<std::size_t>;
  std::shared_ptr<cost_totals> totals_;
  std::shared_ptr<section> section_;  // the current section, if there is one
};

static_assert(backend<cost<float>>);

}  // namespace glia
