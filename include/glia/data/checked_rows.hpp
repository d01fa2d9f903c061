#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"

namespace glia::detail {

/// Checks that a user's data set writes every element of each row, and no values beyond the last
/// row. Without the check, training would silently use old values in the memory.
class checked_rows {
 public:
  /// Resizes `values` to one row of `size` elements for each sample, plus a margin, and fills it
  /// with a marker.
  checked_rows(std::vector<float>& values, std::size_t samples, std::size_t size)
      : values_(values), used_(samples * size), size_(size) {
    constexpr std::size_t min_margin = 16;
    constexpr std::size_t max_margin = 1024;
    values_.assign(used_ + std::clamp(size, min_margin, max_margin), detail::bit_cast<float>(mark));
  }

  [[nodiscard]] std::span<float> rows() { return std::span(values_).first(used_); }

  /// Throws `data_error` if an element is missing or if values were written beyond the last row.
  /// Removes the margin. `subject` names the contents of the rows in the message.
  void check(std::span<const std::uint32_t> samples, std::string_view subject) {
    const bool beyond = std::any_of(values_.begin() + static_cast<std::ptrdiff_t>(used_),
                                    values_.end(), [](float v) { return !is_mark(v); });
    values_.resize(used_);
    require<data_error>(!beyond, "data set: expected ", size_, " values for the ", subject,
                        " of sample ", samples.empty() ? 0 : samples.back(),
                        ", but more were written; write exactly as many as the span has");
    if (std::count_if(values_.begin(), values_.end(), is_mark) > 0) {
      const auto index = static_cast<std::size_t>(
          std::find_if(values_.begin(), values_.end(), is_mark) - values_.begin());
      throw data_error(text("data set: expected ", size_, " values for the ", subject,
                            " of sample ", samples[index / size_], ", but value ", index % size_,
                            " was not written; write exactly as many as the span has"));
    }
  }

 private:
  // A NaN with bits that no arithmetic produces.
  static constexpr std::uint32_t mark = 0x7FE5C3E1;

  [[nodiscard]] static bool is_mark(float value) {
    return detail::bit_cast<std::uint32_t>(value) == mark;
  }

  std::vector<float>& values_;
  std::size_t used_;
  std::size_t size_;
};

}  // namespace glia::detail
