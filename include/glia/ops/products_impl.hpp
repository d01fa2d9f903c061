#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/products.hpp"

namespace glia::ops {

namespace detail {

/// Returns the product of a and b, computed by `Kernel`. `which` tells whether a factor is stored
/// transposed. The gradient of that factor is then stored transposed, too.
template <class Kernel>
[[nodiscard]] variable product(const variable& a, const variable& b, transpose which) {
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

GLIA_INLINE void add_bias_gradient(gradients& to, gradient_slot bias, const tensor& dz) {
  if (bias) {
    to.add(bias, to.device().run(kernels::sum_to{{dz.shape().back()}}, dz));
  }
}

}  // namespace detail

GLIA_INLINE variable matmul(const variable& a, const variable& b, transpose which) {
  return detail::product<kernels::matmul>(a, b, which);
}

GLIA_INLINE variable batched_matmul(const variable& a, const variable& b, transpose which) {
  return detail::product<kernels::batched_matmul>(a, b, which);
}

GLIA_INLINE variable dense(const variable& x, const variable& w,
                           const std::optional<variable>& bias) {
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  return x.owner().record(
      x.device().run(kernels::dense{}, x.value(), w.value(), bias ? bias->value() : tensor{}),
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

GLIA_INLINE variable conv2d(const variable& x, const variable& w,
                            const std::optional<variable>& bias, const window2d& window,
                            std::size_t groups) {
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  return x.owner().record(
      x.device().run(kernels::conv2d{window, groups}, x.value(), w.value(),
                     bias ? bias->value() : tensor{}),
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

GLIA_INLINE variable conv2d_transpose(const variable& x, const variable& w, const window2d& window,
                                      const shape& images) {
  return x.owner().record(
      x.device().run(kernels::conv2d_input_gradient{window, 1, images}, x.value(), w.value()),
      x.needs_gradient() || w.needs_gradient(), [x, w, window](auto& to, const auto& dy) {
        if (w.needs_gradient()) {
          to.add(w.slot(),
                 to.device().run(kernels::conv2d_kernel_gradient{window, 1}, dy, x.value()));
        }
        if (x.needs_gradient()) {
          to.add(x.slot(), to.device().run(kernels::conv2d{window, 1}, dy, w.value(), tensor{}));
        }
      });
}

}  // namespace glia::ops
