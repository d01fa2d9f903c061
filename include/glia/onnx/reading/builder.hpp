#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/mapped_block.hpp"
#include "glia/graph/graph.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/sample_tracker.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

/// Several tensors that are combined element by element, and the memory layout of the result.
struct aligned {
  std::vector<value_id> values;
  tensor like;
};

/// Builds a graph of glia's kernels from tensors of a file. It permutes axes only if a kernel needs
/// another order. It permutes weights when it reads them.
class graph_builder {
 public:
  graph calls;
  std::vector<graph_weight> weights;
  sample_tracker samples;          ///< Tracker of the batch axis of every value.
  bool whole_recurrences = false;  ///< Whether the device has the kernel `recurrence`.
  value_id key = no_value;         ///< Key of the training step, for random numbers.

  /// A value that was quantized to integers, and the numbers that the integers represent. Nodes
  /// that dequantize the value use `near` instead.
  struct quantized_value {
    tensor near;
    quantized_steps steps;
  };
  /// Quantized values, by the value of the graph that contains the integers.
  std::map<value_id, quantized_value> quantized;

  /// Returns the key of the step, which becomes an input of the graph.
  value_id random_key() {
    if (key == no_value) {
      key = calls.add_input("key", {{step_key::words}, element::index});
    }
    return key;
  }

  /// Adds a kernel call and returns its first result.
  value_id call(const any_kernel& k, std::vector<value_id> operands) {
    return add_node(k, std::move(operands))[0];
  }
  /// Adds a kernel call and returns all its results.
  std::vector<value_id> add_node(const any_kernel& k, std::vector<value_id> operands) {
    const bool varies = std::any_of(operands.begin(), operands.end(),
                                    [&](value_id id) { return depends_on_samples(id); });
    std::vector<value_id> results = calls.add(k, std::move(operands)).results;
    of_samples_.resize(calls.value_count(), false);
    for (const value_id id : results) {
      if (id != no_value) {
        of_samples_[id] = varies;
      }
    }
    samples.add(calls, [&](value_id id) { return numbers_of_weight(id); });
    return results;
  }
  /// Adds an input that contains samples.
  value_id add_samples(const std::string& name, const shape& s) {
    const value_id id = calls.add_input(name, real_of(s));
    of_samples_.resize(calls.value_count(), false);
    of_samples_[id] = true;
    samples.add_input(id);
    return id;
  }
  /// Returns whether an axis of the file contains the samples, alone or joined with other axes.
  [[nodiscard]] bool has_samples(const tensor& t, std::size_t axis) const {
    const auto batch_axis = t.computed() ? samples.axis_of(t.id) : std::nullopt;
    return batch_axis && std::find(t.axes[axis].begin(), t.axes[axis].end(), batch_axis->axis) !=
                             t.axes[axis].end();
  }
  [[nodiscard]] bool depends_on_samples(value_id id) const {
    return id != no_value && id < of_samples_.size() && of_samples_[id];
  }
  value_id apply(const unary_map& map, value_id x) {
    return map == kernels::identity_map ? x : call(kernels::unary{map}, {x});
  }
  value_id apply(unary_function function, value_id x) { return apply(unary_map{function}, x); }
  value_id affine(value_id x, double factor, double offset) {
    return apply({unary_function::affine, factor, offset}, x);
  }
  /// Multiplies x by a number. Adds -0, which preserves the sign of zeros.
  value_id scaled(value_id x, double factor) { return affine(x, factor, -0.0); }
  value_id binary(binary_function function, value_id a, value_id b) {
    return call(kernels::binary{function}, {a, b});
  }
  value_id add(value_id a, value_id b) { return binary(binary_function::add, a, b); }
  value_id multiply(value_id a, value_id b) { return binary(binary_function::multiply, a, b); }
  value_id subtract(value_id a, value_id b) { return add(a, affine(b, -1, 0)); }
  value_id divide(value_id a, value_id b) {
    return multiply(a, apply(unary_function::reciprocal, b));
  }
  value_id reshape(value_id x, const shape& new_shape) {
    return shape_of_value(x) == new_shape ? x : call(kernels::reshape{new_shape}, {x});
  }
  /// Reshapes x to `new_shape`. `new_axes[i]` is the axis of `new_shape` that corresponds to axis i
  /// of x.
  value_id reshape(value_id x, const shape& new_shape, const std::vector<std::size_t>& new_axes) {
    const value_id y = reshape(x, new_shape);
    const auto batch_axis = samples.axis_of(x);
    if (samples.samples == 1 && batch_axis && y != x &&
        new_axes[batch_axis->axis] < new_shape.rank() &&
        new_shape[new_axes[batch_axis->axis]] == shape_of_value(x)[batch_axis->axis]) {
      samples.move(y, {new_axes[batch_axis->axis], batch_axis->inner});
    }
    return y;
  }
  value_id permute(value_id x, const std::vector<std::size_t>& order) {
    return std::is_sorted(order.begin(), order.end())
               ? x
               : call(kernels::permute_axes{kernels::axis_list(order.begin(), order.end())}, {x});
  }
  value_id sum_to(value_id x, const shape& new_shape) {
    return shape_of_value(x) == new_shape ? x : call(kernels::sum_to{new_shape}, {x});
  }
  value_id slice(value_id x, std::size_t axis, std::size_t begin, std::size_t extent) {
    return begin == 0 && extent == shape_of_value(x)[axis]
               ? x
               : call(kernels::slice{axis, begin, extent}, {x});
  }
  value_id full(const shape& s, double value) { return call(kernels::full{s, value}, {}); }
  value_id constant(const shape& s, std::vector<double> elements) {
    return calls.add_constant(real_of(s), std::move(elements));
  }
  value_id indices(const shape& s, std::vector<std::int32_t> elements) {
    return calls.add_constant({s, element::index}, std::move(elements));
  }
  /// Concatenates any number of values, with as few kernel calls as possible.
  value_id concat(std::vector<value_id> parts, std::size_t axis) {
    constexpr std::size_t max_operands = kernels::concat::operands;
    while (parts.size() > 1) {
      std::vector<value_id> joined;
      for (std::size_t i = 0; i < parts.size(); i += max_operands) {
        std::vector<value_id> group(
            parts.begin() + static_cast<std::ptrdiff_t>(i),
            parts.begin() + static_cast<std::ptrdiff_t>(std::min(i + max_operands, parts.size())));
        if (group.size() == 1) {
          joined.push_back(group[0]);
          continue;
        }
        group.resize(max_operands, no_value);
        joined.push_back(call(kernels::concat{axis}, std::move(group)));
      }
      parts = std::move(joined);
    }
    return parts.at(0);
  }
  [[nodiscard]] shape shape_of_value(value_id x) const { return calls.spec(x).shape; }

  // --- tensors of the file -----------------------------------------------------------------------

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
      return on_steps(t, places, weight_as(t, places, new_shape, true));
    }
    if (std::is_sorted(places.begin(), places.end())) {
      return reshape(t.id, new_shape);
    }
    const auto known = turned_.find({t.id, places});
    const value_id turned = known != turned_.end() ? known->second : permute(t.id, places);
    turned_[{t.id, places}] = turned;
    return reshape(turned, new_shape);
  }
  /// Returns whether a tensor is a weight that needs no extra node, such as a permute, to have this
  /// layout.
  [[nodiscard]] bool is_at_hand(const tensor& t, const std::vector<std::size_t>& places,
                                const shape& new_shape) const {
    return t.source != nullptr && std::all_of(weights.begin(), weights.end(), [&](const auto& w) {
             return w.source != t.source ||
                    (w.split == t.stored && w.places == places && w.shape == new_shape);
           });
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
    return with_samples_of(t, order, arranged(t, places_in(t, order), new_shape));
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

  /// Returns a running statistic: weights that are not trained.
  value_id statistic(const tensor& t) {
    require<data_error>(t.source != nullptr && t.rank() == 1,
                        "expected statistics stored in the file, along one axis");
    return weight_as(t, {0}, shape_of(t.extents), false);
  }

  /// Splits one axis into these extents if that needs no node: for weights, or for an axis that is
  /// one axis in memory.
  [[nodiscard]] tensor split(tensor t, std::size_t axis, const dims& pieces) {
    if (t.known != nullptr) {
      t = computed(plain(t), t.type);
    }
    const std::vector<std::size_t> places = t.axes[axis];
    dims old_pieces;
    for (const std::size_t place : places) {
      old_pieces.push_back(t.stored[place]);
    }
    if (old_pieces == pieces) {
      return t;
    }
    if (places.size() != 1) {
      t = computed(plain(t), t.type);
      return split(std::move(t), axis, pieces);
    }
    const std::size_t position = places[0];
    // If `old_pieces` is not empty, `pieces` is not empty either.
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

  // --- element by element ------------------------------------------------------------------------

  /// Returns tensors broadcast to each other, in the layout of the largest one.
  aligned align(std::span<const tensor> tensors) {
    dims extents;
    for (const tensor& t : tensors) {
      extents = broadcast(extents, t.extents);
    }
    static_cast<void>(shape_of(extents));
    // Do not use the layout of a tensor that has these extents only in a batch of one sample:
    // layouts must not depend on the batch size.
    const bool varies = std::any_of(tensors.begin(), tensors.end(),
                                    [&](const tensor& t) { return depends_on_samples(t.id); });
    const auto lead = std::find_if(tensors.begin(), tensors.end(), [&](const tensor& t) {
      return t.computed() && t.extents == extents && depends_on_samples(t.id) == varies;
    });
    // The axes of extent 1 are added to the axes of the leading tensor.
    const bool fits = std::all_of(tensors.begin(), tensors.end(), [&](const tensor& t) {
      const auto count_ones = [](const dims& d) { return std::count(d.begin(), d.end(), 1U); };
      const auto added_axes =
          static_cast<std::size_t>(std::max(count_ones(t.extents), count_ones(t.stored)));
      return !t.computed() || lead == tensors.end() ||
             lead->stored.size() + added_axes <= shape::max_rank;
    });
    const bool leads = lead != tensors.end() && (fits || lead->stored.size() <= extents.size());
    tensor like{::onnx::TensorProto::FLOAT, extents};
    like.stored = leads ? lead->stored : extents;
    like.axes = leads ? lead->axes : plain_layout(extents.size());
    aligned result;
    for (const tensor& t : tensors) {
      result.values.push_back(value_in_layout(t, like));
    }
    result.like = std::move(like);
    return result;
  }

  /// Converts `input` to the layout of `like`, to which it is broadcast.
  value_id value_in_layout(const tensor& input, const tensor& like) {
    if (input.computed() && input.axes == like.axes && input.stored == like.stored) {
      return input.id;
    }
    const tensor t = input.source != nullptr && input.size() == 1
                         ? known_tensor(numbers_of(*input.source))
                         : input;
    if (t.size() == 1 && !depends_on_samples(t.id)) {
      return t.known != nullptr ? constant({}, reals_of(*t.known)) : reshape(plain(t), {});
    }
    const std::size_t missing = like.rank() - t.rank();
    if (t.known != nullptr) {
      return constant_in_layout(*t.known, like, missing);
    }
    const auto pieces_of = [](const tensor& x, std::size_t axis) {
      dims pieces;
      for (const std::size_t place : x.axes[axis]) {
        pieces.push_back(x.stored[place]);
      }
      return pieces;
    };
    tensor wide = t;
    // An axis with another layout can be split only after the whole tensor is rearranged, and this
    // joins axes that are split already. Therefore the tensor is rearranged once, before any axis
    // is split.
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
      if (t.extents[axis] != 1 && t.axes[axis].size() != 1 &&
          pieces_of(t, axis) != pieces_of(like, axis + missing)) {
        wide = computed(plain(t), t.type);
        break;
      }
    }
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
      if (wide.extents[axis] != 1) {
        wide = split(std::move(wide), axis, pieces_of(like, axis + missing));
      }
    }
    // For each axis of `like` in memory: the corresponding axis of this tensor in memory, unless
    // the tensor is repeated along it.
    const std::size_t absent = wide.stored.size();
    std::vector<std::size_t> source_axes(like.stored.size(), absent);
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
      const auto& like_places = like.axes[axis + missing];
      if (wide.extents[axis] == 1) {
        continue;
      }
      require<data_error>(wide.axes[axis].size() == like_places.size(),
                          "cannot combine tensors whose axes are split differently");
      for (std::size_t i = 0; i < like_places.size(); ++i) {
        source_axes[like_places[i]] = wide.axes[axis][i];
      }
    }
    std::vector<std::size_t> places;
    shape new_shape;
    for (const std::size_t place : source_axes) {
      if (place != absent) {
        places.push_back(place);
      }
      // Weights get no leading axes of extent 1, like the weights of glia's layers.
      if (place != absent || new_shape.rank() > 0 || t.source == nullptr) {
        new_shape.push_back(place == absent ? 1 : wide.stored[place]);
      }
    }
    // An axis of extent 1 can be at any position. Choose a position that needs no permutation.
    for (std::size_t axis = 0; axis < t.rank(); ++axis) {
      for (std::size_t i = 0; wide.extents[axis] == 1 && i < wide.axes[axis].size(); ++i) {
        const std::size_t unit_place = wide.axes[axis][i];
        places.insert(std::find_if(places.begin(), places.end(),
                                   [&](std::size_t place) { return place > unit_place; }),
                      unit_place);
      }
    }
    return arranged(wide, places, new_shape);
  }

  [[nodiscard]] static std::vector<double> reals_of(const numbers& x) {
    if (x.real()) {
      return x.reals();
    }
    return {x.integers().begin(), x.integers().end()};
  }

 private:
  value_id constant_in_layout(const numbers& x, const tensor& like, std::size_t missing) {
    // Split the axes as in `like`, then permute them.
    dims split;
    std::vector<std::size_t> order(like.stored.size());
    std::size_t position = 0;
    for (std::size_t axis = 0; axis < like.rank(); ++axis) {
      const bool repeated = axis < missing || x.extents[axis - missing] == 1;
      for (const std::size_t place : like.axes[axis]) {
        split.push_back(repeated ? 1 : like.stored[place]);
        order[place] = position++;
      }
    }
    numbers pieces = x;
    pieces.extents = split;
    pieces = permuted(pieces, order);
    dims extents = pieces.extents;
    while (!extents.empty() && extents.front() == 1) {
      extents.erase(extents.begin());
    }
    return constant(shape_of(extents), reals_of(pieces));
  }

  /// Returns the new position of an axis after axes were split.
  [[nodiscard]] static std::size_t place_of(std::size_t axis, const dims& extents,
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

  /// Adds fake_quantize to weights that are stored as 8-bit integers with one scale, or with one
  /// scale for each index of the last axis. The weights then stay multiples of their scales in
  /// training. Returns other weights unchanged.
  value_id on_steps(const tensor& t, const std::vector<std::size_t>& places, value_id w) {
    const shape s = shape_of_value(w);
    if (!t.source->steps || !t.source->steps->symmetric() || s.rank() < 2) {
      return w;
    }
    const quantized_steps& steps = *t.source->steps;
    std::vector<double> scales = steps.scales;
    if (steps.axis) {
      const std::size_t place =
          place_of(*steps.axis, extents_of(*t.source->data.message), t.stored);
      if (places.empty() || places.back() != place || s.back() != steps.scales.size()) {
        return w;
      }
    } else {
      scales.resize(s.back(), scales.at(0));
    }
    value_id& known = on_steps_[w];
    if (known == 0) {
      known = call(kernels::fake_quantize{{0, -128, 127}}, {w, constant({s.back()}, scales)});
    }
    return known;
  }

  value_id weight_as(const tensor& t, const std::vector<std::size_t>& places,
                     const shape& new_shape, bool trainable) {
    if (!is_real(t.type)) {
      numbers integers = numbers_of(*t.source);
      integers.extents = t.stored;
      return constant(new_shape, reals_of(permuted(integers, places)));
    }
    // If an exporter has merged identical tensors, the same numbers can be both weights and a
    // statistic.
    const auto first = std::find_if(weights.begin(), weights.end(), [&](const graph_weight& w) {
      return w.source == t.source && w.trainable == trainable;
    });
    const auto same = std::find_if(first, weights.end(), [&](const graph_weight& w) {
      return w.source == t.source && w.trainable == trainable && w.split == t.stored &&
             w.places == places && w.shape == new_shape;
    });
    if (same != weights.end()) {
      return same->value;
    }
    if (first == weights.end()) {
      const bool known = std::any_of(weights.begin(), weights.end(),
                                     [&](const graph_weight& w) { return w.source == t.source; });
      const std::string name = t.source->name + (known ? "_2" : "");
      const value_id id = calls.add_input(name, real_of(new_shape));
      const auto owner = std::find_if(dequantized_.begin(), dequantized_.end(),
                                      [&](const auto& w) { return w.get() == t.source; });
      weights.push_back({id, t.source, name, t.stored, places, new_shape, trainable,
                         owner == dequantized_.end() ? nullptr : *owner});
      return id;
    }
    // Permute the axes back to the file's order, and from there to the new order.
    shape split;
    std::vector<std::size_t> inverse(first->places.size());
    for (std::size_t i = 0; i < first->places.size(); ++i) {
      split.push_back(first->split[first->places[i]]);
      inverse[first->places[i]] = i;
    }
    const value_id file_order = permute(reshape(first->value, split), inverse);
    return reshape(permute(reshape(file_order, shape_of(t.stored)), places), new_shape);
  }

  /// Marks the batch axis of `id`, which is the tensor with permuted axes, and returns `id`. For a
  /// batch of one sample, the shape does not show which axis of extent 1 is the batch axis, but the
  /// tensor does.
  value_id with_samples_of(const tensor& t, const std::vector<std::size_t>& order, value_id id) {
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

  /// Returns the elements of a weight in the order that the graph uses. Empty if the value is not a
  /// weight.
  [[nodiscard]] std::vector<float> numbers_of_weight(value_id id) const {
    const auto found = std::find_if(weights.begin(), weights.end(),
                                    [&](const graph_weight& w) { return w.value == id; });
    return found == weights.end() ? std::vector<float>{} : found->read();
  }

  std::vector<bool> of_samples_;  // whether each value contains samples
  std::vector<std::shared_ptr<const weight>> dequantized_;
  std::map<value_id, value_id> on_steps_;  // 0 is no entry: value 0 contains samples
  std::map<std::pair<value_id, std::vector<std::size_t>>, value_id> turned_;
};

}  // namespace glia::onnx
