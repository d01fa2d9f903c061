#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "glia/core/row_part.hpp"
#include "glia/core/shape.hpp"
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
      if constexpr (!labelled_dataset<D>) {
        target_shape_ = data.target_shape();
      }
      varies_ = glia::varies(data);
      if constexpr (named_dataset<D>) {
        input_parts_ = &data.input_parts();
        target_parts_ = &data.target_parts();
      }
      behind_frozen_layers_ = requires { requires D::behind_frozen_layers; };
      write_inputs_ = &write_inputs<D>;
      write_targets_ = &write_targets<D>;
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
    return result;
  }

  /// Writes the samples with these numbers, as they are in this epoch, into `out`, reusing its
  /// memory.
  void gather(std::span<const std::uint32_t> samples, batch& out, std::size_t epoch = 0) const {
    out.size = samples.size();
    out.input_shape = batch_of(samples.size(), input_shape_);
    out.inputs.resize(out.input_shape.size());
    if (!samples.empty()) {
      write_inputs_(inputs_, samples, out.inputs, epoch);
    }
    if (target_shape_) {
      out.target_shape = batch_of(samples.size(), *target_shape_);
      out.targets.resize(out.target_shape.size());
    } else {
      out.classes.resize(samples.size());
    }
    write_targets_(targets_, samples, out);
  }

 private:
  using input_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                std::span<float> values, std::size_t epoch);
  using target_writer = void (*)(const void* self, std::span<const std::uint32_t> samples,
                                 batch& out);

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
  template <supervised_dataset D>
  static void write_targets(const void* self, std::span<const std::uint32_t> samples, batch& out) {
    const D& data = *static_cast<const D*>(self);
    if constexpr (labelled_dataset<D>) {
      for (std::size_t n = 0; n < samples.size(); ++n) {
        out.classes[n] = data.label(samples[n]);
      }
    } else {
      for_each_row(samples, out.targets,
                   [&](std::size_t i, std::span<float> row) { data.target(i, row); });
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
  input_writer write_inputs_ = nullptr;
  target_writer write_targets_ = nullptr;
};

}  // namespace glia
