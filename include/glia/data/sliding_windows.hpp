#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// Options of `sliding_windows`.
struct sliding_windows_options {
  std::size_t length = 0;   ///< Number of steps T of an input, at least 1. Required.
  std::size_t horizon = 1;  ///< Number of steps H of a target, at least 1.
  std::size_t gap = 0;      ///< Steps between the last step of the input and the first target.
  std::size_t stride = 1;   ///< Steps from one window to the next, at least 1.
  /// Columns of the series that are predicted, counted from 0. Empty: all columns.
  std::vector<std::size_t> target_columns = {};
};

/// The position of a window in its series.
struct window_position {
  std::size_t series = 0;        ///< Index of the series.
  std::size_t first_step = 0;    ///< First step of the input.
  std::size_t first_target = 0;  ///< First step of the target.
  std::size_t end = 0;           ///< The step after the last target.

  friend bool operator==(const window_position&, const window_position&) = default;
};

/// A data set of windows that slide over time series: an input is a number of consecutive steps,
/// and its target the values of later steps.
///
///     const glia::sliding_windows windows(temperatures, {.length = 48, .horizon = 12});
///     const auto [train, test] = glia::time_split(windows);
///
/// A series is an array (steps, C) or, for one column, (steps). An input has the shape (T, C), with
/// T = `length`. A target has the shape (H) for one target column, and otherwise (H, K) for K
/// target columns, with H = `horizon`. Windows overlap if `stride` is smaller than T. They are
/// views: the series are stored once, and copies of the data set share them. With several series,
/// the windows of the first series come first, and no window lies across two series. A series that
/// is shorter than a window has no windows.
///
/// Split it with `time_split` or `walk_forward`. A random split would put nearly the same windows
/// into the training and the test part, so `train_test_split` and `k_fold` refuse to shuffle
/// windows that overlap.
///
/// Throws `shape_error` if a series does not have one or two axes, or if series have different
/// numbers of columns. Throws `value_error` if there are no series, if an option is out of its
/// range, or if no series is long enough for a window.
class sliding_windows {
 public:
  sliding_windows(const xt::xarray<float>& series, sliding_windows_options options);
  sliding_windows(std::vector<xt::xarray<float>> series, sliding_windows_options options);

  [[nodiscard]] std::size_t size() const { return first_windows_.back(); }
  [[nodiscard]] shape input_shape() const { return {options_.length, columns_}; }
  [[nodiscard]] shape target_shape() const;
  void input(std::size_t sample, std::span<float> values) const;
  void target(std::size_t sample, std::span<float> values) const;

  /// Returns the position of a window in its series.
  [[nodiscard]] window_position position(std::size_t sample) const;
  /// Returns whether steps of a window, of its input, gap or target, belong to the next one, too.
  [[nodiscard]] bool samples_overlap() const { return options_.stride < reach(); }
  /// Returns the series, in the order of the constructor.
  [[nodiscard]] const std::vector<xt::xarray<float>>& series() const { return *series_; }
  /// Returns the options, with all target columns.
  [[nodiscard]] const sliding_windows_options& options() const { return options_; }

 private:
  [[nodiscard]] static std::size_t columns_of(const xt::xarray<float>& s) {
    return s.dimension() == 2 ? s.shape()[1] : 1;
  }
  /// Returns the number of steps from the first step of an input to the last target.
  [[nodiscard]] std::size_t reach() const {
    return options_.length + options_.gap + options_.horizon;
  }
  [[nodiscard]] std::size_t windows_in(std::size_t steps) const {
    return steps < reach() ? 0 : (steps - reach()) / options_.stride + 1;
  }

  sliding_windows_options options_;
  std::shared_ptr<const std::vector<xt::xarray<float>>> series_;
  std::size_t columns_ = 0;
  std::vector<std::size_t> first_windows_{0};  // of each series, and the number of all windows
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/data/sliding_windows_impl.hpp"
#endif
