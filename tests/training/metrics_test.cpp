#include <sstream>

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

const std::vector<glia::metric> errors{glia::mae(), glia::r2_score(), glia::rmse()};
const std::vector<glia::metric> binary{glia::precision(), glia::recall(), glia::f1_score(),
                                       glia::auc()};

/// Gives its inputs (N, outputs) as they are.
auto passing_on(std::size_t outputs) {
  glia::model net{glia::dense{outputs}, {outputs}};
  net.set("dense_0.kernel", xt::xarray<float>(xt::eye<float>(outputs)));
  return net;
}

/// Scores of two classes, many of them equal, and classes that go with them loosely.
struct scored_samples {
  std::vector<float> scores;
  std::vector<std::int32_t> classes;

  explicit scored_samples(std::size_t count) {
    glia::random_stream random({.seed = 8});
    for (std::size_t n = 0; n < count; ++n) {
      scores.push_back(static_cast<float>(random.integer(40)) / 8 - 2);
      classes.push_back(random.uniform() * 8 - 4 < scores.back() ? 1 : 0);
    }
  }
  [[nodiscard]] glia::labeled_arrays data() const {
    xt::xarray<std::int32_t> labels(xt::xarray<std::int32_t>::shape_type{classes.size()});
    std::copy(classes.begin(), classes.end(), labels.begin());
    return {column(scores), labels};
  }
};

}  // namespace

TEST_CASE("mean absolute error and coefficient of determination, by hand") {
  const auto net = fitted_line();
  for (const std::size_t batch : {1U, 2U, 5U}) {
    const glia::scores s =
        glia::evaluate(net, glia::target_arrays{five_inputs, five_targets},
                       glia::mean_squared_error{}, {.batch_size = batch, .metrics = errors});
    // Outputs 2.8 3.4 4.0 4.6 5.2; errors 0.8 0.6 1.0 0.6 0.2, their squares 2.4 of 6.
    CHECK(s["mae"] == Approx(0.64).epsilon(1e-6));
    CHECK(s["r2_score"] == Approx(0.6).epsilon(1e-6));
    CHECK(s["rmse"] == Approx(std::sqrt(0.48)).epsilon(1e-6));
    CHECK(s["loss"] == Approx(0.48).epsilon(1e-6));
  }
  CHECK(test::contains(test::message_of<glia::value_error>([] {
                         (void)glia::scores{1, {2}, {"mae"}}["mse"];
                       }),
                       "there is no score 'mse'; the scores are: loss, mae"));
}

TEST_CASE(
    "targets that are all alike have no spread to explain, targets far from 0 have "
    "theirs") {
  const auto net = fitted_line();
  const auto r2_score = [&](const std::vector<float>& values) {
    const std::vector<float> x(values.size(), 1);
    return glia::evaluate(net, glia::target_arrays{column(x), column(values)},
                          glia::mean_squared_error{}, {.metrics = errors})["r2_score"];
  };
  CHECK(std::isnan(r2_score(std::vector<float>(1000, 0.1F))));
  CHECK(std::isnan(r2_score(std::vector<float>(6000, 123.4F))));
  std::vector<float> far;
  for (int i = 0; i < 1000; ++i) {
    far.push_back(i % 2 == 0 ? 8388607.0F : 8388609.0F);
  }
  // The outputs are 2.8 each: 1 - (8388608 - 2.8)^2 - 1.
  CHECK(r2_score(far) == Approx(-std::pow(8388608.0 - 2.8, 2)).epsilon(1e-6));
}

TEST_CASE("a metric that throws leaves a whole step behind it") {
  auto net = fitted_line();
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{}};
  const glia::metric broken{.name = "broken", .update_state = [](auto, const auto&, auto) {
                              throw std::runtime_error("broken");
                            }};
  CHECK_THROWS_AS(trainer.fit(glia::target_arrays{five_inputs, five_targets},
                              {.metrics = std::vector{broken}, .progress = nullptr}),
                  std::runtime_error);
  CHECK(trainer.step_count() == 1);
  CHECK_THROWS_AS(
      trainer.fit(glia::target_arrays{five_inputs, five_targets},
                  {.metrics = std::vector{glia::metric{
                       .name = "empty", .state_size = 0, .update_state = broken.update_state}},
                   .progress = nullptr}),
      glia::value_error);
}

TEST_CASE("a metric of one's own is a value, and stands in the history by its name") {
  // The largest error of all: what a sum cannot tell, the numbers that are kept can.
  const glia::metric worst{.name = "worst",
                           .update_state =
                               [](auto y, const glia::sample_target& t, auto sums) {
                                 sums[0] = std::max<double>(sums[0], std::abs(y[0] - t.values[0]));
                               },
                           .result = [](auto sums, double) { return sums[0]; }};
  auto net = fitted_line();
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{.learning_rate = 0.0}};
  const glia::target_arrays data{five_inputs, five_targets};
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
  const glia::history alone = trainer.fit(data, {.epochs = 4, .progress = nullptr});
  CHECK(alone.validation("loss").empty());
  CHECK_THROWS_AS(alone.validation("accuracy"), glia::value_error);
  CHECK(test::contains(shown.str(), "worst 1.0000  mae 0.6400  validation loss 0.4800"));
}

TEST_CASE("metrics that look at outputs stand beside those that count classes") {
  glia::model net{glia::dense{4}, {2}};
  const test::quadrants data{50};
  const glia::metric sure{.name = "sure",
                          .update_state = [](auto y, const glia::sample_target& t, auto sums) {
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

TEST_CASE("metrics of two classes, by hand") {
  // Taken for class 1: 2, 1, 1 and 3, of which two are; of three that are there. Of the nine pairs,
  // 2 is above 1 and -1, 1 above -1 and as high as 1, -2 above none.
  const glia::labeled_arrays one_output(column({2, 1, 1, -1, -2, 3}),
                                        xt::xarray<float>{1, 1, 0, 0, 1, 0});
  for (const std::size_t batch : {1U, 4U, 6U}) {
    const glia::scores s = glia::evaluate(passing_on(1), one_output, glia::sigmoid_cross_entropy{},
                                          {.batch_size = batch, .metrics = binary});
    CHECK(s["precision"] == 0.5);
    CHECK(s["recall"] == Approx(2.0 / 3).epsilon(1e-12));
    CHECK(s["f1_score"] == Approx(4.0 / 7).epsilon(1e-12));
    CHECK(s["auc"] == Approx(3.5 / 9).epsilon(1e-12));
  }
  // The second output is the higher one in the first two rows; the differences are 1, 2, -1 and 0.
  const glia::labeled_arrays two_outputs(xt::xarray<float>{{9, 10}, {0, 2}, {9, 8}, {3, 3}},
                                         xt::xarray<float>{0, 1, 1, 0});
  const glia::scores s = glia::evaluate(passing_on(2), two_outputs, glia::softmax_cross_entropy{},
                                        {.metrics = binary});
  CHECK(s["precision"] == 0.5);
  CHECK(s["recall"] == 0.5);
  CHECK(s["f1_score"] == 0.5);
  CHECK(s["auc"] == 0.5);
}

TEST_CASE("a single output is class 1 above the border of its loss") {
  const glia::labeled_arrays data(column({0.4F, 0.6F, 0.5F}), xt::xarray<float>{1, 1, 0});
  const auto recall = [&](const auto& loss) {
    return glia::evaluate(passing_on(1), data, loss, {.metrics = binary})["recall"];
  };
  CHECK(recall(glia::mean_squared_error{}) == 0.5);
  CHECK(recall(glia::sigmoid_cross_entropy{}) == 1);
}

TEST_CASE("metrics of two classes where a class or a number is missing") {
  const auto scores = [](const std::vector<float>& x, const xt::xarray<float>& labels) {
    return glia::evaluate(passing_on(1), glia::labeled_arrays(column(x), labels),
                          glia::sigmoid_cross_entropy{}, {.metrics = binary});
  };
  const glia::scores none_taken = scores({-1, -2}, {1, 0});
  CHECK(none_taken["precision"] == 0);
  CHECK(none_taken["recall"] == 0);
  CHECK(none_taken["f1_score"] == 0);
  CHECK(none_taken["auc"] == 1);
  const glia::scores none_there = scores({1, -2}, {0, 0});
  CHECK(none_there["precision"] == 0);
  CHECK(none_there["recall"] == 0);
  CHECK(none_there["f1_score"] == 0);
  CHECK(std::isnan(none_there["auc"]));
  CHECK(scores({-1, -2}, {0, 0})["f1_score"] == 0);
  CHECK(std::isnan(scores({1, 2}, {1, 1})["auc"]));
  const glia::scores no_number = scores({NAN, 2}, {1, 0});
  CHECK(std::isnan(no_number["auc"]));
  CHECK(no_number["recall"] == 0);
}

TEST_CASE("the area under the curve is the share of pairs in the right order") {
  const scored_samples samples(500);
  double right = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    for (std::size_t j = 0; j < 500; ++j) {
      if (samples.classes[i] == 1 && samples.classes[j] == 0) {
        ++pairs;
        right += samples.scores[i] > samples.scores[j]    ? 1
                 : samples.scores[i] == samples.scores[j] ? 0.5
                                                          : 0;
      }
    }
  }
  CHECK(right / pairs > 0.6);
  CHECK(glia::evaluate(passing_on(1), samples.data(), glia::sigmoid_cross_entropy{},
                       {.batch_size = 37, .metrics = binary})["auc"] == right / pairs);
}

TEST_CASE("metrics that a model or its data cannot have are refused before a step") {
  const auto message = [](std::size_t outputs, const auto& data, const auto& loss,
                          const glia::metric& m) {
    auto net = passing_on(outputs);
    const std::string evaluating = test::message_of<glia::value_error>(
        [&] { (void)glia::evaluate(net, data, loss, {.metrics = std::vector{m}}); });
    glia::trainer trainer{net, loss, glia::sgd{}};
    CHECK(test::message_of<glia::value_error>([&] {
            trainer.fit(data, {.metrics = std::vector{m}, .progress = nullptr});
          }) == evaluating);
    CHECK(trainer.step_count() == (evaluating.empty() ? 1 : 0));
    return evaluating;
  };
  const glia::labeled_arrays three(xt::xarray<float>(xt::ones<float>({4, 3})),
                                   xt::xarray<float>{0, 1, 0, 1});
  const glia::target_arrays values(column({1, 2, 3, 4}), column({0, 1, 0, 1}));
  for (const glia::metric& m : {glia::auc(), glia::average_precision()}) {
    CHECK(message(3, three, glia::softmax_cross_entropy{}, m) ==
          m.name +
              ": expected a model with one output or two outputs, for the classes 0 and 1, got "
              "outputs of shape (3,)");
    CHECK(message(1, values, glia::sigmoid_cross_entropy{}, m) ==
          m.name +
              ": expected samples with class labels, got real-valued targets; if the targets are 0 "
              "and 1, pass them as labels, for example with glia::labeled_arrays");
  }
  CHECK(message(3, three, glia::softmax_cross_entropy{}, glia::top_k_accuracy(4)) ==
        "top_4_accuracy: expected k from 1 to the model's 3 outputs, got 4");
  CHECK(message(3, three, glia::softmax_cross_entropy{}, glia::top_k_accuracy(3)).empty());

  // What the validation data cannot have would only be found after an epoch.
  auto net = passing_on(1);
  const scored_samples samples(20);
  glia::trainer trainer{net, glia::sigmoid_cross_entropy{}, glia::sgd{}};
  const glia::fit_options options{.metrics = binary, .progress = nullptr};
  CHECK_THROWS_AS(trainer.fit(samples.data(), values, options), glia::value_error);
  CHECK(trainer.step_count() == 0);
  CHECK(trainer.fit(samples.data(), samples.data(), options).validation("auc").size() == 1);

  // A loop of one's own is told, too.
  using scores = glia::running_scores;
  scores sums(net.device(), binary);
  glia::batch batch;
  const std::vector<std::uint32_t> indices{0, 1, 2, 3};
  glia::dataset_view(values).gather(indices, batch);
  CHECK_THROWS_AS(trainer.step(batch, &sums), glia::value_error);
  CHECK(trainer.step_count() == 1);
}

TEST_CASE("numbers kept of each sample are those of all samples, in order") {
  const glia::metric last_two{.name = "last_two",
                              .state_size = 2,
                              .per_sample = true,
                              .update_state =
                                  [](auto y, const glia::sample_target& t, auto sums) {
                                    CHECK(sums.size() == 2);
                                    CHECK(sums[0] == 0);
                                    sums[0] += y[0];
                                    sums[1] += t.label;
                                  },
                              .result =
                                  [](auto sums, double samples) {
                                    CHECK(static_cast<double>(sums.size()) == 2 * samples);
                                    return 100 * sums[sums.size() - 2] +
                                           10 * sums[sums.size() - 4] + sums.back();
                                  }};
  const glia::labeled_arrays data(column({7, 8, 9}), xt::xarray<float>{0, 0, 1});
  for (const std::size_t batch : {1U, 2U, 3U}) {
    CHECK(glia::evaluate(passing_on(1), data, glia::sigmoid_cross_entropy{},
                         {.batch_size = batch, .metrics = std::vector{last_two}})["last_two"] ==
          981);
  }
  glia::metric unfinished = last_two;
  unfinished.result = {};
  CHECK(test::message_of<glia::value_error>([&] {
          (void)glia::evaluate(passing_on(1), data, glia::sigmoid_cross_entropy{},
                               {.metrics = std::vector{unfinished}});
        }) ==
        "last_two: a metric with .per_sample needs .result, a function that computes the metric "
        "from the numbers of all samples");
  glia::metric summed = last_two;
  summed.per_sample = false;
  CHECK(!(summed == last_two));
}

TEST_CASE("sums go on from where others stopped, to the same bits") {
  using backend = glia::cpu<float>;
  using scores = glia::running_scores;
  const backend device;
  constexpr std::size_t batches = 11;
  constexpr std::size_t size = 7;
  const scored_samples samples(batches * size);
  const std::vector<glia::metric> metrics{
      glia::mae(),      glia::accuracy(),        glia::auc(),
      glia::r2_score(), glia::top_k_accuracy(1), glia::f1_score()};
  const auto add = [&](scores& sums, std::size_t number) {
    glia::batch b;
    b.size = size;
    const auto first = static_cast<std::ptrdiff_t>(number * size);
    const std::vector<float> y(samples.scores.begin() + first,
                               samples.scores.begin() + first + size);
    b.labels.assign(samples.classes.begin() + first, samples.classes.begin() + first + size);
    std::vector<float> losses;
    for (const float value : y) {
      losses.push_back(std::exp(value));
    }
    sums.add(test::tensor_of(device, {size}, losses), test::tensor_of(device, {size, 1}, y),
             {device.from_host(std::span<const std::int32_t>(b.labels), {size}), {}}, b);
  };
  scores whole(device, metrics, 0.25);
  for (std::size_t n = 0; n < batches; ++n) {
    add(whole, n);
  }
  // Count, loss and two counting metrics; then mae, auc, r2_score and f1.
  CHECK(whole.sums_so_far().size() == 4 + 1 + 3 * batches * size + 4 + 6);
  for (std::size_t border = 0; border <= batches; ++border) {
    scores interrupted(device, metrics, 0.25);
    for (std::size_t n = 0; n < border; ++n) {
      add(interrupted, n);
    }
    scores resumed(device, metrics, 0.25);
    add(resumed, 3);  // is forgotten
    resumed.go_on_from(interrupted.sums_so_far());
    CHECK(resumed.sums_so_far() == interrupted.sums_so_far());
    for (std::size_t n = border; n < batches; ++n) {
      add(resumed, n);
    }
    CHECK(resumed.sums_so_far() == whole.sums_so_far());
    CHECK(resumed.means().loss == whole.means().loss);
    CHECK(resumed.means().metric_values == whole.means().metric_values);
  }

  const auto message = [&](std::vector<double> numbers) {
    return test::message_of<glia::value_error>([&] { whole.go_on_from(numbers); });
  };
  const std::vector<double> good = whole.sums_so_far();
  auto numbers = good;
  numbers.pop_back();
  CHECK(message(numbers) ==
        "running_scores: expected 246 values for 77 samples, got 245; the values belong to other "
        "metrics");
  numbers = good;
  numbers.push_back(0);
  CHECK_FALSE(message(numbers).empty());
  numbers = good;
  numbers[0] = 76;
  CHECK_FALSE(message(numbers).empty());
  for (const double count : {-1.0, 0.5, 1e300, static_cast<double>(NAN)}) {
    numbers[0] = count;
    CHECK(test::contains(message(numbers),
                         "running_scores: expected a number of samples as the first value, got "));
  }
  CHECK_FALSE(message({}).empty());
  CHECK(whole.sums_so_far() == good);
}

TEST_CASE("a loss gives one number for each sample, whatever else it could give") {
  const glia::target_arrays data(five_inputs, five_targets);
  const auto refused = [&](const auto& loss) {
    glia::model net = fitted_line();
    const std::string of_evaluate =
        test::message_of<glia::shape_error>([&] { (void)glia::evaluate(net, data, loss); });
    glia::trainer trainer{net, loss, glia::sgd{0.1}};
    CHECK(test::message_of<glia::shape_error>([&] { trainer.fit(data, {.progress = nullptr}); }) ==
          of_evaluate);
    return of_evaluate;
  };
  CHECK(refused([](const auto& y, const auto& t) {
          return glia::ops::mean(glia::ops::square(y - t.values));
        }) ==
        "the loss: expected one number for each sample, shape (5,), got shape (); "
        "ops::mean_per_sample computes the mean of each sample");
  CHECK(test::contains(refused([](const auto& y, const auto& t) { return y - t.values; }),
                       "(5,), got shape (5, 1)"));
}

TEST_CASE("errors of values are refused of logits, and of targets of another shape") {
  glia::model net = fitted_line();
  const xt::xarray<float> halves = five_targets / 10.0F;
  const auto refused = [&](const auto& data, const auto& loss) {
    return test::message_of<glia::value_error>(
        [&] { (void)glia::evaluate(net, data, loss, {.metrics = {glia::r2_score()}}); });
  };
  CHECK(test::contains(
      refused(glia::target_arrays(five_inputs, halves), glia::sigmoid_cross_entropy{}),
      "r2_score: the metric compares outputs with targets, but the outputs are logits, to which "
      "the loss applies sigmoid; remove the metric"));
  // Two targets for each sample: a loss of one's own may know what to do with them.
  const xt::xarray<float> pairs = xt::ones<float>({5, 2});
  const glia::target_arrays two(five_inputs, pairs);
  const auto first = [](const auto& y, const auto& t) {
    return glia::ops::mean_per_sample(glia::ops::square(
        y - glia::ops::slice(y.owner().constant(t.values), {.axis = 1, .begin = 0, .extent = 1})));
  };
  CHECK(glia::evaluate(net, two, first).loss ==
        Approx(xt::mean(xt::square(five_inputs * 0.6F + 1.2F))()).epsilon(1e-5));
  glia::trainer trainer{net, first, glia::sgd{0.01}};
  CHECK(trainer.fit(two, {.epochs = 2, .progress = nullptr}).epochs.size() == 2);
  CHECK(test::contains(refused(two, first),
                       "the outputs have shape (1,) and the targets have shape (2,)"));
  CHECK(test::message_of<glia::shape_error>(
            [&] { (void)glia::evaluate(net, two, glia::mean_squared_error{}); }) ==
        "evaluate: the model has outputs of shape (1,) for each sample, but the data set's targets "
        "have shape (2,); end the model with as many outputs as a sample has targets");
}

TEST_CASE("metrics are listed in braces, each name once") {
  glia::model net = fitted_line();
  const glia::target_arrays data(five_inputs, five_targets);
  const auto names = [&](glia::metric_list metrics) {
    return glia::evaluate(net, data, glia::mean_squared_error{}, {.metrics = std::move(metrics)})
        .metric_names;
  };
  CHECK(names({glia::mae(), glia::rmse()}) == std::vector<std::string>{"mae", "rmse"});
  CHECK(names({glia::mae()}) == std::vector<std::string>{"mae"});
  CHECK(names({}).empty());
  const auto error = [&](const std::vector<glia::metric>& metrics) {
    return test::message_of<glia::value_error>([&] { (void)names(metrics); });
  };
  CHECK(error({glia::mae(), glia::rmse(), glia::mae()}) ==
        "there are two scores with the name 'mae'; give each metric its own name, other than "
        "'loss'");
  CHECK(test::contains(error({{.name = "loss", .update_state = glia::mae().update_state}}),
                       "there are two scores with the name 'loss'"));
}
