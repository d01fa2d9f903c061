#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/onnx/reading/alignment.hpp"
#include "glia/onnx/reading/parts.hpp"

// Reductions along axes.
namespace glia::onnx::reading {

/// The axes to reduce, in ascending order, and whether they are kept with extent 1.
struct reduced_axes {
  std::vector<std::size_t> axes;
  bool keep = true;
  bool nothing = false;  ///< True if no axis is reduced: the tensor stays unchanged.

  [[nodiscard]] bool has(std::size_t axis) const {
    return std::binary_search(axes.begin(), axes.end(), axis);
  }
};

/// Returns the axes of a node.
[[nodiscard]] inline reduced_axes axes_of(const operation& n) {
  const std::size_t rank = n.operand(0).rank();
  reduced_axes result{{}, n.integer("keepdims", 1) != 0};
  const auto listed_axes = n.integers("axes", 1);
  if (listed_axes && !listed_axes->empty()) {
    result.axes = axes_from(*listed_axes, rank);
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    result.nothing = true;
  } else {
    result.axes = plain_order(rank);
  }
  return result;
}

/// Returns how many elements of x are reduced to one element.
[[nodiscard]] inline double reduced_count(const tensor& x, const reduced_axes& reduced) {
  double count = 1;
  for (const std::size_t axis : reduced.axes) {
    count *= static_cast<double>(x.extents[axis]);
  }
  return count;
}

/// Removes these axes, which have extent 1 after the reduction.
[[nodiscard]] inline tensor without_axes(graph_builder& out, const tensor& t,
                                         const reduced_axes& reduced) {
  tensor result = t;
  result.extents.clear();
  result.axes.clear();
  std::vector<bool> removed(t.stored.size(), false);
  for (const std::size_t axis : reduced.axes) {
    for (const std::size_t place : t.axes[axis]) {
      removed[place] = true;
    }
  }
  std::vector<std::size_t> new_places(t.stored.size(), 0);
  shape stored;
  for (std::size_t place = 0; place < removed.size(); ++place) {
    new_places[place] = stored.rank();
    if (!removed[place]) {
      stored.push_back(t.stored[place]);
    }
  }
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (reduced.has(axis)) {
      continue;
    }
    result.extents.push_back(t.extents[axis]);
    auto& places = result.axes.emplace_back();
    for (const std::size_t place : t.axes[axis]) {
      places.push_back(new_places[place]);
    }
  }
  result.stored = dims_of(stored);
  result.id = out.reshape(t.id, stored, new_places);
  return result;
}

/// Returns the sums over axes, which get extent 1.
[[nodiscard]] inline tensor summed(graph_builder& out, tensor t, const reduced_axes& reduced) {
  for (const std::size_t axis : reduced.axes) {
    for (const std::size_t place : t.axes[axis]) {
      t.stored[place] = 1;
    }
    t.extents[axis] = 1;
  }
  t.id = out.sum_to(t.id, shape_of(t.stored));
  return t;
}

/// Returns the largest elements along axes, which get extent 1. Uses max-pooling with a window that
/// covers the axes.
[[nodiscard]] inline tensor largest(graph_builder& out, const tensor& t,
                                    const reduced_axes& reduced) {
  axis_order order;
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (!reduced.has(axis)) {
      order.push_back(axis);
    }
  }
  const std::size_t remaining = order.size();
  order.insert(order.end(), reduced.axes.begin(), reduced.axes.end());
  const value_id x = out.stored_as(t, order);
  const auto count = static_cast<std::size_t>(reduced_count(t, reduced));
  require<data_error>(t.size() > 0, "searches the largest of no elements");
  // Samples stay independent if the first axis is the batch axis and is kept.
  const std::size_t first = remaining > 0 ? t.extents[order[0]] : 1;
  const std::size_t rest = t.size() / count / first;
  const value_id images = out.reshape(x, {first, rest, count, 1});
  window2d window;
  window.width = count;
  const value_id y = out.call(kernels::max_pool2d{window}, {images});
  shape result_shape;
  for (std::size_t i = 0; i < order.size(); ++i) {
    result_shape.push_back(i < remaining ? t.extents[order[i]] : 1);
  }
  return out.computed(out.reshape(y, result_shape), order, t.type);
}

inline void give_reduced(operation& n, const tensor& t, const reduced_axes& reduced) {
  n.give(reduced.keep ? t : without_axes(n.out, t, reduced));
}
/// If x has no elements, sets all results of the reduction to `number` and returns true.
[[nodiscard]] inline bool gives_for_empty(operation& n, const reduced_axes& reduced,
                                          double number) {
  const tensor& x = n.operand(0);
  if (x.size() > 0 || reduced.nothing) {
    return false;
  }
  dims extents;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (!reduced.has(axis) || reduced.keep) {
      extents.push_back(reduced.has(axis) ? 1 : x.extents[axis]);
    }
  }
  n.give(known_tensor(broadcast_to(real_numbers({number}, {}, x.type), extents)));
  return true;
}

/// Computes finish(sum(prepare(x)), count), where `count` is the number of elements of each sum.
template <class Prepare, class Finish>
void reduce_sum_of(operation& n, const Prepare& prepare, const Finish& finish) {
  const reduced_axes reduced = axes_of(n);
  tensor x = in_graph(n.out, n.operand(0));
  const double count = reduced_count(x, reduced);
  const bool real = is_real(x.type);
  x.id = prepare(x.id);
  if (reduced.nothing) {
    x.id = finish(x.id, 1.0);
    return n.give(std::move(x));
  }
  tensor y = summed(n.out, std::move(x), reduced);
  const value_id sum = y.id;
  y.id = finish(y.id, count);
  if (!real && y.id != sum) {  // integers are divided with truncation
    y.id = truncated(n.out, y.id);
  }
  give_reduced(n, y, reduced);
}

inline void reduce_sum(operation& n) {
  reduce_sum_of(
      n, [](value_id x) { return x; }, [](value_id y, double) { return y; });
}
inline void reduce_mean(operation& n) {
  reduce_sum_of(
      n, [](value_id x) { return x; },
      [&](value_id y, double count) { return n.out.affine(y, 1 / count, 0); });
}
inline void reduce_l1(operation& n) {
  reduce_sum_of(
      n, [&](value_id x) { return n.out.apply(unary_function::abs, x); },
      [](value_id y, double) { return y; });
}
inline void reduce_l2(operation& n) {
  reduce_sum_of(
      n, [&](value_id x) { return n.out.apply(unary_function::square, x); },
      [&](value_id y, double) { return n.out.apply(unary_function::sqrt, y); });
}
inline void reduce_sum_square(operation& n) {
  reduce_sum_of(
      n, [&](value_id x) { return n.out.apply(unary_function::square, x); },
      [](value_id y, double) { return y; });
}
inline void reduce_log_sum(operation& n) {
  reduce_sum_of(
      n, [](value_id x) { return x; },
      [&](value_id y, double) { return n.out.apply(unary_function::log, y); });
}

template <bool Largest>
void reduce_extremum(operation& n) {
  const reduced_axes reduced = axes_of(n);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (gives_for_empty(n, reduced, Largest ? -infinity : infinity)) {
    return;
  }
  tensor x = in_graph(n.out, n.operand(0));
  if (reduced.nothing) {
    return n.give(std::move(x));
  }
  if (!Largest) {
    x.id = n.out.affine(x.id, -1, 0);
  }
  tensor y = largest(n.out, x, reduced);
  if (!Largest) {
    y.id = n.out.affine(y.id, -1, 0);
  }
  give_reduced(n, y, reduced);
}

inline void reduce_product(operation& n) {
  const reduced_axes reduced = axes_of(n);
  if (gives_for_empty(n, reduced, 1)) {
    return;
  }
  tensor x = in_graph(n.out, n.operand(0));
  constexpr std::size_t limit = 4096;
  for (const std::size_t axis : reduced.axes) {
    const std::size_t extent = x.extents[axis];
    require<data_error>(extent > 0 && extent <= limit, "multiplies ", extent,
                        " elements; glia supports 1 to ", limit);
    tensor product = part(n.out, x, axis, 0, 1);
    for (std::size_t i = 1; i < extent; ++i) {
      product.id = n.out.multiply(product.id, part(n.out, x, axis, i, 1).id);
    }
    x = std::move(product);
  }
  give_reduced(n, x, reduced);
}

/// Contains x - m and ln(sum(exp(x - m))), where m is the largest element along the axes of the
/// sum. Subtracting m avoids overflow.
struct shifted_logarithms {
  tensor maximum;
  tensor shifted;
  tensor sums;

  /// If `finite` is true, m is limited to finite numbers, so that x - m is not NaN for infinite x.
  shifted_logarithms(graph_builder& out, const tensor& x, const reduced_axes& reduced,
                     bool finite = false)
      : maximum(largest(out, x, reduced)) {
    if (finite) {
      constexpr double bound = std::numeric_limits<float>::max();
      maximum.id = out.apply(unary_map{unary_function::clamp, -bound, bound}, maximum.id);
    }
    const std::vector<tensor> both{x, maximum};
    const aligned operands = align(out, both);
    shifted = graph_builder::with_value(operands.like,
                                        out.subtract(operands.values[0], operands.values[1]));
    sums =
        summed(out, graph_builder::with_value(shifted, out.apply(unary_function::exp, shifted.id)),
               reduced);
    sums.id = out.apply(unary_function::log, sums.id);
  }
};
/// Computes ln(softmax(x)) along one axis.
[[nodiscard]] inline tensor logarithm_of_softmax(graph_builder& out, const tensor& x,
                                                 std::size_t axis) {
  const shifted_logarithms logarithms(out, x, {{axis}});
  const std::vector<tensor> both{logarithms.shifted, logarithms.sums};
  const aligned operands = align(out, both);
  return graph_builder::with_value(operands.like,
                                   out.subtract(operands.values[0], operands.values[1]));
}
inline void reduce_log_sum_exp(operation& n) {
  const reduced_axes reduced = axes_of(n);
  const tensor x = in_graph(n.out, n.operand(0));
  if (reduced.nothing) {
    return n.give(x);
  }
  if (gives_for_empty(n, reduced, -std::numeric_limits<double>::infinity())) {
    return;
  }
  const shifted_logarithms logarithms(n.out, x, reduced, true);
  const std::vector<tensor> both{logarithms.sums, logarithms.maximum};
  const aligned operands = align(n.out, both);
  give_reduced(
      n,
      graph_builder::with_value(operands.like, n.out.add(operands.values[0], operands.values[1])),
      reduced);
}

}  // namespace glia::onnx::reading
