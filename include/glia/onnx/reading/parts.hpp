#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/reshaping.hpp"

// Slicing, joining and repeating tensors.
namespace glia::onnx::reading {

/// Returns the file's axes in their order in memory. If an axis of the file consists of several
/// axes in memory, returns the file's order instead.
[[nodiscard]] inline axis_order memory_order(const tensor& t) {
  axis_order order = plain_order(t.rank());
  const bool in_pieces =
      t.known != nullptr ||
      std::any_of(t.axes.begin(), t.axes.end(), [](const auto& a) { return a.size() > 1; });
  if (in_pieces) {
    return order;
  }
  // An axis that is not in memory comes after the axis before it.
  std::vector<std::size_t> place(t.rank(), 0);
  for (std::size_t i = 0; i < t.rank(); ++i) {
    place[i] = !t.axes[i].empty() ? t.axes[i][0] : i > 0 ? place[i - 1] : 0;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place[a] < place[b]; });
  return order;
}

/// Returns a value of the graph in which this axis is one axis in memory.
[[nodiscard]] inline tensor with_own_axis(graph_builder& out, const tensor& t, std::size_t axis) {
  if (t.computed() && t.axes[axis].size() == 1) {
    return t;
  }
  const axis_order order = memory_order(t);
  return out.computed(out.stored_as(t, order), order, t.type);
}

/// Returns the elements begin, begin + 1, ... along an axis.
[[nodiscard]] inline tensor part(graph_builder& out, const tensor& t, std::size_t axis,
                                 std::size_t begin, std::size_t extent) {
  tensor result = with_own_axis(out, t, axis);
  const std::size_t place = result.axes[axis][0];
  result.id = out.slice(result.id, place, begin, extent);
  result.extents[axis] = result.stored[place] = extent;
  return result;
}

[[nodiscard]] inline tensor joined(graph_builder& out, const std::vector<tensor>& parts,
                                   std::size_t axis) {
  for (const tensor& t : parts) {
    require<data_error>(t.rank() == parts[0].rank(), "joins tensors with ", parts[0].rank(),
                        " and ", t.rank(), " axes");
  }
  const auto lead =
      std::find_if(parts.begin(), parts.end(), [](const tensor& t) { return t.computed(); });
  const axis_order order = memory_order(lead == parts.end() ? parts.front() : *lead);
  std::vector<value_id> values;
  for (const tensor& t : parts) {
    if (t.extents[axis] > 0) {
      values.push_back(out.stored_as(t, order));
    }
  }
  if (values.empty()) {
    return parts[0];
  }
  const auto place =
      static_cast<std::size_t>(std::find(order.begin(), order.end(), axis) - order.begin());
  return out.computed(out.concat(std::move(values), place), order, parts[0].type);
}

/// Stacks tensors of one shape along a new first axis. The batch axis, which is the first axis of
/// each tensor, comes first in memory.
[[nodiscard]] inline tensor stacked(graph_builder& out, const std::vector<tensor>& parts) {
  const std::size_t rank = parts.at(0).rank();
  axis_order order;
  std::vector<value_id> values;
  for (const tensor& t : parts) {
    require<data_error>(t.extents == parts[0].extents, "stacks tensors of shapes ",
                        words(parts[0].extents), " and ", words(t.extents));
    dims wide = t.extents;
    wide.insert(wide.begin() + (rank > 0 ? 1 : 0), 1);
    values.push_back(out.reshape(out.plain(t), shape_of(wide)));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    order.push_back(i + 1);
  }
  order.insert(order.begin() + (rank > 0 ? 1 : 0), 0);
  return out.computed(out.concat(std::move(values), rank > 0 ? 1 : 0), order, parts[0].type);
}

/// Selects rows of a tensor along an axis by their indices.
[[nodiscard]] inline tensor picked(graph_builder& out, const tensor& t, std::size_t axis,
                                   const std::vector<std::size_t>& rows) {
  // Use slices if there are only a few runs of neighboring rows: slices keep samples independent.
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (const std::size_t row : rows) {
    require<data_error>(row < t.extents[axis], "takes element ", row, " of axis ", axis, " of ",
                        words(t.extents));
    if (!runs.empty() && runs.back().first + runs.back().second == row) {
      ++runs.back().second;
    } else {
      runs.emplace_back(row, 1);
    }
  }
  constexpr std::size_t max_slices = 32;
  if (!runs.empty() && runs.size() <= max_slices) {
    std::vector<tensor> parts;
    parts.reserve(runs.size());
    for (const auto& [begin, extent] : runs) {
      parts.push_back(part(out, t, axis, begin, extent));
    }
    return parts.size() == 1 ? parts[0] : joined(out, parts, axis);
  }
  axis_order order{axis};
  for (std::size_t i = 0; i < t.rank(); ++i) {
    if (i != axis) {
      order.push_back(i);
    }
  }
  const value_id indices = out.indices({rows.size()}, {rows.begin(), rows.end()});
  return out.computed(out.call(kernels::gather{}, {out.stored_as(t, order), indices}), order,
                      t.type);
}

/// Selects elements of a tensor by their row-major indices.
[[nodiscard]] inline tensor picked_elements(graph_builder& out, value_id flat_table,
                                            const std::vector<std::size_t>& indices,
                                            const dims& extents, element_type type) {
  const std::size_t count = out.shape_of_value(flat_table).size();
  std::vector<std::int32_t> rows;
  for (const std::size_t index : indices) {
    require<data_error>(index < count && index <= std::numeric_limits<std::int32_t>::max(),
                        "takes element ", index, " of ", count);
    rows.push_back(static_cast<std::int32_t>(index));
  }
  const value_id table = out.reshape(flat_table, {count, 1});
  const value_id gathered =
      out.call(kernels::gather{}, {table, out.indices({indices.size()}, std::move(rows))});
  return out.computed(out.reshape(gathered, shape_of(extents)), type);
}

inline void concat(operation& n) {
  require_operands(n, std::max<std::size_t>(n.x.size(), 1));
  const std::size_t axis = axis_in(n.integer("axis", 1), n.x[0].rank());
  n.give(n.x.size() == 1 ? n.x[0] : joined(n.out, n.x, axis));
}

inline void split(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  const std::size_t extent = x.extents[axis];
  std::vector<std::size_t> parts;
  if (const auto sizes = n.integers("split", 1)) {
    parts = dims_from(*sizes);
  } else {
    const std::size_t count = n.results.size();
    require<data_error>(count > 0, "has no results");
    const std::size_t part_extent = (extent + count - 1) / count;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back(std::min(part_extent, extent - std::min(extent, i * part_extent)));
    }
  }
  std::size_t begin = 0;
  require<data_error>(parts.size() == n.results.size(), "has ", n.results.size(), " results, but ",
                      parts.size(), " parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    require<data_error>(parts[i] <= extent - begin, "has parts that exceed axis ", axis, " of ",
                        words(x.extents));
    n.give(part(n.out, x, axis, begin, parts[i]), i);
    begin += parts[i];
  }
}

/// Returns the elements of an axis that a slice selects.
[[nodiscard]] inline std::vector<std::size_t> sliced(std::size_t extent, std::int64_t begin,
                                                     std::int64_t end, std::int64_t step) {
  require<data_error>(step != 0, "takes slices with a step of 0");
  require<data_error>(extent <= numbers::max_size,
                      "takes slices of an axis with too many elements: ", extent);
  const auto count = static_cast<std::int64_t>(extent);
  const auto from_end = [&](std::int64_t index) { return index < 0 ? index + count : index; };
  std::vector<std::size_t> rows;
  if (step > 0) {
    const std::int64_t last = std::clamp<std::int64_t>(from_end(end), 0, count);
    for (std::int64_t row = std::clamp<std::int64_t>(from_end(begin), 0, count); row < last;
         row += std::min(step, count)) {
      rows.push_back(static_cast<std::size_t>(row));
    }
  } else {
    // A start before the first element is moved to the first element.
    const std::int64_t last =
        end < -count ? -1 : std::clamp<std::int64_t>(from_end(end), -1, count - 1);
    const std::int64_t first =
        std::clamp<std::int64_t>(from_end(begin), 0, std::max<std::int64_t>(count - 1, 0));
    for (std::int64_t row = count > 0 ? first : -1; row > last; row += std::max(step, -count)) {
      rows.push_back(static_cast<std::size_t>(row));
    }
  }
  return rows;
}

/// A slice along one axis.
struct axis_slice {
  std::size_t axis;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t step;

  [[nodiscard]] std::vector<std::size_t> rows(std::size_t extent) const {
    return sliced(extent, begin, end, step);
  }
};
[[nodiscard]] inline std::vector<axis_slice> slices_of(const operation& n, std::size_t rank) {
  const bool attributes = n.opset < 10;
  const auto begins =
      attributes ? n.integers("starts").value_or(std::vector<std::int64_t>{}) : n.known_integers(1);
  const auto ends =
      attributes ? n.integers("ends").value_or(std::vector<std::int64_t>{}) : n.known_integers(2);
  const auto axes = attributes ? n.integers("axes") : n.integers("", 3);
  const auto steps = attributes ? std::nullopt : n.integers("", 4);
  require<data_error>(begins.size() == ends.size() && (!axes || axes->size() == begins.size()) &&
                          (!steps || steps->size() == begins.size()),
                      "has different numbers of starts, ends, axes and steps");
  std::vector<axis_slice> slices;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    slices.push_back({axis_in(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank), begins[i],
                      ends[i], steps ? (*steps)[i] : 1});
  }
  return slices;
}

inline void slice(operation& n) {
  tensor x = n.operand(0);
  for (const axis_slice& slice : slices_of(n, x.rank())) {
    const auto rows = slice.rows(x.extents[slice.axis]);
    if (rows.empty()) {
      x = part(n.out, x, slice.axis, 0, 0);
    } else if (rows != plain_order(x.extents[slice.axis])) {
      x = picked(n.out, x, slice.axis, rows);
    }
  }
  n.give(std::move(x));
}

inline void pad(operation& n) {
  tensor x = n.operand(0);
  const bool attributes = n.opset < 11;
  const auto pads =
      attributes ? n.integers("pads").value_or(std::vector<std::int64_t>{}) : n.known_integers(1);
  const double value = attributes ? n.real("value", 0) : n.known_number(2, 0);
  const auto axes = n.has(3) ? axes_in_order(n.known_integers(3), x.rank()) : plain_order(x.rank());
  const std::string mode = n.word("mode", "constant");
  require<data_error>(pads.size() == 2 * axes.size(), "has ", pads.size(), " pads for ",
                      axes.size(), " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axes[i];
    const std::int64_t leading = pads[i];
    const std::int64_t trailing = pads[i + axes.size()];
    const auto extent = static_cast<std::int64_t>(x.extents[axis]);
    constexpr std::int64_t limit = std::int64_t{1} << 32;
    require<data_error>(
        leading > -limit && leading < limit && trailing > -limit && trailing < limit,
        "has the unsupported pads ", leading, " and ", trailing);
    if (leading == 0 && trailing == 0) {
      continue;
    }
    if (mode == "constant") {
      const auto cut = [](std::int64_t p) {
        return static_cast<std::size_t>(std::max<std::int64_t>(-p, 0));
      };
      const auto added = [](std::int64_t p) {
        return static_cast<std::size_t>(std::max<std::int64_t>(p, 0));
      };
      require<data_error>(cut(leading) + cut(trailing) <= x.extents[axis],
                          "removes more elements than axis ", axis, " has in the shape ",
                          words(x.extents));
      x = part(n.out, x, axis, cut(leading), x.extents[axis] - cut(leading) - cut(trailing));
      const std::size_t place = x.axes[axis][0];
      if (added(leading) + added(trailing) > 0) {
        x.id = n.out.call(kernels::pad{place, added(leading), added(trailing), value}, {x.id});
      }
      x.extents[axis] = x.stored[place] = n.out.shape_of_value(x.id)[place];
      static_cast<void>(count_of(x.extents));
      continue;
    }
    require<data_error>(mode == "reflect" || mode == "edge" || mode == "wrap",
                        "has the unsupported padding mode '", mode, "'");
    const std::int64_t total = extent + leading + trailing;
    require<data_error>(
        extent > 0 && total >= 0 && total <= static_cast<std::int64_t>(numbers::max_size),
        "cannot pad axis ", axis, " of the shape ", words(x.extents), " by ", leading, " and ",
        trailing);
    std::vector<std::size_t> rows;
    for (std::int64_t position = -leading; position < extent + trailing; ++position) {
      std::int64_t index = position;
      if (mode == "edge") {
        index = std::clamp<std::int64_t>(position, 0, extent - 1);
      } else if (mode == "wrap") {
        index = ((position % extent) + extent) % extent;
      } else {
        const std::int64_t period = std::max<std::int64_t>(2 * (extent - 1), 1);
        index = ((position % period) + period) % period;
        index = index < extent ? index : period - index;
      }
      rows.push_back(static_cast<std::size_t>(index));
    }
    x = picked(n.out, x, axis, rows);
  }
  n.give(std::move(x));
}

/// Broadcasts a tensor to larger extents.
[[nodiscard]] inline tensor expanded(graph_builder& out, const tensor& t, const dims& extents) {
  require<data_error>(broadcast(t.extents, extents) == extents, "a tensor of shape ",
                      words(t.extents), " cannot be repeated to ", words(extents));
  if (t.extents == extents) {
    return t;
  }
  dims wide(extents.size() - t.rank(), 1);
  wide.insert(wide.end(), t.extents.begin(), t.extents.end());
  const value_id plain = out.reshape(out.plain(t), shape_of(wide));
  return out.computed(out.call(kernels::broadcast_to{shape_of(extents)}, {plain}), t.type);
}

inline void expand(operation& n) {
  dims extents = broadcast(n.operand(0).extents, dims_from(n.known_integers(1)));
  // The operand is added to the graph even if nothing is repeated, as in a batch of one sample,
  // because weights belong to the first layer that uses them.
  n.give(expanded(n.out, in_graph(n.out, n.x[0]), extents));
}

inline void tile(operation& n) {
  tensor x = in_graph(n.out, n.operand(0));
  const dims repeats = dims_from(n.known_integers(1));
  require<data_error>(repeats.size() == x.rank(), "has ", repeats.size(), " repeats for ", x.rank(),
                      " axes");
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (repeats[axis] == 1) {
      continue;
    }
    const auto middle = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
    const std::size_t outer = count_of({x.extents.begin(), middle});
    const std::size_t inner = count_of({middle, x.extents.end()});
    const value_id rows = n.out.reshape(n.out.plain(x), shape_of({outer, 1, inner}));
    const shape wide = shape_of({outer, repeats[axis], inner});
    dims extents = x.extents;
    extents[axis] = count_of({extents[axis], repeats[axis]});
    const value_id repeated = n.out.call(kernels::broadcast_to{wide}, {rows});
    x = n.out.computed(n.out.reshape(repeated, shape_of(extents)), x.type);
  }
  n.give(std::move(x));
}

}  // namespace glia::onnx::reading
