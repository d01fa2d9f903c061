#pragma once

#include <concepts>
#include <span>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// What a batch's outputs should have been: a class for every sample (N), or values (N, ...). One
/// of the two is empty.
template <backend B>
struct targets {
  typename B::tensor classes;
  typename B::tensor values;
};

/// A loss turns a model's outputs and the targets into one number per sample: a variable (N).
/// Losses are recipes of ops; a user's own is any callable of this form. It may say more of itself
/// by the static members that the next two functions read.
template <class L, class B>
concept loss_function = backend<B> && requires(const L& l, variable<B> y, const targets<B>& t) {
  { l(y, t) } -> std::same_as<variable<B>>;
};

/// The function that a loss applies to the model's outputs before it compares them; it then takes
/// logits, outputs of a model that ends without that function. From its static member `applies`.
template <class Loss>
[[nodiscard]] constexpr output_kind applied_by() noexcept {
  if constexpr (requires { Loss::applies; }) {
    return Loss::applies;
  } else {
    return output_kind::other;
  }
}

/// Whether a loss brings outputs close to the targets themselves, as in a regression. From its
/// static member `nears_targets`.
template <class Loss>
[[nodiscard]] constexpr bool nears_targets() noexcept {
  if constexpr (requires { Loss::nears_targets; }) {
    return Loss::nears_targets;
  } else {
    return false;
  }
}

/// Throws `data_error` for a target value that the loss does not take. Which it takes it says in
/// static members `takes_target`, a function, and `target_range`, in words.
template <class Loss>
void require_targets([[maybe_unused]] std::span<const float> values) {
  if constexpr (requires { Loss::takes_target(0.0F); }) {
    for (const float value : values) {
      require<data_error>(Loss::takes_target(value), "the loss takes targets ", Loss::target_range,
                          ", the data hold ", value);
    }
  }
}

namespace detail {

/// The targets as values of the outputs' shape (N, K). Classes become rows with `on` at the class
/// and `off` elsewhere; for a single output (N, 1), classes 0 and 1 become `off` and `on`.
template <backend B>
[[nodiscard]] typename B::tensor target_values(std::string_view loss, const variable<B>& y,
                                               const targets<B>& t, double on = 1, double off = 0) {
  if (t.values) {
    require<shape_error>(t.values.shape() == y.shape(), loss, ": the model's output is ", y.shape(),
                         ", the targets are ", t.values.shape());
    return t.values;
  }
  require<shape_error>(y.shape().rank() == 2, loss,
                       ": targets are classes, so the model must end in (N, K), not ", y.shape());
  const std::size_t outputs = y.shape()[1];
  return outputs == 1 ? y.device().run(kernels::one_hot{1, off, on}, t.classes)
                      : y.device().run(kernels::one_hot{outputs, on, off}, t.classes);
}

}  // namespace detail

}  // namespace glia
