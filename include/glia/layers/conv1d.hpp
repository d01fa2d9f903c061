#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"
#include "glia/layers/window1d.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// A one-dimensional convolution of sequences.
///
///     y = activation(x * kernel + bias)
///
/// The input x is (N, T, C): N samples, T steps, C channels. The output y is (N, T', O) with
/// O = `filters`. The parameters are `kernel` (kernel_size, C / groups, O) and `bias` (O). As in
/// Keras and PyTorch, the operation * is a cross-correlation: the kernel is not mirrored.
///
/// The kernel spans R = (kernel_size - 1) * dilation_rate + 1 steps. The number of output steps T'
/// is ceil(T / strides) for padding `same`, and otherwise floor((T + padding before and after - R)
/// / strides) + 1.
///
/// Throws `shape_error` if the input does not have three axes or, with its padding, is shorter than
/// the kernel. Throws `value_error` if `filters` or `kernel_size` is missing, if a size is 0, or if
/// `groups` does not divide the input's channels and the filters.
struct conv1d {
  std::size_t filters = 0;      ///< Number of output channels O, at least 1. Required.
  std::size_t kernel_size = 0;  ///< Number of steps of the kernel, at least 1. Required.
  std::size_t strides = 1;      ///< Steps from one kernel position to the next, at least 1.
  /// Zeros around the sequences: `valid` (none), `same` (an output of ceil(T / strides) steps),
  /// `causal` (all zeros before the first step, so that an output depends on no later step), a
  /// number of steps for each end, or {before, after}.
  padding1d padding = valid;
  /// Distance in steps between neighboring kernel elements, at least 1; 1 means no gaps. Unlike in
  /// Keras, it can be combined with strides.
  std::size_t dilation_rate = 1;
  /// Number of groups of channels that are convolved separately, at least 1. It must divide both
  /// the number of input channels and `filters`.
  std::size_t groups = 1;
  glia::activation activation = linear;               ///< Activation function of the output.
  bool use_bias = true;                               ///< Whether a bias is added.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "conv1d";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    if (s.stream() != nullptr) {
      x = with_earlier_steps(s, x);
    }
    const shape extents = x.shape();
    const window2d window =
        detail::window_on_row(s, extents, "kernel_size", kernel_size, strides, dilation_rate,
                              s.stream() == nullptr ? padding : valid);
    s.expect_value(filters > 0, "expected at least 1 filter");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or at least 2 filters");
    s.expect_value(groups > 0 && extents[2] % groups == 0 && filters % groups == 0, "groups (",
                   groups, ") must divide the input's channels (", extents[2],
                   ") and the filters (", filters, ")");
    const std::size_t channels = extents[2] / groups;
    const variable weights =
        s.parameter("kernel", {kernel_size, channels, filters}, kernel_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {filters}, bias_initializer);
    }
    const variable y = ops::conv2d(ops::reshape(std::move(x), detail::as_row(extents)),
                                   ops::reshape(weights, {1, kernel_size, channels, filters}),
                                   shift, window, groups);
    return activation(ops::reshape(y, detail::without_row(y.shape())));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv1d(", filters, ", ", kernel_size, ", ", padding);
    result += strides == 1 ? "" : text(", stride ", strides);
    result += dilation_rate == 1 ? "" : text(", dilation ", dilation_rate);
    result += groups == 1 ? "" : text(", ", groups, " groups");
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("filters", self.filters);
    visit("kernel_size", self.kernel_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
    visit("dilation_rate", self.dilation_rate);
    visit("groups", self.groups);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const conv1d&, const conv1d&) = default;

 private:
  /// Returns a block of a stream with the earlier steps that the kernel reads.
  [[nodiscard]] variable with_earlier_steps(const scope& s, const variable& x) const {
    s.expect_value(padding == causal || kernel_size == 1,
                   "stream: expected padding causal, because other convolutions read later steps; "
                   "set .padding = glia::causal, or predict whole sequences");
    s.expect_value(strides == 1, "stream: expected strides of 1, got ", strides,
                   "; a block must have an output for each step");
    const std::size_t count = (kernel_size - 1) * dilation_rate;
    if (count == 0) {
      return x;
    }
    const tensor earlier = s.stream()->state({x.shape()[0], count, x.shape()[2]});
    variable steps = ops::concat({x.owner().constant(earlier), x}, 1);
    s.stream()->set_next(
        earlier, ops::slice(steps, {.axis = 1, .begin = x.shape()[1], .extent = count}).value());
    return steps;
  }
};

}  // namespace glia
