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
  return taken(x, extents, [&](const dims& at) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      from += (i == axis ? rows[at[i]] : at[i]) * steps[i];
    }
    return from;
  });
}

inline void gather(operation& n) {
  const numbers x = n.known(0);
  const numbers at = n.known(1);
  const std::size_t axis = axis_in(n.integer("axis", 0), x.extents.size());
  numbers made = rows_of(x, axis, rows_from(at.integers(), x.extents[axis]));
  dims to(x.extents.begin(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(to.end(), at.extents.begin(), at.extents.end());
  to.insert(to.end(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.extents.end());
  made.extents = std::move(to);
  n.give(known_tensor(std::move(made)));
}

inline void slice(operation& n) {
  numbers x = n.known(0);
  for (const axis_slice& one : slices_of(n, x.extents.size())) {
    x = rows_of(x, one.axis, one.rows(x.extents[one.axis]));
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
    const std::size_t more = std::exchange(rest[axis], extents[axis]);
    require<data_error>(rest == extents, "joins tensors of shapes ", words(parts[0].extents),
                        " and ", words(part.extents), " along axis ", axis);
    extents[axis] += more;
    real = real || part.real();
  }
  require_few(extents);
  const std::size_t before =
      count_of({extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(axis)});
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  for (std::size_t row = 0; row < before; ++row) {
    for (const numbers& part : parts) {
      const std::size_t each = part.size() / std::max<std::size_t>(before, 1);
      for (std::size_t i = row * each; i < (row + 1) * each; ++i) {
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
  const auto given = n.integers("split", 1);
  const std::size_t even = (extent + count - 1) / std::max<std::size_t>(count, 1);
  std::size_t begin = 0;
  require<data_error>(!given || given->size() == count, "has ", count,
                      " results, but another number of parts");
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t each = given ? dims_from(*given)[i] : std::min(even, extent - begin);
    require<data_error>(each <= extent - begin, "has parts that exceed axis ", axis);
    std::vector<std::size_t> rows;
    for (std::size_t k = 0; k < each; ++k) {
      rows.push_back(begin + k);
    }
    n.give(known_tensor(rows_of(x, axis, rows)), i);
    begin += each;
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
    const std::size_t all = count_of({extent, repeats[axis]});
    require_few({all});
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < all; ++i) {
      rows.push_back(i % extent);
    }
    x = rows_of(x, axis, rows);
  }
  n.give(known_tensor(std::move(x)));
}

inline void range(operation& n) {
  const std::vector<numbers> x = operands(n, 3);
  for (const numbers& one : x) {
    require<data_error>(one.size() == 1, "expected three numbers");
  }
  const auto require_count = [&](bool fits) {
    require<data_error>(fits, "cannot make the range from ", x[0].at(0), " to ", x[1].at(0),
                        " with a step of ", x[2].at(0));
  };
  if (!x[0].real()) {
    // The difference of any two integers fits into an unsigned integer.
    const std::int64_t by = x[2].integers()[0];
    const std::uint64_t first = bits(x[0].integers()[0]);
    const std::uint64_t last = bits(x[1].integers()[0]);
    const bool up = by > 0;
    const bool none =
        up ? x[1].integers()[0] <= x[0].integers()[0] : x[1].integers()[0] >= x[0].integers()[0];
    require_count(by != 0);
    const std::uint64_t far = none ? 0 : up ? last - first : first - last;
    const std::uint64_t each = up ? bits(by) : 0 - bits(by);
    const std::uint64_t count = far / each + (far % each != 0 ? 1 : 0);
    require_count(count <= numbers::most);
    std::vector<std::int64_t> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      all.push_back(wrapped(first + i * bits(by)));
    }
    const std::size_t extent = all.size();
    return n.give(known_tensor(integer_numbers(std::move(all), {extent}, x[0].type)));
  }
  const double begin = x[0].at(0);
  const double end = x[1].at(0);
  const double step = x[2].at(0);
  const double count = std::ceil((end - begin) / step);
  require_count(count <= static_cast<double>(numbers::most));
  std::vector<double> all;
  for (double i = 0; i < count; ++i) {
    all.push_back(rounded(begin + i * step, x[0].type));
  }
  const std::size_t extent = all.size();
  n.give(known_tensor(real_numbers(std::move(all), {extent}, x[0].type)));
}

inline void constant_of_shape(operation& n) {
  const dims extents = dims_from(n.known_integers(0));
  require_few(extents);
  const auto* const value = n.attribute("value");
  numbers one = value == nullptr ? real_numbers({0}, {}) : numbers_of({&value->t()});
  require<data_error>(one.size() == 1, "has a value with ", one.size(),
                      " elements; expected one element");
  one.extents.clear();
  n.give(known_tensor(broadcast_to(one, extents)));
}

/// Reduces numbers along these axes. A reduction of no elements results in `empty`.
template <class Real, class Integer>
void reduce(operation& n, const Real& real, const Integer& integer, double empty) {
  const numbers x = n.known(0);
  const bool keep = n.integer("keepdims", 1) != 0;
  const auto given = n.integers("axes", 1);
  const std::size_t rank = x.extents.size();
  std::vector<std::size_t> axes = plain_order(rank);
  if (given && !given->empty()) {
    axes = axes_from(*given, rank);
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    return n.give(known_tensor(x));
  }
  axis_order order;
  dims kept;
  dims result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), axis);
    if (!gone) {
      order.push_back(axis);
      kept.push_back(x.extents[axis]);
    }
    if (!gone || keep) {
      result.push_back(gone ? 1 : x.extents[axis]);
    }
  }
  order.insert(order.end(), axes.begin(), axes.end());
  const numbers rows = permuted(x, order);
  const std::size_t count = count_of(kept);
  const std::size_t each = x.size() / std::max<std::size_t>(count, 1);
  require<data_error>(each > 0 || x.real() || std::isfinite(empty),
                      "converts a tensor without elements to an integer");
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  for (std::size_t row = 0; row < count; ++row) {
    if (each == 0) {
      reals.push_back(empty);
      integers.push_back(std::isfinite(empty) ? static_cast<std::int64_t>(empty) : 0);
    } else if (x.real()) {
      double all = rows.at(row * each);
      for (std::size_t i = 1; i < each; ++i) {
        all = real(all, rows.at(row * each + i));
      }
      reals.push_back(rounded(all, x.type));
    } else {
      std::int64_t all = rows.integers()[row * each];
      for (std::size_t i = 1; i < each; ++i) {
        all = integer(all, rows.integers()[row * each + i]);
      }
      integers.push_back(as_held(all, x.type));
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
  dims at(rank, 0);
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t i = 0; i < rank && x.at(k) != 0; ++i) {
      places[i].push_back(static_cast<std::int64_t>(at[i]));
    }
    advance(at, x.extents);
  }
  std::vector<std::int64_t> all;
  for (const auto& one : places) {
    all.insert(all.end(), one.begin(), one.end());
  }
  n.give(known_tensor(integer_numbers(all, {rank, rank == 0 ? 0 : all.size() / rank})));
}

}  // namespace glia::onnx::reading::folding
