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

/// Concatenates any number of tensors. One kernel call concatenates up to
/// `kernels::concat::operands` tensors.
[[nodiscard]] tensor concat_tensors(const glia::device& device, std::span<const tensor> parts,
                                    std::size_t axis);

}  // namespace detail

/// Concatenates variables along an axis: concat({a, b}, 1), or concat({a, b}, -1) along the last.
///
/// The extents of all other axes must be equal. Throws `shape_error` if they differ, and
/// `value_error` if there are no variables. NumPy: concatenate; PyTorch: cat.
[[nodiscard]] variable concat(const std::vector<variable>& parts, std::ptrdiff_t axis);
/// Concatenates variables along an axis.
[[nodiscard]] variable concat(std::initializer_list<variable> parts, std::ptrdiff_t axis);

/// Returns the elements begin to begin + extent - 1 along an axis.
///
///     slice(x, {.axis = 1, .begin = 2, .extent = 3})
///
/// `extent` is the number of elements, as in PyTorch's narrow, not the end as in Python's slices.
/// Its default is 1. The result keeps the axis, even if its extent is 1. Throws `shape_error` if x
/// does not have this axis, or if begin + extent exceeds the extent of the axis.
[[nodiscard]] variable slice(variable x, const kernels::slice& range);

/// Splits a variable along an axis into parts of the given extents: split(x, 1, {2, 3}). The axis
/// -1 is the last one.
///
/// `extents` contains the number of elements of each part, as in PyTorch. PyTorch's arguments have
/// the order x, extents, axis. NumPy expects positions instead of extents. In the backward pass,
/// `split` needs less memory than several calls of `slice`. Throws `shape_error` if the extents do
/// not add up to the extent of the axis.
[[nodiscard]] std::vector<variable> split(const variable& x, std::ptrdiff_t axis,
                                          std::span<const std::size_t> extents);
/// Splits a variable along an axis into parts of the given extents.
[[nodiscard]] std::vector<variable> split(const variable& x, std::ptrdiff_t axis,
                                          std::initializer_list<std::size_t> extents);

/// Adds elements of a constant value before and after a variable along an axis.
///
///     pad(x, {.axis = 1, .before = 2, .after = 1, .value = 0})
///
/// Members that are left out are 0. Throws `shape_error` if x does not have this axis.
[[nodiscard]] variable pad(variable x, const kernels::pad& padding);

/// Permutes the axes of a variable: axis i of the result is axis order[i] of x.
///
/// permute(x, {1, 0}) transposes a matrix. NumPy: transpose(x, order); PyTorch: permute. Throws
/// `shape_error` if `order` does not contain every axis exactly once.
[[nodiscard]] variable permute(variable x, const kernels::axis_list& order);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/arrangement_impl.hpp"
#endif
