#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/onnx/reading/call_builder.hpp"
#include "glia/onnx/reading/tensor.hpp"
#include "glia/onnx/reading/weight_inputs.hpp"

namespace glia::onnx {

/// Builds a graph of glia's kernels from tensors of a file. It permutes axes only if a kernel needs
/// another order. It permutes weights when it reads them.
class graph_builder : public call_builder {
 public:
  /// A value that was quantized to integers, and the numbers that the integers represent. Nodes
  /// that dequantize the value use `near` instead.
  struct quantized_value {
    tensor near;
    quantized_steps steps;
  };
  /// Quantized values, by the value of the graph that contains the integers.
  std::map<value_id, quantized_value> quantized;

  /// Returns whether an axis of the file contains the samples, alone or joined with other axes.
  [[nodiscard]] bool has_samples(const tensor& t, std::size_t axis) const {
    const auto batch_axis = t.computed() ? samples.axis_of(t.id) : std::nullopt;
    return batch_axis && std::find(t.axes[axis].begin(), t.axes[axis].end(), batch_axis->axis) !=
                             t.axes[axis].end();
  }

  /// Returns a computed tensor. Its axis i in memory is the file's axis order[i].
  [[nodiscard]] tensor computed(value_id id, const std::vector<std::size_t>& order,
                                element_type type = ::onnx::TensorProto::FLOAT) const {
    tensor result{type, dims(order.size(), 1)};
    result.id = id;
    result.stored = dims_of(shape_of_value(id));
    result.axes.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      result.extents[order[i]] = result.stored[i];
      result.axes[order[i]] = {i};
    }
    return result;
  }
  [[nodiscard]] tensor computed(value_id id, element_type type = ::onnx::TensorProto::FLOAT) const {
    return computed(id, plain_order(shape_of_value(id).rank()), type);
  }
  /// Returns a tensor with the value `id` and with the extents and layout of `like`.
  [[nodiscard]] static tensor with_value(tensor like, value_id id) {
    like.known = nullptr;
    like.source = nullptr;
    like.id = id;
    return like;
  }

  /// Returns a tensor with its axes in memory in the order `places`, reshaped to `new_shape`.
  value_id arranged(const tensor& t, const std::vector<std::size_t>& places,
                    const shape& new_shape) {
    if (t.known != nullptr) {
      return constant(new_shape, reals_of(permuted(*t.known, places)));
    }
    if (t.source != nullptr) {
      return inputs_.trainable(*this, t, places, new_shape);
    }
    if (std::is_sorted(places.begin(), places.end())) {
      return reshape(t.id, new_shape);
    }
    const auto known = turned_.find({t.id, places});
    const value_id turned = known != turned_.end() ? known->second : permute(t.id, places);
    turned_[{t.id, places}] = turned;
    return reshape(turned, new_shape);
  }
  /// Returns a tensor with the file's axes in this order, each as one axis in memory.
  value_id stored_as(const tensor& t, const std::vector<std::size_t>& order) {
    static_cast<void>(shape_of(t.extents));
    require<data_error>(order.size() == t.rank(), "got a tensor with ", t.rank(),
                        " axes; expected ", order.size(), " axes");
    shape new_shape;
    for (const std::size_t axis : order) {
      new_shape.push_back(t.extents[axis]);
    }
    return mark_samples(t, order, arranged(t, places_in(t, order), new_shape));
  }
  value_id plain(const tensor& t) { return stored_as(t, plain_order(t.rank())); }
  /// For a batch of one sample: makes this axis of the file the batch axis, if that is possible,
  /// and returns the tensor.
  tensor with_sample_at(const tensor& t, std::size_t axis) {
    const auto batch_axis = t.computed() ? samples.axis_of(t.id) : std::nullopt;
    if (samples.samples != 1 || !batch_axis || has_samples(t, axis) || t.extents[axis] != 1) {
      return t;
    }
    const value_id lying = plain(t);
    const shape s = shape_of_value(lying);
    const sample_axis target{axis, 1};
    if (!samples.axis_of(lying) || !samples.can_move(s, *samples.axis_of(lying), target)) {
      return t;
    }
    const value_id moved = call(kernels::reshape{s}, {lying});
    samples.move(moved, target);
    return computed(moved, t.type);
  }
  /// Returns the axes in memory that hold the file's axes `order`, in the same order.
  [[nodiscard]] static std::vector<std::size_t> places_in(const tensor& t,
                                                          const std::vector<std::size_t>& order) {
    if (t.known != nullptr) {
      return order;
    }
    std::vector<std::size_t> places;
    for (const std::size_t axis : order) {
      places.insert(places.end(), t.axes[axis].begin(), t.axes[axis].end());
    }
    return places;
  }

  /// Returns quantized weights as a tensor of the numbers that the integers represent.
  [[nodiscard]] tensor dequantized(const tensor& t, quantized_steps steps) {
    return inputs_.dequantized(t, std::move(steps));
  }
  /// Returns a running statistic: weights that are not trained.
  value_id statistic(const tensor& t) { return inputs_.statistic(*this, t); }

  /// Splits one axis into these extents if that needs no node: for weights, or for an axis that is
  /// one axis in memory.
  [[nodiscard]] tensor split(tensor t, std::size_t axis, const dims& pieces) {
    if (t.known != nullptr) {
      t = computed(plain(t), t.type);
    }
    const std::vector<std::size_t> places = t.axes[axis];
    if (stored_extents(t, axis) == pieces) {
      return t;
    }
    if (places.size() != 1) {
      t = computed(plain(t), t.type);
      return split(std::move(t), axis, pieces);
    }
    const std::size_t position = places[0];
    // The axis has a place in memory, so `pieces` is not empty either.
    const std::size_t added_axes = pieces.size() - 1;
    dims stored(t.stored.begin(), t.stored.begin() + static_cast<std::ptrdiff_t>(position));
    stored.insert(stored.end(), pieces.begin(), pieces.end());
    stored.insert(stored.end(), t.stored.begin() + static_cast<std::ptrdiff_t>(position) + 1,
                  t.stored.end());
    for (auto& axis_places : t.axes) {
      for (std::size_t& place : axis_places) {
        place += place > position ? added_axes : 0;
      }
    }
    t.axes[axis].clear();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      t.axes[axis].push_back(position + i);
    }
    t.stored = stored;
    if (t.computed()) {
      t.id = reshape(t.id, shape_of(stored));
    }
    return t;
  }

 private:
  /// Marks the batch axis of `id`, which is the tensor with permuted axes, and returns `id`. For a
  /// batch of one sample, the shape does not show which axis of extent 1 is the batch axis, but the
  /// tensor does.
  value_id mark_samples(const tensor& t, const std::vector<std::size_t>& order, value_id id) {
    const auto batch_axis = t.computed() ? samples.axis_of(t.id) : std::nullopt;
    if (samples.samples != 1 || !batch_axis) {
      return id;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& places = t.axes[order[i]];
      const auto found = std::find(places.begin(), places.end(), batch_axis->axis);
      if (found == places.end()) {
        continue;
      }
      sample_axis target{i, batch_axis->inner};
      for (auto inside = found + 1; inside != places.end(); ++inside) {
        target.inner *= t.stored[*inside];
      }
      if (samples.axis_of(id) != target) {
        id = call(kernels::reshape{shape_of_value(id)}, {id});
        samples.move(id, target);
      }
      break;
    }
    return id;
  }

  weight_inputs inputs_;
  std::map<std::pair<value_id, std::vector<std::size_t>>, value_id> turned_;
};

}  // namespace glia::onnx
