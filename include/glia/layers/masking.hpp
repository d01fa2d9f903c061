#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Marks the padding steps of sequences, which later layers ignore.
///
/// The input and output are (N, T, ...). A step whose features all equal `mask_value` is padding;
/// it becomes 0 in the output. The mask (N, T) reaches the layers that follow as long as their
/// outputs have T steps:
///
/// - `gru`, `lstm` and `simple_rnn` keep their state and repeat their previous output;
/// - `multi_head_attention` ignores padding steps as keys, and its output at a padding step is the
/// output bias;
/// - `global_avg_pool1d` excludes padding from its means.
///
/// All other layers treat padding like any step. Losses do not use the mask, either. For
/// `softmax_cross_entropy`, give padding steps the class -1, which the loss ignores. In a sample
/// that is all padding, recurrent layers output their initial state, attention outputs its bias,
/// and means are 0.
///
/// For inputs with more than three axes, all axes after T are compared; Keras compares only the
/// last one.
///
/// Throws `shape_error` if the input has fewer than three axes.
struct masking {
  double mask_value = 0;  ///< Value of all features of a padding step.

  static constexpr std::string_view type_name = "masking";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() >= 3, "expected sequences (N, T, ...), got ", batch_text(in),
             "; add reshape{{T, C}} before it");
    const B& device = s.device();
    const auto number = [&](double of) { return device.run(kernels::full{{}, of}); };
    const auto alike =
        device.run(kernels::binary{binary_function::equal}, x.value(), number(mask_value));
    shape each = in;
    for (std::size_t axis = 2; axis < in.rank(); ++axis) {
      each[axis] = 1;
    }
    const auto count = static_cast<double>(sample_of(sample_of(in)).size());
    const auto counts = device.run(kernels::binary{binary_function::greater}, number(count - 0.5),
                                   device.run(kernels::sum_to{each}, alike));
    s.set_step_mask(device.run(kernels::reshape{{in[0], in[1]}}, counts));
    return std::move(x) * counts;
  }
  [[nodiscard]] std::string description() const { return text("masking(", mask_value, ')'); }
  friend bool operator==(const masking&, const masking&) = default;
};

}  // namespace glia
