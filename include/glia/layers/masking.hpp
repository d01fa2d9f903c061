#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Marks the padding steps of sequences, so that later layers ignore them.
///
/// The input and output are (N, T, ...). A step is padding if all its features equal `mask_value`;
/// its features become 0 in the output. The layers that follow receive a mask (N, T). The last
/// layer that receives it is the first one whose output does not have T steps. These layers use the
/// mask:
///
/// - `gru`, `lstm` and `simple_rnn` keep their state at padding steps and repeat their previous
///   output;
/// - `multi_head_attention` does not attend to padding steps, and its output at a padding step is
///   the output bias;
/// - `global_avg_pool1d` excludes padding from its means.
///
/// All other layers and the losses treat padding like any other step. For `softmax_cross_entropy`,
/// give padding steps the class -1, so that the loss ignores them. For a sample that consists only
/// of padding, recurrent layers output their initial state, attention outputs its output bias, and
/// means are 0.
///
/// The features of a step are the elements along all axes after T. Keras compares only the elements
/// along the last axis, so its mask is different for inputs with more than three axes.
///
/// Throws `shape_error` if the input has fewer than three axes.
struct masking {
  double mask_value = 0;  ///< Value of all features of a padding step.

  static constexpr std::string_view type_name = "masking";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() >= 3, "expected sequences (N, T, ...), got ", batch_text(extents),
             "; add reshape{{T, C}} before it");
    const glia::device& device = s.device();
    const auto number = [&](double value) { return device.run(kernels::full{{}, value}); };
    const auto alike =
        device.run(kernels::binary{binary_function::equal}, x.value(), number(mask_value));
    shape step_shape = extents;
    for (std::size_t axis = 2; axis < extents.rank(); ++axis) {
      step_shape[axis] = 1;
    }
    const auto count = static_cast<double>(sample_of(sample_of(extents)).size());
    const auto counts = device.run(kernels::binary{binary_function::greater}, number(count - 0.5),
                                   device.run(kernels::sum_to{step_shape}, alike));
    s.set_step_mask(device.run(kernels::reshape{{extents[0], extents[1]}}, counts));
    return x * counts;
  }
  [[nodiscard]] std::string description() const { return text("masking(", mask_value, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("mask_value", self.mask_value);
  }

  friend bool operator==(const masking&, const masking&) = default;
};

}  // namespace glia
