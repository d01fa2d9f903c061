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

/// Returns the shape of one sample of an array (N, ...), which has no axes if the array was moved
/// from.
[[nodiscard]] inline shape sample_shape_of(const xt::xarray<float>& samples) {
  return sample_of(shape(samples.shape().begin(), samples.shape().end()));
}

}  // namespace detail

/// A data set of samples with class labels, made of two xtensor arrays.
///
/// `inputs` has the shape (N, ...), one row for each of the N samples. `labels` has the shape (N)
/// or (N, 1) and holds class indices, counted from 0. Its element type may be any number type, as
/// long as the values are whole numbers. Use `target_arrays` for real-valued targets, one-hot rows
/// and probabilities. The data set keeps its own copy of the arrays; `std::move` the inputs to
/// avoid copying them.
///
/// Throws `shape_error` if the numbers of samples differ, and `data_error` if a label is negative,
/// not a whole number or larger than 2147483647.
class labeled_arrays {
 public:
  static constexpr bool writes_whole_rows = true;

  template <class Labels>
  labeled_arrays(xt::xarray<float> inputs, const xt::xexpression<Labels>& labels)
      : inputs_(std::move(inputs)) {
    using number = typename Labels::value_type;
    const xt::xarray<number> values = labels.derived_cast();
    take_labels(shape(values.shape().begin(), values.shape().end()),
                std::span<const number>(values.data(), values.size()));
  }
  labeled_arrays(xt::xarray<float> inputs, const xt::xarray<std::int32_t>& labels)
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
  void take_labels(const shape& s, std::span<const Number> values) {
    const shape inputs(inputs_.shape().begin(), inputs_.shape().end());
    const bool one_column = s.rank() == 1 || (s.rank() == 2 && s[1] == 1);
    require<shape_error>(inputs.rank() > 0 && one_column && s[0] == inputs[0],
                         "labeled_arrays: expected inputs (N, ...) and labels (N) or (N, 1), got ",
                         inputs, " and ", s,
                         s.rank() == 2 && s[1] > 1
                             ? "; for rows of scores or probabilities, use target_arrays"
                             : "");
    labels_.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto label = static_cast<double>(values[i]);
      require<data_error>(label >= 0 && label <= std::numeric_limits<std::int32_t>::max() &&
                              label == std::floor(label),
                          "labeled_arrays: sample ", i, " has the label ", label,
                          "; expected a class index, a whole number from 0 to 2147483647; for "
                          "real-valued targets, use target_arrays");
      labels_.push_back(static_cast<std::int32_t>(label));
    }
  }

  xt::xarray<float> inputs_;
  std::vector<std::int32_t> labels_;
};

/// A data set of samples with target values, made of two xtensor arrays.
///
/// `inputs` has the shape (N, ...) and `targets` the shape (N, ...), one row for each of the N
/// samples. The targets are the values with which the loss compares the model's output: real
/// numbers of a regression, one-hot rows, images, or a class index for each step of a sequence
/// (N, T). Use `labeled_arrays` for one class index per sample. The data set keeps its own copy of
/// the arrays; `std::move` them to avoid copying them.
///
/// Throws `shape_error` if the numbers of samples differ.
class target_arrays {
 public:
  static constexpr bool writes_whole_rows = true;

  target_arrays(xt::xarray<float> inputs, xt::xarray<float> targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    const shape x(inputs_.shape().begin(), inputs_.shape().end());
    const shape t(targets_.shape().begin(), targets_.shape().end());
    require<shape_error>(x.rank() > 0 && t.rank() > 0 && t[0] == x[0],
                         "target_arrays: expected inputs (N, ...) and targets (N, ...), got ", x,
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
