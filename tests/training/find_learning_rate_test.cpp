#include <cmath>
#include <glia/training/find_learning_rate.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

/// A network for the points of `quadrants`.
auto searched_model() {
  return glia::model{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{4}}, {2}};
}

/// The message of the error of a search with these options.
std::string refused_search(const glia::find_learning_rate_options& options,
                           const glia::schedule& rate = 0.1) {
  glia::model net = searched_model();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{rate}};
  return message_of<glia::value_error>(
      [&] { (void)glia::find_learning_rate(trainer, test::quadrants{40}, options); });
}

}  // namespace

TEST_CASE("a search for a learning rate takes steps with rates that grow exponentially") {
  glia::model net = searched_model();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.3}};
  const glia::learning_rate_curve curve = glia::find_learning_rate(
      trainer, test::quadrants{50},
      {.first_rate = 1e-4, .last_rate = 1e-2, .steps = 9, .batch_size = 20, .smoothing = 0.5});
  REQUIRE(curve.rates.size() == 9);
  REQUIRE(curve.losses.size() == 9);
  REQUIRE(curve.smoothed_losses.size() == 9);
  double average = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const double expected = 1e-4 * std::pow(10, static_cast<double>(i) / 4);
    CHECK(std::abs(curve.rates[i] / expected - 1) < 1e-12);
    average = 0.5 * average + 0.5 * curve.losses[i];
    CHECK(std::abs(curve.smoothed_losses[i] -
                   average / (1 - std::pow(0.5, static_cast<double>(i + 1)))) < 1e-12);
  }
}

TEST_CASE("a search for a learning rate takes the steps that a training with its rates takes") {
  const auto growing = [](std::size_t step) { return 0.01 * std::pow(2, step); };
  glia::model searched = searched_model();
  glia::model trained = searched_model();
  glia::trainer searching{searched, glia::softmax_cross_entropy{}, glia::sgd{0.5}};
  glia::trainer training{trained, glia::softmax_cross_entropy{}, glia::sgd{growing}};
  const auto curve = glia::find_learning_rate(
      searching, test::quadrants{50},
      {.first_rate = 0.01, .last_rate = 0.16, .steps = 5, .batch_size = 10});
  std::vector<double> losses;
  const auto record = glia::on_event(glia::event::train_batch_end, [&](const glia::training& t) {
    losses.push_back(t.step_loss());
  });
  (void)training.fit(test::quadrants{50},
                     {.batch_size = 10, .progress = nullptr, .callbacks = {record}});
  REQUIRE(losses.size() == 5);
  CHECK(test::distance(curve.losses, losses) < 1e-6);
}

TEST_CASE("after a search for a learning rate, a training goes on as if there had been none") {
  const test::quadrants data{50};
  const auto resumed = [&](bool searches) {
    glia::model net{
        glia::sequential{glia::dense{8}, glia::batch_norm{}, glia::dropout{0.2}, glia::dense{4}},
        {2}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{},
                          glia::adam{glia::cosine_decay(0.01, 500)}};
    glia::fit_options options{.epochs = 2, .batch_size = 10, .progress = nullptr};
    (void)trainer.fit(data, options);
    if (searches) {
      (void)glia::find_learning_rate(trainer, data);
    }
    options.epochs = 4;
    options.resume = true;
    (void)trainer.fit(data, options);
    glia::training_state state = trainer.state();
    state.seconds = 0;
    for (glia::epoch_record& e : state.history) {
      e.seconds = 0;
      e.samples_per_second = 0;
    }
    return state;
  };
  CHECK(resumed(true) == resumed(false));
}

TEST_CASE("a search for a learning rate restores the model when it fails") {
  glia::model net = searched_model();
  glia::trainer trainer{net, glia::softmax_cross_entropy{},
                        glia::sgd{[](std::size_t step) { return step < 5 ? 0.1 : 0.0; }}};
  const std::vector<float> before = test::parameters_of(net);
  CHECK(message_of<glia::value_error>(
            [&] { (void)glia::find_learning_rate(trainer, test::quadrants{50}); }) ==
        "find_learning_rate: expected an optimizer with a positive learning rate, got 0 in step "
        "6; give the trainer a constant learning rate for the search");
  CHECK(test::parameters_of(net) == before);
  CHECK(trainer.step_count() == 0);
}

TEST_CASE("a search for a learning rate ends when the loss diverges") {
  const xt::xarray<float> x{{1, 0}, {2, 1}, {3, 0}, {4, 1}};
  const glia::target_arrays data{x, 2.0F * x};
  glia::model net{glia::dense{2}, {2}};
  const auto search = [&](const glia::find_learning_rate_options& options) {
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
    return glia::find_learning_rate(trainer, data, options);
  };
  const auto curve = search({.first_rate = 1e-4, .last_rate = 1e4, .smoothing = 0.5});
  CHECK(curve.rates.size() < 100);
  double lowest = INFINITY;
  for (const double loss : curve.smoothed_losses) {
    lowest = std::min(lowest, loss);
  }
  CHECK(curve.smoothed_losses.back() > 4 * lowest);
  CHECK(curve.smoothed_losses[curve.smoothed_losses.size() - 2] <= 4 * lowest);
  CHECK(curve.suggestion() > 1e-3);
  CHECK(curve.suggestion() < 0.2);

  // A loss that is not finite is left out.
  const auto infinite =
      search({.first_rate = 1e-4, .last_rate = 1e30, .divergence_factor = INFINITY});
  CHECK(infinite.rates.size() < 100);
  for (const double loss : infinite.losses) {
    CHECK(std::isfinite(loss));
  }
}

TEST_CASE("the suggested learning rate is where the smoothed loss falls fastest") {
  glia::learning_rate_curve curve;
  for (const double loss : {9.0, 1.0, 4.0, 3.9, 3.6, 2.8, 2.4, 2.2, 2.3, 0.1}) {
    curve.rates.push_back(std::pow(10, static_cast<double>(curve.rates.size()) - 7));
    curve.smoothed_losses.push_back(loss);
  }
  CHECK(std::abs(curve.suggestion(2) / 1e-2 - 1) < 1e-12);  // from 3.6 to 2.4
  CHECK(std::abs(curve.suggestion(0) / 1e-6 - 1) < 1e-12);  // from 9 to 4
  CHECK(std::abs(curve.suggestion(6, 0) / 10 - 1) < 1e-12);
  CHECK(message_of<glia::value_error>([&] { (void)curve.suggestion(); }) ==
        "learning_rate_curve: expected a loss that falls, but it falls nowhere between the first "
        "10 and the last 1 of 10 steps; begin with a lower first_rate, take more steps, or check "
        "the data and the loss");
}

TEST_CASE("options of a search for a learning rate out of their range are refused") {
  CHECK(refused_search({.first_rate = 0}) ==
        "find_learning_rate: expected a positive first_rate and a finite last_rate above it, got "
        "0 and 10");
  CHECK(contains(refused_search({.first_rate = 1, .last_rate = 1}), "got 1 and 1"));
  CHECK(contains(refused_search({.last_rate = INFINITY}), "got 1e-07 and inf"));
  CHECK(contains(refused_search({.steps = 1}), "expected at least 2 steps, got 1"));
  CHECK(contains(refused_search({.smoothing = 1}), "expected a smoothing in [0, 1), got 1"));
  CHECK(contains(refused_search({.divergence_factor = 1}), "above 1, got 1"));
  CHECK(contains(refused_search({.batch_size = 0}), "batch size of at least 1"));
  CHECK(contains(refused_search({}, 0.0), "got 0 in step 0; give the trainer a constant"));
}
