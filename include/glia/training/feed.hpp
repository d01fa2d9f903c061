#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/data/batch_loader.hpp"
#include "glia/data/dataset.hpp"
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

/// What is measured when nothing is asked for: accuracy where samples have classes.
template <supervised_dataset D>
[[nodiscard]] std::vector<metric> default_metrics() {
  return labelled_dataset<D> ? std::vector<metric>{accuracy()} : std::vector<metric>{};
}

}  // namespace glia
