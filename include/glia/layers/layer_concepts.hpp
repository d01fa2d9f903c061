#pragma once

#include <concepts>

#include "glia/core/described.hpp"
#include "glia/core/shape.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

class scope;

/// A layer whose output has the same kind as its input, or as the last layer that it contains.
///
/// Layers declare this with a static member `preserves_output_kind` that is true. Other layers can
/// have a member function `output_kind()`, which returns a `glia::output_kind` for losses to check.
template <class Layer>
concept preserves_output_kind = requires {
  requires Layer::preserves_output_kind;
};

/// A layer that defines the meaning of its output's axes, as `reshape` does. Layers declare this
/// with a static member `sets_axes` that is true.
template <class Layer>
concept sets_axes = requires {
  requires Layer::sets_axes;
};

/// A layer that can run on blocks of a sequence (N, T, ...); see `stream`. Its output at a step
/// depends only on its input at this step, or on the state that it keeps in the stream.
///
/// Layers declare this with a static member `runs_stepwise` that is true.
template <class Layer>
concept runs_stepwise = requires {
  requires Layer::runs_stepwise;
};

/// A layer that consists of other layers. Summaries list the contained layers instead of this
/// layer. Layers declare this with a member type `contains_layers`.
template <class Layer>
concept holder = requires {
  typename Layer::contains_layers;
};

/// A layer: a copyable value that computes a variable from a variable.
///
/// It needs `variable operator()(scope&, variable) const` and
/// `std::string description() const`. There is no base class to inherit from. The concept checks
/// the operator for a recorder that computes only shapes, because every description must run on it.
template <class L>
concept layer = described<L> && requires(const L& l, scope& s, variable x) {
  { l(s, x) } -> std::same_as<variable>;
} && std::copy_constructible<L>;  // last: for model<any_layer>, clang would not end

/// A layer that defines the shape of the model's samples: its member function `sample_shape()`
/// returns this shape without the batch axis.
template <class L>
concept has_sample_shape = layer<L> && requires(const L& l) {
  { l.sample_shape() } -> std::convertible_to<shape>;
};

}  // namespace glia
