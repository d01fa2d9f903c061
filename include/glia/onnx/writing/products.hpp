#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/kernels/products.hpp"
#include "glia/onnx/writing/arrangement.hpp"
#include "glia/onnx/writing/elementwise.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

namespace detail {

/// Writes x as a matrix or a batch of matrices and returns its name. If `turned` is true, the last
/// two axes are swapped.
[[nodiscard]] inline std::string factor(const lowering& l, const value& x, bool turned) {
  axis_order order = plain_order(x.rank());
  if (turned) {
    std::swap(order[x.rank() - 1], order[x.rank() - 2]);
  }
  return l.out.use(l.out.arranged(x, order));
}
[[nodiscard]] inline values product(const lowering& l, transpose transposed) {
  return {l.result(l.out.call("MatMul", {factor(l, l.x[0], transposed == transpose::first),
                                         factor(l, l.x[1], transposed == transpose::second)}))};
}

/// Returns 8-bit weights (1, 1, I, O) as a matrix. Other programs expect the weights directly
/// before the product, without a reshape between them.
[[nodiscard]] inline std::string quantized_matrix(const lowering& l, const value& w) {
  constant matrix = *w.known;
  matrix.shape = {matrix.shape[2], matrix.shape[3]};
  return l.out.use(writer::constant_value(l.out.keep(std::move(matrix))));
}

[[nodiscard]] inline std::int64_t whole_number(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

inline void set_window(::onnx::NodeProto& node, const window2d& w, bool dilated = true) {
  const auto n = whole_number;
  writer::set(node, "kernel_shape", integers{n(w.height), n(w.width)});
  writer::set(node, "strides", integers{n(w.stride_height), n(w.stride_width)});
  writer::set(node, "pads", integers{n(w.pad_top), n(w.pad_left), n(w.pad_bottom), n(w.pad_right)});
  if (dilated) {
    writer::set(node, "dilations", integers{n(w.dilation_height), n(w.dilation_width)});
  }
}

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::matmul& k) {
  return detail::product(l, k.transposed_factor);
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::batched_matmul& k) {
  return detail::product(l, k.transposed_factor);
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::dense& k) {
  names operands{detail::factor(l, l.x[0], false), detail::factor(l, l.x[1], false)};
  if (l.x[2]) {
    operands.push_back(l.out.use(l.x[2]));
  }
  return {l.result(apply(l.out, k.map, l.out.call(l.x[2] ? "Gemm" : "MatMul", operands)))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::conv2d& k) {
  // A convolution with a 1x1 kernel is a matrix product.
  if (k.window == window2d{} && k.groups == 1 && l.x[0].order == plain_order(4) &&
      l.x[1].known != nullptr) {
    const extents& s = l.x[1].shape;
    const std::string matrix =
        l.x[1].known->scales.empty()
            ? l.out.call("Reshape", {l.out.use(l.x[1]), l.out.reshape_tensor({s[2], s[3]})})
            : detail::quantized_matrix(l, l.x[1]);
    std::string y = l.out.call("MatMul", {l.out.use(l.x[0]), matrix});
    if (l.x[2]) {
      y = l.out.call("Add", {y, l.out.use(l.x[2])});
    }
    return {l.result(apply(l.out, k.map, y))};
  }
  names operands{l.out.use(l.out.arranged(l.x[0], channels_first())),
                 l.out.use(l.out.arranged(l.x[1], {3, 2, 0, 1}))};
  if (l.x[2]) {
    operands.push_back(l.out.use(l.x[2]));
  }
  const std::string y = l.out.call("Conv", operands, [&](::onnx::NodeProto& node) {
    detail::set_window(node, k.window);
    writer::set(node, "group", detail::whole_number(k.groups));
  });
  return {l.result(apply(l.out, k.map, y), channels_first())};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::conv2d_input_gradient& k) {
  // In w (height, width, C / groups, O), O is the number of input channels of the operator, and C
  // is the number of its output channels.
  const names operands{l.out.use(l.out.arranged(l.x[0], channels_first())),
                       l.out.use(l.out.arranged(l.x[1], {3, 2, 0, 1}))};
  const window2d& w = k.window;
  const auto beyond = [](std::size_t extent, std::size_t steps, std::size_t window,
                         std::size_t stride, std::size_t dilation, std::size_t padding) {
    return detail::whole_number(extent + padding - ((window - 1) * dilation + 1) -
                                (steps - 1) * stride);
  };
  const extents& dy = l.x[0].shape;
  const std::int64_t bottom = beyond(k.image[0], dy[1].count, w.height, w.stride_height,
                                     w.dilation_height, w.pad_top + w.pad_bottom);
  const std::int64_t right = beyond(k.image[1], dy[2].count, w.width, w.stride_width,
                                    w.dilation_width, w.pad_left + w.pad_right);
  const std::string y = l.out.call("ConvTranspose", operands, [&](::onnx::NodeProto& node) {
    detail::set_window(node, w);
    writer::set(node, "group", detail::whole_number(k.groups));
    writer::set(node, "output_padding", integers{bottom, right});
  });
  return {l.result(y, channels_first())};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::max_pool2d& k) {
  const std::string x = l.out.use(l.out.arranged(l.x[0], channels_first()));
  const std::string y = l.out.call(
      "MaxPool", {x}, [&](::onnx::NodeProto& node) { detail::set_window(node, k.window); });
  return {l.result(y, channels_first()), value{}};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::avg_pool2d& k) {
  require<value_error>(
      k.window.dilation_height == 1 && k.window.dilation_width == 1, "onnx: the layer '", l.place,
      "' pools averages with dilated windows, which ONNX opset 17 does not support");
  const std::string x = l.out.use(l.out.arranged(l.x[0], channels_first()));
  const std::string y = l.out.call("AveragePool", {x}, [&](::onnx::NodeProto& node) {
    detail::set_window(node, k.window, false);
  });
  return {l.result(y, channels_first())};
}

}  // namespace glia::onnx
