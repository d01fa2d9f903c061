#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/core/inline.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/dataset_batches.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/progress.hpp"

namespace glia::detail {

/// Whether `fit` trains on cached outputs of the frozen layers for a data set.
[[nodiscard]] inline bool is_cached(const dataset_view& data,
                                    const frozen_output_options& options) {
  return data.behind_frozen_layers() || (options.cache && !data.varies());
}

/// Describes for history::frozen_layers how often `fit` runs the frozen layers.
[[nodiscard]] inline const char* frozen_layers_text(const dataset_view& data,
                                                    const frozen_output_options& options) {
  return is_cached(data, options) ? "the outputs of the frozen layers were computed once and cached"
         : !options.cache ? "the frozen layers run in every step, because the options say so"
                          : "the frozen layers run in every step, because the training samples "
                            "change from epoch to epoch (they are augmented)";
}

/// Computes the outputs of the model's frozen layers for all samples. Calls `told` before the first
/// batch and after each batch. Stops and returns `std::nullopt` if `told` returns false.
GLIA_INLINE std::optional<row_store> run_frozen_layers(const model_core& net,
                                                       const dataset_view& data,
                                                       const std::string& name,
                                                       const frozen_output_options& options,
                                                       function_ref<bool(const frozen_pass&)> told,
                                                       training_ranks* ranks = nullptr) {
  require<value_error>(options.batch_size > 0,
                       "fit: expected a batch size of at least 1 for the frozen layers");
  const std::size_t size = net.frontier()->output.size();
  row_store values(data.size(), size, options.storage);
  frozen_pass pass{.name = name,
                   .sample_count = data.size(),
                   .bytes = data.size() * size * sizeof(float),
                   .in_memory = values.in_memory()};
  bool goes_on = told(pass);
  if (goes_on) {
    std::vector<float> rows;
    const auto keep = [&](const std::vector<float>& outputs) {
      values.write(pass.samples_done, outputs);
      pass.samples_done += outputs.size() / size;
      return goes_on = told(pass);
    };
    const auto keep_batch = [&](const batch& b, const tensor& y) {
      rows.resize(b.size * size);
      first_to_host(net.device(), y, std::span<float>(rows));
      return keep(ranks == nullptr ? rows : ranks->concatenate(rows));
    };
    for_each_output(net, model_part::frozen, data, options.batch_size, keep_batch, ranks);
    if (ranks != nullptr && goes_on && pass.samples_done < data.size()) {
      (void)keep(ranks->concatenate({}));  // other ranks have one more batch
    }
  }
  return goes_on ? std::optional(std::move(values)) : std::nullopt;
}

GLIA_INLINE std::optional<row_store> frozen_rows(const model_core& net, const dataset_view& data,
                                                 const std::string& name,
                                                 const frozen_output_options& options,
                                                 std::ostream* out) {
  require<value_error>(net.frontier().has_value(),
                       "compute_frozen_outputs: the model does not begin with frozen layers, or "
                       "other layers use the samples, too");
  require_fitting("compute_frozen_outputs", data, net);
  std::optional<progress> shown;
  if (out != nullptr && (options.ranks == nullptr || options.ranks->rank() == 0)) {
    shown.emplace(*out, is_terminal(*out), 0, counted(net.sample_shape()));
  }
  const interrupt_guard interrupt;
  const auto told = [&](const frozen_pass& pass) {
    if (shown) {
      shown->show(pass);
    }
    const bool interrupted = interrupt.interrupted();
    return !(options.ranks == nullptr ? interrupted : options.ranks->any(interrupted));
  };
  return together(options.ranks,
                  [&] { return run_frozen_layers(net, data, name, options, told, options.ranks); });
}

}  // namespace glia::detail
