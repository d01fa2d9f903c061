#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

namespace glia {

/// The key of one random sequence. Every element can be computed without the elements before it, in
/// any order and on any thread.
struct random_key {
  std::uint64_t seed = 0;    ///< seed of the whole run; any value
  std::uint32_t stream = 0;  ///< number of the consumer: a layer, a parameter or the shuffling
  std::uint32_t step = 0;    ///< number of the training step or epoch

  friend constexpr bool operator==(const random_key&, const random_key&) = default;
};

/// Returns block `index` of the sequence of `key`: four random words of 32 bits from Philox 4x32
/// with 10 rounds.
///
/// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(const random_key& key,
                                                            std::uint64_t index) noexcept {
  auto c0 = static_cast<std::uint32_t>(index);
  auto c1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t c2 = key.stream;
  std::uint32_t c3 = key.step;
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

namespace detail {

/// Returns word `index`, of 32 random bits, of the sequence of `key`.
[[nodiscard]] constexpr std::uint32_t random_bits(const random_key& key,
                                                  std::uint64_t index) noexcept {
  return philox(key, index / 4)[index % 4];
}

}  // namespace detail

/// Returns 16 random bits: the low half of word index / 2 if `index` is even, and otherwise the
/// high half. Use it for decisions that need only 16 bits, because it costs half as much as a word.
[[nodiscard]] constexpr std::uint16_t random_half(const random_key& key,
                                                  std::uint64_t index) noexcept {
  return static_cast<std::uint16_t>(detail::random_bits(key, index / 2) >> (index % 2 * 16));
}

namespace inverse_error_function {

// erf^-1(u) = u p(x). Let w = -ln(1 - u^2). If w < 5, then x = w - 5/2, and the polynomial p has
// the coefficients `near`. Otherwise x = sqrt(w) - 3, and p has the coefficients `far`. The
// coefficient of the highest power comes first.
inline constexpr std::array<double, 9> near{2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                            -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                            -0.00417768164,  0.246640727,    1.50140941};
inline constexpr std::array<double, 9> far{-0.000200214257, 0.000100950558, 0.00134934322,
                                           -0.00367342844,  0.00573950773,  -0.0076224613,
                                           0.00943887047,   1.00167406,     2.83297682};

}  // namespace inverse_error_function

/// Returns a standard normal number for one random word: sqrt(2) erf^-1(u), where 24 bits of the
/// word select u among the odd multiples of 2^-24 between -1 and 1. The absolute value is at most
/// 5.42, and the relative error is 1e-6.
///
/// Giles, "Approximating the erfinv function", GPU Computing Gems, 2011.
template <class T>
[[nodiscard]] T normal_of(std::uint32_t word) noexcept {
  // Integers make this exact in float, too.
  const std::int32_t odd = 2 * static_cast<std::int32_t>(word >> 8) + 1 - (1 << 24);
  const T u = static_cast<T>(odd) * T{0x1p-24};
  const T w = -std::log((1 - u) * (1 + u));
  const bool near = w < 5;
  const T x = near ? w - T{2.5} : std::sqrt(w) - 3;
  T p = 0;
  for (const double c : near ? inverse_error_function::near : inverse_error_function::far) {
    p = p * x + static_cast<T>(c);
  }
  return static_cast<T>(std::numbers::sqrt2) * p * u;
}

/// A random number generator that reads the sequence of a key from its beginning. A copy continues
/// independently from the same position.
class random_stream {
 public:
  /// Starts at the beginning of the sequence of `key`.
  constexpr explicit random_stream(random_key key) noexcept : key_(key) {}

  /// Returns the next random word: 32 uniform bits.
  [[nodiscard]] constexpr std::uint32_t bits() noexcept {
    if (position_ % 4 == 0) {
      block_ = philox(key_, position_ / 4);
    }
    return block_[position_++ % 4];
  }

  /// Returns a uniform number in [0, 1), a multiple of 2^-32.
  [[nodiscard]] constexpr double uniform() noexcept { return bits() * 0x1p-32; }

  /// Returns a standard normal number, computed with the Box-Muller transform from two words.
  [[nodiscard]] double normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  /// Returns a uniform integer in {0, ..., bound - 1}, for 0 < bound <= 2^32. Uses Lemire's
  /// multiplication; its bias of at most bound / 2^32 is far too small to show in a shuffled data
  /// set.
  [[nodiscard]] constexpr std::size_t integer(std::size_t bound) noexcept {
    return static_cast<std::size_t>((std::uint64_t{bits()} * bound) >> 32);
  }

 private:
  random_key key_;
  std::uint64_t position_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

/// Shuffles `values` with the Fisher-Yates algorithm. The order depends only on the key and the
/// number of values.
template <class T>
void shuffle(std::span<T> values, const random_key& key) noexcept {
  random_stream random(key);
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.integer(i)]);
  }
}

}  // namespace glia
