#pragma once

#include <cstddef>
#include <limits>

namespace glia::detail {

// Summation of many numbers on backends in host memory. Adding n numbers to one accumulator in
// sequence can have an error of n roundings. Here, an accumulator adds a bounded number of terms (a
// chain), and a second accumulator adds a bounded number of chain sums (a total). Totals are added
// with compensation, so that the error does not depend on their number. Therefore, for any number
// of terms t, in any order that a backend selects,
//
//     |computed sum - exact sum| <= sum_error<T> * sum |t|
//     |computed dot product - exact one| <= product_error<T> * sum |a b|
//
// unless there is an overflow. Winograd's transforms add pixels, and parameters, before they are
// multiplied. For such a convolution, the second bound is product_error<T> times the sum over the
// channels of sum |x| sum |w|: over the pixels of a tile (side 3 or 4), and over the window.
//
// The division into chains and totals depends only on sizes, never on threads.

/// Number of terms that one accumulator of a plain sum adds.
inline constexpr std::size_t sum_chain = 128;
/// Number of chain sums that one accumulator adds before its total is added with compensation.
inline constexpr std::size_t chains_in_total = 64;
/// Largest number of products that one accumulator of glia's own loops adds.
inline constexpr std::size_t product_chain = 512;
/// Largest number of products that one call of BLAS adds, in an order that BLAS chooses.
inline constexpr std::size_t blas_chain = 2048;

/// The bound for sums; see above. A chain, its total, and a total of runs that are not adjacent
/// take 256 roundings. The other 64 roundings are for joining lanes and for a factor, such as
/// 1 / n for a mean.
template <class T>
inline constexpr T sum_error = 320 * std::numeric_limits<T>::epsilon() / 2;
/// The bound for matrix products, convolutions and their gradients; see above.
template <class T>
inline constexpr T product_error = 4096 * std::numeric_limits<T>::epsilon() / 2;

/// A sum whose error does not depend on the number of terms. Uses Knuth's two-sum; the rounding
/// errors of the total are summed separately.
template <class T>
class compensated_sum {
 public:
  void add(T x) { add(x, total_, lost_); }
  [[nodiscard]] T value() const { return value(total_, lost_); }

  /// Adds a number to a total that is stored elsewhere.
  [[gnu::always_inline]] static inline void add(T x, T& total, T& lost) {
    const T sum = total + x;
    const T added = sum - total;
    lost += (total - (sum - added)) + (x - added);
    total = sum;
  }
  /// Returns the total with its rounding error added. If the total is not finite, it is returned
  /// unchanged, like the result of a plain sum.
  [[nodiscard]] static T value(T total, T lost) {
    const bool finite = total - total == 0;  // NOLINT(misc-redundant-expression)
    return finite ? total + lost : total;
  }

 private:
  T total_ = 0;
  T lost_ = 0;
};

}  // namespace glia::detail
