#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// Samples (N, ...) and their classes (N), both xtensor arrays.
///
/// Throws `shape_error` when the counts differ.
class labelled_arrays {
 public:
  labelled_arrays(xt::xarray<float> inputs, xt::xarray<std::int32_t> labels)
      : inputs_(std::move(inputs)), labels_(std::move(labels)) {
    require<shape_error>(
        inputs_.dimension() > 0 && labels_.dimension() == 1 && labels_.size() == inputs_.shape()[0],
        "labelled_arrays: expected inputs (N, ...) and labels (N)");
  }

  [[nodiscard]] std::size_t size() const { return labels_.size(); }
  [[nodiscard]] shape input_shape() const {
    return {inputs_.shape().begin() + 1, inputs_.shape().end()};
  }
  void input(std::size_t i, std::span<float> values) const {
    std::copy_n(inputs_.data() + i * values.size(), values.size(), values.begin());
  }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels_.data()[i]; }

 private:
  xt::xarray<float> inputs_;
  xt::xarray<std::int32_t> labels_;
};

/// Samples (N, ...) and the values (N, ...) that a model should give for them, both xtensor arrays.
///
/// Throws `shape_error` when the counts differ.
class valued_arrays {
 public:
  valued_arrays(xt::xarray<float> inputs, xt::xarray<float> targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    require<shape_error>(inputs_.dimension() > 0 && targets_.dimension() > 0 &&
                             targets_.shape()[0] == inputs_.shape()[0],
                         "valued_arrays: expected inputs (N, ...) and targets (N, ...)");
  }

  [[nodiscard]] std::size_t size() const { return inputs_.shape()[0]; }
  [[nodiscard]] shape input_shape() const {
    return {inputs_.shape().begin() + 1, inputs_.shape().end()};
  }
  void input(std::size_t i, std::span<float> values) const {
    std::copy_n(inputs_.data() + i * values.size(), values.size(), values.begin());
  }
  [[nodiscard]] shape target_shape() const {
    return {targets_.shape().begin() + 1, targets_.shape().end()};
  }
  void target(std::size_t i, std::span<float> values) const {
    std::copy_n(targets_.data() + i * values.size(), values.size(), values.begin());
  }

 private:
  xt::xarray<float> inputs_;
  xt::xarray<float> targets_;
};

}  // namespace glia
