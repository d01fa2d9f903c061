#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "glia/core/shape.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/tensor.hpp"

namespace glia {

struct kernel_type;

/// One kernel call in the backward pass: the tensors that the derivative of the kernel reads, and
/// where it adds the gradients of the operands. See `differentiable`.
class gradient_call {
 public:
  gradient_call(const gradient_call&) = delete;
  gradient_call& operator=(const gradient_call&) = delete;

  /// Moves the gradient of the first result out. A second call returns an empty tensor.
  [[nodiscard]] tensor dy() { return std::exchange(dy_, tensor{}); }
  /// Returns whether an operand needs a gradient.
  [[nodiscard]] bool wants(std::size_t operand) const {
    return (wanted_operands_ >> operand & 1U) != 0;
  }
  /// Adds a gradient of an operand. It is ignored if the operand needs none.
  virtual void add(std::size_t operand, tensor&& gradient) = 0;

  /// Returns the shape of an operand. An omitted operand has the shape ().
  [[nodiscard]] const shape& shape_of(std::size_t operand) const {
    return operands_[operand].shape();
  }
  /// Returns an operand or a result that the derivative reads.
  [[nodiscard]] const tensor& operand(std::size_t i) const { return operands_[i]; }
  [[nodiscard]] const tensor& result(std::size_t i) const { return results_[i]; }
  /// Moves an operand or a result out, so that a kernel can reuse its memory.
  [[nodiscard]] tensor take_operand(std::size_t i) { return std::move(operands_[i]); }
  [[nodiscard]] tensor take_result(std::size_t i) { return std::move(results_[i]); }
  /// Returns an empty tensor, for an operand that is omitted.
  [[nodiscard]] static tensor omitted_operand() { return {}; }

  /// Runs a kernel, or records it.
  template <kernel K, class... Operands>
  [[nodiscard]] results_t<K, tensor> run(const K& k, Operands&&... operands) const;

 protected:
  gradient_call(tensor dy, tensor* operands, tensor* results, unsigned wanted_operands)
      : dy_(std::move(dy)),
        operands_(operands),
        results_(results),
        wanted_operands_(wanted_operands) {}
  ~gradient_call() = default;

  virtual void run_kernel(const kernel_type& type, const void* kernel, std::span<tensor> operands,
                          std::span<tensor> results) const = 0;

 private:
  tensor dy_;
  tensor* operands_;
  tensor* results_;
  unsigned wanted_operands_;  // bit i: operand i needs a gradient
};

}  // namespace glia
