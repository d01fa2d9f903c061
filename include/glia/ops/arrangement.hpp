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

/// The kernel's result for x, of which no number is needed for the adjoint: that is the kernel
/// back(shape of x).
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

/// As few kernels as can be: each takes several tensors.
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

/// Tensors one behind the other along an axis; their other extents are equal.
template <backend B>
[[nodiscard]] variable<B> concat(const std::vector<variable<B>>& parts, std::size_t axis) {
  require<value_error>(!parts.empty(), "concat: expected at least one tensor, got none");
  std::vector<typename B::tensor> values;
  values.reserve(parts.size());
  bool needs_gradient = false;
  for (const variable<B>& part : parts) {
    values.push_back(part.value());
    needs_gradient = needs_gradient || part.needs_gradient();
  }
  tape<B>& owner = parts.front().owner();
  auto y =
      detail::concat_tensors(owner.device(), std::span<const typename B::tensor>(values), axis);
  struct share {
    gradient_slot slot;
    std::size_t extent;
  };
  std::vector<share> shares;
  shares.reserve(parts.size());
  for (const variable<B>& part : parts) {
    shares.push_back({part.slot(), part.shape()[axis]});
  }
  return owner.record(
      std::move(y), needs_gradient, [axis, shares = std::move(shares)](auto& to, const auto& dy) {
        std::size_t begin = 0;
        for (const share& s : shares) {
          if (s.slot) {
            to.add(s.slot, to.device().run(kernels::slice{axis, begin, s.extent}, dy));
          }
          begin += s.extent;
        }
      });
}
template <backend B>
[[nodiscard]] variable<B> concat(std::initializer_list<variable<B>> parts, std::size_t axis) {
  return concat(std::vector<variable<B>>(parts), axis);
}

/// Elements begin ... begin + extent - 1 along an axis: slice(x, {.axis = 1, .begin = 2,
/// .extent = 3}).
template <backend B>
[[nodiscard]] variable<B> slice(variable<B> x, const kernels::slice& which) {
  return detail::rearranged(std::move(x), which, [&](const shape& s) {
    return kernels::pad{which.axis, which.begin, s[which.axis] - which.begin - which.extent};
  });
}

/// x in parts along an axis, of these extents, which add up to its own. Their gradients come
/// together in one piece, where those of slices would each be as large as x.
template <backend B>
[[nodiscard]] std::vector<variable<B>> split(const variable<B>& x, std::size_t axis,
                                             std::span<const std::size_t> extents) {
  require_axis("split", x.shape(), axis);
  const std::size_t sum = std::accumulate(extents.begin(), extents.end(), std::size_t{0});
  require<shape_error>(!extents.empty() && sum == x.shape()[axis], "split: parts of ", sum,
                       " elements in all along axis ", axis, " of ", x.shape());
  std::vector<typename B::tensor> parts;
  std::vector<shape> shapes;
  std::size_t begin = 0;
  for (const std::size_t extent : extents) {
    parts.push_back(x.device().run(kernels::slice{axis, begin, extent}, x.value()));
    shapes.push_back(parts.back().shape());
    begin += extent;
  }
  return x.owner().record_all(
      std::move(parts), x.needs_gradient(),
      [from = x.slot(), shapes = std::move(shapes), axis](auto& to,
                                                          std::vector<typename B::tensor> dy) {
        for (std::size_t i = 0; i < dy.size(); ++i) {
          if (!dy[i]) {
            dy[i] = to.device().run(kernels::full{shapes[i], 0});
          }
        }
        to.add(from,
               detail::concat_tensors(to.device(), std::span<const typename B::tensor>(dy), axis));
      });
}
template <backend B>
[[nodiscard]] std::vector<variable<B>> split(const variable<B>& x, std::size_t axis,
                                             std::initializer_list<std::size_t> extents) {
  return split(x, axis, std::span<const std::size_t>(extents.begin(), extents.size()));
}

/// x with a number before and after it along an axis: pad(x, {.axis = 1, .before = 2}).
template <backend B>
[[nodiscard]] variable<B> pad(variable<B> x, const kernels::pad& around) {
  return detail::rearranged(std::move(x), around, [&](const shape& s) {
    return kernels::slice{around.axis, around.before, s[around.axis]};
  });
}

/// x with its axes in another order, as numpy.transpose: axis i of the result is axis order[i] of
/// x.
template <backend B>
[[nodiscard]] variable<B> permute_axes(variable<B> x, const axis_list& order) {
  const kernels::permute_axes kernel{order};
  return detail::rearranged(std::move(x), kernel, [&](const shape&) { return kernel.inverse(); });
}

}  // namespace glia::ops
