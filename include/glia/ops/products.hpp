#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/ops/elementwise.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

namespace detail {

/// Returns the product of a and b, computed by `Kernel`. `which` tells whether a factor is stored
/// transposed. The gradient of that factor is then stored transposed, too.
template <class Kernel, backend B>
[[nodiscard]] variable<B> product(const variable<B>& a, const variable<B>& b, transpose which) {
  return a.owner().record(
      a.device().run(Kernel{which}, a.value(), b.value()), a.needs_gradient() || b.needs_gradient(),
      [a, b, which](auto& to, auto dy) {
        const auto add = [&](gradient_slot slot, transpose how, const auto& x, const auto& y) {
          if (slot) {
            to.add(slot, to.device().run(Kernel{how}, x, y));
          }
        };
        switch (which) {
          case transpose::none:
            add(a.slot(), transpose::second, dy, b.value());
            add(b.slot(), transpose::first, a.value(), dy);
            break;
          case transpose::first:
            add(a.slot(), transpose::second, b.value(), dy);
            add(b.slot(), transpose::none, a.value(), dy);
            break;
          case transpose::second:
            add(a.slot(), transpose::none, dy, b.value());
            add(b.slot(), transpose::first, dy, a.value());
            break;
        }
      });
}

/// Adds the gradient of a bias that was added to all rows.
template <backend B>
void add_bias_gradient(gradients<B>& to, gradient_slot bias, const typename B::tensor& dz) {
  if (bias) {
    to.add(bias, to.device().run(kernels::sum_to{{dz.shape().back()}}, dz));
  }
}

}  // namespace detail

/// Returns the matrix product (m, n) of a (m, k) and b (k, n).
///
/// With transpose::first, a has the shape (k, m) and is used transposed. With transpose::second, b
/// has the shape (n, k) and is used transposed. For more than two axes, use `batched_matmul`.
/// Throws `shape_error` if the shapes do not match.
template <backend B>
[[nodiscard]] variable<B> matmul(const variable<B>& a, const variable<B>& b,
                                 transpose which = transpose::none) {
  return detail::product<kernels::matmul>(a, b, which);
}

/// Multiplies each matrix of a batch by the matrix at the same position in another batch: a (...,
/// m, k) and b (..., k, n) result in (..., m, n).
///
/// The leading axes must be equal. `which` selects a transposed factor, as in `matmul`. NumPy and
/// PyTorch: matmul. Throws `shape_error` if the shapes do not match.
template <backend B>
[[nodiscard]] variable<B> batched_matmul(const variable<B>& a, const variable<B>& b,
                                         transpose which = transpose::none) {
  return detail::product<kernels::batched_matmul>(a, b, which);
}

/// Returns x w + bias for x (N, I), w (I, O) and an optional bias (O). The result is (N, O).
///
/// Throws `shape_error` if the shapes do not match.
template <backend B>
[[nodiscard]] variable<B> dense(const variable<B>& x, const variable<B>& w,
                                const std::optional<variable<B>>& bias = {}) {
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  return x.owner().record(
      x.device().run(kernels::dense{}, x.value(), w.value(),
                     bias ? bias->value() : typename B::tensor{}),
      x.needs_gradient() || w.needs_gradient() || to_bias, [x, w, to_bias](auto& to, auto dy) {
        detail::add_bias_gradient(to, to_bias, dy);
        if (w.needs_gradient()) {
          to.add(w.slot(), to.device().run(kernels::matmul{transpose::first}, x.value(), dy));
        }
        if (x.needs_gradient()) {
          to.add(x.slot(), to.device().run(kernels::matmul{transpose::second}, dy, w.value()));
        }
      });
}

/// Returns the convolution of images x (N, H, W, C) with a kernel w (height, width, C / groups, O),
/// plus an optional bias (O).
///
/// `window` contains the kernel size, the strides, the dilation, and the padding as numbers. The
/// operation is a cross-correlation: the kernel is not mirrored. Throws `shape_error` if the shapes
/// do not match.
template <backend B>
[[nodiscard]] variable<B> conv2d(const variable<B>& x, const variable<B>& w,
                                 const std::optional<variable<B>>& bias, const window2d& window,
                                 std::size_t groups = 1) {
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  return x.owner().record(
      x.device().run(kernels::conv2d{window, groups}, x.value(), w.value(),
                     bias ? bias->value() : typename B::tensor{}),
      x.needs_gradient() || w.needs_gradient() || to_bias,
      [x, w, to_bias, window, groups](auto& to, auto dy) {
        detail::add_bias_gradient(to, to_bias, dy);
        if (w.needs_gradient()) {
          to.add(w.slot(),
                 to.device().run(kernels::conv2d_kernel_gradient{window, groups}, x.value(), dy));
        }
        if (x.needs_gradient()) {
          to.add(x.slot(), to.device().run(
                               kernels::conv2d_input_gradient{window, groups, sample_of(x.shape())},
                               dy, w.value()));
        }
      });
}

/// Returns the transposed convolution of x (N, H', W', C) with a kernel w (height, width, O, C).
///
/// It is the adjoint of `conv2d`. `images` is the shape (H, W, O) of a sample of the result.
/// `window` is the window of the convolution that maps (N, H, W, O) to (N, H', W', C).
template <backend B>
[[nodiscard]] variable<B> conv2d_transpose(const variable<B>& x, const variable<B>& w,
                                           const window2d& window, const shape& images) {
  return x.owner().record(
      x.device().run(kernels::conv2d_input_gradient{window, 1, images}, x.value(), w.value()),
      x.needs_gradient() || w.needs_gradient(), [x, w, window](auto& to, const auto& dy) {
        if (w.needs_gradient()) {
          to.add(w.slot(),
                 to.device().run(kernels::conv2d_kernel_gradient{window, 1}, dy, x.value()));
        }
        if (x.needs_gradient()) {
          to.add(x.slot(),
                 to.device().run(kernels::conv2d{window, 1}, dy, w.value(), typename B::tensor{}));
        }
      });
}

}  // namespace glia::ops
