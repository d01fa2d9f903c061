#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/products.hpp"
#include "glia/onnx/reading/alignment.hpp"
#include "glia/onnx/reading/parts.hpp"

// Matrix products.
namespace glia::onnx::reading {

/// The factors of a product: x (rows..., I) in its memory layout, and weights (I, O). The rows of
/// the weights have the same order as the columns of x.
struct factors {
  value_id x;
  value_id w;
};

/// Prepares the factors of a product. The last axis of x can consist of several axes in memory. If
/// their order differs from the file's, the weights are permuted once, so that x need not be
/// permuted in each run.
[[nodiscard]] inline factors factors_of(graph_builder& out, const tensor& x, const tensor& w) {
  const std::size_t last = x.rank() - 1;
  const auto& places = x.axes[last];
  const bool turned = x.computed() && !std::is_sorted(places.begin(), places.end());
  if (!turned || w.computed()) {
    return {out.plain(x), out.plain(w)};
  }
  std::vector<std::size_t> sorted_places = places;
  std::sort(sorted_places.begin(), sorted_places.end());
  dims pieces;
  for (const std::size_t place : places) {
    pieces.push_back(x.stored[place]);
  }
  // order[i] is the position of sorted_places[i] within the file's axis.
  std::vector<std::size_t> order;
  order.reserve(sorted_places.size() + 1);
  for (const std::size_t place : sorted_places) {
    order.push_back(
        static_cast<std::size_t>(std::find(places.begin(), places.end(), place) - places.begin()));
  }
  tensor straight = x;
  straight.axes[last] = sorted_places;
  const shape weights_shape = shape_of(w.extents);
  value_id weights = no_value;
  if (w.known != nullptr) {
    numbers values = *w.known;
    values.extents = pieces;
    values.extents.push_back(w.extents[1]);
    order.push_back(pieces.size());
    weights = out.constant(weights_shape, reals_of(permuted(values, order)));
  } else {
    const tensor parts = out.split(w, 0, pieces);
    std::vector<std::size_t> part_places;
    part_places.reserve(order.size() + 1);
    for (const std::size_t i : order) {
      part_places.push_back(parts.axes[0][i]);
    }
    part_places.insert(part_places.end(), parts.axes[1].begin(), parts.axes[1].end());
    weights = out.arranged(parts, part_places, weights_shape);
  }
  return {out.plain(straight), weights};
}

/// Computes x (rows, I) w (I, O). The weights can be values of the graph.
[[nodiscard]] inline value_id dense(graph_builder& out, const tensor& x, const tensor& w) {
  require<data_error>(x.extents[1] == w.extents[0], "cannot multiply ", words(x.extents), " by ",
                      words(w.extents));
  const factors f = factors_of(out, x, w);
  return out.call(kernels::dense{}, {f.x, f.w, no_value});
}

inline void gemm(operation& n) {
  tensor a = n.operand(0);
  tensor b = n.operand(1);
  require<data_error>(a.rank() == 2 && b.rank() == 2, "expected two matrices, got ",
                      words(a.extents), " and ", words(b.extents));
  if (n.integer("transA", 0) != 0) {
    a = transposed(a, {1, 0});
  }
  if (n.integer("transB", 0) != 0) {
    b = transposed(b, {1, 0});
  }
  const double alpha = n.real("alpha", 1);
  const double beta = n.real("beta", 1);
  const bool has_bias = n.has(2);
  const bool as_bias = has_bias && !n.x[2].computed() && alpha == 1 && beta == 1 &&
                       n.x[2].extents == dims{b.extents[1]};
  const tensor matrix = in_graph(n.out, a);
  if (as_bias) {
    require<data_error>(matrix.extents[1] == b.extents[0], "cannot multiply ", words(a.extents),
                        " by ", words(b.extents));
    // The weights are used before the bias, to keep the order of the parameters.
    const factors f = factors_of(n.out, matrix, b);
    const value_id bias = n.out.plain(n.x[2]);
    return n.give(n.out.computed(n.out.call(kernels::dense{}, {f.x, f.w, bias})));
  }
  const value_id product = n.out.affine(dense(n.out, matrix, b), alpha, 0);
  if (!has_bias) {
    return n.give(n.out.computed(product));
  }
  tensor c = n.x[2];
  if (beta != 1) {
    c = in_graph(n.out, c);
    c.id = n.out.affine(c.id, beta, 0);
  }
  const std::vector<tensor> both{n.out.computed(product), c};
  const aligned operands = align(n.out, both);
  n.give(
      graph_builder::with_value(operands.like, n.out.add(operands.values[0], operands.values[1])));
}

inline void matmul(operation& n) {
  tensor a = n.operand(0);
  tensor b = n.operand(1);
  require<data_error>(a.rank() > 0 && b.rank() > 0, "expected matrices, got a number");
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (row) {
    a = reshaped(n.out, a, {1, a.extents[0]});
  }
  if (column) {
    b = reshaped(n.out, b, {b.extents[0], 1});
  }
  require<data_error>(a.extents.back() == b.extents[b.rank() - 2], "cannot multiply ",
                      words(a.extents), " by ", words(b.extents));
  const std::size_t inner = a.extents.back();
  const std::size_t columns = b.extents.back();
  dims extents(a.extents.begin(), a.extents.end() - 2);
  extents = broadcast(extents, {b.extents.begin(), b.extents.end() - 2});
  extents.push_back(a.extents[a.rank() - 2]);
  extents.push_back(columns);
  static_cast<void>(shape_of(extents));
  tensor y;
  if (b.rank() == 2 && !b.computed()) {
    const tensor x = in_graph(n.out, a);
    if (a.rank() == 2) {
      y = n.out.computed(dense(n.out, x, b));
    } else if (a.rank() == 3 || a.rank() == 4) {
      // A convolution of 1 x 1 keeps the rows of different samples apart.
      const factors f = factors_of(n.out, x, b);
      const value_id images = n.out.reshape(
          f.x, a.rank() == 3 ? shape{a.extents[0], 1, a.extents[1], inner} : shape_of(a.extents));
      const value_id w = n.out.reshape(f.w, {1, 1, inner, columns});
      y = n.out.computed(
          n.out.reshape(n.out.call(kernels::conv2d{}, {images, w, no_value}), shape_of(extents)));
    } else {
      const value_id rows =
          n.out.reshape(n.out.plain(x), {a.size() / std::max<std::size_t>(inner, 1), inner});
      y = n.out.computed(n.out.reshape(dense(n.out, n.out.computed(rows), b), shape_of(extents)));
    }
  } else if (a.rank() == 2 && b.rank() == 2) {
    y = n.out.computed(n.out.call(kernels::matmul{}, {n.out.plain(a), n.out.plain(b)}));
  } else {
    const auto batches = [&](const tensor& t) {
      dims wide(extents.begin(), extents.end() - 2);
      wide.insert(wide.end(), t.extents.end() - 2, t.extents.end());
      return n.out.plain(expanded(n.out, t, wide));
    };
    y = n.out.computed(n.out.call(kernels::batched_matmul{}, {batches(a), batches(b)}));
  }
  if (row) {
    extents.erase(extents.end() - 2);
  }
  if (column) {
    extents.erase(extents.end() - 1);
  }
  n.give(reshaped(n.out, y, extents));
}

}  // namespace glia::onnx::reading
