#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/initializer.hpp"

namespace glia {

GLIA_INLINE fans fans_of(const shape& s) {
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

GLIA_INLINE void fill_uniform(std::span<float> values, double bound, random_stream& random) {
  for (float& value : values) {
    value = static_cast<float>((2 * random.uniform() - 1) * bound);
  }
}

GLIA_INLINE initializer uniform_with(std::string name, double (*limit)(fans)) {
  return {std::move(name), [limit](std::span<float> values, const shape& s, random_stream& random) {
            fill_uniform(values, limit(fans_of(s)), random);
          }};
}

GLIA_INLINE initializer normal_with(std::string name, double (*deviation)(fans)) {
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
GLIA_INLINE void fill_orthogonal(std::span<float> values, const shape& s, double gain,
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

GLIA_INLINE initializer glorot_uniform() {
  return detail::uniform_with("glorot_uniform",
                              [](fans f) { return std::sqrt(6 / (f.fan_in + f.fan_out)); });
}

GLIA_INLINE initializer glorot_normal() {
  return detail::normal_with("glorot_normal",
                             [](fans f) { return std::sqrt(2 / (f.fan_in + f.fan_out)); });
}

GLIA_INLINE initializer he_uniform() {
  return detail::uniform_with("he_uniform", [](fans f) { return std::sqrt(6 / f.fan_in); });
}

GLIA_INLINE initializer he_normal() {
  return detail::normal_with("he_normal", [](fans f) { return std::sqrt(2 / f.fan_in); });
}

GLIA_INLINE initializer lecun_uniform() {
  return detail::uniform_with("lecun_uniform", [](fans f) { return std::sqrt(3 / f.fan_in); });
}

GLIA_INLINE initializer lecun_normal() {
  return detail::normal_with("lecun_normal", [](fans f) { return std::sqrt(1 / f.fan_in); });
}

GLIA_INLINE initializer random_uniform(double bound) {
  return {text("uniform(", bound, ")"),
          [bound](std::span<float> values, const shape&, random_stream& random) {
            detail::fill_uniform(values, bound, random);
          }};
}

GLIA_INLINE initializer random_uniform(double low, double high) {
  require<value_error>(low <= high, "random_uniform: expected low <= high, got ", low, " and ",
                       high);
  return {text("uniform(", low, ", ", high, ")"),
          [low, high](std::span<float> values, const shape&, random_stream& random) {
            for (float& value : values) {
              value = static_cast<float>(low + random.uniform() * (high - low));
            }
          }};
}

GLIA_INLINE initializer random_normal(double mean, double stddev) {
  require<value_error>(stddev >= 0, "random_normal: expected a stddev of at least 0, got ", stddev);
  return {text("normal(", mean, ", ", stddev, ")"),
          [mean, stddev](std::span<float> values, const shape&, random_stream& random) {
            for (float& value : values) {
              value = static_cast<float>(mean + stddev * random.normal());
            }
          }};
}

GLIA_INLINE initializer orthogonal(double gain) {
  return {gain == 1 ? "orthogonal" : text("orthogonal(", gain, ")"),
          [gain](std::span<float> values, const shape& s, random_stream& random) {
            detail::fill_orthogonal(values, s, gain, random);
          }};
}

GLIA_INLINE initializer constant(double value) {
  return {text("constant(", value, ")"),
          [value](std::span<float> values, const shape&, random_stream&) {
            std::fill(values.begin(), values.end(), static_cast<float>(value));
          }};
}

}  // namespace glia
