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
#include "glia/ops/adjoint_call.hpp"
#include "glia/ops/arrangement.hpp"

namespace glia::ops {

namespace detail {

GLIA_INLINE tensor concat_tensors(const glia::device& device, std::span<const tensor> parts,
                                  std::size_t axis) {
  constexpr std::size_t most = kernels::concat::operands;
  if (parts.size() <= most) {
    std::array<tensor, most> operands;
    std::copy(parts.begin(), parts.end(), operands.begin());
    return std::apply(
        [&](const auto&... each) { return device.run(kernels::concat{axis}, each...); }, operands);
  }
  std::vector<tensor> joined;
  for (std::size_t i = 0; i < parts.size(); i += most) {
    joined.push_back(
        concat_tensors(device, parts.subspan(i, std::min(most, parts.size() - i)), axis));
  }
  return concat_tensors(device, std::span<const tensor>(joined), axis);
}

}  // namespace detail

GLIA_INLINE variable concat(const std::vector<variable>& parts, std::ptrdiff_t axis) {
  require<value_error>(!parts.empty(), "concat: expected at least one variable, got none");
  const std::size_t along = axis_from_front("concat", parts.front().shape(), axis);
  std::vector<tensor> values;
  values.reserve(parts.size());
  bool needs_gradient = false;
  for (const variable& part : parts) {
    values.push_back(part.value());
    needs_gradient = needs_gradient || part.needs_gradient();
  }
  tape& owner = parts.front().owner();
  auto y = detail::concat_tensors(owner.device(), std::span<const tensor>(values), along);
  struct share {
    gradient_slot slot;
    std::size_t extent;
  };
  std::vector<share> shares;
  shares.reserve(parts.size());
  for (const variable& part : parts) {
    shares.push_back({part.slot(), part.shape()[along]});
  }
  return owner.record(
      std::move(y), needs_gradient, [along, shares = std::move(shares)](auto& to, const auto& dy) {
        std::size_t begin = 0;
        for (const share& s : shares) {
          if (s.slot) {
            to.add(s.slot, to.device().run(kernels::slice{along, begin, s.extent}, dy));
          }
          begin += s.extent;
        }
      });
}

GLIA_INLINE variable concat(std::initializer_list<variable> parts, std::ptrdiff_t axis) {
  return concat(std::vector<variable>(parts), axis);
}

GLIA_INLINE variable slice(variable x, const kernels::slice& which) {
  return call(x.owner(), which, std::move(x));
}

GLIA_INLINE std::vector<variable> split(const variable& x, std::ptrdiff_t axis,
                                        std::span<const std::size_t> extents) {
  const std::size_t along = axis_from_front("split", x.shape(), axis);
  const std::size_t sum = std::accumulate(extents.begin(), extents.end(), std::size_t{0});
  require<shape_error>(!extents.empty() && sum == x.shape()[along], "split: expected parts with ",
                       x.shape()[along], " elements in total along axis ", along, " of ", x.shape(),
                       ", got ", sum);
  std::vector<tensor> parts;
  std::vector<shape> shapes;
  std::size_t begin = 0;
  for (const std::size_t extent : extents) {
    parts.push_back(x.device().run(kernels::slice{along, begin, extent}, x.value()));
    shapes.push_back(parts.back().shape());
    begin += extent;
  }
  return x.owner().record_all(
      std::move(parts), x.needs_gradient(),
      [from = x.slot(), shapes = std::move(shapes), along](auto& to, std::vector<tensor> dy) {
        for (std::size_t i = 0; i < dy.size(); ++i) {
          if (!dy[i]) {
            dy[i] = to.device().run(kernels::full{shapes[i], 0});
          }
        }
        to.add(from, detail::concat_tensors(to.device(), std::span<const tensor>(dy), along));
      });
}

GLIA_INLINE std::vector<variable> split(const variable& x, std::ptrdiff_t axis,
                                        std::initializer_list<std::size_t> extents) {
  return split(x, axis, std::span<const std::size_t>(extents.begin(), extents.size()));
}

GLIA_INLINE variable pad(variable x, const kernels::pad& around) {
  return call(x.owner(), around, std::move(x));
}

GLIA_INLINE variable permute(variable x, const axis_list& order) {
  return call(x.owner(), kernels::permute_axes{order}, std::move(x));
}

}  // namespace glia::ops
