#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/backends/reference.hpp"
#include "glia/testing/bench.hpp"
#include "glia/testing/cases/arrangement.hpp"
#include "glia/testing/cases/classification.hpp"
#include "glia/testing/cases/convolution.hpp"
#include "glia/testing/cases/elementwise.hpp"
#include "glia/testing/cases/normalization.hpp"
#include "glia/testing/cases/pooling.hpp"
#include "glia/testing/cases/products.hpp"
#include "glia/testing/cases/updates.hpp"

namespace glia::testing {

/// One kernel on one set of operands, compared with the reference backend in double.
struct conformance_result {
  std::string name;
  double error = 0;           ///< largest |x - r| / max(1, |r|) over all outputs
  bool operands_kept = true;  ///< operands that the caller still holds were left alone
  bool reuse_agrees = true;   ///< giving operands up changes nothing in the results
  std::string where{};        ///< of special values, which one the error is for
  [[nodiscard]] bool passed(double tolerance) const {
    return error <= tolerance && operands_kept && reuse_agrees;
  }
};

namespace detail {

[[nodiscard]] inline double largest_difference(const std::vector<double>& got,
                                               const std::vector<double>& expected) {
  if (got.size() != expected.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    const double error =
        same ? 0 : std::abs(got[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  return worst;
}

/// Runs one case, a generic callable on a bench, on the candidate and on the reference.
template <backend B, class Case>
[[nodiscard]] conformance_result run_case(const B& candidate, std::string name,
                                          const Case& kernel) {
  const reference<double> oracle;
  bench<reference<double>> expected(oracle, true);
  bench<B> kept(candidate, true);
  bench<B> given_up(candidate, false);
  kernel(expected);
  kernel(kept);
  kernel(given_up);
  conformance_result result{std::move(name)};
  result.error = kept.shapes() == expected.shapes()
                     ? largest_difference(kept.outputs(), expected.outputs())
                     : std::numeric_limits<double>::infinity();
  result.operands_kept = kept.operands_kept();
  result.reuse_agrees = kept.outputs() == given_up.outputs();
  return result;
}

/// The same case with a number that is none or infinite at one element of one operand after the
/// other: small operands at every element, others at a few.
template <backend B, class Case>
[[nodiscard]] conformance_result run_special_case(const B& candidate, std::string name,
                                                  const Case& kernel) {
  const reference<double> oracle;
  bench<reference<double>> plain(oracle, false);
  kernel(plain);
  std::size_t elements = 0;
  for (const std::size_t size : plain.operand_sizes()) {
    elements += size;
  }
  constexpr float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()};
  conformance_result result{std::move(name)};
  const auto run = [&](std::size_t operand, std::size_t element, float value) {
    bench<reference<double>> expected(oracle, {operand, element, value});
    bench<B> got(candidate, {operand, element, value});
    kernel(expected);
    kernel(got);
    const double error = largest_difference(got.outputs(), expected.outputs());
    if (error > result.error) {
      result.error = error;
      result.where = text(value, " at element ", element, " of operand ", operand);
    }
  };
  for (std::size_t operand = 0; operand < plain.operand_sizes().size(); ++operand) {
    const std::size_t size = plain.operand_sizes()[operand];
    const std::size_t steps = std::clamp<std::size_t>(30000 / elements, 2, 3 * size);
    for (std::size_t i = 0; i < steps; ++i) {
      // Each element with each value where there are steps enough, else the first, the last, and
      // others that are no multiples of anything between them.
      const std::size_t element = 3 * size == steps ? i / 3
                                  : i + 1 == steps  ? size - 1
                                                    : i * size / steps + i % 3;
      run(operand, std::min(element, size - 1), specials[(i + operand) % 3]);
    }
  }
  return result;
}

/// check(name, kernel) for every case of the suite: a generic callable on a bench.
template <class Check>
void for_each_case(const Check& check) {
  check_arrangement(check);
  check_elementwise(check);
  check_products(check);
  check_convolution(check);
  check_pooling(check);
  check_normalization(check);
  check_classification(check);
  check_updates(check);
}

}  // namespace detail

/// Holds every kernel of a backend to the reference backend, on odd shapes: height and width
/// different, strides that do not divide, one channel, one image, blocks that do not fill. Also
/// checks that a kernel overwrites only operands that were given up.
///
/// Errors come out below 3e-5 in float (the longest sums have 2,000 terms) and below 1e-12 in
/// double.
template <backend B>
[[nodiscard]] std::vector<conformance_result> run_conformance(const B& candidate) {
  std::vector<conformance_result> results;
  detail::for_each_case([&](std::string name, const auto& kernel) {
    results.push_back(detail::run_case(candidate, std::move(name), kernel));
  });
  return results;
}

/// Holds every kernel to the reference backend with operands that hold a NaN or an infinity, which
/// must come out where it says: 0 times either is NaN, sums and maxima pass them on.
template <backend B>
[[nodiscard]] std::vector<conformance_result> run_special_values(const B& candidate) {
  std::vector<conformance_result> results;
  detail::for_each_case([&](std::string name, const auto& kernel) {
    results.push_back(detail::run_special_case(candidate, std::move(name), kernel));
  });
  return results;
}

}  // namespace glia::testing
