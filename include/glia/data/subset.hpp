#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/dataset.hpp"

namespace glia {

template <dataset D>
class subset;

namespace detail {

template <class D>
inline constexpr bool is_subset = false;
template <class D>
inline constexpr bool is_subset<subset<D>> = true;

}  // namespace detail

/// A view of selected samples of a data set, in the order of a list of indices. An index may occur
/// several times. The subset has labels, targets, weights, named tensors and augmentation if
/// the data set has them. The data set must outlive it.
///
///     const glia::subset first_three(data, {0, 1, 2});
///
/// Throws `value_error` if an index is not smaller than the size of the data set.
template <dataset D>
class subset {
 public:
  static constexpr bool behind_frozen_layers = requires { requires D::behind_frozen_layers; };
  static constexpr bool writes_whole_rows = detail::writes_whole_rows<D>;

  subset(const D& data, std::vector<std::uint32_t> samples)
      : data_(&data), samples_(std::move(samples)) {
    const std::size_t size = data.size();
    const auto beyond = std::find_if(samples_.begin(), samples_.end(),
                                     [&](std::uint32_t sample) { return sample >= size; });
    require<value_error>(beyond == samples_.end(), "subset: expected indices below ", size,
                         ", the number of samples of the data set, got ",
                         beyond == samples_.end() ? 0 : *beyond);
    if constexpr (detail::is_subset<D>) {
      origins_.reserve(samples_.size());
      for (const std::uint32_t sample : samples_) {
        origins_.push_back(data.samples()[sample]);
      }
    }
  }
  subset(const D&& data, std::vector<std::uint32_t> samples) = delete;

  /// The indices of the samples in the original data set. For a subset of a subset, as in a split
  /// of a split, these are also indices in the original data set, not in the first subset.
  [[nodiscard]] const std::vector<std::uint32_t>& samples() const {
    return detail::is_subset<D> ? origins_ : samples_;
  }

  [[nodiscard]] std::size_t size() const { return samples_.size(); }
  [[nodiscard]] shape input_shape() const { return data_->input_shape(); }
  void input(std::size_t i, std::span<float> values) const { data_->input(samples_[i], values); }

  [[nodiscard]] std::int32_t label(std::size_t i) const requires labeled_dataset<D> {
    return data_->label(samples_[i]);
  }
  [[nodiscard]] shape target_shape() const requires target_dataset<D> {
    return data_->target_shape();
  }
  void target(std::size_t i, std::span<float> values) const requires target_dataset<D> {
    data_->target(samples_[i], values);
  }

  [[nodiscard]] float weight(std::size_t i) const requires weighted_dataset<D> {
    return data_->weight(samples_[i]);
  }

  [[nodiscard]] const std::vector<row_part>& input_parts() const requires named_dataset<D> {
    return data_->input_parts();
  }
  [[nodiscard]] const std::vector<row_part>& target_parts() const requires named_dataset<D> {
    return data_->target_parts();
  }

  void inputs(std::span<const std::uint32_t> samples,
              std::span<float> values) const requires batched_dataset<D> {
    data_->inputs(of_data(samples), values);
  }
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch) const requires varying_dataset<D> {
    data_->inputs(of_data(samples), values, epoch);
  }
  void targets(std::span<const std::uint32_t> samples, std::span<float> values,
               std::size_t epoch) const requires varying_target_dataset<D> {
    data_->targets(of_data(samples), values, epoch);
  }
  [[nodiscard]] bool varies() const requires varying_dataset<D> { return data_->varies(); }
  [[nodiscard]] bool samples_overlap() const requires detail::overlapping_dataset<D> {
    return data_->samples_overlap();
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> of_data(std::span<const std::uint32_t> samples) const {
    std::vector<std::uint32_t> result(samples.size());
    std::transform(samples.begin(), samples.end(), result.begin(),
                   [&](std::uint32_t sample) { return samples_[sample]; });
    return result;
  }

  const D* data_;
  std::vector<std::uint32_t> samples_;  // indices in *data_
  std::vector<std::uint32_t> origins_;  // indices in the original data set, if *data_ is a subset
};

}  // namespace glia
