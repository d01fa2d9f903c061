#pragma once

#include <string>

#include "glia/core/error.hpp"
#include "glia/graph/any_kernel.hpp"
#include "glia/onnx/writing/arrangement.hpp"
#include "glia/onnx/writing/attention.hpp"
#include "glia/onnx/writing/classification.hpp"
#include "glia/onnx/writing/elementwise.hpp"
#include "glia/onnx/writing/products.hpp"
#include "glia/onnx/writing/quantization.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// The inference kernels that have counterparts in ONNX, except recurrences.
using inferring_kernels =
    kernel_list<kernels::full, kernels::reshape, kernels::broadcast_to, kernels::sum_to,
                kernels::concat, kernels::slice, kernels::pad, kernels::permute_axes,
                kernels::to_index, kernels::gather, kernels::unary, kernels::binary,
                kernels::select, kernels::matmul, kernels::batched_matmul, kernels::dense,
                kernels::conv2d, kernels::conv2d_input_gradient, kernels::max_pool2d,
                kernels::avg_pool2d, kernels::normalize, kernels::softmax, kernels::one_hot,
                kernels::attention, kernels::fake_quantize>;

/// Writes the operators of a kernel. Throws `value_error`, with the kernel's name, if the kernel
/// has no counterpart in ONNX.
[[nodiscard]] inline values lower_any(const lowering& l, const any_kernel& kernel) {
  values results;
  const bool known =
      visit_kernel(kernel, inferring_kernels{}, [&](const auto& k) { results = lower(l, k); });
  require<value_error>(known, "onnx: '", std::string(kernel.name()), "', in the layer '", l.place,
                       "', has no counterpart in ONNX; remove that layer, or compose "
                       "it of other operations");
  return results;
}

}  // namespace glia::onnx
