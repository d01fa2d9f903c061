#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <ostream>

#include "glia/core/error.hpp"

namespace glia {

/// The extents of a tensor, outermost first. Storage is inline: shapes are made in every training
/// step, which must not allocate.
///
/// Throws `shape_error` for more than `max_rank` extents.
class shape {
 public:
  static constexpr std::size_t max_rank = 6;

  constexpr shape() = default;

  constexpr shape(std::initializer_list<std::size_t> extents)
      : shape(extents.begin(), extents.end()) {}

  template <class Iterator>
  constexpr shape(Iterator first, Iterator last) {
    for (; first != last; ++first) {
      push_back(static_cast<std::size_t>(*first));
    }
  }

  constexpr void push_back(std::size_t extent) {
    if (rank_ == max_rank) {
      throw shape_error("shape: expected at most 6 extents, got more");
    }
    extents_[rank_++] = extent;
  }

  [[nodiscard]] constexpr std::size_t rank() const noexcept { return rank_; }

  /// The number of elements: the product of the extents, 1 for a scalar's empty shape.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    return std::accumulate(begin(), end(), std::size_t{1}, std::multiplies<>{});
  }

  [[nodiscard]] constexpr std::size_t operator[](std::size_t axis) const noexcept {
    return extents_[axis];
  }
  [[nodiscard]] constexpr std::size_t& operator[](std::size_t axis) noexcept {
    return extents_[axis];
  }
  [[nodiscard]] constexpr std::size_t back() const noexcept { return extents_[rank_ - 1]; }

  [[nodiscard]] constexpr const std::size_t* begin() const noexcept { return extents_.data(); }
  [[nodiscard]] constexpr const std::size_t* end() const noexcept { return begin() + rank_; }

  friend constexpr bool operator==(const shape& a, const shape& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  friend std::ostream& operator<<(std::ostream& out, const shape& s) {
    out << '(';
    for (std::size_t axis = 0; axis < s.rank(); ++axis) {
      out << (axis == 0 ? "" : ", ") << s[axis];
    }
    return out << (s.rank() == 1 ? ",)" : ")");
  }

 private:
  std::array<std::size_t, max_rank> extents_{};
  std::size_t rank_ = 0;
};

/// Whether there is a machine whose memory holds a tensor of this shape: sizes beyond that would
/// wrap around to small numbers.
[[nodiscard]] constexpr bool fits_memory(const shape& s, std::size_t element_bytes) noexcept {
  std::size_t left = (std::size_t{1} << 56) / element_bytes;
  for (const std::size_t extent : s) {
    if (extent > left) {
      return std::find(s.begin(), s.end(), std::size_t{0}) != s.end();
    }
    left /= std::max<std::size_t>(extent, 1);
  }
  return true;
}

/// What a tensor of this shape takes in memory. Throws `shape_error` where none holds it.
[[nodiscard]] inline std::size_t byte_size(const shape& s, std::size_t element_bytes) {
  require<shape_error>(fits_memory(s, element_bytes), "a tensor of shape ", s,
                       " is larger than any machine's memory; check its extents");
  return s.size() * element_bytes;
}

/// The shape of `count` samples of shape `sample`: (N, ...sample).
[[nodiscard]] constexpr shape batch_of(std::size_t count, const shape& sample) {
  shape result{count};
  for (std::size_t extent : sample) {
    result.push_back(extent);
  }
  return result;
}

/// The shape of one sample of a batch: everything but the first extent.
[[nodiscard]] constexpr shape sample_of(const shape& batch) {
  return batch.rank() == 0 ? shape{} : shape(batch.begin() + 1, batch.end());
}

/// Everything but the last extent: the shape of what there is one of for each row.
[[nodiscard]] constexpr shape without_last_axis(const shape& s) {
  return s.rank() == 0 ? shape{} : shape(s.begin(), s.end() - 1);
}

/// All extents but the last multiplied: the number of rows when the last axis holds the features.
[[nodiscard]] constexpr std::size_t row_count(const shape& s) noexcept {
  return s.rank() == 0 || s.back() == 0 ? 1 : s.size() / s.back();
}

/// A batch shape as error messages and summaries print it: (N, 28, 28, 1). Made into words only
/// where it is printed, which errors that do not happen are not.
class batch_text {
 public:
  explicit batch_text(const shape& batch) : batch_(batch) {}

  friend std::ostream& operator<<(std::ostream& out, const batch_text& text) {
    out << "(N";
    for (std::size_t axis = 1; axis < text.batch_.rank(); ++axis) {
      out << ", " << text.batch_[axis];
    }
    return out << ')';
  }

 private:
  shape batch_;
};

}  // namespace glia
