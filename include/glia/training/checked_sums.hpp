#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia::detail {

/// The numbers to which a metric adds a sample. A margin after them shows whether the metric also
/// writes beyond their end, which would destroy other memory.
class checked_sums {
 public:
  /// Appends a margin to `values`, whose last `count` elements are the metric's numbers. The
  /// destructor removes the margin.
  checked_sums(std::vector<double>& values, std::size_t count)
      : values_(values), size_(values.size()), count_(count) {
    constexpr std::size_t margin = 256;
    values_.resize(size_ + margin, mark);
  }
  checked_sums(const checked_sums&) = delete;
  checked_sums& operator=(const checked_sums&) = delete;
  ~checked_sums() { values_.resize(size_); }

  [[nodiscard]] std::span<double> numbers() const {
    return std::span(values_).subspan(size_ - count_, count_);
  }

  /// Throws `value_error`, with the name of the metric, if it has written beyond the end.
  void check(std::string_view metric) const {
    const std::span<const double> margin = std::span<const double>(values_).subspan(size_);
    const bool intact =
        std::all_of(margin.begin(), margin.end(), [](double v) { return v == mark; });
    require<value_error>(intact, metric, ": update_state writes beyond the metric's ", count_,
                         count_ == 1 ? " sum" : " sums", "; set .state_size to the number of sums");
  }

 private:
  // Not a NaN, which an addition would not change.
  static constexpr double mark = -0x1.5C3E1A9D7p-60;

  std::vector<double>& values_;
  std::size_t size_;
  std::size_t count_;
};

}  // namespace glia::detail
