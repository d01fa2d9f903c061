#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <glia/backends/cpu.hpp>
#include <glia/backends/reference.hpp>
#include <glia/backends/set_statistics.hpp>
#include <limits>
#include <span>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

// Normalization of numbers whose mean is far larger than their deviation, of equal numbers, and of
// numbers whose squares leave the range of float.

namespace {

using glia::normalization;
constexpr std::array kinds{normalization::batch, normalization::layer, normalization::group,
                           normalization::rms};

struct normalized {
  std::vector<float> y, mean, variance, dx, dgamma, dbeta;
};

/// What a device gives for these numbers and gradients, and what is exact.
struct example {
  normalization kind;
  glia::shape shape;
  std::size_t groups;
  double epsilon;
  std::vector<float> x, gamma, beta, dy;

  template <class B>
  [[nodiscard]] normalized run(const B& device) const {
    const glia::shape columns{shape.back()};
    const auto put = [&](const std::vector<float>& v, const glia::shape& s) {
      return test::tensor_of(device, s, v);
    };
    const auto input = put(x, shape);
    const auto factors = put(gamma, columns);
    const auto y =
        device.run(kernels::normalize{kind, epsilon, groups}, input, factors, put(beta, columns));
    const auto gradients = device.run(kernels::normalize_gradient{kind, epsilon, groups},
                                      put(dy, shape), input, factors, y[1], y[2]);
    const auto read = [&](const auto& t) { return test::values_of(device, t); };
    return {read(y[0]),         read(y[1]),         read(y[2]),
            read(gradients[0]), read(gradients[1]), read(gradients[2])};
  }

  [[nodiscard]] normalized exact() const {
    const glia::normalized_sets sets(shape, kind, groups);
    normalized result;
    result.y.resize(x.size());
    result.dx.resize(x.size());
    std::vector<long double> to_gamma(sets.columns);
    std::vector<long double> to_beta(sets.columns);
    const auto length = static_cast<long double>(sets.length());
    for (std::size_t set = 0; set < sets.count(); ++set) {
      long double mean = 0;
      long double variance = 0;
      for (std::size_t i = 0; i < sets.length() && kind != normalization::rms; ++i) {
        mean += x[sets.element(set, i)] / length;
      }
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const long double deviation = x[sets.element(set, i)] - mean;
        variance += deviation * deviation / length;
      }
      const long double scale = 1 / std::sqrt(variance + static_cast<long double>(epsilon));
      long double mean_q = 0;
      long double mean_qh = 0;
      const auto normal = [&](std::size_t i) { return (x[sets.element(set, i)] - mean) * scale; };
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const std::size_t c = sets.column(set, i);
        const long double g = dy[sets.element(set, i)];
        to_gamma[c] += g * normal(i);
        to_beta[c] += g;
        mean_q += kind == normalization::rms ? 0 : g * gamma[c] / length;
        mean_qh += g * gamma[c] * normal(i) / length;
      }
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const std::size_t c = sets.column(set, i);
        const std::size_t index = sets.element(set, i);
        result.y[index] = static_cast<float>(normal(i) * gamma[c] + beta[c]);
        result.dx[index] =
            static_cast<float>(scale * (gamma[c] * dy[index] - mean_q - normal(i) * mean_qh));
      }
      result.mean.push_back(static_cast<float>(mean));
      result.variance.push_back(static_cast<float>(variance));
    }
    result.dgamma.assign(to_gamma.begin(), to_gamma.end());
    result.dbeta.assign(to_beta.begin(), to_beta.end());
    return result;
  }
};

/// Numbers around 0 that no pattern has, of size 1.
std::vector<float> spread_out(std::size_t count, double step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
  }
  return values;
}

example example_of(normalization kind, const glia::shape& s, double epsilon) {
  example e{kind, s, kind == normalization::group ? std::size_t{2} : 1, epsilon, {}, {}, {}, {}};
  e.gamma = spread_out(s.back(), 0.7);
  e.beta = spread_out(s.back(), 1.3);
  e.dy = spread_out(s.size(), 2.1);
  return e;
}

double largest(const std::vector<float>& values) {
  double maximum = 0;
  for (const float x : values) {
    maximum = std::max(maximum, std::abs(static_cast<double>(x)));
  }
  return maximum;
}

/// The largest difference, relative to the largest of what is right.
double error_of(const std::vector<float>& found, const std::vector<float>& right) {
  double maximum = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(found[i]) - static_cast<double>(right[i]));
    maximum = found[i] == right[i] ? maximum : difference <= maximum ? maximum : difference;
  }
  const double size = largest(right);
  return size > 0 ? maximum / size : maximum;
}

template <class Check>
void on_devices(const Check& check) {
  check(glia::reference<float>());
  for (const auto level :
       {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2, glia::cpu_loops::isa::avx512}) {
    if (level <= glia::cpu_loops::best_isa()) {
      check(glia::cpu<float>({.threads = 2, .isa = level}));
    }
  }
}

}  // namespace

TEST_CASE("equal numbers normalize to beta") {
  for (const auto kind : {normalization::batch, normalization::layer, normalization::group}) {
    for (const glia::shape& s :
         {glia::shape{100, 6}, glia::shape{7, 2}, glia::shape{3, 5, 5, 6}, glia::shape{1000, 2},
          glia::shape{33'001, 2}, glia::shape{40, 1100}, glia::shape{2, 3000, 4}}) {
      example e = example_of(kind, s, 1e-3);
      const std::vector<float> constants =
          s.size() > 10'000 ? std::vector{0.1F, 1e10F, 3e38F}
                            : std::vector{0.0F,  0.1F,   100.1F, -12345.678F, 1.7e9F, 1e10F,
                                          3e15F, -1e20F, 3e38F,  1e-20F,      -1e-37F};
      for (const float c : constants) {
        e.x.assign(s.size(), c);
        INFO(static_cast<int>(kind) << " of " << glia::text(s) << " times " << c);
        on_devices([&](const auto& device) {
          const normalized found = e.run(device);
          for (std::size_t i = 0; i < s.size(); ++i) {
            if (found.y[i] != e.beta[i % s.back()]) {
              REQUIRE(found.y[i] == e.beta[i % s.back()]);
            }
          }
          CHECK(largest(found.dgamma) == 0);
          CHECK(found.mean == std::vector<float>(found.mean.size(), c));
          CHECK(largest(found.variance) == 0);
        });
      }
    }
  }
}

TEST_CASE("normalization keeps the digits of numbers far from 0") {
  for (const auto kind : {normalization::batch, normalization::layer, normalization::group}) {
    for (const glia::shape& s : {glia::shape{16, 16}, glia::shape{3, 5, 4}, glia::shape{2000, 6},
                                 glia::shape{2, 300, 70}, glia::shape{300, 2}}) {
      for (const auto& [mean, deviation] :
           {std::pair(1e2, 1e-3), std::pair(-1e4, 1e-3), std::pair(1e6, 1.0), std::pair(1.7e9, 1e3),
            std::pair(1e20, 1e16)}) {
        if (kind != normalization::batch && s.back() == 2) {
          continue;  // One or two numbers give 0 or +-1, whose gradient is nothing but rounding.
        }
        example e = example_of(kind, s, 1e-5 * deviation * deviation);
        e.x = spread_out(s.size(), 0.9);
        for (float& x : e.x) {
          x = static_cast<float>(mean + deviation * static_cast<double>(x));
        }
        const normalized right = e.exact();
        INFO(static_cast<int>(kind)
             << " of " << glia::text(s) << ", " << mean << " +- " << deviation);
        on_devices([&](const auto& device) {
          const normalized found = e.run(device);
          CHECK(error_of(found.y, right.y) < 3e-6);
          CHECK(error_of(found.variance, right.variance) < 3e-6);
          CHECK(error_of(found.dx, right.dx) < 2e-5);
          CHECK(error_of(found.dgamma, right.dgamma) < 2e-5);
          CHECK(error_of(found.dbeta, right.dbeta) < 2e-5);
        });
      }
    }
  }
}

TEST_CASE("normalization of numbers of any size") {
  for (const auto kind : kinds) {
    for (const glia::shape& s : {glia::shape{16, 16}, glia::shape{3, 5, 4}, glia::shape{2000, 6}}) {
      // The last one's variance plus epsilon is a number, a square of which is none.
      for (const double size :
           {3e38, 1e30, 1e20, 1e18, 1e15, 1e10, 1e-10, 1e-15, 1e-18, 1e-25, 1e-30}) {
        example e = example_of(kind, s, size > 1 ? 1e-3 : std::max(1e-6 * size * size, 2e-38));
        e.x = spread_out(s.size(), 0.9);
        for (float& x : e.x) {
          x = static_cast<float>(size * static_cast<double>(x));
        }
        if (size < 1) {
          e.epsilon = static_cast<double>(static_cast<float>(e.epsilon));
        }
        const normalized right = e.exact();
        INFO(static_cast<int>(kind) << " of " << glia::text(s) << ", size " << size);
        on_devices([&](const auto& device) {
          const normalized found = e.run(device);
          CHECK(error_of(found.y, right.y) < 3e-6);
          CHECK(error_of(found.dgamma, right.dgamma) < 2e-5);
          CHECK(error_of(found.dbeta, right.dbeta) < 2e-5);
          if (size < 1e30) {  // else the gradient is among numbers that have lost digits
            CHECK(error_of(found.dx, right.dx) < 2e-5);
          }
          if (size > 1e-15) {
            CHECK((error_of(found.variance, right.variance) < 3e-6 ||
                   found.variance == right.variance));
          }
          for (std::size_t i = 0; i < right.mean.size(); ++i) {
            CHECK(std::abs(static_cast<double>(found.mean[i]) -
                           static_cast<double>(right.mean[i])) <= 1e-6 * size);
          }
        });
      }
    }
  }
}

TEST_CASE("normalization of numbers far below the root of epsilon") {
  for (const auto kind : kinds) {
    for (const double size : {1e-18, 1e-21, 1e-30}) {
      const glia::shape s{3, 5, 4};
      example e = example_of(kind, s, 1e-3);
      e.x = spread_out(s.size(), 0.9);
      for (float& x : e.x) {
        x = static_cast<float>(size * static_cast<double>(x));
      }
      e.beta.assign(s.back(), 0);
      const normalized right = e.exact();
      INFO(static_cast<int>(kind) << ", size " << size);
      on_devices([&](const auto& device) {
        const normalized found = e.run(device);
        CHECK(error_of(found.y, right.y) < 3e-6);
        CHECK(error_of(found.dx, right.dx) < 2e-5);
        CHECK(error_of(found.dgamma, right.dgamma) < 2e-5);
      });
      const auto n = e.x.size();
      const glia::set_statistics<float> statistics(
          n, [&](std::size_t i) { return e.x[i]; }, e.epsilon, false);
      CHECK(statistics.normalized(e.x[0]) == Approx(e.x[0] / std::sqrt(1e-3)).epsilon(1e-6));
    }
  }
}

TEST_CASE("normalization of infinities and NaN is what the formula gives") {
  for (const auto kind : kinds) {
    for (const float odd :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      const glia::shape s{2, 3, 4};
      example e = example_of(kind, s, 1e-3);
      e.x = spread_out(s.size(), 0.9);
      e.x[5] = odd;
      const glia::normalized_sets sets(s, kind, e.groups);
      on_devices([&](const auto& device) {
        const normalized found = e.run(device);
        for (std::size_t set = 0; set < sets.count(); ++set) {
          bool has_odd = false;
          for (std::size_t i = 0; i < sets.length(); ++i) {
            has_odd = has_odd || sets.element(set, i) == 5;
          }
          INFO(static_cast<int>(kind) << ", set " << set << ", " << odd);
          for (std::size_t i = 0; i < sets.length(); ++i) {
            const float y = found.y[sets.element(set, i)];
            if (kind == normalization::rms && has_odd && std::isinf(odd)) {
              CHECK((std::isnan(y) || y == e.beta[i]));  // divided by infinity
            } else {
              CHECK(std::isnan(y) == has_odd);
            }
            CHECK(std::isnan(found.dx[sets.element(set, i)]) == has_odd);
          }
        }
      });
    }
  }
}
