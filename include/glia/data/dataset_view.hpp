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

/// A data set of any type, which must outlive the view: what is compiled once for all of them takes
/// their samples from it.
class dataset_view {
 public:
  template <class D>
  requires(!std::same_as<D, dataset_view>) dataset_view(const D& data)
      : inputs_(&data), targets_(&data) {
    static_assert(supervised_dataset<D>,
                  "expected a data set: make one of arrays by glia::labelled_arrays{x, classes} or "
                  "glia::valued_arrays{x, values}; of a type of your own, see data/dataset.hpp");
    if constexpr (supervised_dataset<D>) {
      size_ = data.size();
      input_shape_ = data.input_shape();
      if constexpr (labelled_dataset<D>) {
        write_labels_ = &write_labels<D>;
      } else {
        target_shape_ = data.target_shape();
        write_targets_ = &write_targets<D>;
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
  /// The shape of a sample's target values; none where samples belong to classes.
  [[nodiscard]] const std::optional<shape>& target_shape() const noexcept { return target_shape_; }
  /// What the rows that are samples or targets hold, of a data set that says it; else null.
  [[nodiscard]] const std::vector<row_part>* input_parts() const noexcept { return input_parts_; }
  [[nodiscard]] const std::vector<row_part>* target_parts() const noexcept { return target_parts_; }
  /// Whether a sample may differ from epoch to epoch.
  [[nodiscard]] bool varies() const noexcept { return varies_; }
  /// Whether the samples have gone through a model's frozen layers already; see frozen_outputs.
  [[nodiscard]] bool behind_frozen_layers() const noexcept { return behind_frozen_layers_; }

  /// The same targets for what a model's frozen layers gave for each sample, of the shape `each`:
  /// `outputs.read(sample, values)` writes it.
  template <class Outputs>
  [[nodiscard]] dataset_view with_frozen_outputs(const Outputs& outputs, const shape& each) const {
    dataset_view result = *this;
    result.inputs_ = &outputs;
    result.write_inputs_ = [](const void* self, std::span<const std::uint32_t> samples,
                              std::span<float> values, std::size_t) {
      for_each_row(samples, values, [&](std::size_t i, std::span<float> row) {
        static_cast<const Outputs*>(self)->read(i, row);
      });
    };
    result.input_shape_ = each;
    result.varies_ = false;
    result.behind_frozen_layers_ = true;
    result.checked_ = false;  // as its samples were when these outputs were computed
    return result;
  }

  /// Writes the samples with these numbers, as they are in this epoch, into `out`, reusing its
  /// memory. Throws `data_error` where the data set does not write all of a row, or more.
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
      write_rows(out.targets, samples, target_shape_->size(), "target",
                 [&](std::span<float> rows) { write_targets_(targets_, samples, rows); });
    } else {
      out.classes.resize(samples.size());
      write_labels_(targets_, samples, out.classes);
    }
  }

 private:
  using input_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                std::span<float> values, std::size_t epoch);
  using target_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                 std::span<float> values);
  using label_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                std::span<std::int32_t> labels);

  /// Has `write(rows)` write a row of `size` values for each sample.
  template <class Write>
  void write_rows(std::vector<float>& values, std::span<const std::uint32_t> samples,
                  std::size_t size, std::string_view what, const Write& write) const {
    if (checked_) {
      detail::checked_rows checked(values, samples.size(), size);
      write(checked.rows());
      checked.check(samples, what);
    } else {
      values.resize(samples.size() * size);
      write(std::span(values));
    }
  }

  /// write(sample, row) for each sample's row of values.
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
  template <valued_dataset D>
  static void write_targets(const void* self, std::span<const std::uint32_t> samples,
                            std::span<float> values) {
    for_each_row(samples, values, [&](std::size_t i, std::span<float> row) {
      static_cast<const D*>(self)->target(i, row);
    });
  }
  template <labelled_dataset D>
  static void write_labels(const void* self, std::span<const std::uint32_t> samples,
                           std::span<std::int32_t> labels) {
    for (std::size_t n = 0; n < samples.size(); ++n) {
      labels[n] = static_cast<const D*>(self)->label(samples[n]);
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
  bool checked_ = false;  // whether what it writes is
  input_writer write_inputs_ = nullptr;
  target_writer write_targets_ = nullptr;  // of samples with values
  label_writer write_labels_ = nullptr;    // of samples with classes
};

}  // namespace glia
