#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Applies a layer to each step of a sequence, with the same parameters.
///
/// The input and output are (N, T, ...). The layer treats each step as a sample:
/// time_distributed{dense{10}} maps (N, T, I) to (N, T, 10). `fit` does not cache the outputs of
/// `frozen` layers inside or around it, but computes them in every training step.
///
/// Throws `shape_error` if the input has fewer than three axes.
template <class Layer>
struct time_distributed {
  static_assert(layer<Layer>,
                "time_distributed: expected a layer, such as glia::dense{10} or "
                "glia::sequential{...}");

  Layer layer;  ///< Layer or composition to apply.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "time_distributed";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() >= 3, "expected sequences (N, T, ...), got ", batch_text(extents));
    const auto with_rows = [](std::initializer_list<std::size_t> rows, const shape& sample) {
      shape result(rows);
      for (const std::size_t extent : sample) {
        result.push_back(extent);
      }
      return result;
    };
    const shape as_samples = with_rows({extents[0] * extents[1]}, sample_of(sample_of(extents)));
    const auto mask = s.step_mask();
    s.set_step_mask({});
    detail::stream_recording* const stream = s.stream();
    s.set_stream(nullptr);  // each step is a whole sample of the layer
    variable y = s.run(layer, ops::reshape(std::move(x), as_samples), "time_distributed", 0);
    s.set_step_mask(mask);
    s.set_stream(stream);
    const shape as_steps = with_rows({extents[0], extents[1]}, sample_of(y.shape()));
    return ops::reshape(std::move(y), as_steps);
  }
  [[nodiscard]] std::string description() const {
    return text("time_distributed(", layer.description(), ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("layer", self.layer);
  }

  friend bool operator==(const time_distributed&, const time_distributed&) = default;
};

template <class Layer>
time_distributed(Layer) -> time_distributed<Layer>;

}  // namespace glia
