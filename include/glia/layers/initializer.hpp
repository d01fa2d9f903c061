#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// How a parameter gets its first values: a callable `(std::span<float> values, const shape&,
/// random_stream&)` with a name, by which initialisers are compared and printed.
///
/// One may also know where the values are, as floats one behind the other, in memory that a
/// parameter can have for its own: `in_place` then gives that, and a block of none where it cannot.
class initializer {
 public:
  using function = std::function<void(std::span<float>, const shape&, random_stream&)>;

  using place = std::function<memory_block()>;

  initializer(std::string name, function fill, place in_place = {})
      : name_(std::move(name)),
        fill_(std::make_shared<const function>(std::move(fill))),
        in_place_(std::move(in_place)) {
    require<value_error>(*fill_ != nullptr, "initializer ", name_,
                         ": expected a function, got an empty one");
  }

  void operator()(std::span<float> values, const shape& s, random_stream& random) const {
    (*fill_)(values, s, random);
  }
  /// The values in memory of their own, if they need not be filled in.
  [[nodiscard]] memory_block in_place() const { return in_place_ ? in_place_() : memory_block{}; }

  friend bool operator==(const initializer& a, const initializer& b) { return a.name_ == b.name_; }
  friend std::ostream& operator<<(std::ostream& out, const initializer& i) {
    return out << i.name_;
  }

 private:
  std::string name_;
  std::shared_ptr<const function> fill_;
  place in_place_;
};

/// Inputs and outputs that meet in one element of a kernel of shape (..., I, O): the receptive
/// field counts for both. A vector's extent is taken for both.
struct fans {
  double in;
  double out;
};
/// The inputs and outputs that meet in one element of a parameter of this shape.
[[nodiscard]] inline fans fans_of(const shape& s) {
  if (s.rank() < 2) {
    const auto size = static_cast<double>(s.size());
    return {size, size};
  }
  const auto outputs = static_cast<double>(s.back());
  const auto inputs = static_cast<double>(s[s.rank() - 2]);
  const double field = static_cast<double>(s.size()) / (outputs * inputs);
  return {inputs * field, outputs * field};
}

namespace detail {

inline void fill_uniform(std::span<float> values, double bound, random_stream& random) {
  for (float& value : values) {
    value = static_cast<float>((2 * random.uniform() - 1) * bound);
  }
}

inline initializer uniform_with(std::string name, double (*limit)(fans)) {
  return {std::move(name), [limit](std::span<float> values, const shape& s, random_stream& random) {
            fill_uniform(values, limit(fans_of(s)), random);
          }};
}

inline initializer normal_with(std::string name, double (*deviation)(fans)) {
  return {std::move(name),
          [deviation](std::span<float> values, const shape& s, random_stream& random) {
            const double scale = deviation(fans_of(s));
            for (float& value : values) {
              value = static_cast<float>(random.normal() * scale);
            }
          }};
}

/// Vectors of normal numbers, each made orthogonal to those before it (Gram-Schmidt, twice, which
/// is as exact as it gets) and of length `gain`, as the matrix's columns or rows.
inline void fill_orthogonal(std::span<float> values, const shape& s, double gain,
                            random_stream& random) {
  const std::size_t columns = s.rank() == 0 ? 1 : s.back();
  const std::size_t rows = columns == 0 ? 0 : values.size() / columns;
  const bool wide = rows < columns;
  const std::size_t count = wide ? rows : columns;
  const std::size_t length = wide ? columns : rows;
  std::vector<double> vectors(count * length);
  const auto vector = [&](std::size_t i) { return std::span(vectors).subspan(i * length, length); };
  const auto product = [](std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<double> v = vector(i);
    for (double& number : v) {
      number = random.normal();
    }
    for (std::size_t j = 0; j < 2 * i; ++j) {
      const std::span<const double> other = vector(j % i);
      const double share = product(v, other);
      for (std::size_t k = 0; k < length; ++k) {
        v[k] -= share * other[k];
      }
    }
    const double norm = std::sqrt(product(v, v));
    for (std::size_t k = 0; k < length; ++k) {
      v[k] /= norm;
      values[wide ? i * columns + k : k * columns + i] = static_cast<float>(gain * v[k]);
    }
  }
}

}  // namespace detail

/// U(-b, b), b = sqrt(6 / (in + out)). Glorot and Bengio, AISTATS 2010, eq. 16.
[[nodiscard]] inline initializer glorot_uniform() {
  return detail::uniform_with("glorot_uniform",
                              [](fans f) { return std::sqrt(6 / (f.in + f.out)); });
}
/// N(0, 2 / (in + out)), not truncated (Keras truncates). Glorot and Bengio, AISTATS 2010, eq. 12.
[[nodiscard]] inline initializer glorot_normal() {
  return detail::normal_with("glorot_normal", [](fans f) { return std::sqrt(2 / (f.in + f.out)); });
}
/// U(-b, b), b = sqrt(6 / in). He, Zhang, Ren and Sun, ICCV 2015, eq. 10.
[[nodiscard]] inline initializer he_uniform() {
  return detail::uniform_with("he_uniform", [](fans f) { return std::sqrt(6 / f.in); });
}
/// N(0, 2 / in), not truncated (Keras truncates). He, Zhang, Ren and Sun, ICCV 2015, eq. 10.
[[nodiscard]] inline initializer he_normal() {
  return detail::normal_with("he_normal", [](fans f) { return std::sqrt(2 / f.in); });
}
/// U(-b, b), b = sqrt(3 / in). LeCun, Bottou, Orr and Müller, Efficient BackProp, 1998, eq. 16.
[[nodiscard]] inline initializer lecun_uniform() {
  return detail::uniform_with("lecun_uniform", [](fans f) { return std::sqrt(3 / f.in); });
}
/// N(0, 1 / in), not truncated. LeCun, Bottou, Orr and Müller, Efficient BackProp, 1998, eq. 16.
[[nodiscard]] inline initializer lecun_normal() {
  return detail::normal_with("lecun_normal", [](fans f) { return std::sqrt(1 / f.in); });
}

/// U(-b, b).
[[nodiscard]] inline initializer uniform(double bound) {
  return {text("uniform(", bound, ")"),
          [bound](std::span<float> values, const shape&, random_stream& random) {
            detail::fill_uniform(values, bound, random);
          }};
}

/// Orthonormal columns, or rows where there are fewer of these, of the matrix that the last axis
/// and all others together make: the Q of a random one of normal numbers. Saxe et al., ICLR 2014.
[[nodiscard]] inline initializer orthogonal(double gain = 1) {
  return {gain == 1 ? "orthogonal" : text("orthogonal(", gain, ")"),
          [gain](std::span<float> values, const shape& s, random_stream& random) {
            detail::fill_orthogonal(values, s, gain, random);
          }};
}

/// Every element `value`.
[[nodiscard]] inline initializer constant(double value) {
  return {text("constant(", value, ")"),
          [value](std::span<float> values, const shape&, random_stream&) {
            std::fill(values.begin(), values.end(), static_cast<float>(value));
          }};
}

}  // namespace glia
