#pragma once

#include <string>
#include <type_traits>

#include "glia/core/error.hpp"
#include "glia/graph/any_kernel.hpp"
#include "glia/onnx/arrangement.hpp"
#include "glia/onnx/classification.hpp"
#include "glia/onnx/elementwise.hpp"
#include "glia/onnx/products.hpp"
#include "glia/onnx/writer.hpp"

namespace glia::onnx {

/// The kernels of inference that have counterparts, but for recurrences.
using inferring_kernels =
    kernel_list<kernels::full, kernels::reshape, kernels::broadcast_to, kernels::sum_to,
                kernels::concat, kernels::slice, kernels::pad, kernels::permute_axes,
                kernels::to_index, kernels::gather, kernels::unary, kernels::binary,
                kernels::select, kernels::matmul, kernels::batched_matmul, kernels::dense,
                kernels::conv2d, kernels::conv2d_input_gradient, kernels::max_pool2d,
                kernels::avg_pool2d, kernels::normalize, kernels::softmax, kernels::one_hot>;

/// The operations of a kernel of any of these types. Throws `value_error` for others, by name.
template <class... Kernels>
[[nodiscard]] values lower_any(const lowering& l, const any_kernel& kernel,
                               kernel_list<Kernels...>) {
  values results;
  const auto tried = [&]<class K>(std::type_identity<K>) {
    const K* const k = kernel.as<K>();
    if (k != nullptr) {
      results = lower(l, *k);
    }
    return k != nullptr;
  };
  require<value_error>((tried(std::type_identity<Kernels>{}) || ...), "onnx: '",
                       std::string(kernel.name()), "', in the layer '", l.place,
                       "', has no counterpart in the file format; leave that layer out, or compose "
                       "it of other operations");
  return results;
}

}  // namespace glia::onnx
