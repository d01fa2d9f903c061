#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "network.hpp"

/// Returns samples of random numbers in [0, 1), for measurements. Inputs that must be integers are
/// random integers in their range.
[[nodiscard]] inline std::vector<float> random_samples(const network& net, std::size_t count) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> numbers(0, 1);
  std::vector<float> x(count * net.inputs());
  for (float& number : x) {
    number = numbers(generator);
  }
  for (const auto& range : net.model().plan().integers) {
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t i = range.first; i < std::min(range.end, net.inputs()); ++i) {
        float& number = x[n * net.inputs() + i];
        number = std::floor(number * static_cast<float>(range.limit));
      }
    }
  }
  return x;
}

/// The differences between two networks' outputs for the same samples.
struct output_comparison {
  double largest_difference = 0;
  double relative_difference = 0;  ///< Root mean square of the differences and of the outputs.
  std::size_t samples = 0;
  std::size_t agreements = 0;  ///< Samples whose largest output is the same.
};

[[nodiscard]] inline output_comparison compare_outputs(std::span<const float> a,
                                                       std::span<const float> b,
                                                       std::size_t outputs) {
  output_comparison result{.samples = a.size() / outputs};
  double squares = 0;
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    result.largest_difference = std::max(result.largest_difference, difference);
    squares += difference * difference;
    total += static_cast<double>(a[i]) * static_cast<double>(a[i]);
  }
  result.relative_difference = squares == 0 ? 0 : std::sqrt(squares / total);
  const auto best = [&](std::span<const float> values, std::size_t n) {
    const auto row = values.subspan(n * outputs, outputs);
    return std::max_element(row.begin(), row.end()) - row.begin();
  };
  for (std::size_t n = 0; n < result.samples; ++n) {
    result.agreements += best(a, n) == best(b, n) ? 1 : 0;
  }
  return result;
}

/// The times of repeated calls.
struct call_times {
  std::vector<double> milliseconds;

  /// Returns the time that a share of the calls do not exceed; 0.5: the median.
  [[nodiscard]] double quantile(double share) const {
    std::vector<double> sorted = milliseconds;
    std::sort(sorted.begin(), sorted.end());
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(std::llround(share * last))];
  }
};

/// Measures several functions in turns, for `seconds` in all, after some calls that are not
/// measured.
template <class Calls>
[[nodiscard]] std::vector<call_times> measure_in_turns(const Calls& calls, double seconds) {
  using clock = std::chrono::steady_clock;
  constexpr std::size_t warm_up = 3;
  constexpr std::size_t fewest = 10;
  constexpr std::size_t most = 1'000'000;
  std::vector<call_times> result(calls.size());
  const auto begin = clock::now();
  const auto seconds_since = [](clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  for (std::size_t round = 0;
       round < warm_up + fewest || (seconds_since(begin) < seconds && round < most); ++round) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto start = clock::now();
      calls[i]();
      if (round >= warm_up) {
        result[i].milliseconds.push_back(1e3 * seconds_since(start));
      }
    }
  }
  return result;
}
