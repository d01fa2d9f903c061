#pragma once

// A batch as tensors of a device: padding, mask, targets and outputs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/data/dataset.hpp"
#include "glia/losses/targets.hpp"

namespace glia {

/// Pads a batch to `rows` rows with copies of its first sample, so that the padding cannot cause
/// numbers, such as NaN, that no sample causes.
[[nodiscard]] inline batch padded(batch b, std::size_t rows) {
  const auto fill = [&](auto& values) {
    const std::size_t width = values.size() / b.size;
    values.resize(rows * width);
    for (std::size_t i = b.size; i < rows; ++i) {
      std::copy_n(values.begin(), width, values.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
  };
  fill(b.inputs);
  fill(b.labels);
  fill(b.targets);
  fill(b.weights);
  b.input_shape[0] = rows;
  if (b.target_shape.rank() > 0) {
    b.target_shape[0] = rows;
  }
  b.size = rows;
  return b;
}

namespace detail {

/// Returns the mask (N) of a batch: 1 for samples that contribute to the loss and the metrics, 0
/// for ignored samples and for padding. The first `samples` rows of the batch are samples.
[[nodiscard]] inline tensor present_rows(const glia::device& device, const counted_targets& counted,
                                         const batch& b, std::size_t samples) {
  std::vector<float> present(b.size);
  for (std::size_t n = 0; n < samples; ++n) {
    present[n] = counted.counts(b.target_of(n)) ? 1.0F : 0.0F;
  }
  return device.samples_from_host(std::span<const float>(present), {b.size});
}
/// Returns the number of samples of a batch that are not ignored.
[[nodiscard]] inline std::size_t count_of(const counted_targets& counted, const batch& b) {
  std::size_t result = b.size;
  for (std::size_t n = 0; n < b.size && !counted.counts_all(); ++n) {
    result -= counted.counts(b.target_of(n)) ? 0 : 1;
  }
  return result;
}

/// Returns the sum of the weights of the samples of a batch that are not ignored.
[[nodiscard]] inline double weight_of(const counted_targets& counted, const batch& b) {
  if (b.weights.empty()) {
    return static_cast<double>(count_of(counted, b));
  }
  double result = 0;
  for (std::size_t n = 0; n < b.size; ++n) {
    result += counted.counts(b.target_of(n)) ? b.weights[n] : 0;
  }
  return result;
}

/// Copies the first `destination.size()` elements of a tensor to the host.
inline void first_to_host(const glia::device& device, const tensor& x,
                          std::span<float> destination) {
  if (destination.size() == x.shape().size()) {
    device.to_host(x, destination);
    return;
  }
  std::vector<float> values(x.shape().size());
  device.to_host(x, std::span(values));
  std::copy_n(values.begin(), destination.size(), destination.begin());
}

/// The shape and element type of the targets of a batch.
struct target_spec {
  tensor_spec values;        ///< Shape and type of the targets; integers for class labels.
  bool has_weights = false;  ///< Whether the samples have weights.
  friend bool operator==(const target_spec&, const target_spec&) = default;
};

[[nodiscard]] inline target_spec target_spec_of(const batch& b) {
  return {b.is_labeled() ? tensor_spec{{b.size}, element::index} : real_of(b.target_shape),
          !b.weights.empty()};
}

/// Appends the tensors of targets to the arguments of a recorded graph.
inline void append_targets(targets& t, std::vector<tensor*>& arguments) {
  arguments.push_back(t.labels ? &t.labels : &t.values);
  if (t.weights) {
    arguments.push_back(&t.weights);
  }
}

/// Copies a batch's targets to the device. Throws `data_error` if the model has no output for a
/// class label.
[[nodiscard]] inline targets targets_of(const glia::device& device, const batch& b,
                                        const shape& output) {
  targets result;
  if (!b.weights.empty()) {
    result.weights = device.samples_from_host(std::span<const float>(b.weights), {b.size});
  }
  if (!b.is_labeled()) {
    result.values = device.samples_from_host(std::span<const float>(b.targets), b.target_shape);
    return result;
  }
  const std::size_t outputs = output.rank() == 0 ? 1 : output.back();
  const std::size_t classes = std::max<std::size_t>(outputs, 2);
  for (std::int32_t label : b.labels) {
    require<data_error>(
        label >= 0 && static_cast<std::size_t>(label) < classes, "the data contain class ", label,
        ", but the model has outputs for classes 0 to ", classes - 1,
        "; end the model with more units, or correct the labels, which count from 0; for "
        "real-valued targets, use target_arrays");
  }
  result.labels =
      device.samples_from_host(std::span<const std::int32_t>(b.labels), {b.labels.size()});
  return result;
}

}  // namespace detail

}  // namespace glia
