#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/products.hpp"
#include "glia/onnx/reading/reductions.hpp"

// Operations along one axis, which usually contains classes.
namespace glia::onnx::reading {

/// A tensor in which one axis of the file is the last axis in memory.
struct classes_last {
  value_id x;
  axis_order order;

  classes_last(graph_builder& out, const tensor& t, std::size_t axis) : order(memory_order(t)) {
    order.erase(std::find(order.begin(), order.end(), axis));
    order.push_back(axis);
    x = out.stored_as(t, order);
  }
};

/// Returns operand 0 with one axis to work on, and sets `axis` to it. Up to opset 12, softmax and
/// similar operations work on all axes from `axis` on. These axes are joined to one.
[[nodiscard]] inline tensor single_axis_operand(operation& n, std::size_t& axis) {
  const tensor& x = n.operand(0);
  require<data_error>(x.rank() > 0, "expected a tensor with at least one axis, got a number");
  axis = axis_in(n.integer("axis", n.opset < 13 ? 1 : -1), x.rank());
  if (n.opset >= 13 || axis + 1 >= x.rank()) {
    return x;
  }
  const auto middle = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
  dims extents(x.extents.begin(), middle);
  extents.push_back(count_of({middle, x.extents.end()}));
  return reshaped(n.out, x, extents);
}

inline void softmax(operation& n) {
  std::size_t axis = 0;
  const tensor x = single_axis_operand(n, axis);
  const classes_last rows(n.out, x, axis);
  const tensor y = n.out.computed(n.out.call(kernels::softmax{}, {rows.x}), rows.order, x.type);
  n.give(reshaped(n.out, y, n.x[0].extents));
}
inline void log_softmax(operation& n) {
  std::size_t axis = 0;
  const tensor x = in_graph(n.out, single_axis_operand(n, axis));
  n.give(reshaped(n.out, logarithm_of_softmax(n.out, x, axis), n.x[0].extents));
}

/// Returns the index of the class with the largest or smallest number in each row.
template <bool Largest>
void arg_extremum(operation& n) {
  const tensor& input = n.operand(0);
  const std::size_t axis = axis_in(n.integer("axis", 0), input.rank());
  const bool last = n.integer("select_last_index", 0) != 0;
  const bool keep = n.integer("keepdims", 1) != 0;
  tensor x = in_graph(n.out, input);
  require<data_error>(x.size() > 0 && x.extents[axis] <= numbers::max_size,
                      "searches the largest of too many elements: ", words(x.extents));
  if (!Largest) {
    x.id = n.out.affine(x.id, -1, 0);
  }
  const std::size_t count = x.extents[axis];
  if (last && count > 1) {
    std::vector<std::size_t> backwards = plain_order(count);
    std::reverse(backwards.begin(), backwards.end());
    x = picked(n.out, x, axis, backwards);
  }
  const classes_last rows(n.out, x, axis);
  const shape s = n.out.shape_of_value(rows.x);
  const value_id index = n.out.call(kernels::argmax{}, {rows.x});
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(last ? count - 1 - i : i));
  }
  const value_id number =
      n.out.call(kernels::dense{}, {n.out.call(kernels::one_hot{count, 1, 0}, {index}),
                                    n.out.constant({count, 1}, std::move(values)), no_value});
  shape result_shape = without_last_axis(s);
  result_shape.push_back(1);
  tensor y =
      n.out.computed(n.out.reshape(number, result_shape), rows.order, ::onnx::TensorProto::INT64);
  if (!keep) {
    y = without_axes(n.out, y, {{axis}});
  }
  n.give(std::move(y));
}

inline void hardmax(operation& n) {
  std::size_t axis = 0;
  const tensor x = in_graph(n.out, single_axis_operand(n, axis));
  const classes_last rows(n.out, x, axis);
  const shape s = n.out.shape_of_value(rows.x);
  const value_id mask =
      n.out.call(kernels::one_hot{s.back(), 1, 0}, {n.out.call(kernels::argmax{}, {rows.x})});
  const tensor y = n.out.computed(n.out.reshape(mask, s), rows.order, x.type);
  n.give(reshaped(n.out, y, n.x[0].extents));
}

/// Shifts x along its last axis by a number of positions, toward the end or the beginning. Fills
/// the free positions with zeros.
inline value_id shifted(graph_builder& out, value_id x, bool to_end, std::size_t places) {
  const shape s = out.shape_of_value(x);
  const std::size_t axis = s.rank() - 1;
  const value_id padded =
      out.call(kernels::pad{axis, to_end ? places : 0, to_end ? 0 : places, 0}, {x});
  return out.slice(padded, axis, to_end ? 0 : places, s.back());
}

/// Computes cumulative sums along an axis. Each step adds the array to itself, shifted by 1, 2, 4,
/// ... positions. A product with a triangular matrix of ones would give NaN for infinity times
/// zero.
inline void cumsum(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t axis = axis_in(n.known_integer(1, 0), x.rank());
  const bool to_end = n.integer("reverse", 0) == 0;
  const classes_last rows(n.out, x, axis);
  value_id y = n.integer("exclusive", 0) != 0 ? shifted(n.out, rows.x, to_end, 1) : rows.x;
  for (std::size_t summed = 1; summed < x.extents[axis]; summed *= 2) {
    y = n.out.add(y, shifted(n.out, y, to_end, summed));
  }
  n.give(n.out.computed(y, rows.order, x.type));
}

}  // namespace glia::onnx::reading
