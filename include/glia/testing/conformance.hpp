#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
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
  /// Largest |x - r| / max(1, |r|) over all outputs, with operands kept and with operands given up.
  double error = 0;
  bool operands_kept = true;  ///< operands that the caller still holds were left alone
  /// Giving operands up changes no bit of the results. Devices that add in any order, or choose
  /// among algorithms each time they compile, as GPUs do, need not give the same bits twice.
  bool reuse_agrees = true;
  std::string where{};        ///< of special values, which one the error is for
  std::size_t candidate = 0;  ///< which of the backends, in the order in which they were given
  [[nodiscard]] bool passed(double tolerance) const {
    return error <= tolerance && operands_kept && reuse_agrees;
  }
};

/// Options of `run_conformance`. On slow devices several processes can run a part each.
struct conformance_options {
  std::size_t part = 0;  ///< runs the cases part, part + parts, part + 2 parts ...
  std::size_t parts = 1;
  std::function<void(const conformance_result&)> report = {};  ///< called with each result
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

/// Runs one case, a generic callable on a bench, on the candidates and on the reference, and adds a
/// result for each of them.
template <class Case, backend... B>
void run_case(std::vector<conformance_result>& results, const std::string& name, const Case& kernel,
              const B&... candidates) {
  const reference<double> oracle;
  bench<reference<double>> expected(oracle, true);
  kernel(expected);
  std::size_t index = 0;
  const auto run = [&]<backend C>(const C& candidate) {
    bench<C> kept(candidate, true);
    bench<C> given_up(candidate, false);
    kernel(kept);
    kernel(given_up);
    conformance_result result{.name = name, .candidate = index++};
    result.error = std::numeric_limits<double>::infinity();
    if (kept.shapes() == expected.shapes() && given_up.shapes() == expected.shapes()) {
      result.error = std::max(largest_difference(kept.outputs(), expected.outputs()),
                              largest_difference(given_up.outputs(), expected.outputs()));
    }
    result.operands_kept = kept.operands_kept();
    result.reuse_agrees = kept.outputs() == given_up.outputs();
    results.push_back(std::move(result));
  };
  (run(candidates), ...);
}

/// The same case with a number that is none or infinite at one element of one operand after the
/// other: small operands at every element, others at a few.
template <class Case, backend... B>
void run_special_case(std::vector<conformance_result>& results, const std::string& name,
                      const Case& kernel, const B&... candidates) {
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
  const std::size_t first = results.size();
  for (std::size_t candidate = 0; candidate < sizeof...(B); ++candidate) {
    results.push_back({.name = name, .candidate = candidate});
  }
  const auto run = [&](std::size_t operand, std::size_t element, float value) {
    bench<reference<double>> expected(oracle, {operand, element, value});
    kernel(expected);
    std::size_t index = first;
    const auto compare = [&]<backend C>(const C& candidate) {
      bench<C> got(candidate, {operand, element, value});
      kernel(got);
      conformance_result& result = results[index++];
      const double error = largest_difference(got.outputs(), expected.outputs());
      if (error > result.error) {
        result.error = error;
        result.where = text(value, " at element ", element, " of operand ", operand);
      }
    };
    (compare(candidates), ...);
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

/// Holds every kernel of backends to the reference backend, on odd shapes: height and width
/// different, strides that do not divide, one channel, one image, blocks that do not fill. Also
/// checks that a kernel overwrites only operands that were given up. What the reference backend
/// computes takes most of the time, and is computed once for all candidates.
///
/// Errors come out below 3e-5 in float (the longest sums have 2,000 terms) and below 1e-12 in
/// double.
template <backend... B>
requires(sizeof...(B) > 0) [[nodiscard]] std::vector<conformance_result> run_conformance(
    const conformance_options& options, const B&... candidates) {
  std::vector<conformance_result> results;
  std::size_t index = 0;
  detail::for_each_case([&](const std::string& name, const auto& kernel) {
    if (index++ % options.parts != options.part) {
      return;
    }
    const std::size_t before = results.size();
    detail::run_case(results, name, kernel, candidates...);
    for (std::size_t i = before; options.report && i < results.size(); ++i) {
      options.report(results[i]);
    }
  });
  return results;
}

/// The whole suite.
template <backend... B>
requires(sizeof...(B) > 0)
    [[nodiscard]] std::vector<conformance_result> run_conformance(const B&... candidates) {
  return run_conformance(conformance_options{}, candidates...);
}

/// Holds every kernel to the reference backend with operands that hold a NaN or an infinity, which
/// must come out where it says: 0 times either is NaN, sums and maxima pass them on.
template <backend... B>
requires(sizeof...(B) > 0)
    [[nodiscard]] std::vector<conformance_result> run_special_values(const B&... candidates) {
  std::vector<conformance_result> results;
  detail::for_each_case([&](const std::string& name, const auto& kernel) {
    detail::run_special_case(results, name, kernel, candidates...);
  });
  return results;
}

}  // namespace glia::testing
