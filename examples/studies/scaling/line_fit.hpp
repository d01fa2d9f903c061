#pragma once

#include <cmath>
#include <cstddef>
#include <glia/core/error.hpp>
#include <numbers>
#include <utility>
#include <vector>

/// An estimated value with its confidence interval.
struct estimate {
  double value = 0;  ///< Most likely value.
  double low = 0;    ///< Lower limit of the interval.
  double high = 0;   ///< Upper limit of the interval.

  friend bool operator==(const estimate&, const estimate&) = default;
};

/// Returns the probability that a value of Student's t distribution with `freedom` degrees of
/// freedom is between -t and t (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3
/// and 26.7.4).
[[nodiscard]] inline double student_t_share(double t, std::size_t freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const bool odd = freedom % 2 == 1;
  const double cosine = std::cos(angle);
  double term = odd ? cosine : 1;
  double sum = 0;
  for (std::size_t k = odd ? 3 : 2; k <= freedom; k += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
  }
  return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

/// Returns the number t for which a value of Student's t distribution is between -t and t with the
/// probability `share`. For 0.95 and one degree of freedom, t is 12.706.
[[nodiscard]] inline double student_t(double share, std::size_t freedom) {
  glia::require<glia::value_error>(
      share > 0 && share < 1 && freedom > 0,
      "student_t: expected a probability between 0 and 1 and one or more degrees "
      "of freedom, got ",
      share, " and ", freedom);
  double low = 0;
  double high = 1;
  while (student_t_share(high, freedom) < share) {
    high *= 2;
  }
  constexpr int halvings = 60;  // more than a double has bits
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (student_t_share(middle, freedom) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Fits y = b0 x0 + b1 x1 + ... to N measurements with P terms each by ordinary least squares.
///
/// Confidence intervals are computed with Student's t distribution (Draper and Smith, Applied
/// Regression Analysis, 3rd edition, chapters 1 and 5). They are valid if the formula describes the
/// measurements, and if the deviations from it are independent and normally distributed with equal
/// variance.
///
///     const line_fit line({{1, 10}, {1, 20}, {1, 40}}, {2.1, 3.9, 8.2});  // a + b x
///     const estimate at_100 = line.mean({1, 100});
class line_fit {
 public:
  using terms = std::vector<double>;

  /// Fits the coefficients to the terms `x` (N, P) and the measurements `y` (N).
  ///
  /// Throws `value_error` if the lengths differ, if there are no more measurements than terms, if
  /// terms are linearly dependent, or if a number is not finite.
  line_fit(std::vector<terms> x, std::vector<double> y, double confidence = 0.95)
      : freedom_(checked(x, y)), t_(student_t(confidence, freedom_)) {
    triangulate(x, y);
    coefficients_.resize(count_);
    for (std::size_t j = count_; j-- > 0;) {
      double rest = y[j];
      for (std::size_t k = j + 1; k < count_; ++k) {
        rest -= r_[j][k] * coefficients_[k];
      }
      coefficients_[j] = rest / r_[j][j];
    }
    double squares = 0;
    for (std::size_t i = count_; i < y.size(); ++i) {
      squares += y[i] * y[i];
    }
    deviation_ = std::sqrt(squares / static_cast<double>(freedom_));
  }

  /// The degrees of freedom, N - P.
  [[nodiscard]] std::size_t degrees_of_freedom() const { return freedom_; }
  /// The standard deviation of the residuals.
  [[nodiscard]] double residual_deviation() const { return deviation_; }

  /// The coefficient of a term, with its confidence interval.
  [[nodiscard]] estimate coefficient(std::size_t term) const {
    return around(coefficients_[term], t_ * deviation(term));
  }
  /// The standard deviation of a coefficient.
  [[nodiscard]] double deviation(std::size_t term) const {
    terms alone(count_, 0.0);
    alone[term] = 1;
    return deviation_ * reach(alone);
  }

  /// The value of the fitted formula at the given terms, with its confidence interval.
  [[nodiscard]] estimate mean(const terms& point) const {
    const double middle = value(point);  // first, because it checks the terms
    return around(middle, t_ * deviation_ * reach(point));
  }
  /// The prediction of one more measurement at the given terms, with its prediction interval.
  [[nodiscard]] estimate measurement(const terms& point) const {
    const double middle = value(point);
    return around(middle, t_ * deviation_ * std::hypot(1.0, reach(point)));
  }

 private:
  [[nodiscard]] static std::size_t checked(const std::vector<terms>& x,
                                           const std::vector<double>& y) {
    glia::require<glia::value_error>(
        !x.empty() && !x[0].empty() && x.size() == y.size(),
        "line_fit: expected one row of terms for each measurement, got ", x.size(),
        " rows of terms and ", y.size(), " measurements");
    glia::require<glia::value_error>(x.size() > x[0].size(),
                                     "line_fit: expected more measurements than the ", x[0].size(),
                                     " terms, got ", x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      bool finite = std::isfinite(y[i]);
      for (const double term : x[i]) {
        finite = finite && std::isfinite(term);
      }
      glia::require<glia::value_error>(finite && x[i].size() == x[0].size(), "line_fit: expected ",
                                       x[0].size(), " finite terms and a finite value in row ", i);
    }
    return x.size() - x[0].size();
  }

  [[nodiscard]] static estimate around(double value, double half) {
    return {value, value - half, value + half};
  }

  [[nodiscard]] double value(const terms& point) const {
    glia::require<glia::value_error>(point.size() == count_, "line_fit: expected ", count_,
                                     " terms, got ", point.size());
    double sum = 0;
    for (std::size_t j = 0; j < count_; ++j) {
      sum += coefficients_[j] * point[j];
    }
    return sum;
  }

  /// Computes the QR decomposition by Householder reflections: x becomes R, y becomes Q'y. In
  /// contrast to the normal equations, it loses no digits if terms are nearly dependent.
  void triangulate(std::vector<terms>& x, std::vector<double>& y) {
    count_ = x[0].size();
    for (std::size_t j = 0; j < count_; ++j) {
      double whole = 0;
      double lower = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        whole = std::hypot(whole, x[i][j]);
        lower = i < j ? 0 : std::hypot(lower, x[i][j]);
      }
      constexpr double digits = 1e-12;
      glia::require<glia::value_error>(
          lower > digits * whole, "line_fit: term ", j,
          " is 0 or depends linearly on the terms before it; expected measurements "
          "with different values of it");
      const double diagonal = x[j][j] > 0 ? -lower : lower;
      std::vector<double> v(x.size(), 0.0);
      double squares = 0;
      for (std::size_t i = j; i < x.size(); ++i) {
        v[i] = x[i][j] - (i == j ? diagonal : 0);
        squares += v[i] * v[i];
      }
      const auto reflect = [&](auto&& element) {
        double product = 0;
        for (std::size_t i = j; i < x.size(); ++i) {
          product += v[i] * element(i);
        }
        for (std::size_t i = j; i < x.size(); ++i) {
          element(i) -= 2 * product / squares * v[i];
        }
      };
      for (std::size_t k = j; k < count_; ++k) {
        reflect([&](std::size_t i) -> double& { return x[i][k]; });
      }
      reflect([&](std::size_t i) -> double& { return y[i]; });
    }
    x.resize(count_);
    r_ = std::move(x);
  }

  /// Returns sqrt(a' (X'X)^-1 a), which equals |R'^-1 a|.
  [[nodiscard]] double reach(const terms& a) const {
    terms solved(count_);
    double length = 0;
    for (std::size_t j = 0; j < count_; ++j) {
      double rest = a[j];
      for (std::size_t k = 0; k < j; ++k) {
        rest -= r_[k][j] * solved[k];
      }
      solved[j] = rest / r_[j][j];
      length = std::hypot(length, solved[j]);
    }
    return length;
  }

  std::size_t freedom_;
  double t_;  // Student's t for the confidence
  std::size_t count_ = 0;
  std::vector<terms> r_;  // (P, P), upper triangular; X = Q R
  std::vector<double> coefficients_;
  double deviation_ = 0;
};
