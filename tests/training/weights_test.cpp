// Weights of samples: in the loss, in gradients, in metrics, over ranks and after a resume.

#include <cmath>
#include <glia/backends/reference.hpp>
#include <glia/data/weighted_samples.hpp>
#include <limits>
#include <tuple>

#include "../distributed/thread_ranks.hpp"
#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::message_of;

namespace {

xt::xarray<float> column(const std::vector<float>& values) {
  xt::xarray<float> result = xt::zeros<float>({values.size(), std::size_t{1}});
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

/// Whole numbers from 0 to 3.
xt::xarray<float> whole_weights(std::size_t count) {
  xt::xarray<float> weights = xt::zeros<float>({count});
  for (std::size_t i = 0; i < count; ++i) {
    weights(i) = static_cast<float>((i * i + i / 3) % 4);
  }
  return weights;
}

/// Each sample as often as its weight says.
template <class D>
glia::subset<D> repeated(const D& data, const xt::xarray<float>& weights) {
  std::vector<std::uint32_t> samples;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    samples.insert(samples.end(), static_cast<std::size_t>(weights(i)),
                   static_cast<std::uint32_t>(i));
  }
  return {data, samples};
}

/// Points of two classes, with labels or with targets.
struct halves : test::quadrants {
  [[nodiscard]] static std::int32_t label(std::size_t i) { return quadrants::label(i) % 2; }
};

auto classifier() { return glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}; }

}  // namespace

TEST_CASE("a step multiplies the gradient of each sample by its weight") {
  // y = w x with w = 0.5; the loss of a sample is (w x - t)^2, its gradient 2 x (w x - t).
  const xt::xarray<float> x = column({1, 2, -1});
  const xt::xarray<float> t = column({3, 1, 2});
  const glia::target_arrays data(x, t);
  const glia::weighted_samples weighted(data, xt::xarray<float>{2, 0.5F, 0});
  const double gradient = (2 * 2 * 1 * (0.5 - 3) + 0.5 * 2 * 2 * (1.0 - 1)) / 3;
  const double loss = (2 * 2.5 * 2.5 + 0.5 * 0 + 0) / 3;
  const auto check = [&](const glia::device& device) {
    glia::model net{glia::dense{.units = 1, .use_bias = false}, {1}, device};
    net.set("dense_0.kernel", column({0.5F}));
    CHECK(glia::evaluate(net, weighted, glia::mean_squared_error{}).loss == Approx(loss));
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
    const glia::history h =
        trainer.fit(weighted, {.epochs = 1, .batch_size = 3, .progress = nullptr});
    CHECK(h.training("loss")[0] == Approx(loss));
    CHECK(net.get("dense_0.kernel")(0, 0) == Approx(0.5 - 0.1 * gradient));
  };
  check(glia::cpu<float>());
  check(glia::reference<float>());
}

TEST_CASE("a weighted metric is that of a data set that repeats the samples") {
  const halves data{{60}};
  const auto weights = whole_weights(60);
  const glia::weighted_samples weighted(data, weights);
  const auto copies = repeated(data, weights);
  const glia::metric_list metrics{glia::accuracy(), glia::precision(), glia::recall(),
                                  glia::f1_score(), glia::auc()};
  const glia::metric_list weighted_metrics{
      glia::weighted(glia::accuracy()), glia::weighted(glia::precision()),
      glia::weighted(glia::recall()), glia::weighted(glia::f1_score()),
      glia::weighted(glia::auc())};
  for (const auto& device :
       {glia::device(glia::cpu<float>()), glia::device(glia::reference<float>())}) {
    glia::model net{classifier(), {2}, device, {.seed = 8}};
    const glia::softmax_cross_entropy loss;
    const glia::scores expected =
        glia::evaluate(net, copies, loss, {.batch_size = 16, .metrics = metrics});
    const glia::scores actual =
        glia::evaluate(net, weighted, loss, {.batch_size = 16, .metrics = weighted_metrics});
    for (std::size_t i = 0; i < expected.metric_values.size(); ++i) {
      CHECK(actual.metric_names[i] == "weighted_" + expected.metric_names[i]);
      CHECK(actual.metric_values[i] == Approx(expected.metric_values[i]).epsilon(1e-12));
    }
    // The loss is a mean over the samples, not over the weights.
    CHECK(actual.loss == Approx(expected.loss * static_cast<double>(copies.size()) / 60));
    // Metrics that are not weighted do not change.
    CHECK(glia::evaluate(net, weighted, loss, {.metrics = metrics}).metric_values ==
          glia::evaluate(net, data, loss, {.metrics = metrics}).metric_values);
  }
}

TEST_CASE("weighted metrics of values, and of samples that are ignored") {
  const xt::xarray<float> x{{1, 0}, {0, 1}, {2, 1}, {1, 3}};
  const xt::xarray<float> t = column({1, 4, 2, -1});
  const xt::xarray<float> weights{3, 0, 1, 2};
  const glia::target_arrays data(x, t);
  const glia::weighted_samples weighted(data, weights);
  glia::model net{glia::dense{1}, {2}, glia::cpu<float>(), {.seed = 4}};
  const auto copies = repeated(data, weights);
  const glia::mean_squared_error loss;
  const auto expected =
      glia::evaluate(net, copies, loss, {.metrics = {glia::mae(), glia::r2_score()}});
  const auto actual =
      glia::evaluate(net, weighted, loss,
                     {.metrics = {glia::weighted(glia::mae()), glia::weighted(glia::r2_score())}});
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(actual.metric_values[i] == Approx(expected.metric_values[i]));
  }

  // Sequences of two steps with a class each; the second sample is ignored.
  const glia::target_arrays sequences(xt::reshape_view(x, {4, 2, 1}),
                                      xt::xarray<float>{{0, 1}, {-1, -1}, {2, -1}, {1, 1}});
  const glia::weighted_samples weighted_sequences(sequences, xt::xarray<float>{3, 5, 1, 2});
  const auto repeated_sequences = repeated(sequences, xt::xarray<float>{3, 5, 1, 2});
  glia::model steps{
      glia::time_distributed{glia::dense{3}}, {2, 1}, glia::cpu<float>(), {.seed = 2}};
  const glia::softmax_cross_entropy classes;
  CHECK(glia::evaluate(steps, weighted_sequences, classes,
                       {.metrics = {glia::weighted(glia::accuracy())}})
            .metric_values[0] ==
        Approx(glia::evaluate(steps, repeated_sequences, classes, {.metrics = {glia::accuracy()}})
                   .metric_values[0]));
}

TEST_CASE("a data set of your own can have weights, and parts of it keep them") {
  struct heavy : test::quadrants {
    [[nodiscard]] static float weight(std::size_t i) { return static_cast<float>(i % 3); }
  };
  static_assert(glia::weighted_dataset<heavy> && !glia::weighted_dataset<test::quadrants>);
  const heavy data{{30}};
  const auto [train, test] = glia::train_test_split(data, {.test_size = 0.3});
  static_assert(glia::weighted_dataset<std::decay_t<decltype(train)>>);
  for (std::size_t i = 0; i < test.size(); ++i) {
    CHECK(test.weight(i) == heavy::weight(test.samples()[i]));
  }
  glia::batch b;
  glia::dataset_view(data).gather(std::vector<std::uint32_t>{4, 3, 5}, b);
  CHECK(b.weights == std::vector<float>{1, 0, 2});
  glia::dataset_view(test::quadrants{30}).gather(std::vector<std::uint32_t>{4}, b);
  CHECK(b.weights.empty());
}

TEST_CASE("weights are the same in a training that is interrupted and resumed") {
  const halves data{{45}};
  const glia::weighted_samples weighted(data, whole_weights(45));
  const auto fit = [&](std::size_t interrupted_step) {
    glia::model net{classifier(), {2}, glia::cpu<float>(), {.seed = 5}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.05}};
    bool interrupted = false;
    const auto interrupts = [&](const glia::training& t) {
      interrupted = t.event == glia::event::train_batch_end && t.step == interrupted_step;
      return interrupted ? glia::interrupt_training("the test") : glia::keep_training();
    };
    glia::fit_options options{
        .epochs = 2,
        .batch_size = 10,
        .metrics = {glia::weighted(glia::accuracy()), glia::weighted(glia::auc())},
        .progress = nullptr,
        .callbacks = {interrupts}};
    glia::history h = trainer.fit(weighted, weighted, options);
    if (h.interrupted) {
      options.resume = true;
      h = trainer.fit(weighted, weighted, options);
    }
    return std::tuple{test::parameters_of(net), h.training("loss"), h.training("weighted_accuracy"),
                      h.training("weighted_auc"), h.validation("weighted_auc")};
  };
  const auto whole = fit(0);
  CHECK(fit(3) == whole);
  CHECK(fit(5) == whole);
  CHECK(fit(8) == whole);
}

TEST_CASE("ranks use the weights of their samples") {
  const halves data{{70}};
  const glia::weighted_samples weighted(data, whole_weights(70));
  const auto train = [&](const std::shared_ptr<glia::rank_group>& ranks) {
    glia::model net{classifier(), {2}, glia::cpu<float>({.threads = 1}), {.seed = 5}};
    const glia::distribution shared{.ranks = ranks, .options = {.reproducible = ranks != nullptr}};
    glia::trainer trainer{
        net, glia::softmax_cross_entropy{}, glia::adam{0.05}, {.distribution = shared}};
    const glia::history h = trainer.fit(
        weighted, weighted,
        {.epochs = 2,
         .batch_size = 20,
         .metrics = {glia::weighted(glia::accuracy()), glia::weighted(glia::f1_score())},
         .progress = nullptr});
    std::vector<double> results;
    for (const char* name : {"loss", "weighted_accuracy", "weighted_f1_score"}) {
      for (const auto& values : {h.training(name), h.validation(name)}) {
        results.insert(results.end(), values.begin(), values.end());
      }
    }
    return std::pair{test::parameters_of(net), results};
  };
  const auto alone = train(nullptr);
  std::vector<std::pair<std::vector<float>, std::vector<double>>> of_groups;
  for (const std::size_t count : {1U, 2U, 3U}) {
    test::thread_ranks group(count);
    std::vector<decltype(train(nullptr))> outcomes(count);
    group.run([&](glia::rank_group& member) {
      outcomes[member.rank()] =
          train(std::shared_ptr<glia::rank_group>(&member, [](glia::rank_group*) {}));
    });
    for (const auto& outcome : outcomes) {
      CHECK(outcome == outcomes[0]);
    }
    of_groups.push_back(outcomes[0]);
  }
  CHECK(of_groups[1] == of_groups[0]);
  CHECK(of_groups[2] == of_groups[0]);
  CHECK(test::distance(of_groups[0].first, alone.first) < 1e-4);
  for (std::size_t i = 0; i < alone.second.size(); ++i) {
    CHECK(of_groups[0].second[i] == Approx(alone.second[i]).epsilon(1e-4));
  }
}

TEST_CASE("weights that cannot be used are refused") {
  const test::quadrants data{3};
  CHECK(message_of<glia::shape_error>([&] {
          (void)glia::weighted_samples(data, xt::xarray<float>{1, 2});
        }) ==
        "weighted_samples: expected a weight for each sample, shape (3,), got weights of shape "
        "(2,)");
  for (const float weight : {-1.0F, std::numeric_limits<float>::infinity(), NAN}) {
    CHECK(test::contains(
        message_of<glia::data_error>([&] {
          (void)glia::weighted_samples(data, xt::xarray<float>{1, weight, 1});
        }),
        "weighted_samples: expected finite weights of at least 0, but sample 1 has the weight "));
  }
  struct negative : test::quadrants {
    [[nodiscard]] static float weight(std::size_t) { return -1; }
  };
  glia::batch b;
  CHECK(message_of<glia::data_error>(
            [&] { glia::dataset_view(negative{{3}}).gather(std::vector<std::uint32_t>{2}, b); }) ==
        "the data set: expected finite weights of at least 0, but sample 2 has the weight -1");

  auto net = glia::model{classifier(), {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
  glia::dataset_view(data).gather(std::vector<std::uint32_t>{0, 1, 2}, b);
  b.labels = {0, 1, 0};
  b.weights = {1, 2};
  CHECK(message_of<glia::value_error>([&] { trainer.step(b); }) ==
        "trainer: expected 3 weights for a batch of 3 samples, or no weights, got 2");
  b.weights = {1, 2, -1};
  CHECK(message_of<glia::data_error>([&] { trainer.step(b); }) ==
        "the batch: expected finite weights of at least 0, but sample 2 has the weight -1");
}

TEST_CASE("a weight of 0 removes a sample from a metric, even if its output is NaN") {
  const glia::target_arrays data(column({1, NAN, 3}), column({2, 2, 2}));
  const glia::weighted_samples weighted(data, xt::xarray<float>{1, 0, 3});
  const glia::labeled_arrays labeled(column({1, NAN, 3}), xt::xarray<int>{0, 1, 1});
  const glia::weighted_samples weighted_labels(labeled, xt::xarray<float>{1, 0, 3});
  const glia::model net{glia::identity{}, {1}};
  CHECK(glia::evaluate(net, weighted, glia::mean_squared_error{},
                       {.metrics = {glia::weighted(glia::mae())}})
            .metric_values[0] == 1);
  CHECK(glia::evaluate(net, weighted_labels, glia::sigmoid_cross_entropy{},
                       {.metrics = {glia::weighted(glia::auc())}})
            .metric_values[0] == 1);
}
