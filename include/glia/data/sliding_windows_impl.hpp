#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/data/sliding_windows.hpp"

namespace glia {

GLIA_INLINE sliding_windows::sliding_windows(const xt::xarray<float>& series,
                                             sliding_windows_options options)
    : sliding_windows(std::vector<xt::xarray<float>>{series}, std::move(options)) {}

GLIA_INLINE sliding_windows::sliding_windows(std::vector<xt::xarray<float>> series,
                                             sliding_windows_options options)
    : options_(std::move(options)) {
  require<value_error>(!series.empty(), "sliding_windows: expected one or more series, got none");
  require<value_error>(options_.length > 0 && options_.horizon > 0 && options_.stride > 0,
                       "sliding_windows: expected a length, a horizon and a stride of at least 1, "
                       "got ",
                       options_.length, ", ", options_.horizon, " and ", options_.stride);
  std::size_t longest = 0;
  for (const xt::xarray<float>& s : series) {
    require<shape_error>(s.dimension() == 1 || s.dimension() == 2,
                         "sliding_windows: expected series (steps, C) or (steps), got ",
                         shape(s.shape().begin(), s.shape().end()));
    const std::size_t columns = columns_of(s);
    require<shape_error>(columns == columns_of(series[0]) && columns > 0,
                         "sliding_windows: expected series with the same number of columns, got ",
                         columns_of(series[0]), " and ", columns);
    longest = std::max(longest, s.shape()[0]);
    first_windows_.push_back(first_windows_.back() + windows_in(s.shape()[0]));
  }
  columns_ = columns_of(series[0]);
  if (options_.target_columns.empty()) {
    options_.target_columns.resize(columns_);
    std::iota(options_.target_columns.begin(), options_.target_columns.end(), std::size_t{0});
  }
  for (const std::size_t column : options_.target_columns) {
    require<value_error>(column < columns_, "sliding_windows: expected target columns from 0 to ",
                         columns_ - 1, ", got ", column);
  }
  require<value_error>(size() > 0, "sliding_windows: a window takes ", reach(),
                       " steps (length, gap and horizon), but the longest series has ", longest);
  series_ = std::make_shared<const std::vector<xt::xarray<float>>>(std::move(series));
}

GLIA_INLINE shape sliding_windows::target_shape() const {
  const std::size_t columns = options_.target_columns.size();
  return columns == 1 ? shape{options_.horizon} : shape{options_.horizon, columns};
}

GLIA_INLINE void sliding_windows::input(std::size_t sample, std::span<float> values) const {
  const window_position p = position(sample);
  const float* const first = (*series_)[p.series].data() + p.first_step * columns_;
  std::copy_n(first, options_.length * columns_, values.begin());
}

GLIA_INLINE void sliding_windows::target(std::size_t sample, std::span<float> values) const {
  const window_position p = position(sample);
  const float* const series = (*series_)[p.series].data();
  auto next = values.begin();
  for (std::size_t step = p.first_target; step < p.end; ++step) {
    for (const std::size_t column : options_.target_columns) {
      *next++ = series[step * columns_ + column];
    }
  }
}

GLIA_INLINE window_position sliding_windows::position(std::size_t sample) const {
  const auto after = std::upper_bound(first_windows_.begin(), first_windows_.end(), sample);
  const auto series = static_cast<std::size_t>(after - first_windows_.begin()) - 1;
  const std::size_t first = (sample - first_windows_[series]) * options_.stride;
  const std::size_t target = first + options_.length + options_.gap;
  return {series, first, target, target + options_.horizon};
}

}  // namespace glia
