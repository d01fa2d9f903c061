// Metrics of classes: equal to scikit-learn's, for labels, targets, rows and samples with several
// labels, with and without weights.

#include <cmath>
#include <glia/data/weighted_samples.hpp>
#include <glia/training/class_report.hpp>
#include <glia/training/confusion.hpp>
#include <xtensor/xview.hpp>

#include "../golden/sklearn_golden.hpp"
#include "catch.hpp"
#include "helpers.hpp"

namespace golden = glia_golden;
using test::message_of;

namespace {

const std::vector<glia::averaging> averages{glia::averaging::macro, glia::averaging::micro,
                                            glia::averaging::weighted};
constexpr std::size_t count = golden::classes.size();

/// The scores of all averages, in the order of the golden numbers.
std::vector<glia::metric> averaged_scores(glia::class_options options) {
  std::vector<glia::metric> result;
  for (const auto score : {glia::precision, glia::recall, glia::f1_score, glia::iou}) {
    for (const glia::averaging average : averages) {
      options.average = average;
      result.push_back(score(options));
    }
  }
  return result;
}

std::vector<glia::metric> scores_of_classes(std::size_t classes) {
  auto result = averaged_scores({.classes = classes});
  result.push_back(glia::balanced_accuracy(classes));
  result.push_back(glia::matthews_correlation(classes));
  return result;
}

const std::vector<glia::metric> binary_scores{glia::precision(), glia::recall(), glia::f1_score(),
                                              glia::iou()};

std::vector<glia::metric> weighted(std::vector<glia::metric> metrics) {
  for (glia::metric& m : metrics) {
    m = glia::weighted(m);
  }
  return metrics;
}

const xt::xarray<float>& sample_weights() {
  static const xt::xarray<float> weights = [] {
    xt::xarray<float> result = xt::zeros<float>({count});
    std::copy(golden::sample_weights.begin(), golden::sample_weights.end(), result.begin());
    return result;
  }();
  return weights;
}

/// Outputs of which the predicted class is the highest.
template <class Classes>
xt::xarray<float> outputs_for(const Classes& predictions, std::size_t classes) {
  xt::xarray<float> result = xt::zeros<float>({predictions.size(), classes});
  for (std::size_t n = 0; n < predictions.size(); ++n) {
    result(n, static_cast<std::size_t>(predictions[n])) = 1;
  }
  return result;
}

template <class T, std::size_t N>
xt::xarray<float> floats(const std::array<T, N>& values, std::vector<std::size_t> shape) {
  std::vector<float> result(values.begin(), values.end());
  return xt::adapt(result, shape);
}

/// Evaluates metrics for a model whose outputs are its inputs, in batches of three sizes.
template <class D, class Loss>
void require_values(const D& data, const Loss& loss, const std::vector<glia::metric>& metrics,
                    std::span<const double> expected) {
  const glia::model net{glia::identity{}, data.input_shape()};
  for (const std::size_t batch : {7U, 16U, 64U}) {
    const auto s = glia::evaluate(net, data, loss, {.batch_size = batch, .metrics = metrics});
    REQUIRE(s.metric_values.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(s.metric_names[i]);
      CHECK(s.metric_values[i] == Approx(expected[i]).epsilon(1e-12));
    }
  }
}

/// The same, without and with the weights of the samples.
template <class D, class Loss>
void require_values(const D& data, const Loss& loss, const std::vector<glia::metric>& metrics,
                    std::span<const double> expected, std::span<const double> expected_weighted) {
  require_values(data, loss, metrics, expected);
  const glia::weighted_samples with_weights(data, sample_weights());
  require_values(with_weights, loss, metrics, expected);
  require_values(with_weights, loss, weighted(metrics), expected_weighted);
}

const xt::xarray<int>& classes() {
  static const xt::xarray<int> result = xt::cast<int>(floats(golden::classes, {count}));
  return result;
}

}  // namespace

TEST_CASE("scores of many classes are scikit-learn's") {
  const auto outputs = outputs_for(golden::predictions, 5);
  require_values(glia::labeled_arrays(outputs, classes()), glia::softmax_cross_entropy{},
                 scores_of_classes(5), golden::class_scores, golden::weighted_class_scores);
  const glia::target_arrays one_hot(outputs, outputs_for(golden::classes, 5));
  require_values(one_hot, glia::softmax_cross_entropy{}, scores_of_classes(5), golden::class_scores,
                 golden::weighted_class_scores);

  const std::vector<std::int32_t> constant(count, 2);
  const glia::labeled_arrays of_one(outputs_for(constant, 5),
                                    xt::xarray<int>(xt::ones<int>({count}) * 2));
  require_values(of_one, glia::softmax_cross_entropy{}, scores_of_classes(5),
                 golden::scores_of_one_class);
}

TEST_CASE("rows of outputs with a class each count as samples, except rows of class -1") {
  // Twelve samples of six rows; the last row of each sample is ignored.
  const auto outputs = outputs_for(golden::predictions, 5);
  xt::xarray<float> rows = xt::zeros<float>({12, 6, 5});
  xt::xarray<float> targets = xt::zeros<float>({12, 6});
  targets -= 1;
  xt::view(rows, xt::all(), xt::range(0, 5)) = xt::reshape_view(outputs, {12, 5, 5});
  xt::view(targets, xt::all(), xt::range(0, 5)) = floats(golden::classes, {12, 5});
  require_values(glia::target_arrays(rows, targets), glia::softmax_cross_entropy{},
                 scores_of_classes(5), golden::class_scores);
}

TEST_CASE("scores of two classes are scikit-learn's, for one output and for two") {
  std::array<std::int32_t, count> predictions{};
  xt::xarray<int> labels = classes() % 2;
  for (std::size_t n = 0; n < count; ++n) {
    predictions[n] = golden::predictions[n] % 2;
  }
  const xt::xarray<float> single = floats(predictions, {count, 1});
  require_values(glia::labeled_arrays(outputs_for(predictions, 2), labels),
                 glia::softmax_cross_entropy{}, binary_scores, golden::binary_scores,
                 golden::weighted_binary_scores);
  require_values(glia::labeled_arrays(single, labels), glia::sigmoid_cross_entropy{}, binary_scores,
                 golden::binary_scores, golden::weighted_binary_scores);
  xt::xarray<float> targets = xt::cast<float>(labels);
  targets.reshape({count, 1});
  require_values(glia::target_arrays(single, targets), glia::sigmoid_cross_entropy{}, binary_scores,
                 golden::binary_scores, golden::weighted_binary_scores);
  // A mask with one output for each pixel.
  require_values(glia::target_arrays(xt::reshape_view(single, {15, 2, 2, 1}),
                                     xt::reshape_view(targets, {15, 2, 2, 1})),
                 glia::sigmoid_cross_entropy{}, binary_scores, golden::binary_scores);
}

TEST_CASE("scores of samples with several labels are scikit-learn's, and so is their report") {
  const auto outputs = floats(golden::predicted_of_three, {count, 3});
  const auto labels = floats(golden::labels_of_three, {count, 3});
  require_values(glia::target_arrays(outputs, labels), glia::sigmoid_cross_entropy{},
                 averaged_scores({.classes = 3, .multilabel = true}), golden::multilabel_scores,
                 golden::weighted_multilabel_scores);
  const auto counts = glia::label_counts(outputs, labels);
  CHECK(glia::average(counts, glia::averaging::macro, &glia::class_count::iou, true) ==
        Approx(golden::multilabel_scores[9]));
  CHECK(glia::average(counts, glia::averaging::macro, &glia::class_count::iou) ==
        Approx(golden::multilabel_scores[9] * 1.5));
  CHECK(message_of<glia::data_error>([&] { (void)glia::label_counts(outputs, labels / 2); }) ==
        "label_counts: expected targets of 0 and 1, but target 0 of sample 1 is 0.5");
  CHECK(message_of<glia::shape_error>([&] {
          (void)glia::label_counts(outputs, xt::zeros<float>({2, 3}));
        }) ==
        "label_counts: expected outputs and targets of the same shape (N, K), got (60, 3) and "
        "(2, 3)");
}

TEST_CASE("scores of one class, and at a threshold") {
  const auto outputs = floats(std::array{0.2F, 0.6F, 0.9F, 0.7F}, {4, 1});
  const glia::labeled_arrays data(outputs, xt::xarray<int>{0, 0, 1, 1});
  const std::vector<glia::metric> metrics{glia::precision({.class_index = 0}),
                                          glia::precision({.class_index = 1, .threshold = 0.65}),
                                          glia::recall({.class_index = 1, .threshold = 0.8})};
  const double expected[] = {0, 1, 0.5};
  require_values(data, glia::sigmoid_cross_entropy{}, metrics, expected);
  const std::string names[] = {"precision_0", "precision_at_0.65", "recall_at_0.8"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(metrics[i].name == names[i]);
  }
}

TEST_CASE("a confusion matrix has the counts of its classes, and a report names them") {
  const glia::confusion_matrix matrix(outputs_for(golden::predictions, 5), golden::classes);
  const auto counts = matrix.counts();
  std::size_t i = 0;
  for (const glia::class_score score : {&glia::class_count::precision, &glia::class_count::recall,
                                        &glia::class_count::f1_score, &glia::class_count::iou}) {
    for (const glia::averaging average : averages) {
      CHECK(glia::average(counts, average, score) == Approx(golden::class_scores[i++]));
    }
  }
  CHECK(glia::balanced_accuracy(counts) == Approx(golden::class_scores[12]));
  CHECK(glia::matthews_correlation(counts) == Approx(golden::class_scores[13]));
  CHECK(glia::average(std::vector<glia::class_count>(3), glia::averaging::macro,
                      &glia::class_count::recall) == 0);

  const std::vector<glia::class_count> two{{.true_positives = 3, .predictions = 4, .samples = 3},
                                           {.true_positives = 0, .predictions = 0, .samples = 1}};
  const std::vector<std::string> names{"cat", "dog"};
  CHECK(glia::class_report(two, names) ==
        R"(                  precision  recall  F1 score  samples
----------------  ---------  ------  --------  -------
cat                   0.750   1.000     0.857        3
dog                   0.000   0.000     0.000        1
micro average         0.750   0.750     0.750        4
macro average         0.375   0.500     0.429        4
weighted average      0.562   0.750     0.643        4
)");
  CHECK(message_of<glia::value_error>([&] { (void)glia::class_report(two, {}); }) ==
        "class_report: expected 2 names, got 0");
}

TEST_CASE("ranking and regression metrics are scikit-learn's") {
  const xt::xarray<int> labels = classes() % 2;
  require_values(glia::labeled_arrays(floats(golden::ranking_outputs, {count, 1}), labels),
                 glia::sigmoid_cross_entropy{}, {glia::auc(), glia::average_precision()},
                 golden::ranking_scores, golden::weighted_ranking_scores);
  require_values(glia::target_arrays(floats(golden::regression_outputs, {count, 1}),
                                     floats(golden::regression_targets, {count, 1})),
                 glia::mean_squared_error{},
                 {glia::mae(), glia::rmse(), glia::r2_score(), glia::mape()},
                 golden::regression_scores, golden::weighted_regression_scores);
  const glia::model net{glia::identity{}, {1}};
  const glia::labeled_arrays zeros(xt::ones<float>({4, 1}), xt::zeros<int>({4}));
  CHECK(glia::evaluate(net, zeros, glia::sigmoid_cross_entropy{},
                       {.metrics = {glia::average_precision()}})
            .metric_values[0] == 0);
}

TEST_CASE("outputs that are NaN predict no class") {
  const xt::xarray<float> outputs{{NAN, 1}, {0, 1}, {1, NAN}};
  const glia::labeled_arrays data(outputs, xt::xarray<int>{1, 1, 0});
  const double expected[] = {0.25, 4.0 / 9};
  require_values(
      data, glia::softmax_cross_entropy{},
      {glia::balanced_accuracy(), glia::f1_score({.average = glia::averaging::weighted})},
      expected);
}

TEST_CASE("metrics of classes refuse models and data that do not fit") {
  const auto refused = [](const glia::metric& m, std::size_t outputs, const auto& data,
                          const auto& loss) {
    const glia::model net{glia::identity{}, {outputs}};
    return message_of<glia::error>(
        [&] { (void)glia::evaluate(net, data, loss, {.metrics = {m}}); });
  };
  const xt::xarray<float> three = xt::ones<float>({4, 3});
  const glia::labeled_arrays labeled(three, xt::xarray<int>{0, 1, 2, 1});
  const glia::softmax_cross_entropy softmax;
  const glia::sigmoid_cross_entropy sigmoid;
  CHECK(refused(glia::f1_score(), 3, labeled, softmax) ==
        "f1_score: expected a model with one output or two outputs, for the classes 0 and 1, got "
        "outputs of shape (3,); for 3 classes, set the number of classes of the metric");
  CHECK(refused(glia::recall({.classes = 4}), 3, labeled, softmax) ==
        "recall_macro: expected a model with 4 outputs, got outputs of shape (3,); for 3 classes, "
        "set "
        "the number of classes of the metric");
  CHECK(refused(glia::iou({.classes = 3, .multilabel = true}), 3, labeled, softmax) ==
        "iou_macro: expected targets of 0 and 1 with the shape of the outputs, for example of "
        "glia::target_arrays");
  CHECK(refused(glia::iou({.classes = 3, .threshold = 0.5}), 3, labeled, softmax) ==
        "iou_macro_at_0.5: a threshold needs a model with one output, or .multilabel, got outputs "
        "of shape (3,), the highest of which is the predicted class");
  const glia::target_arrays halves(three, three / 2);
  CHECK(refused(glia::f1_score({.classes = 3, .multilabel = true}), 3, halves, sigmoid) ==
        "f1_score_macro: expected targets that are 0 or 1, got 0.5");
  const xt::xarray<float> single = xt::ones<float>({4, 1});
  CHECK(refused(glia::f1_score(), 1, glia::target_arrays(single, single * 2),
                glia::mean_squared_error{})
            .starts_with("f1_score: expected targets that are classes from 0 to 1, got 2"));
  CHECK(refused(glia::f1_score(), 2,
                glia::target_arrays(xt::ones<float>({4, 2}), xt::ones<float>({4, 2}) / 2), softmax)
            .starts_with("f1_score: expected samples with class labels, got real-valued targets of "
                         "shape (2,) for outputs of shape (2,)"));
  CHECK(
      refused(glia::f1_score({.classes = 3}), 3, glia::target_arrays(three, three), sigmoid)
          .starts_with("f1_score_macro: expected rows of targets of which one is 1 and the others "
                       "are 0; for samples with several labels, pass .multilabel = true"));
  CHECK(message_of<glia::value_error>([] { (void)glia::precision({.classes = 1}); }) ==
        "precision_macro: expected .classes of at least 2, got 1");
  CHECK(message_of<glia::value_error>([] { (void)glia::precision({.class_index = 2}); }) ==
        "precision_2: expected .class_index below the 2 classes, got 2");
  CHECK(message_of<glia::value_error>(
            [] { (void)glia::iou({.class_index = 0, .average = glia::averaging::micro}); }) ==
        "iou_0: .class_index measures one class, and .average measures all classes; remove one of "
        "the two");
  CHECK(message_of<glia::value_error>([] {
          // A loop of your own that does not ask whether the metric fits.
          const glia::cpu<float> device;
          glia::running_scores scores(device, {glia::precision()});
          scores.add_outputs(std::vector<float>{0, 0, 1}, {.size = 1,
                                                           .input_shape = {1, 1},
                                                           .inputs = {1},
                                                           .labels = {0},
                                                           .target_shape = {},
                                                           .targets = {}});
        }) == "precision: expected classes below 2, got 0 and the prediction 2");
}

TEST_CASE("metrics of classes for a named output") {
  const glia::model net{glia::outputs{glia::output{"side", glia::identity{}}}, {2}};
  const xt::xarray<float> x{{1, 0}, {0, 1}, {0, 1}};
  const auto s =
      glia::evaluate(net, glia::named_arrays({{"x", x}}, {{"side", xt::xarray<int>{0, 1, 0}}}),
                     glia::output_losses{glia::output_loss{"side", glia::softmax_cross_entropy{}}},
                     {.metrics = {glia::for_output("side", glia::f1_score()),
                                  glia::for_output("side", glia::balanced_accuracy())}});
  CHECK(s["side_f1_score"] == Approx(2.0 / 3));
  CHECK(s["side_balanced_accuracy"] == Approx(0.75));

  // One output is a probability, and the other one a logit.
  const glia::model two{glia::outputs{glia::output{"probability", glia::sigmoid},
                                      glia::output{"logit", glia::identity{}}},
                        {1}};
  const xt::xarray<float> targets = floats(std::array{0, 1, 1, 0}, {4, 1});
  const glia::named_arrays named({{"x", floats(std::array{-1.0F, 2.0F, -3.0F, 0.5F}, {4, 1})}},
                                 {{"probability", targets}, {"logit", targets}});
  const auto both = glia::evaluate(
      two, glia::weighted_samples(named, xt::xarray<float>{1, 2, 1, 0.5F}),
      glia::output_losses{glia::output_loss{"probability", glia::mean_squared_error{}},
                          glia::output_loss{"logit", glia::sigmoid_cross_entropy{}}},
      {.metrics = {glia::for_output("probability", glia::precision()),
                   glia::for_output("logit", glia::precision()),
                   glia::for_output("logit", glia::weighted(glia::precision())),
                   glia::weighted(glia::for_output("probability", glia::mae()))}});
  CHECK(both["probability_precision"] == Approx(0.5));
  CHECK(both["logit_precision"] == Approx(0.5));
  CHECK(both["logit_weighted_precision"] == Approx(0.8));
  const auto sigmoid = [](double y) { return 1 / (1 + std::exp(-y)); };
  CHECK(both["weighted_probability_mae"] ==
        Approx((sigmoid(-1) + 2 * sigmoid(-2) + sigmoid(3) + 0.5 * sigmoid(0.5)) / 4.5));
}
