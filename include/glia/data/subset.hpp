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

/// The samples of a data set that have these numbers, in this order; one may be there several
/// times. Whatever the data set can do, the subset can. The data set must outlive it.
///
///     const glia::subset first_three(data, {0, 1, 2});
///
/// Throws `value_error` for a number that the data set has no sample for.
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
    require<value_error>(beyond == samples_.end(), "subset: expected numbers of the data set's ",
                         size, " samples, counted from 0, got ",
                         beyond == samples_.end() ? 0 : *beyond);
  }
  subset(const D&& data, std::vector<std::uint32_t> samples) = delete;

  /// The samples' numbers in the data set.
  [[nodiscard]] const std::vector<std::uint32_t>& samples() const { return samples_; }

  [[nodiscard]] std::size_t size() const { return samples_.size(); }
  [[nodiscard]] shape input_shape() const { return data_->input_shape(); }
  void input(std::size_t i, std::span<float> values) const { data_->input(samples_[i], values); }

  [[nodiscard]] std::int32_t label(std::size_t i) const requires labelled_dataset<D> {
    return data_->label(samples_[i]);
  }
  [[nodiscard]] shape target_shape() const requires valued_dataset<D> {
    return data_->target_shape();
  }
  void target(std::size_t i, std::span<float> values) const requires valued_dataset<D> {
    data_->target(samples_[i], values);
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
  [[nodiscard]] bool varies() const requires varying_dataset<D> { return data_->varies(); }

 private:
  [[nodiscard]] std::vector<std::uint32_t> of_data(std::span<const std::uint32_t> samples) const {
    std::vector<std::uint32_t> result(samples.size());
    std::transform(samples.begin(), samples.end(), result.begin(),
                   [&](std::uint32_t sample) { return samples_[sample]; });
    return result;
  }

  const D* data_;
  std::vector<std::uint32_t> samples_;
};

}  // namespace glia
