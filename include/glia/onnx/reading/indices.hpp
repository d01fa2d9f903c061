#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/onnx/reading/parts.hpp"

// Elements selected by indices, which are usually known when the file is read.
namespace glia::onnx::reading {

/// Converts integers to indices of rows. Negative integers count from the end.
[[nodiscard]] inline std::vector<std::size_t> rows_from(const std::vector<std::int64_t>& indices,
                                                        std::size_t extent) {
  std::vector<std::size_t> rows;
  rows.reserve(indices.size());
  for (const std::int64_t index : indices) {
    rows.push_back(axis_in(index, extent));
  }
  return rows;
}

/// Converts numbers that depend on samples to indices below `count`. Numbers below 0 count from the
/// end.
[[nodiscard]] inline value_id index_of(graph_builder& out, value_id x, double count) {
  const value_id negative = out.binary(binary_function::greater, out.constant({}, {0}), x);
  return out.call(kernels::to_index{}, {out.add(x, out.affine(negative, count, 0))});
}

inline void gather(operation& n) {
  const tensor& x = n.operand(0);
  const tensor& indices = n.operand(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  dims extents(x.extents.begin(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  extents.insert(extents.end(), indices.extents.begin(), indices.extents.end());
  extents.insert(extents.end(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                 x.extents.end());
  if (indices.known != nullptr || indices.source != nullptr) {
    const tensor rows = picked(n.out, x, axis, rows_from(n.known_integers(1), x.extents[axis]));
    return n.give(reshaped(n.out, rows, extents));
  }
  // The table's axis comes first. glia returns zeros for indices outside of the table.
  axis_order first{axis};
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      first.push_back(i);
    }
  }
  const axis_order order = memory_order(indices);
  const value_id index =
      index_of(n.out, n.out.stored_as(indices, order), static_cast<double>(x.extents[axis]));
  const value_id rows = n.out.call(kernels::gather{}, {n.out.stored_as(x, first), index});
  // The result has the axes of x before `axis`, then the axes of the indices, then the other axes
  // of x.
  axis_order result;
  for (const std::size_t i : order) {
    result.push_back(axis + i);
  }
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      result.push_back(i < axis ? i : i + indices.rank() - 1);
    }
  }
  n.give(n.out.computed(rows, result, x.type));
}

/// Selects the rows for which a known mask is true. Without an axis, selects single elements
/// instead.
inline void compress(operation& n) {
  const tensor& x = n.operand(0);
  const std::vector<std::int64_t> mask = n.known_integers(1);
  const bool elements = n.attribute("axis") == nullptr;
  const tensor source = elements ? reshaped(n.out, x, {x.size()}) : x;
  const std::size_t axis = elements ? 0 : axis_in(n.integer("axis", 0), x.rank());
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) {
      rows.push_back(i);
    }
  }
  n.give(rows.empty() ? part(n.out, source, axis, 0, 0) : picked(n.out, source, axis, rows));
}

/// Returns the row-major indices of elements of x, as in GatherElements. A number in `names` gives
/// the position along `axis`. The position of the number in `names` gives the positions along the
/// other axes. `does` is the verb of error messages.
[[nodiscard]] inline std::vector<std::size_t> named_along(const tensor& x, std::size_t axis,
                                                          const numbers& names,
                                                          std::string_view does) {
  const dims steps = steps_of(x.extents);
  std::vector<std::size_t> elements;
  dims place(names.extents.size(), 0);
  for (const std::int64_t index : names.integers()) {
    std::size_t element = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const std::size_t position = i == axis ? axis_in(index, x.extents[axis]) : place[i];
      require<data_error>(position < x.extents[i], does, " an element outside of the shape ",
                          words(x.extents));
      element += position * steps[i];
    }
    elements.push_back(element);
    advance(place, names.extents);
  }
  return elements;
}

/// Returns the row-major indices of the elements of x in selected slices, as in GatherND. Each row
/// of `rows` gives the position of a slice along the first axes after the `shared` leading axes:
/// one number for each axis.
[[nodiscard]] inline std::vector<std::size_t> named_parts(const tensor& x, const numbers& rows,
                                                          std::size_t shared) {
  const std::size_t depth = rows.extents.back();
  const dims steps = steps_of(x.extents);
  const auto inner = x.extents.begin() + static_cast<std::ptrdiff_t>(shared + depth);
  const std::size_t slice_size = count_of({inner, x.extents.end()});
  const auto& positions = rows.integers();
  const dims extents(rows.extents.begin(), rows.extents.end() - 1);
  std::vector<std::size_t> elements;
  dims place(extents.size(), 0);
  for (std::size_t row = 0; depth > 0 && row < positions.size() / depth; ++row) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < shared; ++i) {
      require<data_error>(place[i] < x.extents[i], "takes an element outside of the shape ",
                          words(x.extents));
      first += place[i] * steps[i];
    }
    for (std::size_t i = 0; i < depth; ++i) {
      first += axis_in(positions[row * depth + i], x.extents[shared + i]) * steps[shared + i];
    }
    for (std::size_t i = 0; i < slice_size; ++i) {
      elements.push_back(first + i);
    }
    advance(place, extents);
  }
  return elements;
}

inline void gather_elements(operation& n) {
  const tensor& x = n.operand(0);
  const numbers indices = n.known(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  require<data_error>(indices.extents.size() == x.rank(), "takes from a tensor with ", x.rank(),
                      " axes by indices with ", indices.extents.size(), " axes");
  n.give(picked_elements(n.out, n.out.plain(x), named_along(x, axis, indices, "takes"),
                         indices.extents, x.type));
}

inline void gather_nd(operation& n) {
  const tensor& x = n.operand(0);
  const numbers indices = n.known(1);
  const auto shared =
      static_cast<std::size_t>(std::max<std::int64_t>(n.integer("batch_dims", 0), 0));
  require<data_error>(!indices.extents.empty() && shared < indices.extents.size() &&
                          indices.extents.back() + shared <= x.rank(),
                      "cannot take from the shape ", words(x.extents), " by indices of shape ",
                      words(indices.extents));
  dims extents(indices.extents.begin(), indices.extents.end() - 1);
  extents.insert(extents.end(),
                 x.extents.begin() + static_cast<std::ptrdiff_t>(shared + indices.extents.back()),
                 x.extents.end());
  require_few(extents);
  n.give(picked_elements(n.out, n.out.plain(x), named_parts(x, indices, shared), extents, x.type));
}

/// Replaces elements of x by updates, or combines them with updates by a function. Several updates
/// of one element are applied one after the other.
inline void replace(operation& n, const std::vector<std::size_t>& elements) {
  const tensor& x = n.operand(0);
  const tensor& updates = n.operand(2);
  const std::string reduction = n.word("reduction", "none");
  constexpr std::pair<std::string_view, std::pair<binary_function, double>> functions[] = {
      {"add", {binary_function::add, -0.0}},
      {"mul", {binary_function::multiply, 1}},
      {"max", {binary_function::maximum, -std::numeric_limits<double>::infinity()}},
      {"min", {binary_function::minimum, std::numeric_limits<double>::infinity()}}};
  const auto* const function =
      std::find_if(std::begin(functions), std::end(functions),
                   [&](const auto& entry) { return entry.first == reduction; });
  const bool joins = function != std::end(functions);
  require<data_error>(joins || reduction == "none", "has the unsupported reduction '", reduction,
                      "'");
  require<data_error>(elements.size() == updates.size(), "has ", updates.size(), " updates for ",
                      elements.size(), " indices");
  const std::size_t size = x.size();
  require_few(x.extents);
  for (const std::size_t element : elements) {
    require<data_error>(element < size, "replaces an element outside of the shape ",
                        words(x.extents));
  }
  const value_id flat_updates = n.out.reshape(n.out.plain(updates), {updates.size()});
  if (!joins) {
    std::vector<std::size_t> sources = plain_order(size);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      sources[elements[i]] = size + i;
    }
    const value_id both = n.out.concat({n.out.reshape(n.out.plain(x), {size}), flat_updates}, 0);
    return n.give(picked_elements(n.out, both, sources, x.extents, x.type));
  }
  // Each round applies at most one update to each position. Positions without an update are
  // combined with a neutral value.
  const value_id both =
      n.out.concat({flat_updates, n.out.constant({1}, {function->second.second})}, 0);
  std::vector<std::size_t> round_of;
  round_of.reserve(elements.size());
  std::vector<std::size_t> rounds(size, 0);
  for (const std::size_t element : elements) {
    round_of.push_back(rounds[element]++);
  }
  const std::size_t count = size == 0 ? 0 : *std::max_element(rounds.begin(), rounds.end());
  require<data_error>(count <= numbers::max_size / std::max<std::size_t>(size, 1),
                      "has too many updates, ", count, ", of one element of the shape ",
                      words(x.extents));
  value_id result = n.out.plain(x);
  for (std::size_t round = 0; round < count; ++round) {
    std::vector<std::size_t> sources(size, updates.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (round_of[i] == round) {
        sources[elements[i]] = i;
      }
    }
    result = n.out.binary(function->second.first, result,
                          picked_elements(n.out, both, sources, x.extents, x.type).id);
  }
  n.give(n.out.computed(result, x.type));
}
inline void scatter_elements(operation& n) {
  const tensor& x = n.operand(0);
  const numbers indices = n.known(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.rank());
  require<data_error>(indices.extents.size() == x.rank(), "replaces elements of a tensor with ",
                      x.rank(), " axes by indices with ", indices.extents.size(), " axes");
  replace(n, named_along(x, axis, indices, "replaces"));
}
inline void scatter_nd(operation& n) {
  const tensor& x = n.operand(0);
  const numbers indices = n.known(1);
  require<data_error>(!indices.extents.empty() && indices.extents.back() <= x.rank(),
                      "cannot replace elements of the shape ", words(x.extents),
                      " by indices of shape ", words(indices.extents));
  const std::size_t depth = indices.extents.back();
  const std::size_t slice_size =
      count_of({x.extents.begin() + static_cast<std::ptrdiff_t>(depth), x.extents.end()});
  require_few({depth == 0 ? 1 : indices.integers().size() / depth, slice_size});
  replace(n, named_parts(x, indices, 0));
}

inline void one_hot(operation& n) {
  const tensor& indices = n.operand(0);
  const double count = n.known_number(1, 0);
  require<data_error>(count >= 1 && count <= static_cast<double>(numbers::max_size),
                      "has the unsupported depth ", count);
  const auto depth = static_cast<std::size_t>(count);
  const std::size_t axis = axis_in(n.integer("axis", -1), indices.rank() + 1);
  value_id rows = no_value;
  if (indices.known != nullptr || indices.source != nullptr) {
    const numbers known_indices = n.known(0);
    dims extents = indices.extents;
    extents.push_back(depth);
    require_few(extents);
    std::vector<double> elements(count_of(extents), 0);
    for (std::size_t i = 0; i < known_indices.size(); ++i) {
      const double integer = std::trunc(known_indices.at(i));
      const double index = integer < 0 ? integer + count : integer;
      if (index >= 0 && index < count) {
        elements[i * depth + static_cast<std::size_t>(index)] = 1;
      }
    }
    rows = n.out.constant(shape_of(extents), std::move(elements));
  } else {
    const value_id numbers = n.out.plain(indices);
    const value_id whole = is_real(indices.type) ? truncated(n.out, numbers) : numbers;
    rows = n.out.call(kernels::one_hot{depth, 1, 0}, {index_of(n.out, whole, count)});
  }
  const tensor values = n.operand(2);
  require<data_error>(values.extents == dims{2}, "expected two values, for off and on");
  const value_id both = n.out.plain(values);
  const value_id off_value = n.out.reshape(n.out.slice(both, 0, 0, 1), {});
  const value_id on_value = n.out.reshape(n.out.slice(both, 0, 1, 1), {});
  const value_id y = n.out.call(kernels::select{}, {rows, on_value, off_value});
  axis_order order;
  for (std::size_t i = 0; i < indices.rank(); ++i) {
    order.push_back(i < axis ? i : i + 1);
  }
  order.push_back(axis);
  n.give(n.out.computed(y, order, values.type));
}

}  // namespace glia::onnx::reading
