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

#include "glia/ops/tape.hpp"

namespace glia::ops {

namespace detail {

/// Applies a kernel that only rearranges elements. The backward pass runs the kernel `back(s)`,
/// where s is the shape of x. It does not need the elements of x.
template <backend B, kernel K, class Back>
[[nodiscard]] variable<B> rearranged(variable<B> x, const K& k, const Back& back) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const shape before = x.shape();
  auto y = owner.device().run(k, std::move(x).value());
  return owner.record(std::move(y), static_cast<bool>(from),
                      [from, adjoint = back(before)](auto& to, auto dy) {
                        to.add(from, to.device().run(adjoint, std::move(dy)));
                      });
}

/// Concatenates any number of tensors. One kernel call concatenates up to
/// `kernels::concat::operands` tensors.
template <backend B>
[[nodiscard]] typename B::tensor concat_tensors(const B& device,
                                                std::span<const typename B::tensor> parts,
                                                std::size_t axis) {
  using tensor = typename B::tensor;
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

/// Concatenates variables along an axis: concat({a, b}, 1), or concat({a, b}, -1) along the last.
///
/// The extents of all other axes must be equal. Throws `shape_error` if they differ, and
/// `value_error` if there are no variables. NumPy: concatenate; PyTorch: cat.
template <backend B>
[[nodiscard]] variable<B> concat(const std::vector<variable<B>>& parts, std::ptrdiff_t axis) {
  require<value_error>(!parts.empty(), "concat: expected at least one variable, got none");
  const std::size_t along = axis_from_front("concat", parts.front().shape(), axis);
  std::vector<typename B::tensor> values;
  values.reserve(parts.size());
  bool needs_gradient = false;
  for (const variable<B>& part : parts) {
    values.push_back(part.value());
    needs_gradient = needs_gradient || part.needs_gradient();
  }
  tape<B>& owner = parts.front().owner();
  auto y =
      detail::concat_tensors(owner.device(), std::span<const typename B::tensor>(values), along);
  struct share {
    gradient_slot slot;
    std::size_t extent;
  };
  std::vector<share> shares;
  shares.reserve(parts.size());
  for (const variable<B>& part : parts) {
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
/// Concatenates variables along an axis.
template <backend B>
[[nodiscard]] variable<B> concat(std::initializer_list<variable<B>> parts, std::ptrdiff_t axis) {
  return concat(std::vector<variable<B>>(parts), axis);
}

/// Returns the elements begin to begin + extent - 1 along an axis.
///
///     slice(x, {.axis = 1, .begin = 2, .extent = 3})
///
/// `extent` is the number of elements, as in PyTorch's narrow, not the end as in Python's slices.
/// Its default is 1. The result keeps the axis, even if its extent is 1. Throws `shape_error` if x
/// does not have this axis, or if begin + extent exceeds the extent of the axis.
template <backend B>
[[nodiscard]] variable<B> slice(variable<B> x, const kernels::slice& which) {
  return detail::rearranged(std::move(x), which, [&](const shape& s) {
    return kernels::pad{which.axis, which.begin, s[which.axis] - which.begin - which.extent};
  });
}

/// Splits a variable along an axis into parts of the given extents: split(x, 1, {2, 3}). The axis
/// -1 is the last one.
///
/// `extents` contains the number of elements of each part, as in PyTorch. PyTorch's arguments have
/// the order x, extents, axis. NumPy expects positions instead of extents. In the backward pass,
/// `split` needs less memory than several calls of `slice`. Throws `shape_error` if the extents do
/// not add up to the extent of the axis.
template <backend B>
[[nodiscard]] std::vector<variable<B>> split(const variable<B>& x, std::ptrdiff_t axis,
                                             std::span<const std::size_t> extents) {
  const std::size_t along = axis_from_front("split", x.shape(), axis);
  const std::size_t sum = std::accumulate(extents.begin(), extents.end(), std::size_t{0});
  require<shape_error>(!extents.empty() && sum == x.shape()[along], "split: expected parts with ",
                       x.shape()[along], " elements in total along axis ", along, " of ", x.shape(),
                       ", got ", sum);
  std::vector<typename B::tensor> parts;
  std::vector<shape> shapes;
  std::size_t begin = 0;
  for (const std::size_t extent : extents) {
    parts.push_back(x.device().run(kernels::slice{along, begin, extent}, x.value()));
    shapes.push_back(parts.back().shape());
    begin += extent;
  }
  return x.owner().record_all(
      std::move(parts), x.needs_gradient(),
      [from = x.slot(), shapes = std::move(shapes), along](auto& to,
                                                           std::vector<typename B::tensor> dy) {
        for (std::size_t i = 0; i < dy.size(); ++i) {
          if (!dy[i]) {
            dy[i] = to.device().run(kernels::full{shapes[i], 0});
          }
        }
        to.add(from,
               detail::concat_tensors(to.device(), std::span<const typename B::tensor>(dy), along));
      });
}
/// Splits a variable along an axis into parts of the given extents.
template <backend B>
[[nodiscard]] std::vector<variable<B>> split(const variable<B>& x, std::ptrdiff_t axis,
                                             std::initializer_list<std::size_t> extents) {
  return split(x, axis, std::span<const std::size_t>(extents.begin(), extents.size()));
}

/// Adds elements of a constant value before and after a variable along an axis.
///
///     pad(x, {.axis = 1, .before = 2, .after = 1, .value = 0})
///
/// Members that are left out are 0. Throws `shape_error` if x does not have this axis.
template <backend B>
[[nodiscard]] variable<B> pad(variable<B> x, const kernels::pad& around) {
  return detail::rearranged(std::move(x), around, [&](const shape& s) {
    return kernels::slice{around.axis, around.before, s[around.axis]};
  });
}

/// Permutes the axes of a variable: axis i of the result is axis order[i] of x.
///
/// permute(x, {1, 0}) transposes a matrix. NumPy: transpose(x, order); PyTorch: permute. Throws
/// `shape_error` if `order` does not contain every axis exactly once.
template <backend B>
[[nodiscard]] variable<B> permute(variable<B> x, const axis_list& order) {
  const kernels::permute_axes kernel{order};
  return detail::rearranged(std::move(x), kernel, [&](const shape&) { return kernel.inverse(); });
}

}  // namespace glia::ops
