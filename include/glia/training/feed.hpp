#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/data/batch_loader.hpp"
#include "glia/data/dataset.hpp"
#include "glia/layers/plan.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/tape.hpp"
#include "glia/training/metrics.hpp"

namespace glia {

/// Throws where a data set does not fit a model: no samples or more than can be numbered, or
/// samples of another shape.
template <class Model, supervised_dataset D>
void require_fitting(std::string_view what, const Model& net, const D& data) {
  require<data_error>(data.size() > 0, what, ": the data set is empty");
  detail::require_numbered(what, data.size());
  const shape sample = data.input_shape();
  require<shape_error>(sample == net.sample_shape(), what, ": the model takes samples of shape ",
                       net.sample_shape(), ", the data set has ", sample,
                       sample.size() == net.sample_shape().size()
                           ? "; begin the model with a reshape or give the model the data's shape"
                           : "");
  if constexpr (valued_dataset<D> && !labelled_dataset<D>) {
    require<shape_error>(shape(data.target_shape()) == net.output_shape(), what,
                         ": the model gives ", net.output_shape(), ", the data set's targets are ",
                         shape(data.target_shape()));
  }
}

/// Runs `forward(x)` on all samples of a data set, in order and in batches, and calls
/// use(batch, outputs) for each; stops where that returns false.
template <backend B, supervised_dataset D, class Forward, class Use>
void for_each_output(const B& device, const D& data, std::size_t batch_size, const Forward& forward,
                     const Use& use) {
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  batch_loader<D> loader(data, batch_size);
  tape<B> record(device);
  loader.start(order);
  while (const batch* b = loader.next()) {
    variable<B> x =
        record.constant(device.from_host(std::span<const float>(b->inputs), b->input_shape));
    if (!use(*b, forward(std::move(x)))) {
      return;
    }
  }
}

/// A batch's targets on the device. Throws `data_error` for a class that the model has no output
/// for, which would otherwise train without a word.
template <backend B>
[[nodiscard]] targets<B> targets_of(const B& device, const batch& b, const shape& output) {
  if (b.classes.empty()) {
    return {{}, device.from_host(std::span<const float>(b.targets), b.target_shape)};
  }
  const std::size_t outputs = output.rank() == 0 ? 1 : output.back();
  const std::size_t classes = std::max<std::size_t>(outputs, 2);
  for (std::int32_t label : b.classes) {
    require<data_error>(label >= 0 && static_cast<std::size_t>(label) < classes,
                        "the data hold class ", label,
                        ", but the model has outputs for classes 0 to ", classes - 1,
                        "; end it with more units or mend the labels");
  }
  return {device.from_host(std::span<const std::int32_t>(b.classes), {b.classes.size()}), {}};
}

/// Throws `value_error` where a model ends in a sigmoid or softmax and the loss applies one itself.
template <class Loss, class Model>
void require_logits(const Model& net, const Loss& loss) {
  constexpr output_kind applied = applied_by<Loss>();
  if constexpr (applied != output_kind::other) {
    const model_plan& plan = net.plan();
    std::string name = "the loss";
    if constexpr (described<Loss>) {
      name = loss.description();
    }
    require<value_error>(plan.gives == output_kind::other, plan.giver, ": the model ends in a ",
                         name_of(plan.gives), ", but ", name, " takes logits and applies a ",
                         name_of(applied), " itself; end the model without it, as by dense{",
                         plan.output.back(), "}; probabilities are glia::", name_of(applied),
                         "(net.predict(x)) then");
  }
}

/// Above which number a single output stands for class 1.
template <class Loss, class Model>
[[nodiscard]] double class_border(const Model& net) {
  return nears_targets<Loss>() || net.plan().gives == output_kind::sigmoid ? 0.5 : 0;
}

/// Whether a sample's targets stand for a class: a row of probabilities or one that is 1 for one
/// class and -1 for the others; a single one -1, 0 or 1 or, with `probabilities`, between 0 and 1.
[[nodiscard]] inline bool is_class(std::span<const float> row, bool probabilities) {
  if (row.size() == 1) {
    const float t = row[0];
    return t == 0 || t == 1 || t == -1 || (probabilities && t > 0 && t < 1);
  }
  constexpr double rounding = 1e-3;
  double sum = 0;
  bool positive = true;
  bool signs = true;
  for (const float t : row) {
    sum += t;
    positive = positive && t >= 0;
    signs = signs && (t == 1 || t == -1);
  }
  return (positive && std::abs(sum - 1) < rounding) ||
         (signs && sum == 2 - static_cast<double>(row.size()));
}

/// Throws `data_error` where metrics, which count samples by their class, are asked for and a
/// batch's targets are no classes, as those of a regression.
template <class Loss>
void require_classes(const std::vector<metric>& metrics, const batch& b) {
  const std::size_t size = b.size == 0 ? 0 : b.targets.size() / b.size;
  for (std::size_t n = 0; !metrics.empty() && b.classes.empty() && n < b.size; ++n) {
    const std::span row = std::span<const float>(b.targets).subspan(n * size, size);
    require<data_error>(is_class(row, applied_by<Loss>() != output_kind::other), metrics[0].name,
                        ": counts samples by their class, and the data's targets are no classes (",
                        row.empty() ? 0 : row[0], row.size() > 1 ? ", ..." : "",
                        "); leave it out: the loss says how far off a regression is");
  }
}

/// What is measured when nothing is asked for: accuracy where samples have classes.
template <supervised_dataset D>
[[nodiscard]] std::vector<metric> default_metrics() {
  return labelled_dataset<D> ? std::vector<metric>{accuracy()} : std::vector<metric>{};
}

}  // namespace glia
