#pragma once

// Iteration over the batches of a data set.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/data/batch_loader.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

namespace detail {

/// Returns the indices of this rank's samples, if the ranks take the batches of a data set in turn.
/// Returns all indices if `ranks` is null.
[[nodiscard]] inline std::vector<std::uint32_t> indices_for(const training_ranks* ranks,
                                                            std::size_t size,
                                                            std::size_t batch_size) {
  std::vector<std::uint32_t> order;
  const std::size_t step = batch_size * (ranks == nullptr ? 1 : ranks->size());
  for (std::size_t first = batch_size * (ranks == nullptr ? 0 : ranks->rank()); first < size;
       first += step) {
    for (std::size_t i = first; i < std::min(first + batch_size, size); ++i) {
      order.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return order;
}

/// Calls use(batch) for the batches of a data set in order, until it returns false. If there are
/// several ranks, each rank takes only its own batches.
inline void for_each_batch(const dataset_view& data, std::size_t batch_size,
                           function_ref<bool(const batch&)> use,
                           const training_ranks* ranks = nullptr) {
  const std::vector<std::uint32_t> order = indices_for(ranks, data.size(), batch_size);
  batch_loader loader(data, batch_size);
  loader.start(order);
  while (const batch* b = loader.next()) {
    if (!use(*b)) {
      return;
    }
  }
}

}  // namespace detail

/// Runs a part of a model on all batches of a data set in order, and calls use(batch, outputs) for
/// each batch, until `use` returns false. The outputs can have more rows than the batch has
/// samples; the additional rows at the end are padding.
inline void for_each_output(const model_core& net, model_part part, const dataset_view& data,
                            std::size_t batch_size,
                            function_ref<bool(const batch&, const tensor&)> use,
                            const training_ranks* ranks = nullptr) {
  const auto infer = [&](const batch& b) {
    net.require_integers(std::span<const float>(b.inputs), part);
    return net.infer(
        part, net.device().samples_from_host(std::span<const float>(b.inputs), b.input_shape));
  };
  const auto use_batch = [&](const batch& b) {
    const std::size_t rows = net.rows_for(part, b.size, std::min(batch_size, data.size()));
    return use(b, rows > b.size ? infer(padded(b, rows)) : infer(b));
  };
  detail::for_each_batch(data, batch_size, use_batch, ranks);
}

}  // namespace glia
