#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/reshaping.hpp"

// Operations that change the arrangement of axes. Most of them add no nodes.
namespace glia::onnx::reading {

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

}  // namespace glia::onnx::reading
