#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/call.hpp"

namespace glia::ops {

namespace detail {

GLIA_INLINE tensor concat_tensors(const glia::device& device, std::span<const tensor> parts,
                                  std::size_t axis) {
  constexpr std::size_t limit = kernels::concat::operands;
  if (parts.size() <= limit) {
    std::array<tensor, limit> operands;
    std::copy(parts.begin(), parts.end(), operands.begin());
    return std::apply(
        [&](const auto&... part) { return device.run(kernels::concat{axis}, part...); }, operands);
  }
  std::vector<tensor> joined;
  for (std::size_t i = 0; i < parts.size(); i += limit) {
    joined.push_back(
        concat_tensors(device, parts.subspan(i, std::min(limit, parts.size() - i)), axis));
  }
  return concat_tensors(device, std::span<const tensor>(joined), axis);
}

}  // namespace detail

GLIA_INLINE variable concat(const std::vector<variable>& parts, std::ptrdiff_t axis) {
  require<value_error>(!parts.empty(), "concat: expected at least one variable, got none");
  constexpr std::size_t limit = kernels::concat::operands;
  tape& owner = parts.front().owner();
  const kernels::concat kernel{kernels::axis_from_front("concat", parts.front().shape(), axis)};
  std::vector<variable> joined;
  for (std::size_t begin = 0; begin < parts.size(); begin += limit) {
    const auto part = [&](std::size_t i) {
      return begin + i < parts.size() ? call_operand(parts[begin + i]) : call_operand(tensor{});
    };
    joined.push_back(call(owner, kernel, part(0), part(1), part(2), part(3), part(4), part(5),
                          part(6), part(7)));
  }
  return joined.size() == 1 ? joined.front() : concat(joined, axis);
}

GLIA_INLINE variable concat(std::initializer_list<variable> parts, std::ptrdiff_t axis) {
  return concat(std::vector<variable>(parts), axis);
}

GLIA_INLINE variable slice(variable x, const kernels::slice& range) {
  return call(x.owner(), range, std::move(x));
}

GLIA_INLINE std::vector<variable> split(const variable& x, std::ptrdiff_t axis,
                                        std::span<const std::size_t> extents) {
  const std::size_t axis_index = kernels::axis_from_front("split", x.shape(), axis);
  const std::size_t sum = std::accumulate(extents.begin(), extents.end(), std::size_t{0});
  require<shape_error>(!extents.empty() && sum == x.shape()[axis_index],
                       "split: expected parts with ", x.shape()[axis_index],
                       " elements in total along axis ", axis_index, " of ", x.shape(), ", got ",
                       sum);
  std::vector<tensor> parts;
  std::vector<shape> shapes;
  std::size_t begin = 0;
  for (const std::size_t extent : extents) {
    parts.push_back(x.device().run(kernels::slice{axis_index, begin, extent}, x.value()));
    shapes.push_back(parts.back().shape());
    begin += extent;
  }
  return x.owner().record_all(
      std::move(parts), x.needs_gradient(),
      [slot = x.slot(), shapes = std::move(shapes), axis_index](auto& sums,
                                                                std::vector<tensor> dy) {
        for (std::size_t i = 0; i < dy.size(); ++i) {
          if (!dy[i]) {
            dy[i] = sums.device().run(kernels::full{shapes[i], 0});
          }
        }
        sums.add(slot,
                 detail::concat_tensors(sums.device(), std::span<const tensor>(dy), axis_index));
      });
}

GLIA_INLINE std::vector<variable> split(const variable& x, std::ptrdiff_t axis,
                                        std::initializer_list<std::size_t> extents) {
  return split(x, axis, std::span<const std::size_t>(extents.begin(), extents.size()));
}

GLIA_INLINE variable pad(variable x, const kernels::pad& padding) {
  return call(x.owner(), padding, std::move(x));
}

GLIA_INLINE variable permute(variable x, const kernels::axis_list& order) {
  return call(x.owner(), kernels::permute_axes{order}, std::move(x));
}

}  // namespace glia::ops
