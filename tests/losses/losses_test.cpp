#include <algorithm>
#include <array>
#include <cmath>
#include <glia/testing/gradient_check.hpp>

#include "../golden/keras_losses_golden.hpp"
#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using device_type = glia::reference<float>;

/// The losses of a batch of outputs (N, ..., K) against classes or values. The values of outputs
/// with more than two axes can be a class for each row.
template <class Loss>
std::vector<float> losses(const Loss& loss, const glia::shape& s, std::vector<float> y,
                          const std::vector<std::int32_t>& classes,
                          std::vector<float> values = {}) {
  const device_type device;
  glia::tape tape(device);
  glia::targets t;
  if (values.empty()) {
    t.labels = device.from_host(std::span<const std::int32_t>(classes), {classes.size()});
  } else {
    const bool rows = s.rank() > 2 && s.back() > 1 && values.size() * s.back() == s.size();
    t.values = test::tensor_of(device, rows ? glia::without_last_axis(s) : s, std::move(values));
  }
  const auto out = tape.constant(test::tensor_of(device, s, std::move(y)));
  return test::values_of(device, loss(out, t).value());
}

double near(const std::vector<float>& actual, const std::vector<double>& expected) {
  return test::distance(actual, expected);
}

}  // namespace

TEST_CASE("softmax cross-entropy of classes, one-hot rows, smoothing and weights") {
  const std::vector<float> y{1, 2, 3, 0, 0, 0};
  const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  const auto log_p = [&](double logit) { return logit - std::log(total); };
  const double uniform = std::log(3.0);
  CHECK(near(losses(glia::softmax_cross_entropy{}, {2, 3}, y, {2, 0}), {-log_p(3), uniform}) <
        tolerance::hand_computed);
  CHECK(near(losses(glia::softmax_cross_entropy{}, {2, 3}, y, {}, {0, 0, 1, 1, 0, 0}),
             {-log_p(3), uniform}) < tolerance::hand_computed);
  const double smooth = -(0.8 * log_p(3) + 0.1 * log_p(1) + 0.1 * log_p(2));
  const glia::softmax_cross_entropy smoothing{.label_smoothing = 0.3};
  CHECK(near(losses(smoothing, {2, 3}, y, {2, 0}), {smooth, uniform}) < tolerance::hand_computed);
  CHECK(near(losses(smoothing, {2, 3}, y, {}, {0, 0, 1, 1, 0, 0}), {smooth, uniform}) <
        tolerance::hand_computed);
  const glia::softmax_cross_entropy weighted{.class_weight = {2, 1, 0.5F}};
  CHECK(near(losses(weighted, {2, 3}, y, {2, 0}), {-0.5 * log_p(3), 2 * uniform}) <
        tolerance::hand_computed);
}

TEST_CASE("binary cross-entropy of values and of classes") {
  const auto loss = [](double y, double t) {
    const double p = 1 / (1 + std::exp(-y));
    return -t * std::log(p) - (1 - t) * std::log(1 - p);
  };
  const glia::sigmoid_cross_entropy bce;
  CHECK(near(losses(bce, {2, 1}, {0.5F, -2}, {1, 0}), {loss(0.5, 1), loss(-2, 0)}) <
        tolerance::hand_computed);
  CHECK(near(losses(bce, {1, 2}, {0.5F, -2}, {}, {0.25F, 1}),
             {(loss(0.5, 0.25) + loss(-2, 1)) / 2}) < tolerance::hand_computed);
  // Far out, where a naive formula gives infinity.
  CHECK(near(losses(bce, {2, 1}, {200, -200}, {0, 0}), {200, 0}) < tolerance::hand_computed);
}

TEST_CASE("binary cross-entropy weighs positive targets, classes and labels") {
  const auto positive = [](double y) { return std::log1p(std::exp(-y)); };  // -ln sigmoid(y)
  const auto negative = [](double y) { return std::log1p(std::exp(y)); };
  using loss = glia::sigmoid_cross_entropy;

  const std::vector<float> y{2, -1, 0.5F};
  CHECK(near(losses(loss{.positive_weight = {3}}, {3, 1}, y, {1, 0, 1}),
             {3 * positive(2), negative(-1), 3 * positive(0.5)}) < tolerance::hand_computed);
  CHECK(near(losses(loss{.class_weight = {0.5F, 4}}, {3, 1}, y, {1, 0, 1}),
             {4 * positive(2), 0.5 * negative(-1), 4 * positive(0.5)}) < tolerance::hand_computed);
  const loss both{.positive_weight = {3}, .class_weight = {0.5F, 4}};
  CHECK(near(losses(both, {3, 1}, y, {}, {0.25F, 0, 1}),
             {0.25 * 12 * positive(2) + 0.75 * 0.5 * negative(2), 0.5 * negative(-1),
              12 * positive(0.5)}) < tolerance::hand_computed);

  const std::vector<float> labels{1, 0, 1, 0, 1, 0};
  const std::vector<float> outputs{2, -1, 0.5F, 1, -3, 0};
  const loss several{.positive_weight = {1, 5, 2}, .class_weight = {1, 1, 0}};
  CHECK(near(losses(several, {2, 3}, outputs, {}, labels),
             {(positive(2) + negative(-1)) / 3, (negative(1) + 5 * positive(-3)) / 3}) <
        tolerance::hand_computed);
  // Outputs without an axis for classes are one output for each sample.
  CHECK(losses(both, {3}, y, {}, {0.25F, 0, 1}) == losses(both, {3, 1}, y, {}, {0.25F, 0, 1}));
  // A weight of 0 removes a target even if its loss is infinite.
  CHECK(losses(loss{.positive_weight = {0}}, {1, 1}, {-INFINITY}, {1}) == std::vector<float>{0});
}

TEST_CASE("focal losses are Keras's") {
  namespace golden = glia_golden;
  const std::vector<float> logits(golden::focal_logits.begin(), golden::focal_logits.end());
  const std::vector<float> labels(golden::focal_labels.begin(), golden::focal_labels.end());
  const std::vector<std::int32_t> classes(golden::focal_classes.begin(),
                                          golden::focal_classes.end());
  const std::vector<float> class_rows(classes.begin(), classes.end());
  const auto tolerance_of = [](const std::vector<double>& values) {
    return tolerance::hand_computed * *std::max_element(values.begin(), values.end());
  };
  std::size_t i = 0;
  for (const double gamma : {0.5, 2.0, 5.0}) {
    INFO("gamma " << gamma);
    const auto expected = [&](const auto& values) {
      return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(i),
                                 values.begin() + static_cast<std::ptrdiff_t>(i + 8));
    };
    const glia::softmax_cross_entropy softmax{.focal_gamma = gamma};
    const std::vector<double> softmax_losses = expected(golden::focal_softmax_losses);
    CHECK(near(losses(softmax, {8, 4}, logits, classes), softmax_losses) <
          tolerance_of(softmax_losses));
    // Two samples of four steps, a mean over the steps.
    std::vector<double> means{0, 0};
    for (std::size_t n = 0; n < 8; ++n) {
      means[n / 4] += softmax_losses[n] / 4;
    }
    CHECK(near(losses(softmax, {2, 4, 4}, logits, {}, class_rows), means) < tolerance_of(means));
    const glia::softmax_cross_entropy weighted{.class_weight = {3, 3, 3, 3}, .focal_gamma = gamma};
    for (double& loss : means) {
      loss *= 3;
    }
    CHECK(near(losses(weighted, {2, 4, 4}, logits, {}, class_rows), means) < tolerance_of(means));
    CHECK(
        near(losses(glia::sigmoid_cross_entropy{.focal_gamma = gamma}, {8, 4}, logits, {}, labels),
             expected(golden::focal_sigmoid_losses)) < tolerance::hand_computed);
    i += 8;
  }
  // Far out, where exp and a power of 0 have no derivative.
  CHECK(near(losses(glia::softmax_cross_entropy{.focal_gamma = 2}, {2, 2}, {300, -300, 300, -300},
                    {0, 1}),
             {0, 600}) < tolerance::hand_computed);
  CHECK(near(losses(glia::sigmoid_cross_entropy{.focal_gamma = 2}, {2, 1}, {300, 300}, {0, 1}),
             {300, 0}) < tolerance::hand_computed);
}

TEST_CASE("Dice losses of classes, distributions and masks") {
  using softmax = glia::softmax_dice;
  using sigmoid = glia::sigmoid_dice;
  // Probabilities (0.5, 0.5) and (0.75, 0.25) for two pixels.
  const glia::shape s{1, 1, 2, 2};
  const std::vector<float> y{0, 0, std::log(3.0F), 0};
  const double first = 2 * 0.5 / (1.25 + 1);
  const double second = 2 * 0.25 / (0.75 + 1);
  const softmax exact{.smooth = 1e-9};
  CHECK(near(losses(exact, s, y, {}, {0, 1}), {1 - (first + second) / 2}) <
        tolerance::hand_computed);
  CHECK(losses(exact, s, y, {}, {1, 0, 0, 1}) == losses(exact, s, y, {}, {0, 1}));
  CHECK(near(losses(softmax{.smooth = 1e-9, .class_weight = {1, 3}}, s, y, {}, {0, 1}),
             {1 - (first + 3 * second) / 4}) < tolerance::hand_computed);
  CHECK(near(losses(softmax{.smooth = 1}, s, y, {}, {0, 1}), {1 - (2 / 3.25 + 1.5 / 2.75) / 2}) <
        tolerance::hand_computed);
  // A pixel without a class counts in no sum.
  CHECK(near(losses(exact, s, y, {}, {-1, 1}), {1 - 0.5 / 1.25 / 2}) < tolerance::hand_computed);
  CHECK(losses(exact, s, y, {}, {-1, -1}) == std::vector<float>{0});

  const sigmoid mask{.smooth = 1e-9};
  const std::vector<float> logits{0, std::log(3.0F), -std::log(3.0F)};
  CHECK(near(losses(mask, {1, 3, 1}, logits, {}, {1, 1, 0}), {1 - 2.5 / 3.5}) <
        tolerance::hand_computed);
  CHECK(near(losses(mask, {1, 3, 1}, logits, {}, {0.5F, 0.5F, 0}), {1 - 1.25 / 2.5}) <
        tolerance::hand_computed);
  CHECK(near(losses(sigmoid{.smooth = 1}, {1, 3, 1}, logits, {}, {0, 0, 0}), {1 - 1 / 2.5}) <
        tolerance::hand_computed);
  CHECK(near(losses(sigmoid{.class_weight = {0, 2}}, {1, 2, 2}, {7, 40, 7, -40}, {}, {0, 1, 0, 0}),
             {0}) < tolerance::hand_computed);
  // Far out, where exp overflows.
  CHECK(near(losses(mask, {1, 2, 1}, {400, -400}, {}, {1, 0}), {0}) < tolerance::hand_computed);
}

TEST_CASE("Dice losses are Keras's, for each sample and class") {
  namespace golden = glia_golden;
  const glia::shape s{3, 4, 5, 3};
  const std::vector<float> logits(golden::dice_logits.begin(), golden::dice_logits.end());
  const auto check = [&](const auto& loss, const auto& targets, const auto& expected) {
    std::vector<double> means{0, 0, 0};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      means[i / 3] += expected[i] / 3;
    }
    INFO(loss.description());
    CHECK(near(losses(loss, s, logits, {}, {targets.begin(), targets.end()}), means) <
          tolerance::hand_computed);
  };
  check(glia::softmax_dice{.smooth = 1e-7}, golden::dice_classes, golden::softmax_dice_losses);
  check(glia::sigmoid_dice{.smooth = 1e-7}, golden::dice_masks, golden::sigmoid_dice_losses);
}

TEST_CASE("Dice losses have the right gradients") {
  const glia::cpu<double> device;
  const glia::testing::check_input y({2, 3, 2, 3}, 1U, 2);
  const auto error = [&](const auto& loss, const glia::testing::check_input& targets) {
    return glia::testing::loss_gradient_error(device, loss, y, targets);
  };
  const glia::testing::check_input classes({2, 3, 2}, {0, 1, 2, -1, 1, 1, 2, 2, 0, -1, 0, 2});
  CHECK(error(glia::softmax_dice{}, classes) < tolerance::gradient);
  CHECK(error(glia::softmax_dice{.smooth = 1, .class_weight = {0, 1, 2}}, classes) <
        tolerance::gradient);
  const glia::testing::check_input values({2, 3, 2, 3}, 2U, 0.5, 0.5);
  CHECK(error(glia::softmax_dice{}, values) < tolerance::gradient);
  CHECK(error(glia::sigmoid_dice{.class_weight = {1, 1, 3}}, values) < tolerance::gradient);
}

TEST_CASE("Dice losses say what does not fit") {
  using test::contains;
  using test::message_of;
  CHECK(message_of<glia::shape_error>([] {
          (void)losses(glia::softmax_dice{}, {1, 3}, {1, 2, 3}, {0});
        }) ==
        "softmax_dice: expected logits for each pixel, such as (N, H, W, K) with K of at least 2, "
        "got (N, 3); end the model in a convolution, such as conv2d{.filters = K, .kernel_size = "
        "1}");
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)losses(glia::softmax_dice{}, {1, 2, 1}, {1, 2}, {}, {0, 1});
                 }),
                 "with K of at least 2, got (N, 2, 1)"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)losses(glia::sigmoid_dice{}, {1, 2, 1}, {1, 2}, {1});
                 }),
                 "sigmoid_dice: expected targets for each pixel, got one class for each sample"));
  CHECK(
      contains(message_of<glia::shape_error>([] {
                 (void)losses(glia::softmax_dice{.class_weight = {1}}, {1, 1, 2}, {1, 2}, {}, {0});
               }),
               "softmax_dice: expected a class_weight with 2 weights, one for each class, got 1"));
  CHECK(message_of<glia::value_error>([] {
          (void)losses(glia::softmax_dice{.class_weight = {0, 0}}, {1, 1, 2}, {1, 2}, {}, {0});
        }) == "softmax_dice: expected a class_weight with a weight above 0, got 2 weights of 0");
  for (const double smooth : {0.0, -1.0, static_cast<double>(NAN)}) {
    CHECK(contains(message_of<glia::value_error>([&] {
                     (void)losses(glia::sigmoid_dice{.smooth = smooth}, {1, 1, 1}, {1}, {}, {1});
                   }),
                   "sigmoid_dice: expected a finite smooth above 0, got "));
  }
}

TEST_CASE("regression losses") {
  const std::vector<float> y{1, -2, 3, 0};
  const std::vector<float> t{0, 0, 3.5F, 0};
  CHECK(losses(glia::mean_squared_error{}, {2, 2}, y, {}, t) == std::vector<float>{2.5F, 0.125F});
  CHECK(losses(glia::mean_absolute_error{}, {2, 2}, y, {}, t) == std::vector<float>{1.5F, 0.25F});
  // Errors 1 (at the border), 2, 0.5 and 0.
  CHECK(losses(glia::huber{1}, {2, 2}, y, {}, t) == std::vector<float>{1.0F, 0.0625F});
}

TEST_CASE("hinge of signs and of classes") {
  CHECK(losses(glia::hinge{}, {1, 2}, {0.25F, 2}, {}, {1, -1}) ==
        std::vector<float>{(0.75F + 3) / 2});
  CHECK(losses(glia::hinge{}, {1, 3}, {0.5F, -2, 0}, {0}) ==
        std::vector<float>{(0.5F + 0 + 1) / 3});
}

TEST_CASE("losses have the right gradients") {
  const auto check = [](const auto& loss, const glia::shape& s, bool classes) {
    INFO(loss.description());
    const auto function = [&](const auto& inputs) {
      using B = std::decay_t<decltype(inputs[0].device())>;
      const B& device = inputs[0].device();
      glia::targets t;
      if (classes) {
        const std::vector<std::int32_t> labels{1, 0, 2};
        t.labels = device.from_host(std::span<const std::int32_t>(labels), {3});
      } else {
        t.values = test::tensor_of(device, s, {0.3F, 1, -1, 0.7F, 0, 1.9F, -0.4F, 0.2F, 1});
      }
      return loss(inputs[0], t);
    };
    CHECK(glia::testing::gradient_error(glia::cpu<double>(), function, {{s, 1U, 2}}) <
          tolerance::gradient);
  };
  check(glia::softmax_cross_entropy{}, {3, 3}, true);
  check(glia::softmax_cross_entropy{.label_smoothing = 0.2, .class_weight = {1, 2, 3}}, {3, 3},
        true);
  check(glia::softmax_cross_entropy{}, {3, 3}, false);
  check(glia::sigmoid_cross_entropy{}, {3, 3}, false);
  check(glia::softmax_cross_entropy{.class_weight = {1, 2, 3}, .focal_gamma = 2}, {3, 3}, true);
  check(glia::softmax_cross_entropy{.focal_gamma = 0.7}, {3, 3}, true);
  check(glia::sigmoid_cross_entropy{.positive_weight = {2}, .focal_gamma = 1.5}, {3, 3}, true);
  check(glia::sigmoid_cross_entropy{.positive_weight = {2}, .class_weight = {1, 2, 0.5F}}, {3, 3},
        true);
  check(glia::mean_squared_error{}, {3, 3}, false);
  check(glia::mean_absolute_error{}, {3, 3}, false);
  check(glia::huber{0.5}, {3, 3}, false);
  check(glia::hinge{}, {3, 3}, true);
}

TEST_CASE("losses say what does not fit") {
  using test::contains;
  using test::message_of;
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)losses(glia::mean_squared_error{}, {2, 2}, {1, 2, 3, 4}, {}, {1, 2, 3});
                 }),
                 "from_host: 3 values do not match"));
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)losses(glia::softmax_cross_entropy{}, {2, 1}, {1, 2}, {0, 1});
                 }),
                 "at least 2 classes"));
  CHECK(contains(
      message_of<glia::shape_error>([] {
        (void)losses(glia::softmax_cross_entropy{.class_weight = {1, 2}}, {1, 3}, {1, 2, 3}, {0});
      }),
      "expected a class_weight with 3 weights, one for each class, got 2"));
  CHECK(message_of<glia::shape_error>([] {
          (void)losses(glia::sigmoid_cross_entropy{.positive_weight = {1, 2}}, {1, 3}, {1, 2, 3},
                       {0});
        }) ==
        "sigmoid_cross_entropy: expected a positive_weight with 3 weights, one for each output, "
        "got 2");
  CHECK(message_of<glia::shape_error>([] {
          (void)losses(glia::sigmoid_cross_entropy{.class_weight = {1}}, {1, 1}, {1}, {0});
        }) ==
        "sigmoid_cross_entropy: expected a class_weight with 2 weights, one for each class, got 1");
  CHECK(contains(
      message_of<glia::value_error>([] {
        (void)losses(glia::softmax_cross_entropy{.label_smoothing = 1}, {1, 3}, {1, 2, 3}, {0});
      }),
      "label_smoothing in [0, 1)"));
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)losses(glia::huber{0}, {1, 1}, {1}, {}, {2});
                 }),
                 "expected a positive, finite delta"));
  for (const double gamma : {-1.0, static_cast<double>(NAN)}) {
    CHECK(contains(
        message_of<glia::value_error>([&] {
          (void)losses(glia::sigmoid_cross_entropy{.focal_gamma = gamma}, {1, 1}, {1}, {0});
        }),
        "sigmoid_cross_entropy: expected a finite focal_gamma of at least 0, got "));
  }
  CHECK(message_of<glia::value_error>([] {
          (void)losses(glia::softmax_cross_entropy{.focal_gamma = 2}, {1, 2}, {1, 2}, {},
                       {0.5F, 0.5F});
        }) ==
        "softmax_cross_entropy: a focal_gamma needs targets that are classes, and a "
        "label_smoothing of 0");
}

TEST_CASE("losses refuse hyper-parameters that are negative or not finite") {
  using test::contains;
  using test::message_of;
  for (const float weight : {-1.0F, NAN, INFINITY}) {
    CHECK(contains(message_of<glia::value_error>([&] {
                     (void)losses(glia::softmax_cross_entropy{.class_weight = {1, 2, weight}},
                                  {1, 3}, {1, 2, 3}, {0});
                   }),
                   "expected a class_weight with finite weights of at least 0, got "));
    CHECK(contains(
        message_of<glia::value_error>([&] {
          (void)losses(glia::sigmoid_cross_entropy{.positive_weight = {weight}}, {1, 1}, {1}, {0});
        }),
        "expected a positive_weight with finite weights of at least 0, got "));
    CHECK(contains(
        message_of<glia::value_error>([&] {
          (void)losses(glia::sigmoid_cross_entropy{.class_weight = {weight, 1}}, {1, 1}, {1}, {0});
        }),
        "expected a class_weight with finite weights of at least 0, got "));
  }
  CHECK_THROWS_AS(
      losses(glia::softmax_cross_entropy{.label_smoothing = NAN}, {1, 3}, {1, 2, 3}, {0}),
      glia::value_error);
  CHECK_THROWS_AS(losses(glia::huber{INFINITY}, {1, 1}, {1}, {}, {2}), glia::value_error);
}

TEST_CASE("targets take part in arithmetic as constants, on either side") {
  const glia::reference<double> device;
  glia::tape tape(device);
  const auto t = device.from_host(std::span<const double>(std::array{2.0, 8.0}), {2});
  const auto y = tape.leaf(device.from_host(std::span<const double>(std::array{4.0, 2.0}), {2}));
  const auto check = [&](const auto& actual, double first, double second) {
    std::array<double, 2> values{};
    device.to_host(actual.value(), std::span<double>(values));
    CHECK(values == std::array{first, second});
  };
  check(y + t, 6, 10);
  check(t + y, 6, 10);
  check(y - t, 2, -6);
  check(t - y, -2, 6);
  check(y * t, 8, 16);
  check(t * y, 8, 16);
  check(y / t, 2, 0.25);
  check(t / y, 0.5, 4);
}

TEST_CASE("the check of a loss's gradient finds one that is wrong") {
  const glia::reference<double> device;
  using glia::testing::loss_gradient_error;
  const std::array<std::int32_t, 3> classes{2, 0, 1};
  CHECK(loss_gradient_error(device, glia::softmax_cross_entropy{}, {{3, 3}, 1U},
                            std::span<const std::int32_t>(classes)) < 1e-8);
  CHECK(loss_gradient_error(device, glia::mean_squared_error{}, {{3, 2}, 1U}, {{3, 2}, 2U}) < 1e-8);
  // Half of the product is taken for a constant.
  const auto wrong = [](const auto& y, const auto& t) {
    const auto error = y - t.values;
    return glia::ops::mean_per_sample(error * error.value());
  };
  CHECK(loss_gradient_error(device, wrong, {{3, 2}, 1U}, {{3, 2}, 2U}) > 0.01);
}
