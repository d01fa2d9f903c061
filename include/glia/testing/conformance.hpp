#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/backends/reference.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/testing/bench.hpp"
#include "glia/testing/cases/arrangement.hpp"
#include "glia/testing/cases/attention.hpp"
#include "glia/testing/cases/classification.hpp"
#include "glia/testing/cases/convolution.hpp"
#include "glia/testing/cases/elementwise.hpp"
#include "glia/testing/cases/normalization.hpp"
#include "glia/testing/cases/pooling.hpp"
#include "glia/testing/cases/products.hpp"
#include "glia/testing/cases/updates.hpp"

namespace glia::testing {

/// The result of one kernel on one set of operands, compared with the `reference` device in double.
struct conformance_result {
  std::string name;
  /// Largest |x - r| / max(1, |r|) over all outputs. Each kernel runs twice: with operands that the
  /// caller keeps, and with operands that the caller moves into the call.
  double error = 0;
  bool operands_kept = true;  ///< Whether operands that the caller holds are unchanged.
  /// Whether the results have the same bits if the kernel may reuse the memory of its operands.
  /// Devices such as GPUs need not fulfill this: they may add in any order, or select another
  /// algorithm each time they compile.
  bool reuse_agrees = true;
  std::string special_value{};  ///< Special value with the error, and its position.
  std::size_t candidate = 0;    ///< Index of the device in the order of the arguments.
  /// Returns whether the error is within the tolerance and the operands were handled correctly.
  [[nodiscard]] bool passed(double tolerance) const {
    return error <= tolerance && operands_kept && reuse_agrees;
  }
};

/// Options of `run_conformance`. For slow devices, several processes can each run a part of the
/// suite.
struct conformance_options {
  std::size_t part = 0;  ///< Runs the cases part, part + parts, part + 2 parts, ...
  std::size_t parts = 1;
  /// Whether all operands are rounded to bfloat16 first. A device that rounds the factors of
  /// products, such as cpu({.products = bfloat16}), then has the errors of other
  /// devices, except in kernels that compute several products after one another.
  bool bfloat16_operands = false;
  std::function<void(const conformance_result&)> report = {};  ///< Called with each result.
};

namespace detail {

[[nodiscard]] inline double largest_difference(const std::vector<double>& actual,
                                               const std::vector<double>& expected) {
  if (actual.size() != expected.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const bool same =
        actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]));
    const double error =
        same ? 0 : std::abs(actual[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  return worst;
}

/// Runs one case on the candidates and on the `reference` device. Adds one result for each
/// candidate. `kernel` is a callable that takes a bench; `rounds` is as in its constructor.
inline void run_case(std::vector<conformance_result>& results, const std::string& name,
                     function_ref<void(bench&)> kernel, const std::vector<device>& candidates,
                     bool rounds = false) {
  const reference<double> oracle;
  bench expected(oracle, true, rounds);
  kernel(expected);
  std::size_t index = 0;
  for (const device& candidate : candidates) {
    bench holding(candidate, true, rounds);
    bench moving(candidate, false, rounds);
    kernel(holding);
    kernel(moving);
    conformance_result result{.name = name, .candidate = index++};
    result.error = std::numeric_limits<double>::infinity();
    if (holding.shapes() == expected.shapes() && moving.shapes() == expected.shapes()) {
      result.error = std::max(largest_difference(holding.outputs(), expected.outputs()),
                              largest_difference(moving.outputs(), expected.outputs()));
    }
    result.operands_kept = holding.operands_kept();
    result.reuse_agrees = holding.outputs() == moving.outputs();
    results.push_back(std::move(result));
  }
}

/// Runs a case repeatedly, each time with a NaN or an infinity in one element of one operand. In a
/// small operand, every element is tested in this way; in a large operand, a few elements. `rounds`
/// is as in the constructor of bench.
inline void run_special_case(std::vector<conformance_result>& results, const std::string& name,
                             function_ref<void(bench&)> kernel,
                             const std::vector<device>& candidates, bool rounds) {
  const reference<double> oracle;
  bench plain(oracle, false);
  kernel(plain);
  std::size_t elements = 0;
  for (const std::size_t size : plain.operand_sizes()) {
    elements += size;
  }
  constexpr float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()};
  const std::size_t first = results.size();
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    results.push_back({.name = name, .candidate = candidate});
  }
  const auto run = [&](std::size_t operand, std::size_t element, float value) {
    bench expected(oracle, {operand, element, value}, rounds);
    kernel(expected);
    std::size_t index = first;
    for (const device& candidate : candidates) {
      bench actual(candidate, {operand, element, value}, rounds);
      kernel(actual);
      conformance_result& result = results[index++];
      const double error = largest_difference(actual.outputs(), expected.outputs());
      if (error > result.error) {
        result.error = error;
        result.special_value = text(value, " at element ", element, " of operand ", operand);
      }
    }
  };
  for (std::size_t operand = 0; operand < plain.operand_sizes().size(); ++operand) {
    const std::size_t size = plain.operand_sizes()[operand];
    const std::size_t steps = std::clamp<std::size_t>(30000 / elements, 2, 3 * size);
    for (std::size_t i = 0; i < steps; ++i) {
      // All combinations of elements and values if there are enough steps. Otherwise the first
      // element, the last, and others between them that follow no regular pattern.
      const std::size_t element = 3 * size == steps ? i / 3
                                  : i + 1 == steps  ? size - 1
                                                    : i * size / steps + i % 3;
      run(operand, std::min(element, size - 1), specials[(i + operand) % 3]);
    }
  }
}

/// Calls check(name, kernel) for every case of the suite. A kernel is a callable that takes a
/// bench.
template <class Check>
void for_each_case(const Check& check) {
  check_arrangement(check);
  check_elementwise(check);
  check_products(check);
  check_attention(check);
  check_convolution(check);
  check_pooling(check);
  check_normalization(check);
  check_classification(check);
  check_updates(check);
}

/// Calls check(name, kernel) for the cases that the options select, and reports the results that it
/// adds.
template <class Check>
void for_each_selected_case(std::vector<conformance_result>& results,
                            const conformance_options& options, const Check& check) {
  std::size_t index = 0;
  for_each_case([&](const std::string& name, const auto& kernel) {
    if (index++ % options.parts != options.part) {
      return;
    }
    const std::size_t first = results.size();
    check(name, kernel);
    for (std::size_t i = first; options.report && i < results.size(); ++i) {
      options.report(results[i]);
    }
  });
}

}  // namespace detail

/// Runs every kernel on the candidates, compares the results with the `reference` device, and
/// returns the errors.
///
/// The shapes are unusual on purpose: different heights and widths, strides that do not divide
/// them, one channel, one image, incomplete blocks. The suite also checks that a kernel overwrites
/// only operands that the caller has moved into the call. The reference results take most of the
/// time. They are computed once for all candidates. Correct kernels have errors below 3e-5 in float
/// (the longest sums have 2,000 terms) and below 1e-12 in double.
[[nodiscard]] inline std::vector<conformance_result> run_conformance(
    const std::vector<device>& candidates, const conformance_options& options = {}) {
  std::vector<conformance_result> results;
  detail::for_each_selected_case(
      results, options, [&](const std::string& name, const auto& kernel) {
        detail::run_case(results, name, kernel, candidates, options.bfloat16_operands);
      });
  return results;
}

/// Runs the suite on one device.
[[nodiscard]] inline std::vector<conformance_result> run_conformance(
    const device& candidate, const conformance_options& options = {}) {
  return run_conformance(std::vector<device>{candidate}, options);
}

/// Compares every kernel with the `reference` device on operands that contain a NaN or an infinity.
/// The same outputs must become NaN or infinite as on the `reference` device: 0 times NaN and 0
/// times infinity are NaN, and sums and maxima propagate NaN and infinity.
[[nodiscard]] inline std::vector<conformance_result> run_special_values(
    const std::vector<device>& candidates, const conformance_options& options = {}) {
  std::vector<conformance_result> results;
  detail::for_each_selected_case(
      results, options, [&](const std::string& name, const auto& kernel) {
        detail::run_special_case(results, name, kernel, candidates, options.bfloat16_operands);
      });
  return results;
}

}  // namespace glia::testing
