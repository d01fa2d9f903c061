#include <algorithm>
#include <glia/text/sample_token.hpp>
#include <limits>
#include <map>

#include "catch.hpp"
#include "golden/text_golden.hpp"
#include "messages.hpp"

using test::contains;
using test::message_of;

namespace {

/// How often each token is drawn, of 20,000 times.
std::map<std::int32_t, int> draw_counts(const std::vector<float>& logits,
                                        const glia::sampling_options& options) {
  glia::random_stream random({.seed = 3});
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < 20'000; ++i) {
    ++counts[glia::sample_token(logits, options, random)];
  }
  return counts;
}

std::int32_t one_token(const std::vector<float>& logits, const glia::sampling_options& options) {
  glia::random_stream random({.seed = 4});
  return glia::sample_token(logits, options, random);
}

std::string sampling_error(const std::vector<float>& logits,
                           const glia::sampling_options& options = {}) {
  return message_of<glia::value_error>([&] { (void)one_token(logits, options); });
}

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("tokens are drawn with the probabilities that NumPy computes") {
  REQUIRE(glia_golden::sampling_cases.size() == 24);
  for (const auto& c : glia_golden::sampling_cases) {
    const glia::sampling_options options{
        .temperature = c.temperature, .top_k = c.top_k, .top_p = c.top_p};
    CAPTURE(c.temperature, c.top_k, c.top_p);
    auto candidates = glia::detail::token_candidates(
        c.logits, *std::max_element(c.logits.begin(), c.logits.end()), options);
    REQUIRE(candidates.size() == c.ids.size());
    double total = 0;
    std::map<std::int32_t, double> weights;
    for (const auto& candidate : candidates) {
      total += candidate.weight;
      weights[candidate.id] = candidate.weight;
    }
    const auto counts = draw_counts(c.logits, options);
    for (std::size_t i = 0; i < c.ids.size(); ++i) {
      const double p = c.probabilities[i];
      CHECK(weights.at(c.ids[i]) / total == Approx(p).epsilon(1e-12));
      // Five standard errors.
      const auto found = counts.find(c.ids[i]);
      const double share = found == counts.end() ? 0 : found->second / 20'000.0;
      CHECK(std::abs(share - p) <= 5 * std::sqrt(p * (1 - p) / 20'000));
    }
  }
}

TEST_CASE("top_k and top_p leave exact sets of tokens") {
  const auto set_of = [](const std::vector<float>& logits, const glia::sampling_options& options) {
    std::vector<std::int32_t> tokens;
    for (const auto& [token, count] : draw_counts(logits, options)) {
      tokens.push_back(token);
    }
    return tokens;
  };
  using tokens = std::vector<std::int32_t>;
  // Of equal logits, the smaller ids come first.
  CHECK(set_of({1, 2, 2, 2, 0}, {.top_k = 2}) == tokens{1, 2});
  CHECK(set_of({0, 0, 0, 0}, {.top_k = 3}) == tokens{0, 1, 2});
  CHECK(set_of({0, 0, 0, 0}, {.top_p = 0.5}) == tokens{0, 1});
  CHECK(set_of({0, 0, 0, 0}, {.top_p = 0.51}) == tokens{0, 1, 2});
  CHECK(set_of({0, 0, 0, 0}, {.top_p = 1e-300}) == tokens{0});
  // top_p counts the probabilities of the tokens that top_k leaves: 1/2 each.
  CHECK(set_of({0, 0, 0, 0}, {.top_k = 2, .top_p = 0.5}) == tokens{0});
  CHECK(set_of({0, 0, 0}, {.top_k = 9}) == tokens{0, 1, 2});
  CHECK(set_of({-infinity, 1, -infinity, 1}, {}) == tokens{1, 3});
  CHECK(set_of({-infinity, 1, -infinity, 1}, {.top_k = 4, .top_p = 0.999}) == tokens{1, 3});
}

TEST_CASE("a temperature of 0 selects the first of the largest logits") {
  CHECK(one_token({1, 3, 3, 2}, {.temperature = 0}) == 1);
  glia::random_stream random({.seed = 1});
  glia::random_stream untouched = random;
  (void)glia::sample_token(std::vector<float>{0, 0}, {.temperature = 0}, random);
  CHECK(random.bits() == untouched.bits());
}

TEST_CASE("extreme logits and temperatures do not overflow") {
  const float large = std::numeric_limits<float>::max();
  CHECK(one_token({-large, large, 0}, {}) == 1);
  CHECK(one_token({1, 2}, {.temperature = 5e-324}) == 1);
  CHECK(draw_counts({-large, large}, {.temperature = 1e300}).size() == 2);
  // Equal probabilities, but not equal logits.
  CHECK(one_token({1, 2, 3}, {.temperature = 1e300, .top_k = 1}) == 2);
  CHECK(draw_counts({10'000, 10'000, 9'000}, {}).size() == 2);
}

TEST_CASE("a seed draws the same tokens again") {
  const std::vector<float> logits{0.5F, 1, 0.2F, 0.9F, 1.1F};
  glia::random_stream first({.seed = 9});
  glia::random_stream second({.seed = 9});
  for (int i = 0; i < 50; ++i) {
    CHECK(glia::sample_token(logits, {.top_p = 0.8}, first) ==
          glia::sample_token(logits, {.top_p = 0.8}, second));
  }
}

TEST_CASE("wrong logits and options are refused") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(sampling_error({}), "expected 1 to 2^31 - 1 logits, got 0"));
  CHECK(contains(sampling_error({0, nan}), "finite or -infinity, got nan for token 1"));
  CHECK(contains(sampling_error({infinity, 0}), "finite or -infinity, got inf for token 0"));
  CHECK(contains(sampling_error({-infinity, -infinity}), "one logit above -infinity, got none"));
  CHECK(contains(sampling_error({0, nan}, {.temperature = 0}), "got nan for token 1"));
  for (const double temperature : {-0.1, static_cast<double>(nan), HUGE_VAL}) {
    CHECK(contains(sampling_error({0}, {.temperature = temperature}), "a finite temperature"));
  }
  for (const double top_p : {0.0, -1.0, 1.01, static_cast<double>(nan)}) {
    CHECK(contains(sampling_error({0}, {.top_p = top_p}), "expected top_p in (0, 1], got"));
  }
}
