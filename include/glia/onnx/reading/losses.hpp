#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/classes.hpp"

// Losses that a file computes itself, for known class labels.
namespace glia::onnx::reading {

/// Computes -w[class] x[class] for each position of x (N, C, ...), where axis 1 contains the
/// classes. The attribute `reduction` selects the result: all values, their sum, or their sum
/// divided by the sum of the weights.
inline void negative_log_likelihood(operation& n, const tensor& x) {
  const numbers classes = n.known(1);
  const std::string reduction = n.word("reduction", "mean");
  const std::int64_t ignored = n.integer("ignore_index", std::numeric_limits<std::int64_t>::min());
  require<data_error>(x.rank() >= 2, "expected (N, C, ...), got ", words(x.extents));
  dims positions = x.extents;
  positions.erase(positions.begin() + 1);
  const std::size_t count = x.extents[1];
  require<data_error>(classes.extents == positions, "has classes of shape ", words(classes.extents),
                      " for outputs of shape ", words(x.extents));
  require_few(x.extents);
  std::vector<double> mask(x.size(), 0);
  std::size_t position = 0;
  for (const std::int64_t label : classes.integers()) {
    if (label != ignored) {
      require<data_error>(label >= 0 && label < static_cast<std::int64_t>(count), "has the class ",
                          label, "; expected a number below ", count);
      mask[position * count + static_cast<std::size_t>(label)] = 1;
    }
    ++position;
  }
  axis_order order;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != 1) {
      order.push_back(axis);
    }
  }
  order.push_back(1);
  graph_builder& out = n.out;
  const value_id rows = out.stored_as(x, order);
  const shape s = out.shape_of_value(rows);
  const value_id is_class = out.constant(s, std::move(mask));
  const value_id weights = n.has(2) ? out.multiply(is_class, out.plain(n.x[2])) : is_class;
  const value_id weighted = n.has(2) ? out.multiply(rows, out.plain(n.x[2])) : rows;
  const value_id chosen = out.call(kernels::select{}, {is_class, weighted, out.constant({}, {0})});
  if (reduction == "none") {
    const value_id losses = out.sum_to(chosen, [&] {
      shape row_shape = without_last_axis(s);
      row_shape.push_back(1);
      return row_shape;
    }());
    return n.give(out.computed(out.reshape(out.affine(losses, -1, 0), shape_of(positions))));
  }
  require<data_error>(reduction == "sum" || reduction == "mean", "has the unsupported reduction '",
                      reduction, "'");
  value_id loss = out.affine(out.sum_to(chosen, {}), -1, 0);
  if (reduction == "mean") {
    loss = out.divide(loss, out.sum_to(weights, {}));
  }
  n.give(out.computed(loss));
}

inline void negative_log_likelihood_loss(operation& n) {
  negative_log_likelihood(n, in_graph(n.out, n.operand(0)));
}

inline void softmax_cross_entropy_loss(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  require<data_error>(x.rank() >= 2 && x.size() > 0, "expected (N, C, ...), got ",
                      words(x.extents));
  const tensor logarithms = logarithm_of_softmax(n.out, x, 1);
  n.give(logarithms, 1);
  negative_log_likelihood(n, logarithms);
}

}  // namespace glia::onnx::reading
