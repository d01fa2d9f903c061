#pragma once

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/data/row_store.hpp"
#include "glia/models/trained_part.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/progress.hpp"

namespace glia {

/// Whether the outputs of a model's first layers, which are frozen, are computed once for every
/// sample and kept, and where.
struct frozen_output_options {
  bool keep = true;  ///< false: they are computed in every step. The numbers are the same
  row_store::options store{};
  std::size_t batch_size = 32;  ///< samples that go through the frozen layers at a time; at least 1
};

/// A data set seen through the frozen layers of a model: their outputs, computed once, with the
/// data set's own labels or targets. The data set must outlive it. Copies share the outputs.
template <supervised_dataset D>
class frozen_outputs {
 public:
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

template <class D>
inline constexpr bool is_frozen_outputs = false;
template <class D>
inline constexpr bool is_frozen_outputs<frozen_outputs<D>> = true;

/// Runs all samples through the model's frozen layers; nothing where `interrupt` came between.
/// `what` names the samples on the progress bar, if there is one. Outputs that are there already
/// are handed on.
template <class Model, supervised_dataset D>
[[nodiscard]] std::optional<frozen_outputs<D>> run_frozen_layers(
    const Model& net, const D& data, const std::string& what, const frozen_output_options& options,
    const interrupt_guard& interrupt, std::optional<progress>& shown) {
  using B = typename Model::backend_type;
  require<value_error>(options.batch_size > 0,
                       "fit: expected a batch size of at least 1 for the frozen layers");
  const shape output = net.frozen_output_shape();
  row_store values(data.size(), output.size(), options.store);
  if (shown) {
    shown->start_pass("frozen layers, " + what, data.size());
  }
  std::vector<float> rows;
  std::size_t done = 0;
  for_each_output(
      net.device(), data, options.batch_size,
      [&](variable<B> x) { return net.template infer_part<Model::part::frozen>(std::move(x)); },
      [&](const batch& b, const variable<B>& y) {
        rows.resize(b.size * output.size());
        net.device().to_host(y.value(), std::span<float>(rows));
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
  frozen_outputs<D> result(data, output, std::move(values));
  if (shown) {
    shown->finish_pass("kept in " + std::string(result.in_memory() ? "memory" : "a file") + ", " +
                       scaled(static_cast<double>(result.bytes()), "B"));
  }
  return result;
}
template <class Model, supervised_dataset D>
[[nodiscard]] std::optional<frozen_outputs<D>> run_frozen_layers(
    const Model&, const frozen_outputs<D>& data, const std::string&, const frozen_output_options&,
    const interrupt_guard&, std::optional<progress>&) {
  return data;
}

}  // namespace detail

/// Runs all samples of a data set through a model's frozen layers, once and for all: `fit`,
/// `evaluate` and `predict` take the result in place of the data set. Nothing where Ctrl-C came
/// between. `what` names the samples in what is shown: frozen layers, validation.
template <class Model, supervised_dataset D>
[[nodiscard]] std::optional<frozen_outputs<D>> compute_frozen_outputs(
    const Model& net, const D& data, const std::string& what,
    const frozen_output_options& options = {}, std::ostream* out = &std::cout) {
  static_assert(Model::frozen_layers() > 0, "the model does not begin with frozen layers");
  require_fitting("compute_frozen_outputs", net, data);
  std::optional<progress> shown;
  if (out != nullptr) {
    shown.emplace(*out, is_terminal(*out), 0);
  }
  const interrupt_guard interrupt;
  return detail::run_frozen_layers(net, data, what, options, interrupt, shown);
}

}  // namespace glia
