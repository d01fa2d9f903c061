#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "glia/core/error.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// Returns the index that glia's axis `axis` has in the file.
[[nodiscard]] inline std::int64_t file_axis(const value& x, std::size_t axis) {
  return std::find(x.order.begin(), x.order.end(), axis) - x.order.begin();
}

/// Returns whether axes with extents above 1 are in glia's order.
[[nodiscard]] inline bool lies_plain(const value& x) {
  std::size_t last = 0;
  for (const std::size_t axis : x.order) {
    if (x.shape[axis] == extent{1, false}) {
      continue;
    }
    if (axis < last) {
      return false;
    }
    last = axis;
  }
  return true;
}

[[nodiscard]] inline std::string reshaped(const lowering& l, const value& x,
                                          const extents& new_shape) {
  const std::string input = lies_plain(x) ? l.out.use(x) : l.out.use(l.out.plain(x));
  return l.out.call("Reshape", {input, l.out.reshape_tensor(new_shape)});
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::full& k) {
  return {
      l.result(l.out.call("Expand", {l.out.number(k.value), l.out.shape_tensor(l.results[0])}))};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::reshape&) {
  return {l.result(reshaped(l, l.x[0], l.results[0]))};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::broadcast_to&) {
  return {l.result(
      l.out.call("Expand", {l.out.use(l.out.plain(l.x[0])), l.out.shape_tensor(l.results[0])}))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::sum_to&) {
  const value& x = l.x[0];
  const extents& target = l.results[0];
  const std::size_t missing = x.rank() - target.size();
  value summed{"", x.shape, x.order};
  integers axes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (axis < missing || target[axis - missing] != x.shape[axis]) {
      axes.push_back(file_axis(x, axis));
      summed.shape[axis] = {1, false};
    }
  }
  if (axes.empty()) {
    return {x};
  }
  std::sort(axes.begin(), axes.end());
  summed.name = l.out.call("ReduceSum", {l.out.use(x), l.out.whole(axes)});
  if (missing == 0) {
    return {summed};
  }
  return {l.result(reshaped(l, summed, target))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::concat& k) {
  const auto computed =
      std::find_if(l.x.begin(), l.x.end(), [](const value& x) { return x && x.known == nullptr; });
  const axis_order order =
      computed == l.x.end() ? plain_order(l.results[0].size()) : computed->order;
  names parts;
  for (const value& x : l.x) {
    if (x) {
      parts.push_back(l.out.use(l.out.arranged(x, order)));
    }
  }
  const value result = l.result("", order);
  const std::int64_t axis = file_axis(result, k.axis);
  return {l.result(l.out.call("Concat", parts,
                              [&](::onnx::NodeProto& node) { writer::set(node, "axis", axis); }),
                   order)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::slice& k) {
  const value& x = l.x[0];
  const auto begin = static_cast<std::int64_t>(k.begin);
  const auto end = static_cast<std::int64_t>(k.begin + k.extent);
  return {l.result(l.out.call("Slice", {l.out.use(x), l.out.whole({begin}), l.out.whole({end}),
                                        l.out.whole({file_axis(x, k.axis)})}),
                   x.order)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::pad& k) {
  const value& x = l.x[0];
  integers sizes(2 * x.rank(), 0);
  const auto axis = static_cast<std::size_t>(file_axis(x, k.axis));
  sizes[axis] = static_cast<std::int64_t>(k.before);
  sizes[axis + x.rank()] = static_cast<std::int64_t>(k.after);
  return {l.result(l.out.call("Pad", {l.out.use(x), l.out.whole(sizes), l.out.number(k.value)}),
                   x.order)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::permute_axes& k) {
  // No operator is written: only the order of the axes changes.
  value result = l.x[0];
  const auto positions = k.inverse().order;
  for (std::size_t& axis : result.order) {
    axis = positions[axis];
  }
  result.shape = l.results[0];
  if (result.known != nullptr) {
    return {l.result(l.out.call("Identity", {l.out.use(l.x[0])}), result.order)};
  }
  return {result};
}

}  // namespace glia::onnx
