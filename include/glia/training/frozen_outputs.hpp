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
#include "glia/distributed/rank_group.hpp"
#include "glia/models/model_core.hpp"

namespace glia {

/// Whether the outputs of a model's frozen layers are computed once for every sample and kept, and
/// where.
struct frozen_output_options {
  bool keep = true;  ///< false: they are computed in every step. The numbers are the same
  row_store::options store{};
  std::size_t batch_size = 32;  ///< samples that go through the frozen layers at a time; at least 1
  rank_group* ranks = nullptr;  ///< that share them; all ask alike, and all get all. In fit they do
};

/// A data set seen through the frozen layers of a model: their outputs, computed once, with the
/// data set's own labels or targets. The data set must outlive it. Copies share the outputs.
template <supervised_dataset D>
class frozen_outputs {
 public:
  static constexpr bool behind_frozen_layers = true;
  static constexpr bool writes_whole_rows = true;  // the data set was checked by computing them

  frozen_outputs(const D& data, shape output, row_store values)
      : data_(&data),
        output_(output),
        values_(std::make_shared<const row_store>(std::move(values))) {}

  [[nodiscard]] std::size_t size() const { return data_->size(); }
  [[nodiscard]] const shape& input_shape() const { return output_; }
  void input(std::size_t i, std::span<float> values) const { values_->read(i, values); }
  [[nodiscard]] std::int32_t label(std::size_t i) const requires labelled_dataset<D> {
    return data_->label(i);
  }
  [[nodiscard]] shape target_shape() const requires valued_dataset<D> {
    return data_->target_shape();
  }
  void target(std::size_t i, std::span<float> values) const requires valued_dataset<D> {
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

/// The outputs of a model's frozen layers for all samples of a data set; nothing where Ctrl-C came
/// between.
template <backend B>
[[nodiscard]] std::optional<row_store> frozen_rows(
    const model_core<B>& net, const description_ref<tracing_backend<B>>& described,
    const dataset_view& data, const std::string& what, const frozen_output_options& options,
    std::ostream* out);

}  // namespace detail

/// Runs all samples of a data set through a model's frozen layers, once and for all: `fit`,
/// `evaluate` and `predict` take the result in place of the data set. Nothing where Ctrl-C came
/// between. `what` names the samples in what is shown: frozen layers, validation. Throws
/// `value_error` where the model has no frozen_output_shape.
template <class Model, supervised_dataset D>
[[nodiscard]] std::optional<frozen_outputs<D>> compute_frozen_outputs(
    const Model& net, const D& data, const std::string& what,
    const frozen_output_options& options = {}, std::ostream* out = &std::cout) {
  std::optional<row_store> rows =
      detail::frozen_rows(net.core(), net.described(), data, what, options, out);
  if (!rows) {
    return std::nullopt;
  }
  return frozen_outputs<D>(data, *net.frozen_output_shape(), std::move(*rows));
}
template <class Model, supervised_dataset D>
std::optional<frozen_outputs<D>> compute_frozen_outputs(const Model& net, const D&& data,
                                                        const std::string& what,
                                                        const frozen_output_options& options = {},
                                                        std::ostream* out = &std::cout) = delete;

}  // namespace glia

#include "glia/training/frozen_outputs_impl.hpp"
