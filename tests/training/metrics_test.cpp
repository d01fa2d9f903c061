#include "catch.hpp"
#include "helpers.hpp"

namespace {

xt::xarray<float> column(std::vector<float> values) {
  const std::size_t count = values.size();
  return xt::adapt(values, std::vector<std::size_t>{count, 1});
}

const xt::xarray<float> five_inputs = column({1, 2, 3, 4, 5});
const xt::xarray<float> five_targets = column({2, 4, 5, 4, 5});

/// Gives 0.6 x + 2.2, the line of least squares through the targets.
auto fitted_line() {
  glia::model net{glia::dense{1}, {1}};
  net.set("dense_0.kernel", column({0.6F}));
  net.set("dense_0.bias", xt::xarray<float>(xt::ones<float>({1}) * 2.2F));
  return net;
}

const std::vector<glia::metric> errors{glia::mae(), glia::r_squared()};

}  // namespace

TEST_CASE("mean absolute error and coefficient of determination, by hand") {
  const auto net = fitted_line();
  for (const std::size_t batch : {1U, 2U, 5U}) {
    const glia::scores s =
        glia::evaluate(net, glia::valued_arrays{five_inputs, five_targets},
                       glia::mean_squared_error{}, {.batch_size = batch, .metrics = errors});
    // Outputs 2.8 3.4 4.0 4.6 5.2; errors 0.8 0.6 1.0 0.6 0.2, their squares 2.4 of 6.
    CHECK(s["mae"] == Approx(0.64).epsilon(1e-6));
    CHECK(s["r_squared"] == Approx(0.6).epsilon(1e-6));
    CHECK(s["loss"] == Approx(0.48).epsilon(1e-6));
  }
  CHECK(test::contains(test::message_of<glia::value_error>([] {
                         (void)glia::scores{1, {2}, {"mae"}}["mse"];
                       }),
                       "nothing is called 'mse'; there are: loss, mae"));
}

TEST_CASE(
    "targets that are all alike have no spread to explain, targets far from 0 have "
    "theirs") {
  const auto net = fitted_line();
  const auto r_squared = [&](const std::vector<float>& values) {
    const std::vector<float> x(values.size(), 1);
    return glia::evaluate(net, glia::valued_arrays{column(x), column(values)},
                          glia::mean_squared_error{}, {.metrics = errors})["r_squared"];
  };
  CHECK(std::isnan(r_squared(std::vector<float>(1000, 0.1F))));
  CHECK(std::isnan(r_squared(std::vector<float>(6000, 123.4F))));
  std::vector<float> far;
  for (int i = 0; i < 1000; ++i) {
    far.push_back(i % 2 == 0 ? 8388607.0F : 8388609.0F);
  }
  // The outputs are 2.8 each: 1 - (8388608 - 2.8)^2 - 1.
  CHECK(r_squared(far) == Approx(-std::pow(8388608.0 - 2.8, 2)).epsilon(1e-6));
}

TEST_CASE("a metric that throws leaves a whole step behind it") {
  auto net = fitted_line();
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{}};
  const glia::metric broken{
      .name = "broken", .add = [](auto, const auto&, auto) { throw std::runtime_error("broken"); }};
  CHECK_THROWS_AS(trainer.fit(glia::valued_arrays{five_inputs, five_targets},
                              {.metrics = std::vector{broken}, .progress = nullptr}),
                  std::runtime_error);
  CHECK(trainer.step_count() == 1);
  CHECK_THROWS_AS(
      trainer.fit(
          glia::valued_arrays{five_inputs, five_targets},
          {.metrics = std::vector{glia::metric{.name = "empty", .sums = 0, .add = broken.add}},
           .progress = nullptr}),
      glia::value_error);
}

TEST_CASE("a metric of one's own is a value, and stands in the history by its name") {
  // The largest error of all: what a sum cannot tell, the numbers that are kept can.
  const glia::metric worst{
      .name = "worst",
      .add = [](auto y, const glia::sample_target& t,
                auto sums) { sums[0] = std::max<double>(sums[0], std::abs(y[0] - t.values[0])); },
      .finish = [](auto sums, double) { return sums[0]; }};
  auto net = fitted_line();
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{.learning_rate = 0.0}};
  const glia::valued_arrays data{five_inputs, five_targets};
  std::ostringstream shown;
  const glia::history history = trainer.fit(data, data,
                                            {.epochs = 3,
                                             .batch_size = 2,
                                             .metrics = std::vector{worst, glia::mae()},
                                             .progress = &shown});
  CHECK(history.training("worst").size() == 3);
  CHECK(history.training("worst")[2] == Approx(1.0).epsilon(1e-6));
  CHECK(history.validation("mae")[1] == Approx(0.64).epsilon(1e-6));
  CHECK(history.training("loss")[0] == Approx(0.48).epsilon(1e-6));
  CHECK_THROWS_AS(history.training("accuracy"), glia::value_error);
  CHECK(test::contains(shown.str(), "worst 1.0000  mae 0.6400  validation loss 0.4800"));
}

TEST_CASE("metrics that look at outputs stand beside those that count classes") {
  glia::model net{glia::dense{4}, {2}};
  const test::quadrants data{50};
  const glia::metric sure{.name = "sure",
                          .add = [](auto y, const glia::sample_target& t, auto sums) {
                            sums[0] += y[static_cast<std::size_t>(t.label)];
                          }};
  const auto both =
      glia::evaluate(net, data, glia::softmax_cross_entropy{},
                     {.batch_size = 7, .metrics = std::vector{sure, glia::accuracy()}});
  const auto alone = glia::evaluate(net, data, glia::softmax_cross_entropy{});
  CHECK(both["accuracy"] == alone["accuracy"]);
  CHECK(both["loss"] == Approx(alone["loss"]).epsilon(1e-6));
  const auto y = glia::predict(net, data);
  double expected = 0;
  for (std::size_t n = 0; n < 50; ++n) {
    expected += y(n, static_cast<std::size_t>(data.label(n))) / 50;
  }
  CHECK(both["sure"] == Approx(expected).epsilon(1e-5));
  // Classes are values, too: of one output 0 or 1, of several one for each.
  const glia::sample_target third{.label = 2};
  CHECK(third.value(2, 4) == 1);
  CHECK(third.value(1, 4) == 0);
  CHECK(glia::sample_target{.label = 1}.value(0, 1) == 1);
}
