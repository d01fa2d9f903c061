#pragma once

#include "glia/ops/tape.hpp"

namespace glia::ops {

// Comparisons return a tensor, not a variable, because they have no derivative. Its elements are 1
// where the condition holds, and 0 elsewhere. `where` selects elements by such a tensor, and
// arithmetic accepts it beside variables. All comparisons with NaN are false, except `not_equal`.
// The shapes broadcast; `shape_error` is thrown if they do not.

/// Returns whether a > b, by element: 1 where it holds, 0 elsewhere, with broadcasting. Throws
/// `shape_error` if the shapes do not broadcast.
[[nodiscard]] tensor greater(const variable& a, const variable& b);
/// Returns whether a > b, by element, for a number b.
[[nodiscard]] tensor greater(const variable& a, double b);

/// Returns whether a >= b, by element: 1 where it holds, 0 elsewhere, with broadcasting. Throws
/// `shape_error` if the shapes do not broadcast.
[[nodiscard]] tensor greater_equal(const variable& a, const variable& b);
/// Returns whether a >= b, by element, for a number b.
[[nodiscard]] tensor greater_equal(const variable& a, double b);

/// Returns whether a < b, by element: 1 where it holds, 0 elsewhere, with broadcasting. Throws
/// `shape_error` if the shapes do not broadcast.
[[nodiscard]] tensor less(const variable& a, const variable& b);
/// Returns whether a < b, by element, for a number b.
[[nodiscard]] tensor less(const variable& a, double b);

/// Returns whether a <= b, by element: 1 where it holds, 0 elsewhere, with broadcasting. Throws
/// `shape_error` if the shapes do not broadcast.
[[nodiscard]] tensor less_equal(const variable& a, const variable& b);
/// Returns whether a <= b, by element, for a number b.
[[nodiscard]] tensor less_equal(const variable& a, double b);

/// Returns whether a = b, by element: 1 where it holds, 0 elsewhere, with broadcasting. `equal(x,
/// x)` is 0 only for NaN. Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] tensor equal(const variable& a, const variable& b);
/// Returns whether a = b, by element, for a number b.
[[nodiscard]] tensor equal(const variable& a, double b);

/// Returns whether a differs from b, by element: 1 where it does, 0 elsewhere, with broadcasting.
/// NaN differs from every number and from NaN. Throws `shape_error` if the shapes do not broadcast.
[[nodiscard]] tensor not_equal(const variable& a, const variable& b);
/// Returns whether a differs from b, by element, for a number b.
[[nodiscard]] tensor not_equal(const variable& a, double b);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/comparisons_impl.hpp"
#endif
