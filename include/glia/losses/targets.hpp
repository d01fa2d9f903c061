#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/core/error.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/row_part.hpp"
#include "glia/distributed/pieces.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// What a batch's outputs should have been: a class for every sample (N), or values (N, ...). One
/// of the two is empty.
template <backend B>
struct targets {
  typename B::tensor classes{};
  typename B::tensor values{};
};

/// Whether targets of this shape are numbers (N, ...) that are a class for each row of outputs
/// (N, ..., K), such as the steps of sequences.
[[nodiscard]] inline bool are_classes_of_rows(const shape& values, const shape& outputs) {
  return outputs.rank() > 2 && values == without_last_axis(outputs);
}

/// Which samples count in losses, metrics and the numbers that their sums are divided by.
///
/// A class of -1 stands for none. A row of outputs (..., K) that has it, such as a step that fills
/// a sequence up, counts nowhere: a sample's loss and accuracy are means over its other rows. A
/// sample none of whose rows has a class is like one that is not there: the mean over a batch, an
/// epoch or a data set is that of the other samples, and 0 where there are none. Targets of other
/// kinds always count, so that of several outputs a sample counts if it does for one of them.
struct counted_targets {
  /// The ranges of a sample's targets that hold one class per row, if all its targets are such
  /// classes. Empty: all samples count.
  std::vector<index_range> classes{};

  [[nodiscard]] bool all() const { return classes.empty(); }
  [[nodiscard]] bool counts(std::span<const float> sample) const {
    return all() || std::any_of(classes.begin(), classes.end(), [&](const index_range& part) {
             const auto values = sample.subspan(part.first, part.size());
             return std::any_of(values.begin(), values.end(), [](float v) { return v >= 0; });
           });
  }
  friend bool operator==(const counted_targets&, const counted_targets&) = default;
};

/// A loss turns a model's outputs and the targets into one number per sample: a variable (N).
/// Losses are recipes of ops; a user's own is any callable of this form. It may say more of itself
/// by static members: see loss_ref.
template <class L, class B>
concept plain_loss = backend<B> && requires(const L& l, variable<B> y, const targets<B>& t) {
  { l(y, t) } -> std::same_as<variable<B>>;
};

/// A loss over rows of several outputs, which is told where each lies. Its targets are rows, too:
/// `target_parts` says what they hold, and throws `value_error` for outputs that it does not fit.
template <class L, class B>
concept loss_of_parts = backend<B> &&
    requires(const L& l, variable<B> y, const targets<B>& t, const std::vector<row_part>& outputs) {
  { l(y, t, outputs) } -> std::same_as<variable<B>>;
  { l.target_parts(outputs) } -> std::same_as<std::vector<row_part>>;
};

/// What a trainer takes as a loss.
template <class L, class B>
concept loss_function = plain_loss<L, B> || loss_of_parts<L, B>;

/// A loss of any type as what is compiled once for all of them sees it, with what it says of itself
/// in static members. Good while the loss lives.
template <backend X>
struct loss_ref {
  /// For a model with several outputs, which must live as long. Throws what a loss over them throws
  /// where it does not fit.
  template <class Loss>
  explicit loss_ref(const Loss& loss, const std::vector<row_part>& outputs)
      : description(&loss, &described_by<Loss>),
        apply_(&apply_as<Loss>),
        loss_(&loss),
        outputs_(&outputs) {
    if constexpr (loss_of_parts<Loss, X>) {
      target_parts = loss.target_parts(outputs);
      if constexpr (requires { loss.for_each_loss([](const auto&, const auto&) {}); }) {
        loss.for_each_loss([&](const std::string& output, const auto& own) {
          compared_parts.push_back(compared(part_called(output, target_parts, "loss"), own));
        });
      } else {
        for (const row_part& part : target_parts) {
          compared_parts.push_back(compared(part, loss));
        }
      }
    }
    if constexpr (requires { Loss::applies; }) {
      applies = Loss::applies;
    }
    if constexpr (requires { Loss::nears_targets; }) {
      nears_targets = Loss::nears_targets;
    }
    if constexpr (requires { Loss::takes_target(0.0F); }) {
      takes_target = &Loss::takes_target;
      target_range = Loss::target_range;
    }
  }

  [[nodiscard]] variable<X> apply(variable<X> y, const targets<X>& t) const {
    return apply_(loss_, std::move(y), t, *outputs_);
  }
  function_ref<std::string()> description;
  /// What the rows of targets hold for a loss over several outputs; else nothing.
  std::vector<row_part> target_parts;
  /// One of them that a loss looks at, and what that says of itself.
  struct compared_part {
    row_part part;
    function_ref<std::string()> description;
    output_kind applies = output_kind::other;
    bool (*takes_target)(float) = nullptr;
    std::string_view target_range = {};
  };
  std::vector<compared_part> compared_parts;
  /// The function that the loss applies to the model's outputs before it compares them; it then
  /// takes logits, outputs of a model that ends without that function.
  output_kind applies = output_kind::other;
  /// Whether it brings outputs close to the targets themselves, as in a regression.
  bool nears_targets = false;
  /// Whether it compares outputs with targets one by one, which need the same shape then.
  [[nodiscard]] bool compares() const {
    return nears_targets || applies != output_kind::other || takes_target != nullptr;
  }
  bool (*takes_target)(float) = nullptr;  ///< whether it takes this value; null: any
  std::string_view target_range;          ///< which it takes, in words

 private:
  template <class Loss>
  static variable<X> apply_as(const void* self, variable<X> y, const targets<X>& t,
                              const std::vector<row_part>& outputs);
  template <class Loss>
  static std::string described_by([[maybe_unused]] const void* self) {
    if constexpr (described<Loss>) {
      return static_cast<const Loss*>(self)->description();
    } else {
      return "the loss";
    }
  }

  template <class Loss>
  static compared_part compared(const row_part& part, const Loss& loss) {
    compared_part result{part, {&loss, &described_by<Loss>}};
    if constexpr (requires { Loss::applies; }) {
      result.applies = Loss::applies;
    }
    if constexpr (requires { Loss::takes_target(0.0F); }) {
      result.takes_target = &Loss::takes_target;
      result.target_range = Loss::target_range;
    }
    return result;
  }

  variable<X> (*apply_)(const void*, variable<X>, const targets<X>&, const std::vector<row_part>&);
  const void* loss_;
  const std::vector<row_part>* outputs_;
};

template <backend X>
template <class Loss>
variable<X> loss_ref<X>::apply_as(const void* self, variable<X> y, const targets<X>& t,
                                  [[maybe_unused]] const std::vector<row_part>& outputs) {
  const shape expected{y.shape().rank() == 0 ? 1 : y.shape()[0]};
  const Loss& loss = *static_cast<const Loss*>(self);
  variable<X> each = [&] {
    if constexpr (loss_of_parts<Loss, X>) {
      return loss(std::move(y), t, outputs);
    } else {
      return loss(std::move(y), t);
    }
  }();
  require<shape_error>(each.shape() == expected, described_by<Loss>(self),
                       ": expected one number for each sample, ", expected, ", got ", each.shape(),
                       "; mean_per_sample takes the mean of a sample's");
  return each;
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
