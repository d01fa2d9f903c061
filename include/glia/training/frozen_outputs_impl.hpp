#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/training/feed.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/progress.hpp"

namespace glia::detail {

/// Runs all samples through the model's frozen layers; nothing where `interrupt` came between.
/// `what` names the samples on the progress bar, if there is one.
template <backend B>
std::optional<row_store> run_frozen_layers(const model_core<B>& net,
                                           const description_ref<tracing_backend<B>>& described,
                                           const dataset_view& data, const std::string& what,
                                           const frozen_output_options& options,
                                           const interrupt_guard& interrupt,
                                           std::optional<progress>& shown) {
  require<value_error>(options.batch_size > 0,
                       "fit: expected a batch size of at least 1 for the frozen layers");
  const std::size_t size = net.frontier()->output.size();
  row_store values(data.size(), size, options.store);
  if (shown) {
    shown->start_pass("frozen layers, " + what, data.size());
  }
  std::vector<float> rows;
  std::size_t done = 0;
  for_each_output<B>(net, described, model_part::frozen, data, options.batch_size,
                     [&](const batch& b, const typename B::tensor& y) {
                       rows.resize(b.size * size);
                       net.device().to_host(y, std::span<float>(rows));
                       values.write(done, rows);
                       done += b.size;
                       if (shown) {
                         shown->update(done);
                       }
                       return !interrupt.interrupted();
                     });
  if (interrupt.interrupted()) {
    return std::nullopt;
  }
  if (shown) {
    const std::size_t bytes = data.size() * size * sizeof(float);
    shown->finish_pass("kept in " + std::string(values.in_memory() ? "memory" : "a file") + ", " +
                       scaled(static_cast<double>(bytes), "B"));
  }
  return values;
}

template <backend B>
std::optional<row_store> frozen_rows(const model_core<B>& net,
                                     const description_ref<tracing_backend<B>>& described,
                                     const dataset_view& data, const std::string& what,
                                     const frozen_output_options& options, std::ostream* out) {
  require<value_error>(net.frontier().has_value(),
                       "compute_frozen_outputs: the model has no frozen layers that all else sees "
                       "the samples through alone");
  require_fitting("compute_frozen_outputs", data, net);
  std::optional<progress> shown;
  if (out != nullptr) {
    shown.emplace(*out, is_terminal(*out), 0);
  }
  const interrupt_guard interrupt;
  return run_frozen_layers(net, described, data, what, options, interrupt, shown);
}

}  // namespace glia::detail
