#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/core/row_part.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Returns whether the targets of a loss are classes by default; true for losses that apply a
/// softmax.
template <class Loss>
[[nodiscard]] constexpr bool takes_classes() {
  if constexpr (requires { Loss::applied_activation; }) {
    return Loss::applied_activation == output_kind::softmax;
  } else {
    return false;
  }
}

}  // namespace detail

/// The loss of one named output of a model with several outputs; see `output_losses`.
template <class Loss>
struct output_loss {
  std::string output;  ///< Name of the output.
  Loss loss;           ///< Loss, such as `softmax_cross_entropy{}`.
  double weight = 1;   ///< Factor of the loss in the sum, finite and at least 0.
  /// Whether targets are classes, one for each row of outputs (..., K), instead of values with the
  /// shape of the output. By default, true for losses that apply a softmax, such as
  /// `softmax_cross_entropy`.
  bool classes = detail::takes_classes<Loss>();

  friend bool operator==(const output_loss&, const output_loss&) = default;
};

template <class Loss>
output_loss(const char*, Loss) -> output_loss<Loss>;
template <class Loss>
output_loss(std::string, Loss) -> output_loss<Loss>;
template <class Loss>
output_loss(const char*, Loss, double) -> output_loss<Loss>;
template <class Loss>
output_loss(std::string, Loss, double) -> output_loss<Loss>;
template <class Loss>
output_loss(const char*, Loss, double, bool) -> output_loss<Loss>;
template <class Loss>
output_loss(std::string, Loss, double, bool) -> output_loss<Loss>;

/// The weighted sum of the losses of several outputs, for a model that ends in `outputs`.
///
///     glia::output_losses{glia::output_loss{"digit", glia::softmax_cross_entropy{}},
///                         glia::output_loss{"slant", glia::mean_squared_error{}, 0.5}}
///
/// Each sample has one row of targets: the values or classes of all outputs, in the order of the
/// model's outputs. `named_arrays` makes these rows. An output without a loss needs targets, too,
/// but they are ignored.
///
/// Throws `value_error` if a loss names an output that the model does not have, if an output has
/// two losses, or if a weight is outside its range. Also throws `value_error` if an output ends in
/// a softmax or sigmoid, but its loss expects logits. Throws `shape_error` if the targets are not
/// rows of this form.
template <class... Losses>
class output_losses {
 public:
  explicit output_losses(output_loss<Losses>... losses) : losses_(std::move(losses)...) {}

  /// Returns the name, shape and position of the targets of each output in a row of targets.
  [[nodiscard]] std::vector<row_part> target_parts(const std::vector<row_part>& outputs) const {
    std::apply([&](const auto&... entry) { (require_fitting(entry, outputs), ...); }, losses_);
    std::vector<row_part> result;
    for (const row_part& output : outputs) {
      const bool classes = std::apply(
          [&](const auto&... entry) {
            return ((entry.output == output.name && entry.classes) || ...);
          },
          losses_);
      result.push_back({output.name, classes ? without_last_axis(output.extents) : output.extents,
                        row_size(result), classes ? output.extents.back() : 0});
    }
    return result;
  }

  /// Calls body(name of the output, loss) for each loss.
  template <class Body>
  void for_each_loss(const Body& body) const {
    std::apply([&](const auto&... entry) { (body(entry.output, entry.loss), ...); }, losses_);
  }

  [[nodiscard]] variable operator()(const variable& y, const targets& t,
                                    const std::vector<row_part>& outputs) const {
    const std::vector<row_part> layout = target_parts(outputs);
    require<shape_error>(t.values && t.values.shape() == shape{y.shape()[0], row_size(layout)},
                         "output_losses: expected rows of targets (N, ", row_size(layout),
                         ") that hold ", detail::parts_text(layout), ", got ",
                         t.values ? text(batch_text(t.values.shape())) : "classes",
                         "; make them with named_arrays");
    std::vector<std::size_t> sizes;
    std::transform(outputs.begin(), outputs.end(), std::back_inserter(sizes),
                   [](const row_part& part) { return part.size(); });
    const std::vector<variable> parts = ops::split(y, 1, sizes);
    const std::array<variable, sizeof...(Losses)> losses = std::apply(
        [&](const auto&... entry) {
          return std::array{
              of_output(entry, index_of(entry.output, outputs), parts, t, outputs, layout)...};
        },
        losses_);
    variable sum = losses[0];
    for (std::size_t i = 1; i < losses.size(); ++i) {
      sum = sum + losses[i];
    }
    return sum;
  }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [](const auto&... entry) {
          std::string result;
          ((result += text(result.empty() ? "" : ", ", entry.output, ": ", described_by(entry.loss),
                           entry.weight == 1 ? "" : text(" x ", entry.weight))),
           ...);
          return "output_losses(" + result + ")";
        },
        losses_);
  }

  friend bool operator==(const output_losses&, const output_losses&) = default;

 private:
  static_assert(sizeof...(Losses) > 0,
                "output_losses: expected arguments glia::output_loss{name, loss}");

  [[nodiscard]] static std::size_t index_of(const std::string& name,
                                            const std::vector<row_part>& outputs) {
    return static_cast<std::size_t>(&detail::part_called(name, outputs, "output_losses") -
                                    outputs.data());
  }

  template <class Loss>
  [[nodiscard]] static std::string described_by([[maybe_unused]] const Loss& loss) {
    if constexpr (described<Loss>) {
      return loss.description();
    } else {
      return "a loss";
    }
  }

  template <class Loss>
  void require_fitting(const output_loss<Loss>& entry, const std::vector<row_part>& outputs) const {
    const row_part& output = detail::part_called(entry.output, outputs, "output_losses");
    const std::size_t of_this_name = std::apply(
        [&](const auto&... other) {
          return (std::size_t{0} + ... + (other.output == entry.output ? 1U : 0U));
        },
        losses_);
    require<value_error>(of_this_name == 1, "output_losses: the output '", entry.output, "' has ",
                         of_this_name, " losses, expected one loss for each output");
    require<value_error>(entry.weight >= 0 && std::isfinite(entry.weight),
                         "output_losses: expected a finite weight of at least 0 for the output '",
                         entry.output, "', got ", entry.weight);
    require<value_error>(!entry.classes || output.extents.rank() > 0, "output_losses: the output '",
                         entry.output,
                         "' is a single number, expected an output (..., K) for targets that are "
                         "classes");
    if constexpr (requires { Loss::applied_activation; }) {
      require<value_error>(
          Loss::applied_activation == output_kind::other || output.gives == output_kind::other,
          output.giver, ": the output '", entry.output, "' ends in a ", name_of(output.gives),
          ", but ", described_by(entry.loss), " expects logits and applies a ",
          name_of(Loss::applied_activation), " itself; remove the ", name_of(output.gives),
          " from the output");
    }
  }

  template <class Loss>
  [[nodiscard]] static variable of_output(const output_loss<Loss>& entry, std::size_t index,
                                          const std::vector<variable>& parts, const targets& t,
                                          const std::vector<row_part>& outputs,
                                          const std::vector<row_part>& layout) {
    const glia::device& device = parts[index].device();
    const std::size_t samples = parts[index].shape()[0];
    const row_part& target = layout[index];
    const auto row = device.run(
        kernels::slice{.axis = 1, .begin = target.first, .extent = target.size()}, t.values);
    const auto values = device.run(kernels::reshape{batch_of(samples, target.extents)}, row);
    const bool of_samples = entry.classes && target.extents.rank() == 0;
    const targets output_targets =
        of_samples ? targets{device.run(kernels::to_index{}, values), {}} : targets{{}, values};
    variable y = ops::reshape(parts[index], batch_of(samples, outputs[index].extents));
    variable losses = entry.loss(std::move(y), output_targets);
    return entry.weight == 1 ? losses : std::move(losses) * entry.weight;
  }

  std::tuple<output_loss<Losses>...> losses_;
};

}  // namespace glia
