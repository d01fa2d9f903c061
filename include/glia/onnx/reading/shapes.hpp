#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/number_format.hpp"
#include "glia/onnx/reading/operation.hpp"

// Operations that change the arrangement of axes. Most of them add no nodes.
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

inline void reshape(operation& n) {
  const tensor& x = n.operand(0);
  const std::vector<std::int64_t> requested =
      n.has(1) ? n.known_integers(1) : n.integers("shape").value_or(std::vector<std::int64_t>{});
  const bool zero_is_zero = n.integer("allowzero", 0) != 0;
  dims extents(requested.size());
  std::size_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < requested.size(); ++i) {
    require<data_error>(requested[i] >= -1, "has the new extent ", requested[i],
                        "; expected -1, 0 or more");
    if (requested[i] == -1) {
      require<data_error>(!open, "has a new shape with two extents of -1");
      open = i;
      continue;
    }
    require<data_error>(requested[i] > 0 || zero_is_zero || i < x.rank(),
                        "has a new shape that copies the missing axis ", i, " of ",
                        words(x.extents));
    extents[i] =
        requested[i] > 0 || zero_is_zero ? static_cast<std::size_t>(requested[i]) : x.extents[i];
    known = count_of({known, extents[i]});
  }
  if (open) {
    require<data_error>(known > 0 && x.size() % known == 0, "a tensor of shape ", words(x.extents),
                        " cannot be reshaped to rows of ", known);
    extents[*open] = x.size() / known;
  }
  n.give(reshaped(n.out, x, extents));
}

inline void flatten(operation& n) {
  const tensor& x = n.operand(0);
  const std::int64_t requested_axis = n.integer("axis", 1);
  const std::size_t axis = requested_axis == static_cast<std::int64_t>(x.rank())
                               ? x.rank()
                               : axis_in(requested_axis, x.rank());
  const auto middle = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
  n.give(reshaped(n.out, x,
                  {count_of({x.extents.begin(), middle}), count_of({middle, x.extents.end()})}));
}

inline void squeeze(operation& n) {
  const tensor& x = n.operand(0);
  const auto listed_axes = n.integers("axes", 1);
  std::vector<std::size_t> axes;
  if (listed_axes) {
    axes = axes_from(*listed_axes, x.rank());
  } else {
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (x.extents[i] == 1) {
        axes.push_back(i);
      }
    }
  }
  dims extents;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      extents.push_back(x.extents[i]);
    } else {
      require<data_error>(x.extents[i] == 1, "cannot squeeze axis ", i, " of the shape ",
                          words(x.extents), ", because its extent is not 1");
    }
  }
  if (x.known != nullptr || x.source != nullptr) {
    return n.give(reshaped(n.out, x, extents));
  }
  // Removes these axes in memory. The other axes stay, whatever their extents are.
  constexpr auto no_place = static_cast<std::size_t>(-1);
  shape stored;
  std::vector<std::size_t> new_places(x.stored.size(), 0);
  for (std::size_t place = 0; place < x.stored.size(); ++place) {
    const bool is_removed = std::any_of(axes.begin(), axes.end(), [&](std::size_t axis) {
      const auto& places = x.axes[axis];
      return std::find(places.begin(), places.end(), place) != places.end();
    });
    new_places[place] = is_removed ? no_place : stored.rank();
    if (!is_removed) {
      stored.push_back(x.stored[place]);
    }
  }
  tensor result = x;
  result.extents = extents;
  result.stored = dims_of(stored);
  result.axes.clear();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      auto& places = result.axes.emplace_back();
      for (const std::size_t place : x.axes[i]) {
        places.push_back(new_places[place]);
      }
    }
  }
  result.id = n.out.reshape(x.id, stored, new_places);
  n.give(std::move(result));
}

inline void unsqueeze(operation& n) {
  const tensor& x = n.operand(0);
  const auto listed_axes = n.integers("axes", 1);
  require<data_error>(listed_axes.has_value(), "expected a list of axes");
  const std::vector<std::size_t> axes = axes_from(*listed_axes, x.rank() + listed_axes->size());
  tensor result = x;
  for (const std::size_t axis : axes) {
    result.extents.insert(result.extents.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    if (x.known == nullptr) {
      result.axes.insert(result.axes.begin() + static_cast<std::ptrdiff_t>(axis),
                         std::vector<std::size_t>{});
    }
  }
  if (x.known != nullptr) {
    numbers values = *x.known;
    values.extents = result.extents;
    return n.give(known_tensor(std::move(values)));
  }
  n.give(std::move(result));
}

inline void transpose(operation& n) {
  const tensor& x = n.operand(0);
  axis_order order;
  if (const auto permutation = n.integers("perm")) {
    for (const std::int64_t axis : *permutation) {
      order.push_back(axis_in(axis, x.rank()));
    }
    axis_order sorted = order;
    std::sort(sorted.begin(), sorted.end());
    require<data_error>(sorted == plain_order(x.rank()), "does not list each axis of the shape ",
                        words(x.extents), " exactly once");
  } else {
    order = plain_order(x.rank());
    std::reverse(order.begin(), order.end());
  }
  n.give(transposed(x, order));
}

inline void identity(operation& n) { n.give(n.operand(0)); }

/// Rounds to a format with fewer digits: to an integer multiple of the format's step size.
inline value_id nearest_of(graph_builder& out, value_id x, const number_format& format) {
  const value_id size = out.apply(unary_function::abs, x);
  // The largest power of 2 up to x, found by bisection of its exponent.
  value_id scale = out.constant({}, {std::ldexp(1, format.min_exponent)});
  int reach = 1;
  while (2 * reach <= format.max_exponent - format.min_exponent) {
    reach *= 2;
  }
  for (bool first = true; reach > 0; reach /= 2, first = false) {
    const value_id grown = first ? out.constant({}, {std::ldexp(1, format.min_exponent + reach)})
                                 : out.affine(scale, std::ldexp(1, reach), 0);
    scale = out.call(kernels::select{},
                     {out.binary(binary_function::greater, grown, size), scale, grown});
  }
  const value_id steps =
      out.scaled(out.binary(binary_function::divide, x, scale), 1 / format.step());
  const value_id near = out.multiply(out.scaled(rounded_to_even(out, steps), format.step()), scale);
  const value_id fits = out.binary(binary_function::greater, out.constant({}, {format.limit()}),
                                   out.apply(unary_function::abs, near));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return out.call(kernels::select{}, {fits, near, out.scaled(x, infinity)});
}

/// Wraps integers to a type of 8 or 16 bits: drops the higher bits.
inline value_id held_as(graph_builder& out, value_id x, element_type type) {
  using P = ::onnx::TensorProto;
  const bool bytes = type == P::INT8 || type == P::UINT8;
  if (!bytes && type != P::INT16 && type != P::UINT16) {
    return x;
  }
  const double count = bytes ? 0x1p8 : 0x1p16;
  const double minimum = type == P::INT8 || type == P::INT16 ? -count / 2 : 0;
  const value_id quotient =
      out.apply(unary_function::floor, out.affine(x, 1 / count, -minimum / count));
  return out.subtract(x, out.affine(quotient, count, 0));
}

inline void cast(operation& n) {
  tensor x = n.operand(0);
  const auto type = n.node.op_type() == "CastLike" ? n.operand(1).type
                                                   : static_cast<element_type>(n.integer("to", 1));
  require<data_error>(detail::raw_size(type) > 0, "casts to ", name_of_type(type),
                      ", which glia does not support");
  const auto format = format_of(type);
  if (type == x.type) {
    return n.give(std::move(x));
  }
  if (type == truth) {
    x = in_graph(n.out, x);
    const value_id zero = n.out.constant({}, {0});
    x.id = not_of(n.out, n.out.binary(binary_function::equal, x.id, zero));
  } else if (!is_real(type)) {
    if (x.type != truth) {
      x = in_graph(n.out, x);
      x.id = held_as(n.out, is_real(x.type) ? truncated(n.out, x.id) : x.id, type);
    }
  } else if (format && x.type != truth) {
    x = in_graph(n.out, x);
    x.id = nearest_of(n.out, x.id, *format);
  }
  x.type = type;
  n.give(std::move(x));
}

}  // namespace glia::onnx::reading
