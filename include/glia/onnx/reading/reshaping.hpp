#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/builder.hpp"

// Tensors with permuted, split or joined axes. Most of them need no nodes in the graph.
namespace glia::onnx::reading {

/// Returns a tensor as a value of the graph. Adds known numbers and weights to the graph.
[[nodiscard]] inline tensor in_graph(graph_builder& out, const tensor& t) {
  return t.computed() ? t : out.computed(out.plain(t), t.type);
}

/// Permutes the file's axes: axis i of the result is axis order[i].
[[nodiscard]] inline tensor transposed(tensor t, const axis_order& order) {
  if (t.known != nullptr) {
    return known_tensor(permuted(*t.known, order));
  }
  dims extents;
  axis_layout axes;
  for (const std::size_t axis : order) {
    extents.push_back(t.extents[axis]);
    axes.push_back(t.axes[axis]);
  }
  t.extents = std::move(extents);
  t.axes = std::move(axes);
  return t;
}

/// For a batch of one sample: returns a tensor in which the batch axis is not joined with other
/// axes in memory.
[[nodiscard]] inline tensor with_own_sample(graph_builder& out, tensor t) {
  const auto batch = t.computed() ? out.samples.axis_of(t.id) : std::nullopt;
  if (out.samples.samples != 1 || !batch || t.stored[batch->axis] <= 1) {
    return t;
  }
  const std::size_t outer = t.stored[batch->axis] / batch->inner;
  dims pieces{1};
  if (outer > 1) {
    pieces.insert(pieces.begin(), outer);
  }
  if (batch->inner > 1) {
    pieces.push_back(batch->inner);
  }
  const std::size_t added = pieces.size() - 1;
  if (t.stored.size() + added > shape::max_rank) {
    return t;
  }
  for (auto& places : t.axes) {
    std::vector<std::size_t> new_places;
    for (const std::size_t place : places) {
      for (std::size_t i = 0; i <= (place == batch->axis ? added : 0); ++i) {
        new_places.push_back(place + i + (place > batch->axis ? added : 0));
      }
    }
    places = std::move(new_places);
  }
  const auto first = t.stored.begin() + static_cast<std::ptrdiff_t>(batch->axis);
  t.stored.insert(t.stored.erase(first), pieces.begin(), pieces.end());
  t.id = out.reshape(t.id, shape_of(t.stored));
  out.samples.move(t.id, {batch->axis + (outer > 1 ? 1 : 0), 1});
  return t;
}

/// Reshapes a tensor without changing the order of its elements in memory, by splitting axes.
/// Returns nothing if that is impossible.
[[nodiscard]] inline std::optional<tensor> regrouped(graph_builder& out, const tensor& input,
                                                     const dims& extents) {
  const tensor t = with_own_sample(out, input);
  const std::vector<std::size_t> places = flat(t.axes);
  if (places.size() != t.stored.size()) {
    return std::nullopt;
  }
  std::vector<dims> pieces(t.stored.size());   // of each axis in memory
  std::vector<std::vector<std::size_t>> axes;  // the pieces of each axis of the result
  std::vector<std::size_t> place_of;           // the axis in memory of each piece
  std::size_t position = 0;
  std::size_t rest = places.empty() ? 1 : t.stored[places[0]];
  const auto take = [&](std::size_t extent) {
    axes.back().push_back(place_of.size());
    place_of.push_back(places[position]);
    pieces[places[position]].push_back(extent);
  };
  const auto next = [&] {
    ++position;
    rest = position < places.size() ? t.stored[places[position]] : 1;
  };
  // In a batch of one sample, the batch axis must not be joined with the axis after it.
  std::size_t single = t.stored.size();
  if (t.computed() && out.samples.samples == 1) {
    if (const auto samples = out.samples.axis_of(t.id)) {
      single = samples->axis;
    }
  }
  const auto is_single_sample = [&](std::size_t place) {
    return place < places.size() && places[place] == single && t.stored[single] == 1;
  };
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    axes.emplace_back();
    if (extents[axis] == 0) {
      return std::nullopt;
    }
    std::size_t need = extents[axis];
    if (need == 1 && position < places.size() && rest == 1 && pieces[places[position]].empty()) {
      take(1);
      next();
      if (is_single_sample(position) && (axis + 1 == extents.size() || extents[axis + 1] != 1)) {
        take(1);
        next();
      }
    }
    while (need > 1) {
      if (position == places.size() || rest == 0) {
        return std::nullopt;
      }
      const std::size_t factor = std::min(rest, need);
      if (need % factor != 0 || rest % factor != 0) {
        return std::nullopt;
      }
      if (factor > 1 || pieces[places[position]].empty()) {
        take(factor);
      }
      need /= factor;
      rest /= factor;
      if (rest == 1) {
        next();
      }
    }
    // A batch axis between two axes is joined with the first, as in (T, N, C) to (T * N, C). If the
    // second axis is split, the batch axis is joined with its first part: (T, N, C) becomes (T, N *
    // heads, C / heads).
    const bool between =
        axis + 1 < extents.size() && extents[axis + 1] != 1 && position + 1 < places.size();
    if (is_single_sample(position) && between &&
        extents[axis + 1] >= t.stored[places[position + 1]] && pieces[places[position]].empty()) {
      take(1);
      next();
    }
  }
  for (; position < places.size(); next()) {
    if (rest != 1 || axes.empty()) {
      return std::nullopt;
    }
    if (pieces[places[position]].empty()) {
      take(1);
    }
  }
  if (place_of.size() > shape::max_rank) {
    return std::nullopt;
  }
  // The pieces of an axis stay at the position of the axis.
  std::vector<std::size_t> first(pieces.size(), 0);
  dims stored;
  for (std::size_t place = 0; place < pieces.size(); ++place) {
    first[place] = stored.size();
    stored.insert(stored.end(), pieces[place].begin(), pieces[place].end());
  }
  std::vector<std::size_t> new_places;
  new_places.reserve(place_of.size());
  for (const std::size_t place : place_of) {
    new_places.push_back(first[place]++);
  }
  tensor result = t;
  result.extents = extents;
  result.stored = std::move(stored);
  result.axes.clear();
  for (const auto& parts : axes) {
    auto& result_places = result.axes.emplace_back();
    for (const std::size_t part : parts) {
      result_places.push_back(new_places[part]);
    }
  }
  if (result.computed()) {
    std::vector<std::size_t> first_piece(t.stored.size(), 0);
    for (std::size_t i = place_of.size(); i-- > 0;) {
      first_piece[place_of[i]] = new_places[i];
    }
    result.id = out.reshape(result.id, shape_of(result.stored), first_piece);
  }
  return result;
}

/// Returns the same elements, in the file's order, with another shape.
[[nodiscard]] inline tensor reshaped(graph_builder& out, const tensor& t, const dims& extents) {
  require<data_error>(count_of(extents) == t.size(), "a tensor of shape ", words(t.extents),
                      " has ", t.size(), " elements, but the new shape ", words(extents), " has ",
                      count_of(extents));
  if (t.extents == extents) {
    return t;
  }
  if (t.known != nullptr) {
    numbers values = *t.known;
    values.extents = extents;
    return known_tensor(std::move(values));
  }
  static_cast<void>(shape_of(extents));
  if (auto result = regrouped(out, t, extents)) {
    return *std::move(result);
  }
  return out.computed(out.reshape(out.plain(t), shape_of(extents)), t.type);
}

}  // namespace glia::onnx::reading
