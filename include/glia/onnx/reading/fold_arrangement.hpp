#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/fold_elements.hpp"
#include "glia/onnx/reading/indices.hpp"

// Arranging and summing numbers that do not depend on samples, when the file is read.
namespace glia::onnx::reading::folding {

/// Returns rows of a tensor along an axis, selected by their indices.
[[nodiscard]] inline numbers rows_of(const numbers& x, std::size_t axis,
                                     const std::vector<std::size_t>& rows) {
  dims extents = x.extents;
  extents[axis] = rows.size();
  const dims steps = steps_of(x.extents);
  return selected(x, extents, [&](const dims& position) {
    std::size_t index = 0;
    for (std::size_t i = 0; i < position.size(); ++i) {
      index += (i == axis ? rows[position[i]] : position[i]) * steps[i];
    }
    return index;
  });
}

inline void gather(operation& n) {
  const numbers x = n.known(0);
  const numbers indices = n.known(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.extents.size());
  numbers result = rows_of(x, axis, rows_from(indices.integers(), x.extents[axis]));
  dims extents(x.extents.begin(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  extents.insert(extents.end(), indices.extents.begin(), indices.extents.end());
  extents.insert(extents.end(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                 x.extents.end());
  result.extents = std::move(extents);
  n.give(known_tensor(std::move(result)));
}

inline void slice(operation& n) {
  numbers x = n.known(0);
  for (const axis_slice& slice : slices_of(n, x.extents.size())) {
    x = rows_of(x, slice.axis, slice.rows(x.extents[slice.axis]));
  }
  n.give(known_tensor(std::move(x)));
}

inline void concat(operation& n) {
  const std::vector<numbers> parts = operands(n, 1);
  const std::size_t axis = axis_in(n.integer("axis", 1), parts[0].extents.size());
  dims extents = parts[0].extents;
  extents[axis] = 0;
  bool real = false;
  for (const numbers& part : parts) {
    dims rest = part.extents;
    require<data_error>(rest.size() == extents.size(), "joins tensors with ", extents.size(),
                        " and ", rest.size(), " axes");
    const std::size_t extent = std::exchange(rest[axis], extents[axis]);
    require<data_error>(rest == extents, "joins tensors of shapes ", words(parts[0].extents),
                        " and ", words(part.extents), " along axis ", axis);
    extents[axis] += extent;
    real = real || part.real();
  }
  require_few(extents);
  const std::size_t rows =
      count_of({extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(axis)});
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const numbers& part : parts) {
      const std::size_t row_size = part.size() / std::max<std::size_t>(rows, 1);
      for (std::size_t i = row * row_size; i < (row + 1) * row_size; ++i) {
        real ? reals.push_back(part.at(i)) : integers.push_back(part.integers()[i]);
      }
    }
  }
  n.give(known_tensor(real ? real_numbers(std::move(reals), extents, parts[0].type)
                           : integer_numbers(std::move(integers), extents, parts[0].type)));
}

inline void split(operation& n) {
  const numbers x = n.known(0);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.extents.size());
  const std::size_t extent = x.extents[axis];
  const std::size_t count = n.results.size();
  const auto sizes = n.integers("split", 1);
  const std::size_t even = (extent + count - 1) / std::max<std::size_t>(count, 1);
  std::size_t begin = 0;
  require<data_error>(!sizes || sizes->size() == count, "has ", count,
                      " results, but another number of parts");
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = sizes ? dims_from(*sizes)[i] : std::min(even, extent - begin);
    require<data_error>(size <= extent - begin, "has parts that exceed axis ", axis);
    std::vector<std::size_t> rows;
    for (std::size_t k = 0; k < size; ++k) {
      rows.push_back(begin + k);
    }
    n.give(known_tensor(rows_of(x, axis, rows)), i);
    begin += size;
  }
}

inline void expand(operation& n) {
  const numbers x = n.known(0);
  n.give(known_tensor(broadcast_to(x, broadcast(x.extents, dims_from(n.known_integers(1))))));
}
inline void tile(operation& n) {
  numbers x = n.known(0);
  const dims repeats = dims_from(n.known_integers(1));
  require<data_error>(repeats.size() == x.extents.size(), "has ", repeats.size(), " repeats for ",
                      x.extents.size(), " axes");
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    const std::size_t extent = x.extents[axis];
    const std::size_t total = count_of({extent, repeats[axis]});
    require_few({total});
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < total; ++i) {
      rows.push_back(i % extent);
    }
    x = rows_of(x, axis, rows);
  }
  n.give(known_tensor(std::move(x)));
}

inline void range(operation& n) {
  const std::vector<numbers> x = operands(n, 3);
  for (const numbers& operand : x) {
    require<data_error>(operand.size() == 1, "expected three numbers");
  }
  const auto require_count = [&](bool fits) {
    require<data_error>(fits, "cannot make the range from ", x[0].at(0), " to ", x[1].at(0),
                        " with a step of ", x[2].at(0));
  };
  if (!x[0].real()) {
    // The difference of any two integers fits into an unsigned integer.
    const std::int64_t step = x[2].integers()[0];
    const std::uint64_t first = bits(x[0].integers()[0]);
    const std::uint64_t last = bits(x[1].integers()[0]);
    const bool ascending = step > 0;
    const bool empty = ascending ? x[1].integers()[0] <= x[0].integers()[0]
                                 : x[1].integers()[0] >= x[0].integers()[0];
    require_count(step != 0);
    const std::uint64_t distance = empty ? 0 : ascending ? last - first : first - last;
    const std::uint64_t stride = ascending ? bits(step) : 0 - bits(step);
    const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
    require_count(count <= numbers::max_size);
    std::vector<std::int64_t> elements;
    for (std::uint64_t i = 0; i < count; ++i) {
      elements.push_back(wrapped(first + i * bits(step)));
    }
    const std::size_t extent = elements.size();
    return n.give(known_tensor(integer_numbers(std::move(elements), {extent}, x[0].type)));
  }
  const double begin = x[0].at(0);
  const double end = x[1].at(0);
  const double step = x[2].at(0);
  const double count = std::ceil((end - begin) / step);
  require_count(count <= static_cast<double>(numbers::max_size));
  std::vector<double> elements;
  for (double i = 0; i < count; ++i) {
    elements.push_back(rounded(begin + i * step, x[0].type));
  }
  const std::size_t extent = elements.size();
  n.give(known_tensor(real_numbers(std::move(elements), {extent}, x[0].type)));
}

inline void constant_of_shape(operation& n) {
  const dims extents = dims_from(n.known_integers(0));
  require_few(extents);
  const auto* const value = n.attribute("value");
  numbers scalar = value == nullptr ? real_numbers({0}, {}) : numbers_of({&value->t()});
  require<data_error>(scalar.size() == 1, "has a value with ", scalar.size(),
                      " elements; expected one element");
  scalar.extents.clear();
  n.give(known_tensor(broadcast_to(scalar, extents)));
}

/// Reduces numbers along these axes. A reduction of no elements results in `empty`.
template <class Real, class Integer>
void reduce(operation& n, const Real& real, const Integer& integer, double empty) {
  const numbers x = n.known(0);
  const bool keep = n.integer("keepdims", 1) != 0;
  const auto requested_axes = n.integers("axes", 1);
  const std::size_t rank = x.extents.size();
  std::vector<std::size_t> axes = plain_order(rank);
  if (requested_axes && !requested_axes->empty()) {
    axes = axes_from(*requested_axes, rank);
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    return n.give(known_tensor(x));
  }
  axis_order order;
  dims remaining;
  dims result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), axis);
    if (!gone) {
      order.push_back(axis);
      remaining.push_back(x.extents[axis]);
    }
    if (!gone || keep) {
      result.push_back(gone ? 1 : x.extents[axis]);
    }
  }
  order.insert(order.end(), axes.begin(), axes.end());
  const numbers rows = permuted(x, order);
  const std::size_t count = count_of(remaining);
  const std::size_t row_size = x.size() / std::max<std::size_t>(count, 1);
  require<data_error>(row_size > 0 || x.real() || std::isfinite(empty),
                      "converts a tensor without elements to an integer");
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  for (std::size_t row = 0; row < count; ++row) {
    if (row_size == 0) {
      reals.push_back(empty);
      integers.push_back(std::isfinite(empty) ? static_cast<std::int64_t>(empty) : 0);
    } else if (x.real()) {
      double value = rows.at(row * row_size);
      for (std::size_t i = 1; i < row_size; ++i) {
        value = real(value, rows.at(row * row_size + i));
      }
      reals.push_back(rounded(value, x.type));
    } else {
      std::int64_t value = rows.integers()[row * row_size];
      for (std::size_t i = 1; i < row_size; ++i) {
        value = integer(value, rows.integers()[row * row_size + i]);
      }
      integers.push_back(as_held(value, x.type));
    }
  }
  n.give(known_tensor(x.real() ? real_numbers(std::move(reals), result, x.type)
                               : integer_numbers(std::move(integers), result, x.type)));
}
inline void reduce_sum(operation& n) {
  reduce(
      n, [](double a, double b) { return a + b; },
      [](std::int64_t a, std::int64_t b) { return wrapped(bits(a) + bits(b)); }, 0);
}
inline void reduce_product(operation& n) {
  reduce(
      n, [](double a, double b) { return a * b; },
      [](std::int64_t a, std::int64_t b) { return wrapped(bits(a) * bits(b)); }, 1);
}
inline void reduce_largest(operation& n) {
  reduce(
      n, [](double a, double b) { return b > a || std::isnan(b) ? b : a; },
      [](std::int64_t a, std::int64_t b) { return std::max(a, b); },
      -std::numeric_limits<double>::infinity());
}
inline void reduce_smallest(operation& n) {
  reduce(
      n, [](double a, double b) { return b < a || std::isnan(b) ? b : a; },
      [](std::int64_t a, std::int64_t b) { return std::min(a, b); },
      std::numeric_limits<double>::infinity());
}

inline void non_zero(operation& n) {
  const numbers x = n.known(0);
  const std::size_t rank = x.extents.size();
  std::vector<std::vector<std::int64_t>> places(rank);
  dims position(rank, 0);
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t i = 0; i < rank && x.at(k) != 0; ++i) {
      places[i].push_back(static_cast<std::int64_t>(position[i]));
    }
    advance(position, x.extents);
  }
  std::vector<std::int64_t> elements;
  for (const auto& axis_places : places) {
    elements.insert(elements.end(), axis_places.begin(), axis_places.end());
  }
  n.give(known_tensor(integer_numbers(elements, {rank, rank == 0 ? 0 : elements.size() / rank})));
}

}  // namespace glia::onnx::reading::folding
