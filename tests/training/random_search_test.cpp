#include <algorithm>
#include <cmath>
#include <glia/training/random_search.hpp>
#include <limits>
#include <map>
#include <sstream>

#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;

TEST_CASE("a random search returns its trials, the best first") {
  std::vector<double> tried;
  const auto bowl = [&](glia::trial& t) {
    tried.push_back(t.uniform("x", -1, 1));
    return tried.back() * tried.back();
  };
  const auto trials = glia::random_search(30, {}, bowl);
  REQUIRE(trials.size() == 30);
  REQUIRE(tried.size() == 30);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const double x = tried[trials[i].number()];
    CHECK(trials[i].score() == x * x);
    CHECK(trials[i].settings() == std::vector<glia::trial::setting>{{"x", x}});
    CHECK((i == 0 || trials[i - 1].score() <= trials[i].score()));
  }
  const auto largest = glia::random_search(30, {.maximize = true}, bowl);
  CHECK(largest.front().score() == trials.back().score());
  CHECK(largest.back().score() == trials.front().score());
}

TEST_CASE("the draws of a trial depend only on the seed, the number and the name") {
  const auto draws = [](std::uint64_t seed, std::size_t count, bool draws_more) {
    std::map<std::size_t, double> rates;
    (void)glia::random_search(count, {.seed = seed}, [&](glia::trial& t) {
      if (draws_more) {
        (void)t.uniform("other", 0, 1);
      }
      rates[t.number()] = t.log_uniform("rate", 1e-4, 1e-1);
      return 0.0;
    });
    return rates;
  };
  const auto rates = draws(1, 5, false);
  CHECK(draws(1, 5, true) == rates);
  CHECK(draws(2, 5, false) != rates);
  const auto more = draws(1, 8, false);
  CHECK(std::equal(rates.begin(), rates.end(), more.begin()));

  glia::trial first(1, 3);
  CHECK(first.uniform("a", 0, 1) != first.uniform("b", 0, 1));
  glia::trial copy = first;
  CHECK(copy.uniform("a", 0, 1) == first.uniform("a", 0, 1));
  CHECK(copy.settings() == first.settings());
  CHECK(copy.settings().size() == 2);
  CHECK(copy.seed() == first.seed());
  CHECK(glia::trial(1, 4).seed() != first.seed());
  CHECK(glia::trial(2, 3).seed() != first.seed());
}

TEST_CASE("draws of a trial have their distributions") {
  constexpr std::size_t count = 4000;
  double sum = 0;
  double log_sum = 0;
  std::map<int, double> choices;
  double smallest = 1;
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    glia::trial t(7, i);
    sum += t.uniform("u", 2, 4);
    const double rate = t.log_uniform("l", 1e-4, 1e-2);
    log_sum += std::log10(rate);
    smallest = std::min(smallest, rate);
    largest = std::max(largest, rate);
    ++choices[t.choice("c", {1, 2, 8})];
  }
  // The means of 4,000 numbers deviate by less than six standard errors.
  const double root = std::sqrt(static_cast<double>(count));
  CHECK(std::abs(sum / count - 3) < 6 * (2 / std::sqrt(12.0)) / root);
  CHECK(std::abs(log_sum / count + 3) < 6 * (2 / std::sqrt(12.0)) / root);
  CHECK(smallest >= 1e-4);
  CHECK(largest < 1e-2);
  REQUIRE(choices.size() == 3);
  for (const auto& [number, hits] : choices) {
    CHECK(std::abs(hits / count - 1.0 / 3) < 6 * std::sqrt(2.0 / 9) / root);
  }
}

TEST_CASE("a score that is not a number is the worst") {
  for (const bool maximize : {false, true}) {
    const auto trials = glia::random_search(4, {.maximize = maximize}, [](const glia::trial& t) {
      return t.number() % 2 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                 : static_cast<double>(t.number());
    });
    std::vector<std::size_t> numbers;
    for (const glia::trial& t : trials) {
      numbers.push_back(t.number());
    }
    CHECK(numbers ==
          (maximize ? std::vector<std::size_t>{3, 1, 0, 2} : std::vector<std::size_t>{1, 3, 0, 2}));
  }
}

TEST_CASE("trials are written with their score and their hyperparameters") {
  glia::trial t(1, 0);
  std::ostringstream out;
  out << t << '\n';
  CHECK(t.choice("units", {32}) == 32);
  CHECK(t.choice("rate", {0.5}) == 0.5);
  t.set_score(0.25);
  out << t;
  CHECK(out.str() == "0\n0.25: units 32, rate 0.5");
}

TEST_CASE("a search without trials and draws without a range are refused") {
  glia::trial t(1, 0);
  const auto refused_draw = [](const auto& call) { return message_of<glia::value_error>(call); };
  CHECK(refused_draw([] { (void)glia::random_search(0, {}, [](glia::trial&) { return 0.0; }); }) ==
        "random_search: expected at least 1 trial, got 0");
  CHECK(refused_draw([&] { (void)t.uniform("x", 1, 1); }) ==
        "trial: expected finite bounds with low < high for 'x', got 1 and 1");
  CHECK(refused_draw([&] { (void)t.uniform("x", 0, INFINITY); }) ==
        "trial: expected finite bounds with low < high for 'x', got 0 and inf");
  CHECK(refused_draw([&] { (void)t.log_uniform("x", 0, 1); }) ==
        "trial: expected finite, positive bounds with low < high for 'x', got 0 and 1");
  CHECK(refused_draw([&] { (void)t.choice("x", std::initializer_list<int>{}); }) ==
        "trial: expected at least one number for 'x', got none");
}
