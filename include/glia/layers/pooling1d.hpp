#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window1d.hpp"
#include "glia/ops/counting.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Pools sequences (N, T, C) with the image pooling `pool`: each sequence is an image with one row.
template <class Pool>
[[nodiscard]] variable pool_rows(variable x, const window2d& window, const Pool& pool) {
  const shape row = as_row(x.shape());
  variable y = pool(ops::reshape(std::move(x), row), window);
  const shape out = without_row(y.shape());
  return ops::reshape(std::move(y), out);
}

/// Returns a pooling layer's window on a sequence. Throws if the window does not fit. Also throws
/// if the padding is not smaller than the window, because a window could then lie entirely in the
/// padding.
[[nodiscard]] inline window2d pool_window1d(const scope& s, const shape& x, std::size_t size,
                                            std::size_t strides, const padding1d& padding) {
  const window2d window =
      window_on_row(s, x, "pool_size", size, strides == 0 ? size : strides, 1, padding);
  s.expect_value(window.pad_left < size && window.pad_right < size,
                 "expected padding smaller than the pool_size, got ", padding,
                 "; otherwise a window could lie entirely in the padding");
  return window;
}

[[nodiscard]] inline std::string describe_pool1d(std::string_view name, std::size_t size,
                                                 std::size_t strides, const padding1d& padding) {
  return text(name, '(', size, ", ", padding,
              strides == 0 || strides == size ? "" : text(", stride ", strides), ')');
}

}  // namespace detail

/// Max pooling of sequences: the output holds the maximum of each window.
///
/// The input is (N, T, C) and the output (N, T', C). T' is ceil(T / stride) for padding `same`, and
/// otherwise floor((T + padding before and after - pool_size) / stride) + 1. Padding is never the
/// maximum.
///
/// Throws `shape_error` if the input does not have three axes or, with its padding, is shorter than
/// the window. Throws `value_error` if `pool_size` is 0 or the padding is not smaller than the
/// window.
struct max_pool1d {
  std::size_t pool_size = 2;  ///< Number of steps of the window, at least 1.
  std::size_t strides = 0;    ///< Steps from one window to the next; 0 means `pool_size`.
  /// Padding around the sequences: `valid` (none), `same` (an output of ceil(T / stride) steps),
  /// `causal` (only before the first step), a number of steps for each end, or {before, after}.
  padding1d padding = valid;

  static constexpr std::string_view type_name = "max_pool1d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const window2d w = detail::pool_window1d(s, x.shape(), pool_size, strides, padding);
    return detail::pool_rows(std::move(x), w, [](variable row, const window2d& window) {
      return ops::max_pool2d(std::move(row), window);
    });
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool1d(type_name, pool_size, strides, padding);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
  }

  friend bool operator==(const max_pool1d&, const max_pool1d&) = default;
};

/// Average pooling of sequences: the output holds the mean of each window.
///
/// The input is (N, T, C) and the output (N, T', C). T' is ceil(T / stride) for padding `same`, and
/// otherwise floor((T + padding before and after - pool_size) / stride) + 1. Means exclude padding,
/// as in Keras; PyTorch includes it by default.
///
/// Throws `shape_error` if the input does not have three axes or, with its padding, is shorter than
/// the window. Throws `value_error` if `pool_size` is 0 or the padding is not smaller than the
/// window.
struct avg_pool1d {
  std::size_t pool_size = 2;  ///< Number of steps of the window, at least 1.
  std::size_t strides = 0;    ///< Steps from one window to the next; 0 means `pool_size`.
  /// Padding around the sequences: `valid` (none), `same` (an output of ceil(T / stride) steps),
  /// `causal` (only before the first step), a number of steps for each end, or {before, after}.
  padding1d padding = valid;

  static constexpr std::string_view type_name = "avg_pool1d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const window2d w = detail::pool_window1d(s, x.shape(), pool_size, strides, padding);
    return detail::pool_rows(std::move(x), w, [](variable row, const window2d& window) {
      return ops::avg_pool2d(std::move(row), window);
    });
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool1d(type_name, pool_size, strides, padding);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
  }

  friend bool operator==(const avg_pool1d&, const avg_pool1d&) = default;
};

/// Global max pooling of sequences: the maximum of each channel over all steps.
///
/// The input is (N, T, C) and the output (N, C). The layer ignores a mask: padding steps take part
/// in the maximum. Throws `shape_error` if the input does not have three axes or has no steps.
struct global_max_pool1d {
  static constexpr std::string_view type_name = "global_max_pool1d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() == 3 && extents[1] > 0, "expected sequences (N, T, C), got ",
             batch_text(extents));
    const window2d whole{.height = 1, .width = extents[1]};
    variable y = ops::max_pool2d(ops::reshape(std::move(x), detail::as_row(extents)), whole);
    return ops::reshape(std::move(y), {extents[0], extents[2]});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_max_pool1d&, const global_max_pool1d&) = default;
};

/// Global average pooling of sequences: the mean of each channel over the steps.
///
/// The input is (N, T, C) and the output (N, C). If an earlier layer set a mask (see `masking`),
/// padding steps are excluded, as in Keras. Throws `shape_error` if the input does not have three
/// axes.
struct global_avg_pool1d {
  static constexpr std::string_view type_name = "global_avg_pool1d";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()));
    if (const auto& mask = s.step_mask()) {
      const glia::device& device = s.device();
      const shape extents = x.shape();
      const auto shares = device.run(kernels::binary{binary_function::divide}, mask,
                                     detail::count_of_ones(device, mask));
      const auto of_steps = device.run(kernels::reshape{{extents[0], extents[1], 1}}, shares);
      return ops::sum(x * of_steps, {1});
    }
    return ops::mean(x, {1});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_avg_pool1d&, const global_avg_pool1d&) = default;
};

}  // namespace glia
