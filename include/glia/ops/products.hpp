#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/ops/elementwise.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the matrix product (m, n) of a (m, k) and b (k, n).
///
/// With transpose::first, a has the shape (k, m) and is used transposed. With transpose::second, b
/// has the shape (n, k) and is used transposed. For more than two axes, use `batched_matmul`.
/// Throws `shape_error` if the shapes do not match.
[[nodiscard]] variable matmul(const variable& a, const variable& b,
                              transpose transposed_factor = transpose::none);

/// Multiplies each matrix of a batch by the matrix at the same position in another batch: a (...,
/// m, k) and b (..., k, n) result in (..., m, n).
///
/// The leading axes must be equal. `transposed_factor` selects the factor that is used transposed,
/// as in `matmul`. NumPy and PyTorch: matmul. Throws `shape_error` if the shapes do not match.
[[nodiscard]] variable batched_matmul(const variable& a, const variable& b,
                                      transpose transposed_factor = transpose::none);

/// Returns x w + bias for x (N, I), w (I, O) and an optional bias (O). The result is (N, O).
///
/// Throws `shape_error` if the shapes do not match.
[[nodiscard]] variable dense(const variable& x, const variable& w,
                             const std::optional<variable>& bias = {});

/// Returns the convolution of images x (N, H, W, C) with a kernel w (height, width, C / groups, O),
/// plus an optional bias (O).
///
/// `window` contains the kernel size, the strides, the dilation, and the padding as numbers. The
/// operation is a cross-correlation: the kernel is not mirrored. Throws `shape_error` if the shapes
/// do not match.
[[nodiscard]] variable conv2d(const variable& x, const variable& w,
                              const std::optional<variable>& bias, const window2d& window,
                              std::size_t groups = 1);

/// Returns the transposed convolution of x (N, H', W', C) with a kernel w (height, width, O, C).
///
/// It is the adjoint of `conv2d`. `images` is the shape (H, W, O) of a sample of the result.
/// `window` is the window of the convolution that maps (N, H, W, O) to (N, H', W', C).
[[nodiscard]] variable conv2d_transpose(const variable& x, const variable& w,
                                        const window2d& window, const shape& images);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/products_impl.hpp"
#endif
