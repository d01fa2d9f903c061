#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/onnx/reading/call_builder.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

/// Returns whether a tensor is a weight that needs no extra node, such as a permute, to have this
/// layout.
[[nodiscard]] inline bool is_at_hand(const std::vector<graph_weight>& weights, const tensor& t,
                                     const std::vector<std::size_t>& places,
                                     const shape& new_shape) {
  return t.source != nullptr && std::all_of(weights.begin(), weights.end(), [&](const auto& w) {
           return w.source != t.source ||
                  (w.split == t.stored && w.places == places && w.shape == new_shape);
         });
}

/// Adds weights of a file to a graph. Each weight is one input, in the layout in which the graph
/// uses it first. Kernels rearrange it for other layouts.
class weight_inputs {
 public:
  /// Returns trained weights with their axes in memory in the order `places`, reshaped to
  /// `new_shape`.
  value_id trainable(call_builder& out, const tensor& t, const std::vector<std::size_t>& places,
                     const shape& new_shape) {
    return quantized(out, t, places, value_of(out, t, places, new_shape, true));
  }

  /// Returns a running statistic: weights that are not trained.
  value_id statistic(call_builder& out, const tensor& t) {
    require<data_error>(t.source != nullptr && t.rank() == 1,
                        "expected statistics stored in the file, along one axis");
    return value_of(out, t, {0}, shape_of(t.extents), false);
  }

  /// Returns quantized weights as a tensor of the numbers that the integers represent.
  [[nodiscard]] tensor dequantized(tensor t, quantized_steps steps) {
    if (steps.axis) {
      require<data_error>(!t.axes[*steps.axis].empty(),
                          "has several scales along an axis of extent 1");
      steps.axis = t.axes[*steps.axis][0];
    }
    const auto same =
        std::find_if(dequantized_.begin(), dequantized_.end(), [&](const auto& known) {
          return known->data.message == t.source->data.message && *known->steps == steps;
        });
    if (same != dequantized_.end()) {
      t.source = same->get();
    } else {
      dequantized_.push_back(
          std::make_shared<const weight>(weight{t.source->name, t.source->data, std::move(steps)}));
      t.source = dequantized_.back().get();
    }
    t.type = ::onnx::TensorProto::FLOAT;
    return t;
  }

 private:
  value_id value_of(call_builder& out, const tensor& t, const std::vector<std::size_t>& places,
                    const shape& new_shape, bool trainable) {
    if (!is_real(t.type)) {
      numbers integers = numbers_of(*t.source);
      integers.extents = t.stored;
      return out.constant(new_shape, reals_of(permuted(integers, places)));
    }
    // If an exporter has merged identical tensors, the same numbers can be both weights and a
    // statistic.
    const auto first = std::find_if(
        out.weights.begin(), out.weights.end(),
        [&](const graph_weight& w) { return w.source == t.source && w.trainable == trainable; });
    const auto same = std::find_if(first, out.weights.end(), [&](const graph_weight& w) {
      return w.source == t.source && w.trainable == trainable && w.split == t.stored &&
             w.places == places && w.shape == new_shape;
    });
    if (same != out.weights.end()) {
      return same->value;
    }
    return first == out.weights.end() ? add_input(out, t, places, new_shape, trainable)
                                      : rearranged(out, *first, t.stored, places, new_shape);
  }

  value_id add_input(call_builder& out, const tensor& t, const std::vector<std::size_t>& places,
                     const shape& new_shape, bool trainable) {
    const bool known = std::any_of(out.weights.begin(), out.weights.end(),
                                   [&](const graph_weight& w) { return w.source == t.source; });
    const std::string name = t.source->name + (known ? "_2" : "");
    const value_id id = out.calls.add_input(name, real_of(new_shape));
    const auto owner = std::find_if(dequantized_.begin(), dequantized_.end(),
                                    [&](const auto& w) { return w.get() == t.source; });
    out.weights.push_back({id, t.source, name, t.stored, places, new_shape, trainable,
                           owner == dequantized_.end() ? nullptr : *owner});
    return id;
  }

  /// Permutes the axes of an input back to the file's order, and from there to the new order.
  static value_id rearranged(call_builder& out, const graph_weight& input, const dims& stored,
                             const std::vector<std::size_t>& places, const shape& new_shape) {
    shape split;
    std::vector<std::size_t> inverse(input.places.size());
    for (std::size_t i = 0; i < input.places.size(); ++i) {
      split.push_back(input.split[input.places[i]]);
      inverse[input.places[i]] = i;
    }
    const value_id file_order = out.permute(out.reshape(input.value, split), inverse);
    return out.reshape(out.permute(out.reshape(file_order, shape_of(stored)), places), new_shape);
  }

  /// Adds fake_quantize to weights that are stored as 8-bit integers with one scale, or with one
  /// scale for each index of the last axis. The weights then stay multiples of their scales in
  /// training. Returns other weights unchanged.
  value_id quantized(call_builder& out, const tensor& t, const std::vector<std::size_t>& places,
                     value_id w) {
    const shape s = out.shape_of_value(w);
    if (!t.source->steps || !t.source->steps->symmetric() || s.rank() < 2) {
      return w;
    }
    const quantized_steps& steps = *t.source->steps;
    std::vector<double> scales = steps.scales;
    if (steps.axis) {
      const std::size_t place =
          split_place(*steps.axis, extents_of(*t.source->data.message), t.stored);
      if (places.empty() || places.back() != place || s.back() != steps.scales.size()) {
        return w;
      }
    } else {
      scales.resize(s.back(), scales.at(0));
    }
    value_id& known = quantized_[w];
    if (known == 0) {
      known =
          out.call(kernels::fake_quantize{{0, -128, 127}}, {w, out.constant({s.back()}, scales)});
    }
    return known;
  }

  /// Returns the new position of an axis after axes were split.
  [[nodiscard]] static std::size_t split_place(std::size_t axis, const dims& extents,
                                               const dims& split) {
    std::size_t next = 0;
    for (std::size_t i = 0; i <= axis; ++i) {
      for (std::size_t size = 1; next < split.size();) {
        size *= split[next++];
        if (size >= extents[i]) {
          break;
        }
      }
    }
    return next - 1;
  }

  std::vector<std::shared_ptr<const weight>> dequantized_;
  std::map<value_id, value_id> quantized_;  // 0 is no entry: value 0 contains samples
};

}  // namespace glia::onnx
