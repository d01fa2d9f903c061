#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/normalization.hpp"
#include "glia/onnx/reading/alignment.hpp"
#include "glia/onnx/reading/classes.hpp"

// Normalizations and dropout. The channels are along axis 1.
namespace glia::onnx::reading {

[[nodiscard]] inline std::vector<std::size_t> axis_range(std::size_t first, std::size_t end) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = first; axis < end; ++axis) {
    axes.push_back(axis);
  }
  return axes;
}

inline void global_average_pool(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  const reduced_axes axes{axis_range(2, x.rank())};
  tensor y = summed(n.out, x, axes);
  y.id = n.out.affine(y.id, 1 / reduced_count(x, axes), 0);
  n.give(std::move(y));
}
inline void global_max_pool(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  n.give(largest(n.out, x, {axis_range(2, x.rank())}));
}

/// Computes batch normalization like glia's `batch_norm`: with the running statistics or, in
/// training, with the statistics of the batch.
inline void batch_normalization(operation& n) {
  const tensor& x = n.operand(0);
  require<data_error>(x.rank() >= 2, "expected (N, C, ...), got ", words(x.extents));
  const double epsilon = n.real("epsilon", 1e-5);
  const double momentum = n.real("momentum", 0.9);
  require<data_error>(n.integer("spatial", 1) != 0,
                      "normalizes each position separately, which glia does not support");
  for (const std::size_t i : {1U, 2U, 3U, 4U}) {
    require<data_error>(n.operand(i).extents == dims{x.extents[1]}, "has statistics of shape ",
                        words(n.x[i].extents), " for a tensor of shape ", words(x.extents));
  }
  const classes_last images(n.out, x, 1);
  const value_id gamma = n.out.plain(n.x[1]);
  const value_id beta = n.out.plain(n.x[2]);
  const bool held = n.x[3].source != nullptr && n.x[4].source != nullptr;
  const bool of_batch = n.integer("training_mode", 0) != 0 || (n.training && held);
  if (!of_batch) {
    const value_id mean = held ? n.out.statistic(n.x[3]) : n.out.plain(n.x[3]);
    const value_id variance = held ? n.out.statistic(n.x[4]) : n.out.plain(n.x[4]);
    const value_id deviation =
        n.out.apply(unary_function::sqrt, n.out.affine(variance, 1, epsilon));
    const value_id factor = n.out.divide(gamma, deviation);
    const value_id shift = n.out.subtract(beta, n.out.multiply(mean, factor));
    const value_id y = n.out.add(n.out.multiply(images.x, factor), shift);
    return n.give(n.out.computed(y, images.order, x.type));
  }
  const auto results =
      n.out.add_node(kernels::normalize{normalization::batch, epsilon}, {images.x, gamma, beta});
  n.give(n.out.computed(results[0], images.order, x.type));
  for (const std::size_t i : {3U, 4U}) {
    const std::size_t known = n.out.weights.size();
    const value_id running = held ? n.out.statistic(n.x[i]) : n.out.plain(n.x[i]);
    const value_id updated = n.out.add(n.out.affine(running, momentum, 0),
                                       n.out.affine(results[i - 2], 1 - momentum, 0));
    // If several layers share statistics, the first one updates them.
    if (held && n.out.weights.size() > known) {
      n.out.calls.set_next(running, updated);
    }
    n.give(n.out.computed(updated), i - 2);
  }
}

inline void layer_normalization(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t axis = axis_in(n.integer("axis", -1), x.rank());
  const double epsilon = n.real("epsilon", 1e-5);
  const auto middle = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
  const dims features(middle, x.extents.end());
  const std::size_t count = count_of(features);
  require<data_error>(x.size() > 0, "normalizes a tensor without elements");
  const value_id plain = n.out.plain(x);
  // Use the samples as rows if possible.
  const bool last = axis > 0 && axis + 1 == x.rank();
  const value_id rows = last ? plain : n.out.reshape(plain, shape_of({x.size() / count, count}));
  const auto vector = [&](std::size_t i, double otherwise) {
    return n.has(i) ? n.out.reshape(n.out.plain(expanded(n.out, n.x[i], features)), {count})
                    : n.out.full({count}, otherwise);
  };
  const value_id gamma = vector(1, 1);
  const value_id beta = vector(2, 0);
  const auto results =
      n.out.add_node(kernels::normalize{normalization::layer, epsilon}, {rows, gamma, beta});
  n.give(n.out.computed(n.out.reshape(results[0], shape_of(x.extents)), x.type));
  dims reduced_extents = x.extents;
  std::fill(reduced_extents.begin() + static_cast<std::ptrdiff_t>(axis), reduced_extents.end(), 1);
  if (n.wants(1)) {
    n.give(n.out.computed(n.out.reshape(results[1], shape_of(reduced_extents))), 1);
  }
  if (n.wants(2)) {
    const value_id deviation =
        n.out.apply(unary_function::sqrt, n.out.affine(results[2], 1, epsilon));
    n.give(n.out.computed(n.out.reshape(n.out.apply(unary_function::reciprocal, deviation),
                                        shape_of(reduced_extents))),
           2);
  }
}

/// Computes (x - mean) / sqrt(variance + epsilon) over these axes.
[[nodiscard]] inline tensor standardized(graph_builder& out, const tensor& x,
                                         const reduced_axes& axes, double epsilon) {
  const double count = reduced_count(x, axes);
  const auto mean_of = [&](const tensor& operand) {
    tensor mean = summed(out, operand, axes);
    mean.id = out.affine(mean.id, 1 / count, 0);
    return mean;
  };
  const std::vector<tensor> both{x, mean_of(x)};
  const aligned operands = align(out, both);
  const tensor centered = graph_builder::with_value(
      operands.like, out.subtract(operands.values[0], operands.values[1]));
  const tensor variance =
      mean_of(graph_builder::with_value(centered, out.apply(unary_function::square, centered.id)));
  const value_id inverse =
      out.apply(unary_function::reciprocal,
                out.apply(unary_function::sqrt, out.affine(variance.id, 1, epsilon)));
  const std::vector<tensor> parts{centered, graph_builder::with_value(variance, inverse)};
  const aligned factors = align(out, parts);
  return graph_builder::with_value(factors.like,
                                   out.multiply(factors.values[0], factors.values[1]));
}

/// Normalizes groups of channels of each sample, with one scale and bias for each channel.
inline void normalize_groups(operation& n, const tensor& x, std::size_t groups) {
  axis_order order = axis_range(2, x.rank());
  order.insert(order.begin(), 0);
  order.push_back(1);
  const auto results = n.out.add_node(
      kernels::normalize{normalization::group, n.real("epsilon", 1e-5), groups},
      {n.out.stored_as(x, order), n.out.plain(n.operand(1)), n.out.plain(n.operand(2))});
  n.give(n.out.computed(results[0], order, x.type));
}

inline void instance_normalization(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  require<data_error>(x.rank() > 2 && x.size() > 0, "expected (N, C, ...), got ", words(x.extents));
  normalize_groups(n, x, x.extents[1]);
}

inline void group_normalization(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  const auto groups =
      static_cast<std::size_t>(std::max<std::int64_t>(n.integer("num_groups", 0), 0));
  require<data_error>(x.rank() > 2 && x.size() > 0 && groups > 0 && x.extents[1] % groups == 0,
                      "expected (N, C, ...) with a number of channels that ", groups,
                      " groups divide, got ", words(x.extents));
  const std::size_t group_size = x.extents[1] / groups;
  if (n.opset < 21) {  // gamma and beta have one number for each group
    for (const std::size_t i : {1U, 2U}) {
      const tensor of_groups = reshaped(n.out, n.operand(i), {groups, 1});
      n.x[i] = reshaped(n.out, expanded(n.out, of_groups, {groups, group_size}), {x.extents[1]});
    }
  }
  normalize_groups(n, x, groups);
}

inline void mean_variance_normalization(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  const auto axes = n.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  constexpr double epsilon = 1e-9;
  const reduced_axes reduced{axes_from(axes, x.rank())};
  n.give(standardized(n.out, x, reduced, epsilon * epsilon));
}

/// Computes x / (bias + alpha / size * sum of the squares of neighboring channels)^beta.
inline void local_response_normalization(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  require<data_error>(x.rank() >= 3, "expected (N, C, ...), got ", words(x.extents));
  const std::int64_t requested_size = n.integer("size", 0);
  require<data_error>(requested_size > 0 && requested_size < 1 << 16, "has the unsupported size ",
                      requested_size);
  const auto size = static_cast<std::size_t>(requested_size);
  const double alpha = n.real("alpha", 1e-4);
  const double beta = n.real("beta", 0.75);
  const double bias = n.real("bias", 1);
  const classes_last rows(n.out, x, 1);
  const shape s = n.out.shape_of_value(rows.x);
  const std::size_t channels = s.back();
  const std::size_t first = s[0];
  window2d window;
  window.width = size;
  window.pad_left = (size - 1) / 2;
  window.pad_right = size - 1 - window.pad_left;
  const value_id squares = n.out.reshape(
      n.out.apply(unary_function::square, rows.x),
      shape_of({first, s.size() / std::max<std::size_t>(first * channels, 1), channels, 1}));
  const value_id ones = n.out.full({1, size, 1, 1}, 1);
  const value_id sums = n.out.call(kernels::conv2d{window}, {squares, ones, no_value});
  const value_id base =
      n.out.affine(n.out.reshape(sums, s), alpha / static_cast<double>(size), bias);
  const value_id power = n.out.apply(
      unary_function::exp, n.out.affine(n.out.apply(unary_function::log, base), -beta, 0));
  n.give(n.out.computed(n.out.multiply(rows.x, power), rows.order, x.type));
}

inline void lp_normalization(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  const std::int64_t p = n.integer("p", 2);
  require<data_error>(p == 1 || p == 2, "has the order ", p, "; expected 1 or 2");
  const reduced_axes axes{{axis_in(n.integer("axis", -1), x.rank())}};
  const unary_function function = p == 1 ? unary_function::abs : unary_function::square;
  tensor norm = summed(n.out, graph_builder::with_value(x, n.out.apply(function, x.id)), axes);
  if (p == 2) {
    norm.id = n.out.apply(unary_function::sqrt, norm.id);
  }
  // If the norm is 0, the elements stay 0.
  norm.id = n.out.call(kernels::select{},
                       {n.out.binary(binary_function::equal, norm.id, n.out.constant({}, {0})),
                        n.out.constant({}, {1}), norm.id});
  const std::vector<tensor> both{x, norm};
  const aligned operands = align(n.out, both);
  n.give_like(operands.like,
              n.out.binary(binary_function::divide, operands.values[0], operands.values[1]));
}

/// Computes dropout. In inference, it returns x; in training, it works like glia's layer `dropout`.
inline void dropout(operation& n) {
  // A weight is part of the graph in inference, too, so that its parameter has the same shape as in
  // training.
  const tensor x = n.operand(0).source != nullptr ? in_graph(n.out, n.x[0]) : n.x[0];
  const double rate = n.opset < 12 ? n.real("ratio", 0.5) : n.known_number(1, 0.5);
  require<data_error>(n.training || n.opset < 12 || n.known_number(2, 0) == 0 || rate == 0,
                      "drops elements in inference; glia supports that only in training");
  if (!n.training || rate == 0) {
    if (n.wants(1)) {
      n.give(known_tensor(broadcast_to(integer_numbers({1}, {}, truth), x.extents)), 1);
    }
    return n.give(x);
  }
  require<data_error>(rate > 0 && rate < 1, "has the ratio ", rate,
                      "; expected a number between 0 and 1");
  const tensor input = in_graph(n.out, x);
  const kernels::dropout kernel{rate, 0};
  if (!n.wants(1)) {
    return n.give_like(input, n.out.call(kernel, {input.id, n.out.random_key()}));
  }
  // Dropout of a tensor of ones gives the factors of the elements.
  const value_id ones = n.out.full(n.out.shape_of_value(input.id), 1);
  const value_id factors = n.out.call(kernel, {ones, n.out.random_key()});
  n.give_like(input, n.out.multiply(input.id, factors));
  tensor mask = graph_builder::with_value(
      input, n.out.binary(binary_function::greater, factors, n.out.constant({}, {0})));
  mask.type = truth;
  n.give(std::move(mask), 1);
}

}  // namespace glia::onnx::reading
