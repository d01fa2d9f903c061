#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/kernels/normalization.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/kernels/recurrence.hpp"

// The position of the batch axis in operands and results of kernels: from an operand to a result,
// and in the other direction.
namespace glia::onnx {

/// The axis of a value that contains the samples. Other axes can be joined with it: its extent is
/// outer x samples x inner.
struct sample_axis {
  std::size_t axis = 0;
  std::size_t inner = 1;

  friend bool operator==(const sample_axis&, const sample_axis&) = default;
};

/// The relation of an operand to the batch axis of a result.
struct operand_samples {
  enum class kind { varies, shared, impossible };
  kind relation = kind::impossible;
  sample_axis axis{};  ///< Batch axis of the operand, if it varies.
};

namespace detail {

[[nodiscard]] inline std::size_t count_before(const shape& s, std::size_t axis) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < axis; ++i) {
    count *= s[i];
  }
  return count;
}

/// Returns the product of the extents before the samples: those of earlier axes, and the outer part
/// of the batch axis.
[[nodiscard]] inline std::size_t count_outside(const shape& s, const sample_axis& batch,
                                               std::size_t samples) {
  return count_before(s, batch.axis) * (s[batch.axis] / (samples * batch.inner));
}

/// Returns the batch axis after a reshape. Returns nothing if the samples are divided between
/// several axes.
[[nodiscard]] inline std::optional<sample_axis> after_reshape(const shape& source,
                                                              const sample_axis& batch,
                                                              const shape& target,
                                                              std::size_t samples) {
  if (source.size() == 0) {
    return std::nullopt;
  }
  const std::size_t outside = count_outside(source, batch, samples);
  std::size_t begin = 1;
  if (samples > 1) {
    for (std::size_t i = 0; i < target.rank(); ++i) {
      const std::size_t end = begin * target[i];
      if (outside % begin == 0 && outside * samples <= end && end % (outside * samples) == 0) {
        return sample_axis{i, end / (outside * samples)};
      }
      begin = end;
    }
    return std::nullopt;
  }
  // The batch axis of a single sample can be any axis of extent 1 at the same row-major position.
  // Such axes are preferred.
  std::size_t passed = 0;  // number of axes of extent 1 directly before the samples
  for (std::size_t i = 0; i < batch.axis; ++i) {
    passed += source[i] == 1 && count_before(source, i) == outside ? 1 : 0;
  }
  std::size_t following = batch.axis + 1;  // the next axis with an extent above 1
  while (following < source.rank() && source[following] == 1) {
    ++following;
  }
  const std::size_t next = batch.inner > 1             ? batch.inner
                           : following < source.rank() ? source[following]
                                                       : 1;
  std::optional<sample_axis> alone;
  std::optional<sample_axis> joined;
  for (std::size_t i = 0; i < target.rank(); ++i) {
    const std::size_t end = begin * target[i];
    if (target[i] == 1 && begin == outside) {
      if (!alone || passed > 0) {
        passed -= alone ? 1 : 0;
        alone = sample_axis{i, 1};
      }
    } else if (outside % begin == 0 && end % outside == 0 && end >= outside) {
      // If the samples are between two axes, they belong to the first axis, unless the second axis
      // is split.
      const bool parts = begin == outside && target[i] < next;
      if (!joined || (joined->axis < i && parts)) {
        joined = sample_axis{i, end / outside};
      }
    }
    begin = end;
  }
  return alone ? alone : joined;
}

/// Returns whether a window covers only one element along an axis of images: 1 for rows, 2 for
/// columns.
[[nodiscard]] inline bool is_single(const window2d& w, std::size_t axis) {
  window2d rest = w;
  if (axis == 1) {
    rest.width = 1;
    rest.stride_width = 1;
    rest.pad_left = rest.pad_right = 0;
    rest.dilation_width = 1;
  } else {
    rest.height = 1;
    rest.stride_height = 1;
    rest.pad_top = rest.pad_bottom = 0;
    rest.dilation_height = 1;
  }
  return rest == window2d{};
}

/// Returns whether a kernel with windows treats the elements of an axis of its images
/// independently.
[[nodiscard]] inline bool is_apart(const window2d& w, std::size_t axis, bool each_channel) {
  return axis == 0 || (axis == 3 && each_channel) || (axis < 3 && is_single(w, axis));
}

/// The relation between the batch axes of a kernel's operands and its result: the same axis, axes
/// aligned by broadcasting, or another relation.
enum class axis_rule { other, same, broadcast };

[[nodiscard]] inline axis_rule rule_of(const any_kernel& k) {
  if (k.as<kernels::binary>() != nullptr || k.as<kernels::select>() != nullptr ||
      k.as<kernels::broadcast_to>() != nullptr) {
    return axis_rule::broadcast;
  }
  const bool same =
      k.as<kernels::unary>() != nullptr || k.as<kernels::to_index>() != nullptr ||
      k.as<kernels::dropout>() != nullptr || k.as<kernels::one_hot>() != nullptr ||
      k.as<kernels::fake_quantize>() != nullptr || k.as<kernels::concat>() != nullptr ||
      k.as<kernels::slice>() != nullptr || k.as<kernels::pad>() != nullptr ||
      k.as<kernels::softmax>() != nullptr || k.as<kernels::dense>() != nullptr ||
      k.as<kernels::conv2d>() != nullptr || k.as<kernels::conv2d_input_gradient>() != nullptr ||
      k.as<kernels::max_pool2d>() != nullptr || k.as<kernels::avg_pool2d>() != nullptr ||
      k.as<kernels::normalize>() != nullptr || k.as<kernels::recurrence>() != nullptr;
  return same ? axis_rule::same : axis_rule::other;
}

/// For kernels of the rule `same`: returns whether operand i contains the samples.
[[nodiscard]] inline bool is_by_sample(const any_kernel& k, std::size_t i) {
  return i == 0 || k.as<kernels::concat>() != nullptr ||
         (k.as<kernels::recurrence>() != nullptr && i >= 3);
}

/// For kernels of the rule `same`: returns whether an axis of operand 0, which has the shape x, can
/// contain the samples.
[[nodiscard]] inline bool may_have_samples(const any_kernel& k, const shape& x, std::size_t axis) {
  const bool last = axis + 1 == x.rank();
  if (const auto* const c = k.as<kernels::concat>()) {
    return axis != c->axis;
  }
  if (const auto* const s = k.as<kernels::slice>()) {
    return axis != s->axis;
  }
  if (const auto* const p = k.as<kernels::pad>()) {
    return axis != p->axis;
  }
  if (k.as<kernels::softmax>() != nullptr || k.as<kernels::normalize>() != nullptr ||
      k.as<kernels::fake_quantize>() != nullptr) {
    return !last;
  }
  if (k.as<kernels::dense>() != nullptr || k.as<kernels::recurrence>() != nullptr ||
      k.as<kernels::conv2d_input_gradient>() != nullptr) {
    return axis == 0;
  }
  if (const auto* const c = k.as<kernels::conv2d>()) {
    return is_apart(c->window, axis, false);
  }
  if (const auto* const p = k.as<kernels::max_pool2d>()) {
    return is_apart(p->window, axis, true);
  }
  if (const auto* const p = k.as<kernels::avg_pool2d>()) {
    return is_apart(p->window, axis, true);
  }
  return true;
}

}  // namespace detail

/// Returns the batch axis of result 0 of a node from the batch axis `batch` of operand i. Returns
/// nothing if the node combines different samples.
[[nodiscard]] inline std::optional<sample_axis> result_axis(const graph& calls,
                                                            const graph_node& node, std::size_t i,
                                                            const sample_axis& batch,
                                                            std::size_t samples) {
  const any_kernel& k = node.kernel;
  const shape x = calls.spec(node.operands[i]).shape;
  const shape y = calls.spec(node.results[0]).shape;
  const auto moved_to = [&](std::size_t axis, bool holds = true) {
    return holds ? std::optional(sample_axis{axis, batch.inner}) : std::nullopt;
  };
  switch (detail::rule_of(k)) {
    case detail::axis_rule::broadcast: {
      const std::size_t axis = batch.axis + y.rank() - x.rank();
      return moved_to(axis, y[axis] == x[batch.axis]);
    }
    case detail::axis_rule::same:
      return moved_to(batch.axis,
                      detail::is_by_sample(k, i) && detail::may_have_samples(k, x, batch.axis));
    case detail::axis_rule::other:
      break;
  }
  if (k.as<kernels::reshape>() != nullptr) {
    return detail::after_reshape(x, batch, y, samples);
  }
  if (k.as<kernels::argmax>() != nullptr) {  // one number for each row
    return batch.axis + 1 < x.rank()
               ? detail::after_reshape(without_last_axis(x), batch, y, samples)
               : std::nullopt;
  }
  if (const auto* const p = k.as<kernels::permute_axes>()) {
    std::size_t axis = 0;
    while (p->order[axis] != batch.axis) {
      ++axis;
    }
    return moved_to(axis);
  }
  if (k.as<kernels::sum_to>() != nullptr) {
    const std::size_t missing = x.rank() - y.rank();
    return batch.axis >= missing
               ? moved_to(batch.axis - missing, y[batch.axis - missing] == x[batch.axis])
               : std::nullopt;
  }
  if (k.as<kernels::gather>() != nullptr) {
    const std::size_t of_indices = calls.spec(node.operands[1]).shape.rank();
    return i == 1 ? moved_to(batch.axis) : moved_to(of_indices + batch.axis - 1, batch.axis > 0);
  }
  const auto* const product = k.as<kernels::matmul>();
  const auto* const products = k.as<kernels::batched_matmul>();
  if (product != nullptr || products != nullptr) {
    const transpose transposed =
        product != nullptr ? product->transposed_factor : products->transposed_factor;
    const std::size_t matrix = x.rank() - 2;
    const std::size_t turned = i == 0 ? (transposed == transpose::first ? 1 : 0)
                                      : (transposed == transpose::second ? 1 : 0);
    // The axis of operand 0 that becomes the rows, or the axis of operand 1 that becomes the
    // columns.
    const std::size_t free_axis = i == 0 ? matrix + turned : matrix + 1 - turned;
    return batch.axis < matrix ? moved_to(batch.axis)
                               : moved_to(matrix + i, batch.axis == free_axis);
  }
  return std::nullopt;
}

/// Returns the relation that operand i of a node must have to the batch axis of result 0.
[[nodiscard]] inline operand_samples operand_axis(const graph& calls, const graph_node& node,
                                                  std::size_t i, const sample_axis& batch,
                                                  std::size_t samples) {
  using kind = operand_samples::kind;
  const any_kernel& k = node.kernel;
  const shape x = calls.spec(node.operands[i]).shape;
  const shape y = calls.spec(node.results[0]).shape;
  const operand_samples shared{kind::shared};
  const auto varies_at = [&](std::size_t axis, bool holds = true) {
    return holds ? operand_samples{kind::varies, {axis, batch.inner}} : operand_samples{};
  };
  switch (detail::rule_of(k)) {
    case detail::axis_rule::broadcast: {
      const std::size_t missing = y.rank() - x.rank();
      if (batch.axis < missing || (x[batch.axis - missing] == 1 && y[batch.axis] != 1)) {
        return shared;
      }
      return varies_at(batch.axis - missing);
    }
    case detail::axis_rule::same:
      if (!detail::is_by_sample(k, i)) {
        return shared;
      }
      return varies_at(batch.axis,
                       batch.axis < x.rank() && detail::may_have_samples(k, x, batch.axis));
    case detail::axis_rule::other:
      break;
  }
  if (k.as<kernels::reshape>() != nullptr) {
    const auto source_axis = detail::after_reshape(y, batch, x, samples);
    return source_axis ? operand_samples{kind::varies, *source_axis} : operand_samples{};
  }
  if (k.as<kernels::argmax>() != nullptr) {
    const auto source_axis = detail::after_reshape(y, batch, without_last_axis(x), samples);
    return source_axis ? operand_samples{kind::varies, *source_axis} : operand_samples{};
  }
  if (const auto* const p = k.as<kernels::permute_axes>()) {
    return varies_at(p->order[batch.axis]);
  }
  if (k.as<kernels::sum_to>() != nullptr) {
    const std::size_t axis = batch.axis + x.rank() - y.rank();
    return varies_at(axis, x[axis] == y[batch.axis]);
  }
  if (k.as<kernels::gather>() != nullptr) {
    const std::size_t of_indices = calls.spec(node.operands[1]).shape.rank();
    if (i == 1) {
      return batch.axis < of_indices ? varies_at(batch.axis) : shared;
    }
    return batch.axis < of_indices ? shared : varies_at(batch.axis - of_indices + 1);
  }
  const auto* const product = k.as<kernels::matmul>();
  const auto* const products = k.as<kernels::batched_matmul>();
  if (product != nullptr || products != nullptr) {
    const transpose transposed =
        product != nullptr ? product->transposed_factor : products->transposed_factor;
    const std::size_t matrix = y.rank() - 2;
    if (batch.axis < matrix) {
      return varies_at(batch.axis);
    }
    if (batch.axis != matrix + i) {
      return shared;
    }
    const bool turned = i == 0 ? transposed == transpose::first : transposed == transpose::second;
    return varies_at(matrix + (turned ? 1 - i : i));
  }
  return {};
}

}  // namespace glia::onnx
