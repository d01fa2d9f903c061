#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/row_part.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/checked_rows.hpp"
#include "glia/data/dataset.hpp"

namespace glia {

/// A type-erased reference to a data set, which must outlive it. Functions with a parameter of this
/// type are compiled only once for all types of data sets.
class dataset_view {
 public:
  template <class D>
  requires(!std::same_as<D, dataset_view>) dataset_view(const D& data)
      : inputs_(&data), targets_(&data) {
    static_assert(supervised_dataset<D>,
                  "expected a data set; for arrays, pass glia::labeled_arrays{inputs, labels} or "
                  "glia::target_arrays{inputs, targets}; for a type of your own, the members that "
                  "it needs are in glia/data/dataset.hpp");
    if constexpr (supervised_dataset<D>) {
      size_ = data.size();
      input_shape_ = data.input_shape();
      if constexpr (labeled_dataset<D>) {
        write_labels_ = &write_labels<D>;
      } else {
        target_shape_ = data.target_shape();
        write_targets_ = &write_targets<D>;
      }
      if constexpr (weighted_dataset<D>) {
        write_weights_ = &write_weights<D>;
      }
      varies_ = glia::varies(data);
      if constexpr (named_dataset<D>) {
        input_parts_ = &data.input_parts();
        target_parts_ = &data.target_parts();
      }
      behind_frozen_layers_ = requires { requires D::behind_frozen_layers; };
      checked_ = !detail::writes_whole_rows<D>;
      write_inputs_ = &write_inputs<D>;
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const shape& input_shape() const noexcept { return input_shape_; }
  /// The shape of one sample's targets; empty for a data set with class labels.
  [[nodiscard]] const std::optional<shape>& target_shape() const noexcept { return target_shape_; }
  /// The named tensors in each row of inputs; null for data sets without named tensors.
  [[nodiscard]] const std::vector<row_part>* input_parts() const noexcept { return input_parts_; }
  /// The named tensors in each row of targets; null for data sets without named tensors.
  [[nodiscard]] const std::vector<row_part>* target_parts() const noexcept { return target_parts_; }
  /// Whether the samples have weights.
  [[nodiscard]] bool has_weights() const noexcept { return write_weights_ != nullptr; }
  /// Whether a sample may differ between epochs.
  [[nodiscard]] bool varies() const noexcept { return varies_; }
  /// Whether the inputs are stored outputs of a model's frozen layers; see `frozen_outputs`.
  [[nodiscard]] bool behind_frozen_layers() const noexcept { return behind_frozen_layers_; }

  /// Returns a data set with the same targets, whose inputs are the outputs of a model's frozen
  /// layers. `outputs.read(sample, values)` writes the output, of shape `sample_shape`, for one
  /// sample.
  template <class Outputs>
  [[nodiscard]] dataset_view with_frozen_outputs(const Outputs& outputs,
                                                 const shape& sample_shape) const {
    dataset_view result = *this;
    result.inputs_ = &outputs;
    result.write_inputs_ = [](const void* self, std::span<const std::uint32_t> samples,
                              std::span<float> values, std::size_t) {
      for_each_row(samples, values, [&](std::size_t i, std::span<float> row) {
        static_cast<const Outputs*>(self)->read(i, row);
      });
    };
    result.input_shape_ = sample_shape;
    result.varies_ = false;
    result.behind_frozen_layers_ = true;
    result.checked_ = false;  // the inputs were checked when these outputs were computed
    return result;
  }

  /// Reads the samples with the given indices into `out` and reuses its memory. Throws `data_error`
  /// if the data set does not write a complete row, or writes beyond its end, or if a weight is
  /// negative or not finite.
  void gather(std::span<const std::uint32_t> samples, batch& out, std::size_t epoch = 0) const {
    out.size = samples.size();
    out.input_shape = batch_of(samples.size(), input_shape_);
    write_rows(out.inputs, samples, input_shape_.size(), "input", [&](std::span<float> rows) {
      if (!samples.empty()) {
        write_inputs_(inputs_, samples, rows, epoch);
      }
    });
    if (target_shape_) {
      out.target_shape = batch_of(samples.size(), *target_shape_);
      write_rows(out.targets, samples, target_shape_->size(), "target", [&](std::span<float> rows) {
        if (!samples.empty()) {
          write_targets_(targets_, samples, rows, epoch);
        }
      });
    } else {
      out.labels.resize(samples.size());
      write_labels_(targets_, samples, out.labels);
    }
    out.weights.clear();
    if (has_weights()) {
      out.weights.resize(samples.size());
      write_weights_(targets_, samples, out.weights);
      for (std::size_t n = 0; n < samples.size(); ++n) {
        detail::require_weight("the data set", samples[n], out.weights[n]);
      }
    }
  }

 private:
  using row_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                              std::span<float> values, std::size_t epoch);
  using weight_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                 std::span<float> weights);
  using label_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                std::span<std::int32_t> labels);

  /// Calls `write(rows)`, which writes one row of `size` values for each sample.
  template <class Write>
  void write_rows(std::vector<float>& values, std::span<const std::uint32_t> samples,
                  std::size_t size, std::string_view subject, const Write& write) const {
    if (checked_) {
      detail::checked_rows checked(values, samples.size(), size);
      write(checked.rows());
      checked.check(samples, subject);
    } else {
      values.resize(samples.size() * size);
      write(std::span(values));
    }
  }

  /// Calls write(sample, row) for each sample.
  template <class Write>
  static void for_each_row(std::span<const std::uint32_t> samples, std::span<float> values,
                           const Write& write) {
    const std::size_t size = samples.empty() ? 0 : values.size() / samples.size();
    for (std::size_t n = 0; n < samples.size(); ++n) {
      write(samples[n], values.subspan(n * size, size));
    }
  }

  template <supervised_dataset D>
  static void write_inputs(const void* self, std::span<const std::uint32_t> samples,
                           std::span<float> values, [[maybe_unused]] std::size_t epoch) {
    const D& data = *static_cast<const D*>(self);
    if constexpr (varying_dataset<D>) {
      data.inputs(samples, values, epoch);
    } else if constexpr (batched_dataset<D>) {
      data.inputs(samples, values);
    } else {
      for_each_row(samples, values,
                   [&](std::size_t i, std::span<float> row) { data.input(i, row); });
    }
  }
  template <target_dataset D>
  static void write_targets(const void* self, std::span<const std::uint32_t> samples,
                            std::span<float> values, [[maybe_unused]] std::size_t epoch) {
    const D& data = *static_cast<const D*>(self);
    if constexpr (varying_target_dataset<D>) {
      data.targets(samples, values, epoch);
    } else {
      for_each_row(samples, values,
                   [&](std::size_t i, std::span<float> row) { data.target(i, row); });
    }
  }
  template <labeled_dataset D>
  static void write_labels(const void* self, std::span<const std::uint32_t> samples,
                           std::span<std::int32_t> labels) {
    for (std::size_t n = 0; n < samples.size(); ++n) {
      labels[n] = static_cast<const D*>(self)->label(samples[n]);
    }
  }

  template <weighted_dataset D>
  static void write_weights(const void* self, std::span<const std::uint32_t> samples,
                            std::span<float> weights) {
    for (std::size_t n = 0; n < samples.size(); ++n) {
      weights[n] = static_cast<float>(static_cast<const D*>(self)->weight(samples[n]));
    }
  }

  const void* inputs_;
  const void* targets_;
  std::size_t size_ = 0;
  shape input_shape_;
  std::optional<shape> target_shape_;
  const std::vector<row_part>* input_parts_ = nullptr;
  const std::vector<row_part>* target_parts_ = nullptr;
  bool varies_ = false;
  bool behind_frozen_layers_ = false;
  bool checked_ = false;  // whether the rows that the data set writes are checked
  row_writer write_inputs_ = nullptr;
  row_writer write_targets_ = nullptr;     // null for a data set with labels
  label_writer write_labels_ = nullptr;    // null for a data set with targets
  weight_writer write_weights_ = nullptr;  // null for a data set without weights
};

}  // namespace glia
