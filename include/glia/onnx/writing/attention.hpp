#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "glia/kernels/attention.hpp"
#include "glia/onnx/writing/arrangement.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

namespace detail {

/// Writes steps (N, T, H C) as (N, H, T, C) or, with `transposed`, as (N, H, C, T). Returns the
/// name.
[[nodiscard]] inline std::string by_head(const lowering& l, const value& x, std::size_t num_heads,
                                         bool transposed) {
  const extents& s = x.shape;
  const std::string parts =
      reshaped(l, x, {s[0], s[1], {num_heads, false}, {s[2].count / num_heads, false}});
  return l.out.call("Transpose", {parts}, [&](::onnx::NodeProto& node) {
    writer::set(node, "perm", transposed ? integers{0, 2, 3, 1} : integers{0, 2, 1, 3});
  });
}

/// Writes a matrix (T, T) of 0 up to the diagonal and minus infinity after it. Returns the name.
[[nodiscard]] inline std::string causal_mask(writer& w, std::size_t steps) {
  const auto extent = static_cast<std::int64_t>(steps);
  const std::string infinities = w.call(
      "Expand", {w.number(-std::numeric_limits<double>::infinity()), w.whole({extent, extent})});
  return w.call("Trilu", {infinities, w.whole({1}, false)},
                [](::onnx::NodeProto& node) { writer::set(node, "upper", std::int64_t{1}); });
}

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::attention& k) {
  writer& w = l.out;
  const std::size_t steps = l.x[1].shape[1].count;
  const std::size_t channels = l.x[0].shape[2].count / k.num_heads;
  const std::string queries =
      w.call("Mul", {detail::by_head(l, l.x[0], k.num_heads, false),
                     w.number(1 / std::sqrt(static_cast<double>(channels)))});
  std::string scores = w.call("MatMul", {queries, detail::by_head(l, l.x[1], k.num_heads, true)});
  if (k.causal) {
    scores = w.call("Add", {scores, detail::causal_mask(w, steps)});
  }
  const std::string weights = w.call("Softmax", {scores}, [](::onnx::NodeProto& node) {
    writer::set(node, "axis", std::int64_t{-1});
  });
  const std::string attended =
      w.call("MatMul", {weights, detail::by_head(l, l.x[2], k.num_heads, false)});
  const std::string by_step = w.call("Transpose", {attended}, [](::onnx::NodeProto& node) {
    writer::set(node, "perm", integers{0, 2, 1, 3});
  });
  return {l.result(w.call("Reshape", {by_step, w.reshape_tensor(l.results[0])})), value{}};
}

}  // namespace glia::onnx
