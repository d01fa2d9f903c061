#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <ostream>

#include "glia/core/error.hpp"
#include "glia/core/memory_limit.hpp"

namespace glia {

/// The extents of a tensor, outermost axis first, such as {32, 28, 28, 1}. A shape has up to
/// `max_rank` (6) extents. They are stored inline, because training creates shapes in every step
/// and must not allocate memory for them.
///
/// Throws `shape_error` for more than `max_rank` extents.
class shape {
 public:
  /// The largest number of extents.
  static constexpr std::size_t max_rank = 6;

  /// Creates the empty shape of a scalar.
  constexpr shape() = default;

  /// Creates a shape from a list of extents, outermost first.
  constexpr shape(std::initializer_list<std::size_t> extents)
      : shape(extents.begin(), extents.end()) {}

  /// Creates a shape from a range of extents, outermost first.
  template <class Iterator>
  constexpr shape(Iterator first, Iterator last) {
    for (; first != last; ++first) {
      push_back(static_cast<std::size_t>(*first));
    }
  }

  /// Appends an extent as the last axis. Throws `shape_error` if the shape has `max_rank` extents.
  constexpr void push_back(std::size_t extent) {
    if (rank_ == max_rank) {
      throw shape_error("shape: expected at most 6 extents, got more");
    }
    extents_[rank_++] = extent;
  }

  /// Returns the number of extents (axes).
  [[nodiscard]] constexpr std::size_t rank() const noexcept { return rank_; }

  /// Returns the number of elements: the product of the extents. It is 1 for the empty shape of a
  /// scalar.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    return std::accumulate(begin(), end(), std::size_t{1}, std::multiplies<>{});
  }

  /// Returns the extent of an axis, which must be below rank().
  [[nodiscard]] constexpr std::size_t operator[](std::size_t axis) const noexcept {
    return extents_[axis];
  }
  [[nodiscard]] constexpr std::size_t& operator[](std::size_t axis) noexcept {
    return extents_[axis];
  }
  /// Returns the last extent. The shape must not be empty.
  [[nodiscard]] constexpr std::size_t back() const noexcept { return extents_[rank_ - 1]; }

  [[nodiscard]] constexpr const std::size_t* begin() const noexcept { return extents_.data(); }
  [[nodiscard]] constexpr const std::size_t* end() const noexcept { return begin() + rank_; }

  friend constexpr bool operator==(const shape& a, const shape& b) noexcept {
    // A plain loop, since std::equal would call memcmp, and shapes are short.
    bool equal = a.rank_ == b.rank_;
    for (std::size_t axis = 0; equal && axis < a.rank_; ++axis) {
      equal = a.extents_[axis] == b.extents_[axis];
    }
    return equal;
  }

  /// Writes the extents in parentheses: (32, 10), or (10,) for one extent.
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

/// Returns whether a tensor of this shape takes at most 2^max_memory_bits bytes. Without this
/// check, larger sizes would overflow to small numbers.
[[nodiscard]] constexpr bool fits_memory(const shape& s, std::size_t element_bytes) noexcept {
  auto bits = static_cast<std::size_t>(std::bit_width(element_bytes));
  for (const std::size_t extent : s) {
    bits += static_cast<std::size_t>(std::bit_width(extent));
  }
  if (bits <= detail::max_memory_bits) {  // nearly always, and much faster than divisions
    return true;
  }
  std::size_t limit = (std::size_t{1} << detail::max_memory_bits) / element_bytes;
  for (const std::size_t extent : s) {
    if (extent > limit) {
      return std::find(s.begin(), s.end(), std::size_t{0}) != s.end();
    }
    limit /= std::max<std::size_t>(extent, 1);
  }
  return true;
}

/// Returns the size in bytes of a tensor of this shape. Throws `shape_error` if no machine has
/// enough memory.
[[nodiscard]] inline std::size_t byte_size(const shape& s, std::size_t element_bytes) {
  require<shape_error>(fits_memory(s, element_bytes), "a tensor of shape ", s,
                       " is larger than any machine's memory; check its extents");
  return s.size() * element_bytes;
}

/// Returns the shape of a batch of `count` samples of shape `sample`: (N, ...sample).
[[nodiscard]] constexpr shape batch_of(std::size_t count, const shape& sample) {
  shape result{count};
  for (std::size_t extent : sample) {
    result.push_back(extent);
  }
  return result;
}

/// Returns the shape of one sample of a batch: all extents except the first.
[[nodiscard]] constexpr shape sample_of(const shape& batch) {
  return batch.rank() == 0 ? shape{} : shape(batch.begin() + 1, batch.end());
}

/// Returns all extents except the last: the shape of a tensor with one value for each row.
[[nodiscard]] constexpr shape without_last_axis(const shape& s) {
  return s.rank() == 0 ? shape{} : shape(s.begin(), s.end() - 1);
}

/// Returns the product of all extents except the last: the number of rows if the last axis holds
/// the features.
[[nodiscard]] constexpr std::size_t row_count(const shape& s) noexcept {
  return s.rank() == 0 || s.back() == 0 ? 1 : s.size() / s.back();
}

/// A batch shape as error messages and summaries print it: (N, 28, 28, 1). The text is made only
/// when it is printed, so that checks which succeed do not pay for it.
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
