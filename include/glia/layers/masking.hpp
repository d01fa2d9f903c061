#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Says which steps of sequences (N, T, ...) only fill them up to the length of others: those all
/// of whose features are `value`. It makes zeros of these, and layers after it pass over them, as
/// long as there are T steps:
///
/// - `gru`, `lstm` and `simple_rnn` keep their states, and give what they gave before;
/// - `multi_head_attention` pays no attention to them, and gives its output bias for them;
/// - `global_avg_pool1d` leaves them out of its means.
///
/// To other layers all steps are alike, and to losses, too: softmax_cross_entropy leaves out steps
/// whose class is -1. A sample all of whose steps are such is like one of no steps: recurrent
/// layers give their first state, attention its output bias, and means are 0.
///
/// Throws `shape_error` for inputs that are no sequences.
struct masking {
  double value = 0;

  static constexpr std::string_view type_name = "masking";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() >= 3, "expected sequences (N, T, ...), got ", batch_text(in),
             "; add reshape{{T, C}} before it");
    const B& device = s.device();
    const auto number = [&](double of) { return device.run(kernels::full{{}, of}); };
    const auto alike =
        device.run(kernels::binary{binary_function::equal}, x.value(), number(value));
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
  [[nodiscard]] std::string description() const { return text("masking(", value, ')'); }
  friend bool operator==(const masking&, const masking&) = default;
};

}  // namespace glia
