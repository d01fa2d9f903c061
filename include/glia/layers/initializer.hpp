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

/// A function that sets the initial values of a parameter.
///
/// The function receives the values to fill, the parameter's shape and a stream of random numbers.
/// Two initializers are equal if they have the same name, and output streams print the name.
/// Library functions such as `glorot_uniform()` and `constant(0)` return initializers.
class initializer {
 public:
  using function = std::function<void(std::span<float>, const shape&, random_stream&)>;

  using place = std::function<memory_block()>;

  /// Makes an initializer from a name and a function. The optional function `in_place` returns
  /// memory that already holds the values as contiguous floats, for the parameter to own. It
  /// returns an empty block if there is no such memory. Throws `value_error` if the function is
  /// empty.
  initializer(std::string name, function fill, place in_place = {})
      : name_(std::move(name)),
        fill_(std::make_shared<const function>(std::move(fill))),
        in_place_(std::move(in_place)) {
    require<value_error>(*fill_ != nullptr, "initializer ", name_,
                         ": expected a function, got an empty std::function");
  }

  /// Sets `values`, the elements of a parameter of shape s in row-major order.
  void operator()(std::span<float> values, const shape& s, random_stream& random) const {
    (*fill_)(values, s, random);
  }
  /// Returns memory that already holds the values, or an empty block if the function must set them.
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

/// The fan-in and fan-out of a parameter: the numbers of values that enter and leave the kernel.
/// Initializers scale random numbers by them.
///
/// For a kernel (..., I, O), the fan-in is I and the fan-out is O, each multiplied by the product
/// of the leading extents (the size of the receptive field). For a vector, both are its length.
struct fans {
  double in;   ///< Fan-in.
  double out;  ///< Fan-out.
};
/// Returns the fan-in and fan-out of a parameter of shape s.
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

/// Fills a matrix with orthogonal columns or rows of length `gain`. These are drawn from a normal
/// distribution and made orthogonal by the Gram-Schmidt method, which runs twice for full
/// precision.
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

/// Glorot's uniform initializer: uniform in [-b, b] with b = sqrt(6 / (fan-in + fan-out)). Glorot
/// and Bengio, AISTATS 2010, eq. 16.
[[nodiscard]] inline initializer glorot_uniform() {
  return detail::uniform_with("glorot_uniform",
                              [](fans f) { return std::sqrt(6 / (f.in + f.out)); });
}
/// Glorot's normal initializer: normal with mean 0 and variance 2 / (fan-in + fan-out). As in
/// PyTorch it is not truncated; Keras truncates at two standard deviations. Glorot and Bengio,
/// AISTATS 2010, eq. 12.
[[nodiscard]] inline initializer glorot_normal() {
  return detail::normal_with("glorot_normal", [](fans f) { return std::sqrt(2 / (f.in + f.out)); });
}
/// He's uniform initializer: uniform in [-b, b] with b = sqrt(6 / fan-in). He, Zhang, Ren and Sun,
/// ICCV 2015, eq. 10.
[[nodiscard]] inline initializer he_uniform() {
  return detail::uniform_with("he_uniform", [](fans f) { return std::sqrt(6 / f.in); });
}
/// He's normal initializer: normal with mean 0 and variance 2 / fan-in. As in PyTorch it is not
/// truncated; Keras truncates at two standard deviations. He, Zhang, Ren and Sun, ICCV 2015,
/// eq. 10.
[[nodiscard]] inline initializer he_normal() {
  return detail::normal_with("he_normal", [](fans f) { return std::sqrt(2 / f.in); });
}
/// LeCun's uniform initializer: uniform in [-b, b] with b = sqrt(3 / fan-in). LeCun, Bottou, Orr
/// and Müller, Efficient BackProp, 1998, eq. 16.
[[nodiscard]] inline initializer lecun_uniform() {
  return detail::uniform_with("lecun_uniform", [](fans f) { return std::sqrt(3 / f.in); });
}
/// LeCun's normal initializer: normal with mean 0 and variance 1 / fan-in. It is not truncated;
/// Keras truncates at two standard deviations. LeCun, Bottou, Orr and Müller, Efficient BackProp,
/// 1998, eq. 16.
[[nodiscard]] inline initializer lecun_normal() {
  return detail::normal_with("lecun_normal", [](fans f) { return std::sqrt(1 / f.in); });
}

/// Uniform initializer: uniform in [-bound, bound]. random_uniform(0.05) is equivalent to Keras's
/// RandomUniform with its defaults.
[[nodiscard]] inline initializer random_uniform(double bound) {
  return {text("uniform(", bound, ")"),
          [bound](std::span<float> values, const shape&, random_stream& random) {
            detail::fill_uniform(values, bound, random);
          }};
}

/// Uniform initializer: uniform in [low, high]. Throws `value_error` if low is larger than high.
[[nodiscard]] inline initializer random_uniform(double low, double high) {
  require<value_error>(low <= high, "random_uniform: expected low <= high, got ", low, " and ",
                       high);
  return {text("uniform(", low, ", ", high, ")"),
          [low, high](std::span<float> values, const shape&, random_stream& random) {
            for (float& value : values) {
              value = static_cast<float>(low + random.uniform() * (high - low));
            }
          }};
}

/// Normal initializer: normal with a mean and a standard deviation. The defaults are those of
/// Keras's RandomNormal. Throws `value_error` if the standard deviation is negative.
[[nodiscard]] inline initializer random_normal(double mean = 0, double stddev = 0.05) {
  require<value_error>(stddev >= 0, "random_normal: expected a stddev of at least 0, got ", stddev);
  return {text("normal(", mean, ", ", stddev, ")"),
          [mean, stddev](std::span<float> values, const shape&, random_stream& random) {
            for (float& value : values) {
              value = static_cast<float>(mean + stddev * random.normal());
            }
          }};
}

/// Orthogonal initializer: a random matrix with orthogonal columns of length `gain`, or orthogonal
/// rows if it has fewer rows than columns. The last axis of the parameter counts the columns, and
/// all other axes together count the rows. Saxe et al., ICLR 2014.
[[nodiscard]] inline initializer orthogonal(double gain = 1) {
  return {gain == 1 ? "orthogonal" : text("orthogonal(", gain, ")"),
          [gain](std::span<float> values, const shape& s, random_stream& random) {
            detail::fill_orthogonal(values, s, gain, random);
          }};
}

/// Constant initializer: every element is `value`.
[[nodiscard]] inline initializer constant(double value) {
  return {text("constant(", value, ")"),
          [value](std::span<float> values, const shape&, random_stream&) {
            std::fill(values.begin(), values.end(), static_cast<float>(value));
          }};
}

}  // namespace glia
