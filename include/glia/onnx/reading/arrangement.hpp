#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/operation.hpp"

// Operations that move elements. Most only say otherwise which axes lie where.
namespace glia::onnx::reading {

using axis_order = std::vector<std::size_t>;

/// A tensor whose numbers are in the graph.
[[nodiscard]] inline tensor in_graph(graph_builder& out, const tensor& t) {
  return t.computed() ? t : out.computed(out.plain(t), t.type);
}

// --- shapes
// ----------------------------------------------------------------------------------------

/// With the file's axes in this order: axis i of the result is axis order[i].
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

/// The same axes in memory, some of them in pieces, as the axes of another shape, if they can be.
[[nodiscard]] inline std::optional<tensor> regrouped(graph_builder& out, const tensor& t,
                                                     const dims& to) {
  const std::vector<std::size_t> places = flat(t.axes);
  if (places.size() != t.stored.size()) {
    return std::nullopt;
  }
  std::vector<dims> pieces(t.stored.size());   // of each place in memory
  std::vector<std::vector<std::size_t>> axes;  // of the result, in pieces counted one by one
  std::vector<std::size_t> place_of;           // of each piece
  std::size_t at = 0;
  std::size_t rest = places.empty() ? 1 : t.stored[places[0]];
  const auto take = [&](std::size_t extent) {
    axes.back().push_back(place_of.size());
    place_of.push_back(places[at]);
    pieces[places[at]].push_back(extent);
  };
  const auto next = [&] {
    ++at;
    rest = at < places.size() ? t.stored[places[at]] : 1;
  };
  for (const std::size_t extent : to) {
    axes.emplace_back();
    if (extent == 0) {
      return std::nullopt;
    }
    std::size_t need = extent;
    if (need == 1 && at < places.size() && rest == 1 && pieces[places[at]].empty()) {
      take(1);
      next();
    }
    while (need > 1) {
      if (at == places.size() || rest == 0) {
        return std::nullopt;
      }
      const std::size_t taken = std::min(rest, need);
      if (need % taken != 0 || rest % taken != 0) {
        return std::nullopt;
      }
      if (taken > 1 || pieces[places[at]].empty()) {
        take(taken);
      }
      need /= taken;
      rest /= taken;
      if (rest == 1) {
        next();
      }
    }
  }
  for (; at < places.size(); next()) {
    if (rest != 1 || axes.empty()) {
      return std::nullopt;
    }
    if (pieces[places[at]].empty()) {
      take(1);
    }
  }
  if (place_of.size() > shape::max_rank) {
    return std::nullopt;
  }
  // Pieces lie where what they are of lay.
  std::vector<std::size_t> first(pieces.size(), 0);
  dims stored;
  for (std::size_t place = 0; place < pieces.size(); ++place) {
    first[place] = stored.size();
    stored.insert(stored.end(), pieces[place].begin(), pieces[place].end());
  }
  std::vector<std::size_t> now;
  for (const std::size_t place : place_of) {
    now.push_back(first[place]++);
  }
  tensor result = t;
  result.extents = to;
  result.stored = std::move(stored);
  result.axes.clear();
  for (const auto& parts : axes) {
    auto& places_now = result.axes.emplace_back();
    for (const std::size_t part : parts) {
      places_now.push_back(now[part]);
    }
  }
  if (result.computed()) {
    result.id = out.reshape(result.id, shape_of(result.stored));
  }
  return result;
}

/// The same elements, in the file's order, under another shape.
[[nodiscard]] inline tensor reshaped(graph_builder& out, const tensor& t, const dims& to) {
  require<data_error>(count_of(to) == t.size(), "a tensor of shape ", words(t.extents), " has ",
                      t.size(), " elements, and one of shape ", words(to), " has ", count_of(to));
  if (t.extents == to) {
    return t;
  }
  if (t.known != nullptr) {
    numbers all = *t.known;
    all.extents = to;
    return known_tensor(std::move(all));
  }
  static_cast<void>(shape_of(to));
  if (auto result = regrouped(out, t, to)) {
    return *std::move(result);
  }
  return out.computed(out.reshape(out.plain(t), shape_of(to)), t.type);
}

inline void reshape(operation& n) {
  const tensor& x = n.operand(0);
  std::vector<std::int64_t> wanted =
      n.has(1) ? n.known_integers(1) : n.integers("shape").value_or(std::vector<std::int64_t>{});
  const bool zero_is_zero = n.integer("allowzero", 0) != 0;
  dims to(wanted.size());
  std::size_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    require<data_error>(wanted[i] >= -1, "reshapes to an extent of ", wanted[i]);
    if (wanted[i] == -1) {
      require<data_error>(!open, "reshapes to a shape with two open extents");
      open = i;
      continue;
    }
    require<data_error>(wanted[i] > 0 || zero_is_zero || i < x.rank(),
                        "reshapes to a shape that copies axis ", i, " of ", words(x.extents));
    to[i] = wanted[i] > 0 || zero_is_zero ? static_cast<std::size_t>(wanted[i]) : x.extents[i];
    known = count_of({known, to[i]});
  }
  if (open) {
    require<data_error>(known > 0 && x.size() % known == 0, "a tensor of shape ", words(x.extents),
                        " cannot be reshaped to rows of ", known);
    to[*open] = x.size() / known;
  } else if (n.out.declared_rows > 0 && !to.empty() && to[0] == n.out.declared_rows &&
             known / to[0] * n.out.rows == x.size()) {
    // The file was written for batches of one size and says it here.
    to[0] = n.out.rows;
  }
  n.give(reshaped(n.out, x, to));
}

inline void flatten(operation& n) {
  const tensor& x = n.operand(0);
  const std::int64_t wanted = n.integer("axis", 1);
  const std::size_t axis =
      wanted == static_cast<std::int64_t>(x.rank()) ? x.rank() : axis_in(wanted, x.rank());
  const auto middle = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
  n.give(reshaped(n.out, x,
                  {count_of({x.extents.begin(), middle}), count_of({middle, x.extents.end()})}));
}

inline void squeeze(operation& n) {
  const tensor& x = n.operand(0);
  const auto given = n.integers("axes", 1);
  std::vector<std::size_t> axes;
  if (given) {
    axes = axes_from(*given, x.rank());
  } else {
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (x.extents[i] == 1) {
        axes.push_back(i);
      }
    }
  }
  dims to;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      to.push_back(x.extents[i]);
    } else {
      require<data_error>(x.extents[i] == 1, "squeezes axis ", i, " of ", words(x.extents));
    }
  }
  if (x.known != nullptr || x.from != nullptr) {
    return n.give(reshaped(n.out, x, to));
  }
  // What lies in memory of these axes goes, of whatever extent the others are.
  shape stored;
  std::vector<std::size_t> now(x.stored.size(), 0);
  for (std::size_t place = 0; place < x.stored.size(); ++place) {
    const bool gone = std::any_of(axes.begin(), axes.end(), [&](std::size_t axis) {
      const auto& places = x.axes[axis];
      return std::find(places.begin(), places.end(), place) != places.end();
    });
    now[place] = stored.rank();
    if (!gone) {
      stored.push_back(x.stored[place]);
    }
  }
  tensor result = x;
  result.extents = to;
  result.stored = dims_of(stored);
  result.axes.clear();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      auto& places = result.axes.emplace_back();
      for (const std::size_t place : x.axes[i]) {
        places.push_back(now[place]);
      }
    }
  }
  result.id = n.out.reshape(x.id, stored);
  n.give(std::move(result));
}

inline void unsqueeze(operation& n) {
  const tensor& x = n.operand(0);
  const auto given = n.integers("axes", 1);
  require<data_error>(given.has_value(), "expected axes");
  const std::vector<std::size_t> axes = axes_from(*given, x.rank() + given->size());
  tensor result = x;
  for (const std::size_t axis : axes) {
    result.extents.insert(result.extents.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    if (x.known == nullptr) {
      result.axes.insert(result.axes.begin() + static_cast<std::ptrdiff_t>(axis),
                         std::vector<std::size_t>{});
    }
  }
  if (x.known != nullptr) {
    numbers all = *x.known;
    all.extents = result.extents;
    return n.give(known_tensor(std::move(all)));
  }
  n.give(std::move(result));
}

inline void transpose(operation& n) {
  const tensor& x = n.operand(0);
  axis_order order;
  if (const auto given = n.integers("perm")) {
    for (const std::int64_t axis : *given) {
      order.push_back(axis_in(axis, x.rank()));
    }
    axis_order sorted = order;
    std::sort(sorted.begin(), sorted.end());
    require<data_error>(sorted == graph_builder::natural_order(x.rank()),
                        "does not name each axis of ", words(x.extents), " once");
  } else {
    order = graph_builder::natural_order(x.rank());
    std::reverse(order.begin(), order.end());
  }
  n.give(transposed(x, order));
}

inline void identity(operation& n) { n.give(n.operand(0)); }

inline void cast(operation& n) {
  tensor x = n.operand(0);
  const auto to = n.node.op_type() == "CastLike" ? n.operand(1).type
                                                 : static_cast<element_type>(n.integer("to", 1));
  if (to == truth && x.type != truth) {
    x = in_graph(n.out, x);
    const value_id zero = n.out.constant({}, {0});
    x.id = not_of(n.out, n.out.binary(binary_function::equal, x.id, zero));
  } else if (to != truth && !is_real(to)) {
    if (is_real(x.type)) {
      x = in_graph(n.out, x);
      x.id = truncated(n.out, x.id);
    }
  } else {
    require<data_error>(detail::raw_size(to) > 0 && to != ::onnx::TensorProto::BFLOAT16,
                        "casts to ", name_of_type(to), ", which glia does not round to");
  }
  x.type = to;
  n.give(std::move(x));
}

// --- parts
// -----------------------------------------------------------------------------------------

/// The file's axes in the order in which they lie in memory, where each lies in one piece.
[[nodiscard]] inline axis_order memory_order(const tensor& t) {
  axis_order order = graph_builder::natural_order(t.rank());
  const bool in_pieces =
      t.known != nullptr ||
      std::any_of(t.axes.begin(), t.axes.end(), [](const auto& a) { return a.size() > 1; });
  if (in_pieces) {
    return order;
  }
  // Those that lie nowhere come behind those before them.
  std::vector<std::size_t> place(t.rank(), 0);
  for (std::size_t i = 0; i < t.rank(); ++i) {
    place[i] = !t.axes[i].empty() ? t.axes[i][0] : i > 0 ? place[i - 1] : 0;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place[a] < place[b]; });
  return order;
}

/// A tensor of the graph in which this axis lies in one piece.
[[nodiscard]] inline tensor with_own_axis(graph_builder& out, const tensor& t, std::size_t axis) {
  if (t.computed() && t.axes[axis].size() == 1) {
    return t;
  }
  const axis_order order = memory_order(t);
  return out.computed(out.stored_as(t, order), order, t.type);
}

/// Elements begin, begin + 1, ... along an axis.
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
  const auto lead =
      std::find_if(parts.begin(), parts.end(), [](const tensor& t) { return t.computed(); });
  const axis_order order = memory_order(lead == parts.end() ? parts.front() : *lead);
  std::vector<value_id> values;
  for (const tensor& t : parts) {
    require<data_error>(t.rank() == parts[0].rank(), "joins tensors of ", parts[0].rank(), " and ",
                        t.rank(), " axes");
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

/// Tensors of one shape as the rows of one along a new axis, the first. Samples, which are on the
/// first axis of each, come first in memory.
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

/// Rows of a tensor along an axis by their numbers, which become an axis.
[[nodiscard]] inline tensor picked(graph_builder& out, const tensor& t, std::size_t axis,
                                   const std::vector<std::size_t>& rows) {
  // A few runs of neighbours are slices; samples stay apart then.
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
  constexpr std::size_t few = 32;
  if (!runs.empty() && runs.size() <= few) {
    std::vector<tensor> parts;
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
  const value_id at = out.indices({rows.size()}, {rows.begin(), rows.end()});
  return out.computed(out.call(kernels::gather{}, {out.stored_as(t, order), at}), order, t.type);
}

/// Elements of a tensor by their numbers in its row-major order.
[[nodiscard]] inline tensor picked_elements(graph_builder& out, value_id flat_table,
                                            const std::vector<std::size_t>& which, const dims& to) {
  const std::size_t count = out.shape_of_value(flat_table).size();
  std::vector<std::int32_t> at;
  for (const std::size_t one : which) {
    require<data_error>(one < count && one <= std::numeric_limits<std::int32_t>::max(),
                        "takes element ", one, " of ", count);
    at.push_back(static_cast<std::int32_t>(one));
  }
  const value_id table = out.reshape(flat_table, {count, 1});
  const value_id all =
      out.call(kernels::gather{}, {table, out.indices({which.size()}, std::move(at))});
  return out.computed(out.reshape(all, shape_of(to)));
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
  if (const auto given = n.integers("split", 1)) {
    parts = dims_from(*given);
  } else {
    const std::size_t count = n.results.size();
    require<data_error>(count > 0, "gives nothing");
    const std::size_t each = (extent + count - 1) / count;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back(std::min(each, extent - std::min(extent, i * each)));
    }
  }
  std::size_t begin = 0;
  require<data_error>(parts.size() == n.results.size(), "gives ", n.results.size(),
                      " results and names ", parts.size(), " parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    require<data_error>(parts[i] <= extent - begin, "takes parts that reach beyond axis ", axis,
                        " of ", words(x.extents));
    n.give(part(n.out, x, axis, begin, parts[i]), i);
    begin += parts[i];
  }
}

/// Which elements of an axis a slice takes.
[[nodiscard]] inline std::vector<std::size_t> sliced(std::size_t extent, std::int64_t begin,
                                                     std::int64_t end, std::int64_t step) {
  require<data_error>(step != 0, "takes slices in steps of 0");
  require<data_error>(extent <= numbers::most, "takes slices of an axis of ", extent);
  const auto count = static_cast<std::int64_t>(extent);
  const auto from_end = [&](std::int64_t at) { return at < 0 ? at + count : at; };
  std::vector<std::size_t> rows;
  if (step > 0) {
    const std::int64_t last = std::clamp<std::int64_t>(from_end(end), 0, count);
    for (std::int64_t at = std::clamp<std::int64_t>(from_end(begin), 0, count); at < last;
         at += std::min(step, count)) {
      rows.push_back(static_cast<std::size_t>(at));
    }
  } else {
    // What is beyond the beginning stays there.
    const std::int64_t last =
        end < -count ? -1 : std::clamp<std::int64_t>(from_end(end), -1, count - 1);
    for (std::int64_t at = std::clamp<std::int64_t>(from_end(begin), -1, count - 1); at > last;
         at += std::max(step, -count)) {
      rows.push_back(static_cast<std::size_t>(at));
    }
  }
  return rows;
}

inline void slice(operation& n) {
  tensor x = n.operand(0);
  const bool attributes = n.opset < 10;
  const auto begins =
      attributes ? n.integers("starts").value_or(std::vector<std::int64_t>{}) : n.known_integers(1);
  const auto ends =
      attributes ? n.integers("ends").value_or(std::vector<std::int64_t>{}) : n.known_integers(2);
  auto axes = attributes ? n.integers("axes") : n.integers("", 3);
  auto steps = attributes ? std::nullopt : n.integers("", 4);
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < begins.size(); ++i) {
      axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!steps) {
    steps.emplace(begins.size(), 1);
  }
  require<data_error>(begins.size() == ends.size() && begins.size() == axes->size() &&
                          begins.size() == steps->size(),
                      "has other numbers of starts, ends, axes and steps");
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t axis = axis_in((*axes)[i], x.rank());
    const auto rows = sliced(x.extents[axis], begins[i], ends[i], (*steps)[i]);
    if (rows.empty()) {
      x = part(n.out, x, axis, 0, 0);
    } else if (rows != graph_builder::natural_order(x.extents[axis])) {
      x = picked(n.out, x, axis, rows);
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
  const auto axes =
      n.has(3) ? axes_from(n.known_integers(3), x.rank()) : graph_builder::natural_order(x.rank());
  const std::string mode = n.word("mode", "constant");
  require<data_error>(pads.size() == 2 * axes.size(), "has ", pads.size(), " pads for ",
                      axes.size(), " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axes[i];
    const std::int64_t before = pads[i];
    const std::int64_t after = pads[i + axes.size()];
    const auto extent = static_cast<std::int64_t>(x.extents[axis]);
    constexpr std::int64_t most = std::int64_t{1} << 32;
    require<data_error>(before > -most && before < most && after > -most && after < most,
                        "pads by ", before, " and ", after);
    if (before == 0 && after == 0) {
      continue;
    }
    if (mode == "constant") {
      const auto cut = [](std::int64_t p) {
        return static_cast<std::size_t>(std::max<std::int64_t>(-p, 0));
      };
      const auto more = [](std::int64_t p) {
        return static_cast<std::size_t>(std::max<std::int64_t>(p, 0));
      };
      require<data_error>(cut(before) + cut(after) <= x.extents[axis],
                          "cuts more than there is of axis ", axis, " of ", words(x.extents));
      x = part(n.out, x, axis, cut(before), x.extents[axis] - cut(before) - cut(after));
      const std::size_t place = x.axes[axis][0];
      if (more(before) + more(after) > 0) {
        x.id = n.out.call(kernels::pad{place, more(before), more(after), value}, {x.id});
      }
      x.extents[axis] = x.stored[place] = n.out.shape_of_value(x.id)[place];
      static_cast<void>(count_of(x.extents));
      continue;
    }
    require<data_error>(mode == "reflect" || mode == "edge", "pads in the mode '", mode, "'");
    const std::int64_t total = extent + before + after;
    require<data_error>(
        extent > 0 && total >= 0 && total <= static_cast<std::int64_t>(numbers::most), "pads axis ",
        axis, " of ", words(x.extents), " by ", before, " and ", after);
    std::vector<std::size_t> rows;
    for (std::int64_t at = -before; at < extent + after; ++at) {
      std::int64_t from = at;
      if (mode == "edge") {
        from = std::clamp<std::int64_t>(at, 0, extent - 1);
      } else {
        const std::int64_t period = std::max<std::int64_t>(2 * (extent - 1), 1);
        from = ((at % period) + period) % period;
        from = from < extent ? from : period - from;
      }
      rows.push_back(static_cast<std::size_t>(from));
    }
    x = picked(n.out, x, axis, rows);
  }
  n.give(std::move(x));
}

/// Repeated to larger extents.
[[nodiscard]] inline tensor expanded(graph_builder& out, const tensor& t, const dims& to) {
  require<data_error>(broadcast(t.extents, to) == to, "a tensor of shape ", words(t.extents),
                      " cannot be repeated to ", words(to));
  if (t.extents == to) {
    return t;
  }
  dims wide(to.size() - t.rank(), 1);
  wide.insert(wide.end(), t.extents.begin(), t.extents.end());
  const value_id plain = out.reshape(out.plain(t), shape_of(wide));
  return out.computed(out.call(kernels::broadcast_to{shape_of(to)}, {plain}), t.type);
}

inline void expand(operation& n) {
  dims to = broadcast(n.operand(0).extents, dims_from(n.known_integers(1)));
  n.give(expanded(n.out, n.x[0], to));
}

inline void tile(operation& n) {
  tensor x = n.operand(0);
  const dims repeats = dims_from(n.known_integers(1));
  require<data_error>(repeats.size() == x.rank(), "has ", repeats.size(), " repeats for ", x.rank(),
                      " axes");
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (repeats[axis] == 1) {
      continue;
    }
    const auto middle = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
    const std::size_t before = count_of({x.extents.begin(), middle});
    const std::size_t after = count_of({middle, x.extents.end()});
    const value_id rows = n.out.reshape(n.out.plain(x), shape_of({before, 1, after}));
    const shape all = shape_of({before, repeats[axis], after});
    dims to = x.extents;
    to[axis] = count_of({to[axis], repeats[axis]});
    const value_id repeated = n.out.call(kernels::broadcast_to{all}, {rows});
    x = n.out.computed(n.out.reshape(repeated, shape_of(to)), x.type);
  }
  n.give(std::move(x));
}

// --- indices
// ---------------------------------------------------------------------------------------

/// Numbers of rows, counted from 0, of integers that may count from the end.
[[nodiscard]] inline std::vector<std::size_t> rows_from(const std::vector<std::int64_t>& all,
                                                        std::size_t extent) {
  std::vector<std::size_t> rows;
  for (const std::int64_t one : all) {
    rows.push_back(axis_in(one, extent));
  }
  return rows;
}

inline void gather(operation& n) {
  const tensor& x = n.operand(0);
  const tensor& at = n.operand(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  dims to(x.extents.begin(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(to.end(), at.extents.begin(), at.extents.end());
  to.insert(to.end(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.extents.end());
  if (at.known != nullptr || at.from != nullptr) {
    const tensor rows = picked(n.out, x, axis, rows_from(n.known_integers(1), x.extents[axis]));
    return n.give(reshaped(n.out, rows, to));
  }
  // The table's axis first; glia gives zeros for numbers that are not in it.
  axis_order first{axis};
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      first.push_back(i);
    }
  }
  const axis_order order = memory_order(at);
  const value_id index = n.out.call(kernels::to_index{}, {n.out.stored_as(at, order)});
  const value_id rows = n.out.call(kernels::gather{}, {n.out.stored_as(x, first), index});
  // The result has the axes of x before this one, those of the numbers, the others of x.
  axis_order result;
  for (const std::size_t i : order) {
    result.push_back(axis + i);
  }
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      result.push_back(i < axis ? i : i + at.rank() - 1);
    }
  }
  n.give(n.out.computed(rows, result, x.type));
}

/// The rows, or of the elements in their order those, that a known mask has.
inline void compress(operation& n) {
  const tensor& x = n.operand(0);
  const std::vector<std::int64_t> kept = n.known_integers(1);
  const bool elements = n.attribute("axis") == nullptr;
  const tensor from = elements ? reshaped(n.out, x, {x.size()}) : x;
  const std::size_t axis = elements ? 0 : axis_in(n.integer("axis", 0), x.rank());
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0) {
      rows.push_back(i);
    }
  }
  n.give(rows.empty() ? part(n.out, from, axis, 0, 0) : picked(n.out, from, axis, rows));
}

inline void gather_elements(operation& n) {
  const tensor& x = n.operand(0);
  const numbers at = n.known(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  require<data_error>(at.extents.size() == x.rank(), "takes from ", x.rank(),
                      " axes by numbers of ", at.extents.size());
  const dims steps = steps_of(x.extents);
  std::vector<std::size_t> which;
  dims place(at.extents.size(), 0);
  for (const std::int64_t one : at.integers()) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const std::size_t there = i == axis ? axis_in(one, x.extents[axis]) : place[i];
      require<data_error>(there < x.extents[i], "takes what is beyond ", words(x.extents));
      from += there * steps[i];
    }
    which.push_back(from);
    for (std::size_t i = place.size(); i-- > 0 && ++place[i] == at.extents[i];) {
      place[i] = 0;
    }
  }
  n.give(picked_elements(n.out, n.out.plain(x), which, at.extents));
}

inline void gather_nd(operation& n) {
  const tensor& x = n.operand(0);
  const numbers at = n.known(1);
  const auto shared =
      static_cast<std::size_t>(std::max<std::int64_t>(n.integer("batch_dims", 0), 0));
  require<data_error>(
      !at.extents.empty() && shared < at.extents.size() && at.extents.back() + shared <= x.rank(),
      "takes from ", words(x.extents), " by numbers of ", words(at.extents));
  const std::size_t depth = at.extents.back();
  const dims steps = steps_of(x.extents);
  dims to(at.extents.begin(), at.extents.end() - 1);
  to.insert(to.end(), x.extents.begin() + static_cast<std::ptrdiff_t>(shared + depth),
            x.extents.end());
  const std::size_t rest =
      count_of({x.extents.begin() + static_cast<std::ptrdiff_t>(shared + depth), x.extents.end()});
  require_few(to);
  std::vector<std::size_t> which;
  const auto& all = at.integers();
  dims place(at.extents.begin(), at.extents.end() - 1);
  std::fill(place.begin(), place.end(), 0);
  for (std::size_t row = 0; depth > 0 && row < all.size() / depth; ++row) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < shared; ++i) {
      require<data_error>(place[i] < x.extents[i], "takes what is beyond ", words(x.extents));
      from += place[i] * steps[i];
    }
    for (std::size_t i = 0; i < depth; ++i) {
      from += axis_in(all[row * depth + i], x.extents[shared + i]) * steps[shared + i];
    }
    for (std::size_t i = 0; i < rest; ++i) {
      which.push_back(from + i);
    }
    for (std::size_t i = place.size(); i-- > 0 && ++place[i] == at.extents[i];) {
      place[i] = 0;
    }
  }
  n.give(picked_elements(n.out, n.out.plain(x), which, to));
}

/// Replaces elements: each of the result is one of what was there or of the updates.
inline void replace(operation& n, const std::vector<std::size_t>& which) {
  const tensor& x = n.operand(0);
  const tensor& updates = n.operand(2);
  const std::string how = n.word("reduction", "none");
  require<data_error>(how == "none", "reduces by '", how, "' as it replaces elements");
  require<data_error>(which.size() == updates.size(), "has ", updates.size(), " updates for ",
                      which.size(), " places");
  const std::size_t size = x.size();
  require_few(x.extents);
  std::vector<std::size_t> from = graph_builder::natural_order(size);
  for (std::size_t i = 0; i < which.size(); ++i) {
    require<data_error>(which[i] < size, "replaces what is beyond ", words(x.extents));
    from[which[i]] = size + i;
  }
  const value_id both = n.out.concat({n.out.reshape(n.out.plain(x), {size}),
                                      n.out.reshape(n.out.plain(updates), {updates.size()})},
                                     0);
  n.give(picked_elements(n.out, both, from, x.extents));
}
inline void scatter_elements(operation& n) {
  const tensor& x = n.operand(0);
  const numbers at = n.known(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  require<data_error>(at.extents.size() == x.rank(), "replaces in ", x.rank(),
                      " axes by numbers of ", at.extents.size());
  const dims steps = steps_of(x.extents);
  std::vector<std::size_t> which;
  dims place(at.extents.size(), 0);
  for (const std::int64_t one : at.integers()) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const std::size_t there = i == axis ? axis_in(one, x.extents[axis]) : place[i];
      require<data_error>(there < x.extents[i], "replaces what is beyond ", words(x.extents));
      to += there * steps[i];
    }
    which.push_back(to);
    for (std::size_t i = place.size(); i-- > 0 && ++place[i] == at.extents[i];) {
      place[i] = 0;
    }
  }
  replace(n, which);
}
inline void scatter_nd(operation& n) {
  const tensor& x = n.operand(0);
  const numbers at = n.known(1);
  require<data_error>(!at.extents.empty() && at.extents.back() <= x.rank(), "replaces in ",
                      words(x.extents), " by numbers of ", words(at.extents));
  const std::size_t depth = at.extents.back();
  const dims steps = steps_of(x.extents);
  const std::size_t rest =
      count_of({x.extents.begin() + static_cast<std::ptrdiff_t>(depth), x.extents.end()});
  const auto& all = at.integers();
  require_few({depth == 0 ? 1 : all.size() / depth, rest});
  std::vector<std::size_t> which;
  for (std::size_t row = 0; depth > 0 && row < all.size() / depth; ++row) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < depth; ++i) {
      to += axis_in(all[row * depth + i], x.extents[i]) * steps[i];
    }
    for (std::size_t i = 0; i < rest; ++i) {
      which.push_back(to + i);
    }
  }
  replace(n, which);
}

inline void one_hot(operation& n) {
  const tensor& at = n.operand(0);
  const double count = n.known_number(1, 0);
  require<data_error>(count >= 1 && count <= static_cast<double>(numbers::most), "has a depth of ",
                      count);
  const auto depth = static_cast<std::size_t>(count);
  const std::size_t axis = axis_in(n.integer("axis", -1), at.rank() + 1);
  value_id rows = no_value;
  if (at.known != nullptr || at.from != nullptr) {
    const numbers all = n.known(0);
    dims to = at.extents;
    to.push_back(depth);
    require_few(to);
    std::vector<double> ones(count_of(to), 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double one = all.at(i) < 0 ? all.at(i) + count : all.at(i);
      if (one >= 0 && one < count) {
        ones[i * depth + static_cast<std::size_t>(one)] = 1;
      }
    }
    rows = n.out.constant(shape_of(to), std::move(ones));
  } else {
    rows = n.out.call(kernels::one_hot{depth, 1, 0},
                      {n.out.call(kernels::to_index{}, {n.out.plain(at)})});
  }
  // off + row (on - off)
  const tensor values = n.operand(2);
  require<data_error>(values.extents == dims{2}, "expected two values, off and on");
  const value_id both = n.out.plain(values);
  const value_id off = n.out.reshape(n.out.slice(both, 0, 0, 1), {});
  const value_id on = n.out.reshape(n.out.slice(both, 0, 1, 1), {});
  const value_id y = n.out.add(n.out.multiply(rows, n.out.subtract(on, off)), off);
  axis_order order;
  for (std::size_t i = 0; i < at.rank(); ++i) {
    order.push_back(i < axis ? i : i + 1);
  }
  order.push_back(axis);
  n.give(n.out.computed(y, order, values.type));
}

inline void depth_to_space(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t b =
      static_cast<std::size_t>(std::max<std::int64_t>(n.integer("blocksize", 0), 0));
  require<data_error>(x.rank() == 4 && b > 0 && b <= x.extents[1] && x.extents[1] % (b * b) == 0,
                      "makes blocks of ", b, " of ", words(x.extents));
  const dims& s = x.extents;
  const std::size_t c = s[1] / (b * b);
  const bool columns_first = n.word("mode", "DCR") == "CRD";
  const tensor parts = reshaped(
      n.out, x, columns_first ? dims{s[0], c, b, b, s[2], s[3]} : dims{s[0], b, b, c, s[2], s[3]});
  const tensor turned = transposed(
      parts, columns_first ? axis_order{0, 1, 4, 2, 5, 3} : axis_order{0, 3, 4, 1, 5, 2});
  n.give(reshaped(n.out, turned, {s[0], c, s[2] * b, s[3] * b}));
}
inline void space_to_depth(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t b =
      static_cast<std::size_t>(std::max<std::int64_t>(n.integer("blocksize", 0), 0));
  require<data_error>(x.rank() == 4 && b > 0 && x.extents[2] % b == 0 && x.extents[3] % b == 0,
                      "makes blocks of ", b, " of ", words(x.extents));
  const dims& s = x.extents;
  const tensor parts = reshaped(n.out, x, {s[0], s[1], s[2] / b, b, s[3] / b, b});
  const tensor turned = transposed(parts, {0, 3, 5, 1, 2, 4});
  n.give(reshaped(n.out, turned, {s[0], count_of({s[1], b, b}), s[2] / b, s[3] / b}));
}

inline void triangle(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  require<data_error>(x.rank() >= 2, "expected matrices, got ", words(x.extents));
  const bool upper = n.integer("upper", 1) != 0;
  const auto k = static_cast<std::int64_t>(n.known_number(1, 0));
  const std::size_t rows = x.extents[x.rank() - 2];
  const std::size_t columns = x.extents.back();
  require_few({rows, columns});
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::int64_t off = static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
      kept.push_back((upper ? off >= k : off <= k) ? 1 : 0);
    }
  }
  n.x = {known_tensor(integer_numbers(std::move(kept), {rows, columns})), x,
         known_tensor(real_numbers({0}, {}))};
  elementwise(
      n, 3,
      [&](const auto& all) {
        return n.out.call(kernels::select{}, {all[0], all[1], all[2]});
      },
      x.type);
}

inline void reverse_sequence(operation& n) {
  const tensor& x = n.operand(0);
  const auto lengths = n.known_integers(1);
  const std::size_t batch = axis_in(n.integer("batch_axis", 1), x.rank());
  const std::size_t time = axis_in(n.integer("time_axis", 0), x.rank());
  require<data_error>(batch != time && lengths.size() == x.extents[batch], "has ", lengths.size(),
                      " lengths for ", words(x.extents));
  std::vector<tensor> all;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::size_t extent = x.extents[time];
    require<data_error>(lengths[i] >= 0 && static_cast<std::size_t>(lengths[i]) <= extent,
                        "reverses ", lengths[i], " steps of ", extent);
    const auto length = static_cast<std::size_t>(lengths[i]);
    std::vector<std::size_t> rows = graph_builder::natural_order(extent);
    std::reverse(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(length));
    all.push_back(picked(n.out, part(n.out, x, batch, i, 1), time, rows));
  }
  n.give(all.empty() ? x : joined(n.out, all, batch));
}

inline void eye_like(operation& n) {
  const tensor& x = n.operand(0);
  require<data_error>(x.rank() == 2, "expected a matrix, got ", words(x.extents));
  require_few(x.extents);
  const std::int64_t k = n.integer("k", 0);
  const auto type = static_cast<element_type>(n.integer("dtype", x.type));
  std::vector<double> all(x.size(), 0);
  for (std::size_t i = 0; i < x.extents[0]; ++i) {
    for (std::size_t j = 0; j < x.extents[1]; ++j) {
      const std::int64_t off = static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
      all[i * x.extents[1] + j] = off == k ? 1 : 0;
    }
  }
  if (is_real(type)) {
    return n.give(known_tensor(real_numbers(std::move(all), x.extents, type)));
  }
  n.give(known_tensor(integer_numbers({all.begin(), all.end()}, x.extents, type)));
}

}  // namespace glia::onnx::reading
