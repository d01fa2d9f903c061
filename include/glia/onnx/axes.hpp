#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

// Elements in row-major order: the last axis varies fastest.
namespace glia::onnx {

/// A permutation of axes: axis i of the permuted tensor is axis order[i] of the original one.
using axis_order = std::vector<std::size_t>;

[[nodiscard]] inline axis_order plain_order(std::size_t rank) {
  axis_order order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// Returns the distance in memory between neighboring elements along each axis, in elements.
[[nodiscard]] inline std::vector<std::size_t> steps_of(const std::vector<std::size_t>& extents) {
  std::vector<std::size_t> steps(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) {
    steps[i - 1] = steps[i] * extents[i];
  }
  return steps;
}

/// Returns the index of element i along an axis.
[[nodiscard]] inline std::size_t index_along(std::size_t axis,
                                             const std::vector<std::size_t>& extents,
                                             std::size_t i) {
  for (std::size_t behind = extents.size(); --behind > axis;) {
    i /= extents[behind];
  }
  return i % extents[axis];
}

/// Advances `place` to the next position in row-major order. The position after the last one is the
/// first.
inline void advance(std::vector<std::size_t>& place, const std::vector<std::size_t>& extents) {
  for (std::size_t i = place.size(); i-- > 0 && ++place[i] == extents[i];) {
    place[i] = 0;
  }
}

/// Returns all elements with their axes permuted. `order` can omit axes of extent 1.
template <class T>
[[nodiscard]] std::vector<T> in_order(const std::vector<T>& elements,
                                      const std::vector<std::size_t>& extents,
                                      const axis_order& order) {
  const std::vector<std::size_t> all_steps = steps_of(extents);
  std::vector<std::size_t> steps;
  std::vector<std::size_t> turned;
  for (const std::size_t axis : order) {
    steps.push_back(all_steps[axis]);
    turned.push_back(extents[axis]);
  }
  std::vector<T> result;
  result.reserve(elements.size());
  std::vector<std::size_t> place(order.size(), 0);
  for (std::size_t n = 0; n < elements.size(); ++n) {
    std::size_t source = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      source += place[i] * steps[i];
    }
    result.push_back(elements[source]);
    advance(place, turned);
  }
  return result;
}

}  // namespace glia::onnx
