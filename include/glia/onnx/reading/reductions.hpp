#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/pooling.hpp"
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
  reduced_axes over{{}, n.integer("keepdims", 1) != 0};
  const auto given = n.integers("axes", 1);
  if (given && !given->empty()) {
    over.axes = axes_from(*given, rank);
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    over.nothing = true;
  } else {
    over.axes = plain_order(rank);
  }
  return over;
}

/// Returns how many elements of x are reduced to one element.
[[nodiscard]] inline double reduced_count(const tensor& x, const reduced_axes& over) {
  double count = 1;
  for (const std::size_t axis : over.axes) {
    count *= static_cast<double>(x.extents[axis]);
  }
  return count;
}

/// Removes these axes, which have extent 1 after the reduction.
[[nodiscard]] inline tensor without_axes(graph_builder& out, const tensor& t,
                                         const reduced_axes& over) {
  tensor result = t;
  result.extents.clear();
  result.axes.clear();
  std::vector<bool> gone(t.stored.size(), false);
  for (const std::size_t axis : over.axes) {
    for (const std::size_t place : t.axes[axis]) {
      gone[place] = true;
    }
  }
  std::vector<std::size_t> now(t.stored.size(), 0);
  shape stored;
  for (std::size_t place = 0; place < gone.size(); ++place) {
    now[place] = stored.rank();
    if (!gone[place]) {
      stored.push_back(t.stored[place]);
    }
  }
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (over.has(axis)) {
      continue;
    }
    result.extents.push_back(t.extents[axis]);
    auto& places = result.axes.emplace_back();
    for (const std::size_t place : t.axes[axis]) {
      places.push_back(now[place]);
    }
  }
  result.stored = dims_of(stored);
  result.id = out.reshape(t.id, stored, now);
  return result;
}

/// Returns the sums over axes, which get extent 1.
[[nodiscard]] inline tensor summed(graph_builder& out, tensor t, const reduced_axes& over) {
  for (const std::size_t axis : over.axes) {
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
[[nodiscard]] inline tensor largest(graph_builder& out, const tensor& t, const reduced_axes& over) {
  axis_order order;
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (!over.has(axis)) {
      order.push_back(axis);
    }
  }
  const std::size_t kept = order.size();
  order.insert(order.end(), over.axes.begin(), over.axes.end());
  const value_id x = out.stored_as(t, order);
  const auto count = static_cast<std::size_t>(reduced_count(t, over));
  require<data_error>(t.size() > 0, "searches the largest of no elements");
  // Samples stay independent if the first axis is the batch axis and is kept.
  const std::size_t first = kept > 0 ? t.extents[order[0]] : 1;
  const std::size_t others = t.size() / count / first;
  const value_id images = out.reshape(x, {first, others, count, 1});
  window2d window;
  window.width = count;
  const value_id y = out.call(kernels::max_pool2d{window}, {images});
  shape to;
  for (std::size_t i = 0; i < order.size(); ++i) {
    to.push_back(i < kept ? t.extents[order[i]] : 1);
  }
  return out.computed(out.reshape(y, to), order, t.type);
}

inline void give_reduced(operation& n, const tensor& t, const reduced_axes& over) {
  n.give(over.keep ? t : without_axes(n.out, t, over));
}
/// If x has no elements, sets all results of the reduction to `number` and returns true.
[[nodiscard]] inline bool gives_for_empty(operation& n, const reduced_axes& over, double number) {
  const tensor& x = n.operand(0);
  if (x.size() > 0 || over.nothing) {
    return false;
  }
  dims to;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (!over.has(axis) || over.keep) {
      to.push_back(over.has(axis) ? 1 : x.extents[axis]);
    }
  }
  n.give(known_tensor(broadcast_to(real_numbers({number}, {}, x.type), to)));
  return true;
}

/// Computes after(sum(before(x))).
template <class Before, class After>
void reduce_sum_of(operation& n, const Before& before, const After& after) {
  const reduced_axes over = axes_of(n);
  tensor x = in_graph(n.out, n.operand(0));
  const double count = reduced_count(x, over);
  const bool real = is_real(x.type);
  x.id = before(x.id);
  if (over.nothing) {
    x.id = after(x.id, 1.0);
    return n.give(std::move(x));
  }
  tensor y = summed(n.out, std::move(x), over);
  const value_id sum = y.id;
  y.id = after(y.id, count);
  if (!real && y.id != sum) {  // integers are divided with truncation
    y.id = truncated(n.out, y.id);
  }
  give_reduced(n, y, over);
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
  const reduced_axes over = axes_of(n);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (gives_for_empty(n, over, Largest ? -infinity : infinity)) {
    return;
  }
  tensor x = in_graph(n.out, n.operand(0));
  if (over.nothing) {
    return n.give(std::move(x));
  }
  if (!Largest) {
    x.id = n.out.affine(x.id, -1, 0);
  }
  tensor y = largest(n.out, x, over);
  if (!Largest) {
    y.id = n.out.affine(y.id, -1, 0);
  }
  give_reduced(n, y, over);
}

inline void reduce_product(operation& n) {
  const reduced_axes over = axes_of(n);
  if (gives_for_empty(n, over, 1)) {
    return;
  }
  tensor x = in_graph(n.out, n.operand(0));
  constexpr std::size_t most = 4096;
  for (const std::size_t axis : over.axes) {
    const std::size_t extent = x.extents[axis];
    require<data_error>(extent > 0 && extent <= most, "multiplies ", extent,
                        " elements; glia supports 1 to ", most);
    tensor all = part(n.out, x, axis, 0, 1);
    for (std::size_t i = 1; i < extent; ++i) {
      all.id = n.out.multiply(all.id, part(n.out, x, axis, i, 1).id);
    }
    x = std::move(all);
  }
  give_reduced(n, x, over);
}

/// Contains x - m and ln(sum(exp(x - m))), where m is the largest element along the axes of the
/// sum. Subtracting m avoids overflow.
struct shifted_logarithms {
  tensor most;
  tensor shifted;
  tensor sums;

  /// If `finite` is true, m is limited to finite numbers, so that x - m is not NaN for infinite x.
  shifted_logarithms(graph_builder& out, const tensor& x, const reduced_axes& over,
                     bool finite = false)
      : most(largest(out, x, over)) {
    if (finite) {
      constexpr double bound = std::numeric_limits<float>::max();
      most.id = out.apply(unary_map{unary_function::clamp, -bound, bound}, most.id);
    }
    const std::vector<tensor> both{x, most};
    const aligned all = out.align(both);
    shifted = graph_builder::with_value(all.like, out.subtract(all.values[0], all.values[1]));
    sums = summed(
        out, graph_builder::with_value(shifted, out.apply(unary_function::exp, shifted.id)), over);
    sums.id = out.apply(unary_function::log, sums.id);
  }
};
/// Computes ln(softmax(x)) along one axis.
[[nodiscard]] inline tensor logarithm_of_softmax(graph_builder& out, const tensor& x,
                                                 std::size_t axis) {
  const shifted_logarithms of(out, x, {{axis}});
  const std::vector<tensor> both{of.shifted, of.sums};
  const aligned all = out.align(both);
  return graph_builder::with_value(all.like, out.subtract(all.values[0], all.values[1]));
}
inline void reduce_log_sum_exp(operation& n) {
  const reduced_axes over = axes_of(n);
  const tensor x = in_graph(n.out, n.operand(0));
  if (over.nothing) {
    return n.give(x);
  }
  if (gives_for_empty(n, over, -std::numeric_limits<double>::infinity())) {
    return;
  }
  const shifted_logarithms of(n.out, x, over, true);
  const std::vector<tensor> both{of.sums, of.most};
  const aligned all = n.out.align(both);
  give_reduced(n, graph_builder::with_value(all.like, n.out.add(all.values[0], all.values[1])),
               over);
}

}  // namespace glia::onnx::reading
