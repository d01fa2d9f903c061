#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

namespace detail {

/// The shape of a sample of an array (N, ...), which has no axes where it was moved from.
[[nodiscard]] inline shape sample_shape_of(const xt::xarray<float>& samples) {
  return sample_of(shape(samples.shape().begin(), samples.shape().end()));
}

}  // namespace detail

/// Samples (N, ...) and their classes, counted from 0: (N) or (N, 1), both xtensor arrays. Labels
/// may be of any type of numbers, as long as they are whole.
///
/// Throws `shape_error` when the counts differ, `data_error` for labels that are no classes.
class labelled_arrays {
 public:
  static constexpr bool writes_whole_rows = true;

  template <class Labels>
  labelled_arrays(xt::xarray<float> inputs, const xt::xexpression<Labels>& labels)
      : inputs_(std::move(inputs)) {
    using number = typename Labels::value_type;
    const xt::xarray<number> given = labels.derived_cast();
    take_labels(shape(given.shape().begin(), given.shape().end()),
                std::span<const number>(given.data(), given.size()));
  }
  labelled_arrays(xt::xarray<float> inputs, const xt::xarray<std::int32_t>& labels)
      : inputs_(std::move(inputs)) {
    take_labels(shape(labels.shape().begin(), labels.shape().end()),
                std::span<const std::int32_t>(labels.data(), labels.size()));
  }

  [[nodiscard]] std::size_t size() const { return labels_.size(); }
  [[nodiscard]] shape input_shape() const { return detail::sample_shape_of(inputs_); }
  void input(std::size_t i, std::span<float> values) const {
    std::copy_n(inputs_.data() + i * values.size(), values.size(), values.begin());
  }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels_[i]; }

 private:
  template <class Number>
  void take_labels(const shape& s, std::span<const Number> given) {
    const shape inputs(inputs_.shape().begin(), inputs_.shape().end());
    const bool one_column = s.rank() == 1 || (s.rank() == 2 && s[1] == 1);
    require<shape_error>(
        inputs.rank() > 0 && one_column && s[0] == inputs[0],
        "labelled_arrays: expected inputs (N, ...) and labels (N) or (N, 1), got ", inputs, " and ",
        s, s.rank() == 2 && s[1] > 1 ? "; rows of scores or probabilities are valued_arrays" : "");
    labels_.reserve(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto label = static_cast<double>(given[i]);
      require<data_error>(label >= 0 && label <= std::numeric_limits<std::int32_t>::max() &&
                              label == std::floor(label),
                          "labelled_arrays: sample ", i, " has the label ", label,
                          "; expected a class, a whole number from 0 on; values to come close to "
                          "are valued_arrays");
      labels_.push_back(static_cast<std::int32_t>(label));
    }
  }

  xt::xarray<float> inputs_;
  std::vector<std::int32_t> labels_;
};

/// Samples (N, ...) and the values (N, ...) that a model should give for them, both xtensor arrays.
///
/// Throws `shape_error` when the counts differ.
class valued_arrays {
 public:
  static constexpr bool writes_whole_rows = true;

  valued_arrays(xt::xarray<float> inputs, xt::xarray<float> targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    const shape x(inputs_.shape().begin(), inputs_.shape().end());
    const shape t(targets_.shape().begin(), targets_.shape().end());
    require<shape_error>(x.rank() > 0 && t.rank() > 0 && t[0] == x[0],
                         "valued_arrays: expected inputs (N, ...) and targets (N, ...), got ", x,
                         " and ", t);
  }

  [[nodiscard]] std::size_t size() const {
    return inputs_.dimension() == 0 ? 0 : inputs_.shape()[0];
  }
  [[nodiscard]] shape input_shape() const { return detail::sample_shape_of(inputs_); }
  void input(std::size_t i, std::span<float> values) const {
    std::copy_n(inputs_.data() + i * values.size(), values.size(), values.begin());
  }
  [[nodiscard]] shape target_shape() const { return detail::sample_shape_of(targets_); }
  void target(std::size_t i, std::span<float> values) const {
    std::copy_n(targets_.data() + i * values.size(), values.size(), values.begin());
  }

 private:
  xt::xarray<float> inputs_;
  xt::xarray<float> targets_;
};

}  // namespace glia
