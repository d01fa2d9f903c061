#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"

namespace glia {

/// Options of `sample_token`.
struct sampling_options {
  /// Divisor of the logits, from 0. Below 1, likely tokens become more likely; 0 selects the most
  /// likely token.
  double temperature = 1;
  std::size_t top_k = 0;  ///< Number of most likely tokens to draw from; 0 for all tokens.
  /// Draws only from the smallest set of most likely tokens whose probabilities add up to at least
  /// this number, in (0, 1].
  double top_p = 1;
};

namespace detail {

/// A token that can be drawn. Its probability is proportional to its weight.
struct token_candidate {
  std::int32_t id = 0;
  float logit = 0;
  double weight = 0;
};

/// Returns the tokens that `top_k` and `top_p` leave, for a temperature above 0. `largest` is the
/// largest logit.
[[nodiscard]] inline std::vector<token_candidate> token_candidates(
    std::span<const float> logits, double largest, const sampling_options& options) {
  std::vector<token_candidate> candidates;
  candidates.reserve(logits.size());
  for (const float logit : logits) {
    candidates.push_back({static_cast<std::int32_t>(candidates.size()), logit,
                          std::exp((logit - largest) / options.temperature)});
  }
  const auto more_likely = [](const token_candidate& a, const token_candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  if (options.top_k > 0 && options.top_k < candidates.size()) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(options.top_k);
    std::partial_sort(candidates.begin(), end, candidates.end(), more_likely);
    candidates.erase(end, candidates.end());
  }
  if (options.top_p < 1) {
    double total = 0;
    for (const token_candidate& candidate : candidates) {
      total += candidate.weight;
    }
    // Most sets are small: a heap finds them faster than sorting all candidates.
    const auto less_likely = [&](const auto& a, const auto& b) { return more_likely(b, a); };
    std::make_heap(candidates.begin(), candidates.end(), less_likely);
    auto begin = candidates.end();
    for (double sum = 0; begin != candidates.begin() && sum < options.top_p * total;
         sum += begin->weight) {
      std::pop_heap(candidates.begin(), begin, less_likely);
      --begin;
    }
    candidates.erase(candidates.begin(), begin);
  }
  return candidates;
}

}  // namespace detail

/// Draws a token from the logits of a language model, one for each token of the vocabulary (K), and
/// returns its id.
///
///     glia::random_stream random({.seed = 1});
///     const auto id = glia::sample_token(logits, {.temperature = 0.8, .top_k = 40}, random);
///
/// The probabilities are softmax(logits / temperature), computed in double. `top_k` is applied
/// before `top_p`, and the probabilities of the remaining tokens are scaled to a sum of 1. Of equal
/// logits, that of the smaller id counts as larger. A token of logit -infinity is never drawn. A
/// temperature of 0 takes no random number.
///
/// Throws `value_error` if there are no logits, if one of them is NaN or infinity, if all are
/// -infinity, or if an option is outside its range.
///
/// Holtzman et al., "The curious case of neural text degeneration", ICLR 2020 (`top_p`).
[[nodiscard]] inline std::int32_t sample_token(std::span<const float> logits,
                                               const sampling_options& options,
                                               random_stream& random) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  require<value_error>(options.temperature >= 0 && std::isfinite(options.temperature),
                       "sample_token: expected a finite temperature of at least 0, got ",
                       options.temperature);
  require<value_error>(options.top_p > 0 && options.top_p <= 1,
                       "sample_token: expected top_p in (0, 1], got ", options.top_p);
  require<value_error>(!logits.empty() && logits.size() <= std::numeric_limits<std::int32_t>::max(),
                       "sample_token: expected 1 to 2^31 - 1 logits, got ", logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    require<value_error>(logits[i] < infinity,
                         "sample_token: expected logits that are finite or -infinity, got ",
                         logits[i], " for token ", i);
  }
  const auto largest = std::max_element(logits.begin(), logits.end());
  require<value_error>(*largest > -infinity,
                       "sample_token: expected at least one logit above -infinity, got none");
  if (options.temperature == 0) {
    return static_cast<std::int32_t>(largest - logits.begin());
  }
  const std::vector<detail::token_candidate> candidates =
      detail::token_candidates(logits, *largest, options);
  double total = 0;
  for (const detail::token_candidate& candidate : candidates) {
    total += candidate.weight;
  }
  // Adds the weights in the same order, so that the sum exceeds the number at the last candidate.
  const double number = random.uniform() * total;
  double sum = 0;
  return std::find_if(candidates.begin(), candidates.end(),
                      [&](const detail::token_candidate& candidate) {
                        sum += candidate.weight;
                        return number < sum;
                      })
      ->id;
}

}  // namespace glia
