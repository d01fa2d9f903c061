#pragma once

#include <cstddef>
#include <limits>

namespace glia {

// How the backends in host memory add many numbers. Adding n numbers to one accumulator, one after
// the other, may be off by n roundings. Here an accumulator takes a bounded number of terms (a
// chain), a bounded number of such sums is added to the next accumulator, and the totals of those
// are added with compensation, whose error does not depend on how many there are. So for any number
// of terms t, in any order that a backend chooses,
//
//   |computed sum - exact sum| <= sum_error<T> * sum |t|
//   |computed dot product - exact one| <= product_error<T> * sum |a b|
//
// as long as nothing overflows. Where cuts lie depends on sizes alone, never on threads.

/// Terms that one accumulator of a plain sum takes.
inline constexpr std::size_t sum_chain = 128;
/// Sums of chains that one accumulator takes before its total is added with compensation.
inline constexpr std::size_t chains_in_total = 64;
/// Products that one accumulator of glia's own loops takes, and the most that BLAS is given, which
/// may add them in any order.
inline constexpr std::size_t product_chain = 512;
inline constexpr std::size_t blas_chain = 2048;

/// See above. A chain, its total, and a total of runs that do not lie side by side take 256
/// roundings; the rest is for joining lanes and for a factor as that of a mean.
template <class T>
inline constexpr T sum_error = 320 * std::numeric_limits<T>::epsilon() / 2;
/// See above, for matrix products and convolutions, and their gradients.
template <class T>
inline constexpr T product_error = 4096 * std::numeric_limits<T>::epsilon() / 2;

/// A sum whose error does not depend on how many numbers are added. Knuth's two-sum; what does not
/// fit the total is summed beside it.
template <class T>
class compensated_sum {
 public:
  void add(T x) { add(x, total_, lost_); }
  [[nodiscard]] T value() const { return value(total_, lost_); }

  /// The same for numbers that lie elsewhere.
  [[gnu::always_inline]] static inline void add(T x, T& total, T& lost) {
    const T sum = total + x;
    const T added = sum - total;
    lost += (total - (sum - added)) + (x - added);
    total = sum;
  }
  /// A total that is not finite is what a plain sum gives.
  [[nodiscard]] static T value(T total, T lost) {
    const bool finite = total - total == 0;  // NOLINT(misc-redundant-expression)
    return finite ? total + lost : total;
  }

 private:
  T total_ = 0;
  T lost_ = 0;
};

}  // namespace glia
