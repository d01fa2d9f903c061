#pragma once

#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "glia/data/dataset_view.hpp"
#include "glia/data/row_store.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

/// The options of the cache for outputs of a model's frozen layers.
struct frozen_output_options {
  /// Whether the outputs are computed once and cached. Otherwise they are computed in every step,
  /// with the same results.
  bool cache = true;
  row_store::options storage{};  ///< Memory limit of the cache and folder for its file.
  std::size_t batch_size = 32;  ///< Number of samples in a batch for the frozen layers, at least 1.
  /// Ranks that share the computation; each rank gets all outputs. `fit` sets this option.
  training_ranks* ranks = nullptr;
};

/// A data set whose samples are the outputs of a model's frozen layers. They are computed once, by
/// `compute_frozen_outputs`. The labels, targets and weights are the same as in the original data
/// set.
///
/// The original data set must outlive this object. Copies share the outputs.
template <supervised_dataset D>
class frozen_outputs {
 public:
  static constexpr bool behind_frozen_layers = true;
  static constexpr bool writes_whole_rows = true;  // checked when the outputs were computed

  frozen_outputs(const D& data, shape output, row_store values)
      : data_(&data),
        output_(output),
        values_(std::make_shared<const row_store>(std::move(values))) {}

  [[nodiscard]] std::size_t size() const { return data_->size(); }
  [[nodiscard]] const shape& input_shape() const { return output_; }
  void input(std::size_t i, std::span<float> values) const { values_->read(i, values); }
  [[nodiscard]] std::int32_t label(std::size_t i) const requires labeled_dataset<D> {
    return data_->label(i);
  }
  [[nodiscard]] float weight(std::size_t i) const requires weighted_dataset<D> {
    return data_->weight(i);
  }
  [[nodiscard]] shape target_shape() const requires target_dataset<D> {
    return data_->target_shape();
  }
  void target(std::size_t i, std::span<float> values) const requires target_dataset<D> {
    data_->target(i, values);
  }

  [[nodiscard]] bool in_memory() const { return values_->in_memory(); }
  [[nodiscard]] std::size_t bytes() const { return size() * output_.size() * sizeof(float); }

 private:
  const D* data_;
  shape output_;
  std::shared_ptr<const row_store> values_;
};

namespace detail {

/// Computes the outputs of a model's frozen layers for all samples of a data set. Returns
/// `std::nullopt` if Ctrl-C interrupts the computation.
[[nodiscard]] std::optional<row_store> frozen_rows(const model_core& net, const dataset_view& data,
                                                   const std::string& name,
                                                   const frozen_output_options& options,
                                                   std::ostream* out);

}  // namespace detail

/// Computes the outputs of a model's frozen layers for all samples of a data set. `fit`, `evaluate`
/// and `predict` accept the result instead of the data set.
///
/// `name` is the data set's name in the progress bar on `out`; null: no progress bar. Returns
/// `std::nullopt` if Ctrl-C interrupts the computation. Throws `value_error` if the model does not
/// begin with frozen layers.
template <class Model, supervised_dataset D>
[[nodiscard]] std::optional<frozen_outputs<D>> compute_frozen_outputs(
    const Model& net, const D& data, const std::string& name,
    const frozen_output_options& options = {}, std::ostream* out = &std::cout) {
  std::optional<row_store> rows = detail::frozen_rows(net.core(), data, name, options, out);
  if (!rows) {
    return std::nullopt;
  }
  return frozen_outputs<D>(data, *net.frozen_output_shape(), std::move(*rows));
}
template <class Model, supervised_dataset D>
std::optional<frozen_outputs<D>> compute_frozen_outputs(const Model& net, const D&& data,
                                                        const std::string& name,
                                                        const frozen_output_options& options = {},
                                                        std::ostream* out = &std::cout) = delete;

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/frozen_outputs_impl.hpp"
#endif
