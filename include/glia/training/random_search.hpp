#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"

namespace glia {

/// A trial of a random search: draws the hyperparameters of one training.
///
/// A draw depends only on the seed of the search, the number of the trial and the name of the
/// hyperparameter. A copy of a trial draws the same values again, so the best trial can be trained
/// once more.
class trial {
 public:
  /// The name and the value of a hyperparameter.
  using setting = std::pair<std::string, double>;

  trial(std::uint64_t seed, std::size_t number) : seed_(seed), number_(number) {}

  /// Draws a number uniformly from [low, high). Throws `value_error` unless low < high and both are
  /// finite.
  double uniform(std::string_view name, double low, double high) {
    require<value_error>(std::isfinite(low) && low < high && std::isfinite(high),
                         "trial: expected finite bounds with low < high for '", name, "', got ",
                         low, " and ", high);
    const double share = stream_of(name).uniform();
    return note(name, below(high, (1 - share) * low + share * high));
  }
  /// Draws a number from [low, high) whose logarithm is uniformly distributed, such as a learning
  /// rate. Throws `value_error` unless 0 < low < high and both are finite.
  double log_uniform(std::string_view name, double low, double high) {
    require<value_error>(low > 0 && low < high && std::isfinite(high), "trial: expected finite, ",
                         "positive bounds with low < high for '", name, "', got ", low, " and ",
                         high);
    const double share = stream_of(name).uniform();
    return note(name, below(high, std::exp((1 - share) * std::log(low) + share * std::log(high))));
  }
  /// Draws one of several numbers, each with the same probability. Throws `value_error` if there
  /// are none.
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number> Number
  choice(std::string_view name, std::initializer_list<Number> numbers) {
    require<value_error>(numbers.size() > 0, "trial: expected at least one number for '", name,
                         "', got none");
    const Number drawn = numbers.begin()[stream_of(name).integer(numbers.size())];
    note(name, static_cast<double>(drawn));
    return drawn;
  }

  /// The number of the trial in its search, from 0.
  [[nodiscard]] std::size_t number() const { return number_; }
  /// A seed for the model or the trainer, different for each trial.
  [[nodiscard]] std::uint64_t seed() const {
    random_stream random = stream_of("");
    const std::uint64_t high = random.bits();
    return high << 32 | random.bits();
  }
  /// The result of the objective; 0 before the trial has run.
  [[nodiscard]] double score() const { return score_; }
  void set_score(double score) { score_ = score; }
  /// The hyperparameters drawn so far, in the order of the draws.
  [[nodiscard]] const std::vector<setting>& settings() const { return settings_; }

  /// Writes the score and the hyperparameters: "0.25: rate 0.01, units 32".
  friend std::ostream& operator<<(std::ostream& out, const trial& t) {
    out << t.score_;
    for (std::size_t i = 0; i < t.settings_.size(); ++i) {
      out << (i == 0 ? ": " : ", ") << t.settings_[i].first << ' ' << t.settings_[i].second;
    }
    return out;
  }

 private:
  /// The random numbers of a hyperparameter. FNV-1a distributes the names over the streams.
  [[nodiscard]] random_stream stream_of(std::string_view name) const {
    std::uint32_t hash = 0x811C9DC5;
    for (const char letter : name) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193;
    }
    return random_stream(
        {.seed = seed_, .stream = hash, .step = static_cast<std::uint32_t>(number_)});
  }
  /// Returns the value, or the next smaller number if rounding has made it equal to `high`.
  [[nodiscard]] static double below(double high, double value) {
    return value < high ? value : std::nextafter(high, -std::numeric_limits<double>::infinity());
  }
  double note(std::string_view name, double value) {
    const auto found = std::find_if(settings_.begin(), settings_.end(),
                                    [&](const setting& s) { return s.first == name; });
    if (found == settings_.end()) {
      settings_.emplace_back(name, value);
    } else {
      found->second = value;
    }
    return value;
  }

  std::uint64_t seed_;
  std::size_t number_;
  double score_ = 0;
  std::vector<setting> settings_;
};

/// The options of `random_search`.
struct random_search_options {
  std::uint64_t seed = 1;  ///< Seed of the draws; any value.
  bool maximize = false;   ///< Whether a larger score is better, as for accuracy.
};

/// Searches for good hyperparameters: calls `objective` for each trial and returns the trials, the
/// best first.
///
///     const auto trials = glia::random_search(20, {.seed = 1}, [&](glia::trial& t) {
///       glia::model net{glia::sequential{glia::dense{t.choice<std::size_t>("units", {16, 32, 64}),
///       glia::relu},
///                                        glia::dense{10}}, {784}};
///       glia::trainer trainer{net, glia::softmax_cross_entropy{},
///                             glia::adam{t.log_uniform("rate", 1e-4, 1e-1)}};
///       return trainer.fit(train, test, {.epochs = 5}).validation("loss").back();
///     });
///     std::cout << trials.front() << '\n';
///
/// The objective draws the hyperparameters from the trial and returns a score, such as a validation
/// loss. A smaller score is better, unless `maximize` is true. A NaN is the worst score. The draws
/// of a trial do not depend on the other trials: a search of 40 trials begins with the trials of a
/// search of 20.
///
/// Throws `value_error` if `count` is 0. An exception of the objective ends the search.
///
/// Source: Bergstra and Bengio, "Random search for hyper-parameter optimization", JMLR 2012.
template <class Objective>
requires std::invocable<Objective&, trial&>
[[nodiscard]] std::vector<trial> random_search(std::size_t count,
                                               const random_search_options& options,
                                               Objective objective) {
  require<value_error>(count > 0, "random_search: expected at least 1 trial, got 0");
  std::vector<trial> trials;
  for (std::size_t number = 0; number < count; ++number) {
    trial current(options.seed, number);
    const double score = objective(current);
    current.set_score(score);
    trials.push_back(std::move(current));
  }
  std::stable_sort(trials.begin(), trials.end(), [&](const trial& a, const trial& b) {
    const bool a_first = options.maximize ? a.score() > b.score() : a.score() < b.score();
    return std::isnan(b.score()) ? !std::isnan(a.score()) : a_first;
  });
  return trials;
}

}  // namespace glia
