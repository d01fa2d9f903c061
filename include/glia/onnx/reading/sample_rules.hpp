#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glia/onnx/reading/reductions.hpp"

// Detects operations that combine different samples of a batch. The kernels of the graph do not
// always show this: if the file was written for one sample, operations over the batch axis of
// extent 1 often need no kernel.
namespace glia::onnx::reading {

/// Returns whether any of the axes from `first` to `end` of an operand contains the samples.
[[nodiscard]] inline bool have_samples(const operation& n, std::size_t i, std::size_t first,
                                       std::size_t end) {
  for (std::size_t axis = first; n.has(i) && axis < std::min(end, n.x[i].rank()); ++axis) {
    if (n.out.has_samples(n.x[i], axis)) {
      return true;
    }
  }
  return false;
}

/// Returns whether a slice along the batch axis keeps all samples in their order.
[[nodiscard]] inline bool takes_all(const axis_slice& slice, std::size_t extent) {
  return slice.begin == 0 && slice.step == 1 && slice.end >= static_cast<std::int64_t>(extent);
}

/// Returns whether an operation combines different samples.
[[nodiscard]] inline bool crosses(const operation& n) {
  const std::string& name = n.node.op_type();
  if (!n.has(0)) {
    return false;
  }
  const std::size_t rank = n.x[0].rank();
  const auto one_of = [&](std::string_view names) {
    return names.find(' ' + name + ' ') != std::string_view::npos;
  };
  const auto has_samples_along = [&](std::int64_t axis) {
    const std::size_t index = axis_in(axis, rank);
    return have_samples(n, 0, index, index + 1);
  };
  const auto has_samples_from = [&](std::int64_t axis) {
    return axis < static_cast<std::int64_t>(rank) && have_samples(n, 0, axis_in(axis, rank), rank);
  };
  if (name.starts_with("Reduce")) {
    const reduced_axes reduced = axes_of(n);
    return !reduced.nothing &&
           std::any_of(reduced.axes.begin(), reduced.axes.end(),
                       [&](std::size_t axis) { return have_samples(n, 0, axis, axis + 1); });
  }
  if (one_of(" Softmax LogSoftmax Hardmax ")) {
    const std::int64_t axis = n.integer("axis", n.opset < 13 ? 1 : -1);
    return n.opset < 13 ? has_samples_from(axis) : has_samples_along(axis);
  }
  if (one_of(" ArgMax ArgMin Gather GatherElements ScatterElements Scatter Split ")) {
    return has_samples_along(n.integer("axis", 0));
  }
  if (name == "Concat") {
    const std::size_t axis = axis_in(n.integer("axis", 1), rank);
    for (std::size_t i = 0; i < n.x.size(); ++i) {
      if (n.x.size() > 1 && have_samples(n, i, axis, axis + 1)) {
        return true;
      }
    }
    return false;
  }
  if (name == "CumSum") {
    return has_samples_along(n.known_integer(1, 0));
  }
  if (name == "LpNormalization") {
    return has_samples_along(n.integer("axis", -1));
  }
  if (name == "LayerNormalization") {
    return has_samples_from(n.integer("axis", -1));
  }
  if (name == "MeanVarianceNormalization") {
    const auto axes = n.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
    return std::any_of(axes.begin(), axes.end(), has_samples_along);
  }
  if (name == "BatchNormalization" && n.integer("training_mode", 0) != 0 && !n.training &&
      have_samples(n, 0, 0, rank)) {
    return true;
  }
  // These operators have the samples along the first axis.
  if (one_of(" BatchNormalization InstanceNormalization GroupNormalization LRN Conv ConvTranspose "
             "MaxPool AveragePool GlobalMaxPool GlobalAveragePool DepthToSpace SpaceToDepth ")) {
    return have_samples(n, 0, 1, rank);
  }
  if (one_of(" GRU LSTM RNN ")) {
    const bool first = n.integer("layout", 0) != 0;
    return have_samples(n, 0, first ? 1 : 0, first ? 3 : 1) || have_samples(n, 0, 2, 3);
  }
  if (one_of(" MatMul Gemm ") && n.has(1) && rank > 0 && n.x[1].rank() > 0) {
    const bool turns = name == "Gemm";
    const std::size_t inner = turns && n.integer("transA", 0) != 0 ? 0 : rank - 1;
    const std::size_t other = n.x[1].rank() < 2                      ? 0
                              : turns && n.integer("transB", 0) != 0 ? 1
                                                                     : n.x[1].rank() - 2;
    return have_samples(n, 0, inner, inner + 1) || have_samples(n, 1, other, other + 1);
  }
  if (name == "Slice") {
    const auto slices = slices_of(n, rank);
    return std::any_of(slices.begin(), slices.end(), [&](const axis_slice& slice) {
      return have_samples(n, 0, slice.axis, slice.axis + 1) &&
             !takes_all(slice, n.x[0].extents[slice.axis]);
    });
  }
  if (name == "Tile") {
    const auto repeats = n.known_integers(1);
    for (std::size_t axis = 0; axis < std::min(rank, repeats.size()); ++axis) {
      if (repeats[axis] != 1 && have_samples(n, 0, axis, axis + 1)) {
        return true;
      }
    }
    return false;
  }
  if (name == "Flatten") {
    return n.out.samples.samples == 1 && n.integer("axis", 1) == 0 && have_samples(n, 0, 0, rank);
  }
  if (name == "Trilu") {
    return rank >= 2 && have_samples(n, 0, rank - 2, rank);
  }
  if (name == "Compress") {
    return n.attribute("axis") == nullptr ? have_samples(n, 0, 0, rank)
                                          : has_samples_along(n.integer("axis", 0));
  }
  return one_of(
             " GatherND ScatterND ReverseSequence EyeLike NegativeLogLikelihoodLoss "
             "SoftmaxCrossEntropyLoss ") &&
         have_samples(n, 0, 0, rank);
}

/// Returns the reason why an operation does not support another batch size. The reason is empty if
/// the operation supports every size.
[[nodiscard]] inline std::string crossing(const operation& n) {
  return n.out.samples.samples > 0 && n.out.samples.reason().empty() && crosses(n)
             ? "combines different samples of a batch"
             : "";
}

/// Returns the axis of the result that corresponds to an axis of operand x. Returns nothing if the
/// operation does not keep the axis.
[[nodiscard]] inline std::optional<std::size_t> kept_axis(const operation& n, const tensor& x,
                                                          std::size_t axis) {
  const std::string& name = n.node.op_type();
  const bool argument = name == "ArgMax" || name == "ArgMin";
  if (name.starts_with("Reduce") || argument) {
    if (n.integer("keepdims", 1) != 0) {
      return axis;
    }
    const std::vector<std::size_t> removed_axes =
        argument ? std::vector<std::size_t>{axis_in(n.integer("axis", 0), x.rank())}
                 : axes_of(n).axes;
    return axis - static_cast<std::size_t>(
                      std::count_if(removed_axes.begin(), removed_axes.end(),
                                    [&](std::size_t removed) { return removed < axis; }));
  }
  const std::string_view names =
      " Softmax LogSoftmax Hardmax LayerNormalization LpNormalization CumSum MatMul ";
  return names.find(' ' + name + ' ') != std::string_view::npos ? std::optional(axis)
                                                                : std::nullopt;
}

/// Returns the extents of a tensor for a batch with one more sample.
[[nodiscard]] inline dims extents_beyond(const graph_builder& out, const tensor& t) {
  if (t.beyond != nullptr) {
    return t.beyond->extents;
  }
  dims extents = t.extents;
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (out.has_samples(t, axis)) {
      const std::size_t samples = out.samples.samples;
      extents[axis] = extents[axis] / samples * (samples + 1);
    }
  }
  return extents;
}

/// Returns whether operand i, which depends on the batch size, is only used as extents of axes of
/// the result that contain the samples.
[[nodiscard]] inline bool says_extents(const graph_builder& out, std::string_view name,
                                       std::size_t i, const std::vector<tensor>& operands,
                                       const tensor& result) {
  const tensor& operand = operands[i];
  const dims current_extents = operand.known->extents;
  // Numbers repeated for each sample, such as initial zeros, are not checked here. They must be the
  // same for all samples if they are combined with samples.
  if (current_extents != operand.beyond->extents) {
    return true;
  }
  if (operand.known->real() || operand.beyond->real()) {
    return false;
  }
  const auto& values = operand.known->integers();
  const auto& beyond = operand.beyond->integers();
  const bool shape = name == "Reshape" || name == "Expand";
  if (shape && i == 1) {
    const dims extents = extents_beyond(out, result);
    if (result.rank() < values.size()) {
      return false;
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t axis = result.rank() - values.size() + k;
      const bool repeats = name == "Expand" && !out.has_samples(result, axis);
      if (values[k] != beyond[k] && !repeats &&
          beyond[k] != static_cast<std::int64_t>(extents[axis])) {
        return false;
      }
    }
    return true;
  }
  if (name == "Slice" && (i == 1 || i == 2)) {
    // The extents belong to the axes that operand 3 lists or, without operand 3, to the first axes.
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] == beyond[k]) {
        continue;
      }
      const bool named = operands.size() > 3 && operands[3];
      if (named && operands[3].known == nullptr) {
        return false;
      }
      const std::int64_t axis =
          named ? operands[3].known->integers()[k] : static_cast<std::int64_t>(k);
      if (!out.has_samples(operands[0], axis_in(axis, operands[0].rank()))) {
        return false;
      }
    }
    return true;
  }
  return (name == "Resize" || name == "Upsample") && i > 1;
}

}  // namespace glia::onnx::reading
