#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

/// Several tensors that are combined element by element, and the memory layout of the result.
struct aligned {
  std::vector<value_id> values;
  tensor like;
};

namespace detail {

/// Returns the layout in which tensors are combined, as a tensor without a value: the layout of the
/// largest tensor.
[[nodiscard]] inline tensor common_layout(const graph_builder& out,
                                          std::span<const tensor> tensors) {
  dims extents;
  for (const tensor& t : tensors) {
    extents = broadcast(extents, t.extents);
  }
  static_cast<void>(shape_of(extents));
  // Do not use the layout of a tensor that has these extents only in a batch of one sample:
  // layouts must not depend on the batch size.
  const bool varies = std::any_of(tensors.begin(), tensors.end(),
                                  [&](const tensor& t) { return out.depends_on_samples(t.id); });
  const auto lead = std::find_if(tensors.begin(), tensors.end(), [&](const tensor& t) {
    return t.computed() && t.extents == extents && out.depends_on_samples(t.id) == varies;
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
  return like;
}

/// Adds numbers as a constant in the layout of `like`: splits their axes as in `like`, then
/// permutes them.
[[nodiscard]] inline value_id constant_in_layout(graph_builder& out, const numbers& x,
                                                 const tensor& like) {
  const std::size_t missing = like.rank() - x.extents.size();
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
  return out.constant(shape_of(extents), reals_of(pieces));
}

/// Splits the axes of `t` as in `like`, except axes that are repeated.
[[nodiscard]] inline tensor split_in_layout(graph_builder& out, tensor t, const tensor& like) {
  const std::size_t missing = like.rank() - t.rank();
  // An axis with another layout can be split only after the whole tensor is rearranged, and this
  // joins axes that are split already. Therefore the tensor is rearranged once, before any axis
  // is split.
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (t.extents[axis] != 1 && t.axes[axis].size() != 1 &&
        stored_extents(t, axis) != stored_extents(like, axis + missing)) {
      t = out.computed(out.plain(t), t.type);
      break;
    }
  }
  for (std::size_t axis = 0; axis < t.rank(); ++axis) {
    if (t.extents[axis] != 1) {
      t = out.split(std::move(t), axis, stored_extents(like, axis + missing));
    }
  }
  return t;
}

/// Converts a weight or a computed tensor to the layout of `like`.
[[nodiscard]] inline value_id rearranged(graph_builder& out, const tensor& t, const tensor& like) {
  const tensor wide = split_in_layout(out, t, like);
  const std::size_t missing = like.rank() - t.rank();
  // For each axis of `like` in memory: the corresponding axis of this tensor in memory, unless the
  // tensor is repeated along it.
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
  return out.arranged(wide, places, new_shape);
}

/// Converts `input` to the layout of `like`, to which it is broadcast.
[[nodiscard]] inline value_id value_in_layout(graph_builder& out, const tensor& input,
                                              const tensor& like) {
  if (input.computed() && input.axes == like.axes && input.stored == like.stored) {
    return input.id;
  }
  const tensor t = input.source != nullptr && input.size() == 1
                       ? known_tensor(numbers_of(*input.source))
                       : input;
  if (t.size() == 1 && !out.depends_on_samples(t.id)) {
    return t.known != nullptr ? out.constant({}, reals_of(*t.known))
                              : out.reshape(out.plain(t), {});
  }
  return t.known != nullptr ? constant_in_layout(out, *t.known, like) : rearranged(out, t, like);
}

}  // namespace detail

/// Returns tensors broadcast to each other, in the layout of the largest one.
[[nodiscard]] inline aligned align(graph_builder& out, std::span<const tensor> tensors) {
  aligned result{{}, detail::common_layout(out, tensors)};
  for (const tensor& t : tensors) {
    result.values.push_back(detail::value_in_layout(out, t, result.like));
  }
  return result;
}

}  // namespace glia::onnx
