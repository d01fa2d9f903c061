#include <glia/testing/gradient_check.hpp>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

namespace {

xt::xarray<float> normal_numbers(const glia::shape& s, std::uint64_t seed) {
  xt::xarray<float> values(xt::xarray<float>::shape_type(s.begin(), s.end()));
  glia::random_stream random({.seed = seed});
  for (float& value : values) {
    value = static_cast<float>(random.normal());
  }
  return values;
}

/// Two pictures that go through one tower, and a number; of them a class, a sum and a sequence.
const auto shared_tower = glia::shared{
    "tower", glia::sequential{glia::reshape{{6}}, glia::dense{8, glia::tanh}, glia::dense{4}}};
const auto several = glia::sequential{
    glia::inputs{glia::input{"left", {2, 3}, shared_tower},
                 glia::input{"right", {2, 3}, shared_tower}, glia::input{"number", {1}}},
    glia::dense{16, glia::relu},
    glia::outputs{glia::output{"side", glia::dense{3}}, glia::output{"sum", glia::dense{1}},
                  glia::output{"steps", glia::sequential{glia::dense{8}, glia::reshape{{4, 2}}}}}};

const auto several_losses =
    glia::output_losses{glia::output_loss{"sum", glia::mean_squared_error{}, 0.5},
                        glia::output_loss{"side", glia::softmax_cross_entropy{}},
                        glia::output_loss{"steps", glia::softmax_cross_entropy{}}};

constexpr std::size_t several_samples = 90;

struct several_arrays {
  xt::xarray<float> left = normal_numbers({several_samples, 2, 3}, 1);
  xt::xarray<float> right = normal_numbers({several_samples, 2, 3}, 2);
  xt::xarray<float> number = normal_numbers({several_samples, 1}, 3);
  xt::xarray<int> side = xt::zeros<int>({several_samples});
  xt::xarray<float> sum = xt::zeros<float>({several_samples, std::size_t{1}});
  xt::xarray<int> steps = xt::zeros<int>({several_samples, std::size_t{4}});

  several_arrays() {
    for (std::size_t n = 0; n < several_samples; ++n) {
      const float difference = left(n, 0, 0) - right(n, 0, 0);
      side(n) = difference < -0.5F ? 0 : difference > 0.5F ? 2 : 1;
      sum(n, 0) = left(n, 1, 1) + number(n, 0);
      for (std::size_t t = 0; t < 4; ++t) {
        steps(n, t) = t == 3 ? -1 : right(n, 1, t % 3) > 0 ? 1 : 0;
      }
    }
  }
  [[nodiscard]] glia::named_arrays data() const {
    return {{{"left", left}, {"right", right}, {"number", number}},
            {{"side", side}, {"sum", sum}, {"steps", steps}}};
  }
};

}  // namespace

TEST_CASE("a model of several inputs and outputs learns all of them") {
  const several_arrays arrays;
  const glia::named_arrays data = arrays.data();
  glia::model net{several};
  CHECK(net.sample_shape() == glia::shape{13});
  CHECK(glia::detail::parts_text(net.plan().inputs) == "left (2, 3), right (2, 3), number (1,)");
  CHECK(glia::detail::parts_text(net.plan().outputs) == "side (3,), sum (1,), steps (4, 2)");
  glia::trainer trainer{net, several_losses, glia::adam{.learning_rate = 0.01}};
  const std::vector<glia::metric> metrics{glia::for_output("side", glia::accuracy()),
                                          glia::for_output("sum", glia::mae()),
                                          glia::for_output("steps", glia::accuracy())};
  const glia::history h = trainer.fit(
      data, data, {.epochs = 150, .batch_size = 30, .metrics = metrics, .progress = nullptr});
  const glia::scores& last = h.epochs.back().training;
  CHECK(last["side_accuracy"] > 0.95);
  CHECK(last["sum_mae"] < 0.2);
  CHECK(last["steps_accuracy"] > 0.95);
  CHECK(h.epochs.back().validation->metric_names == last.metric_names);

  // What is predicted by name is what was measured.
  const glia::scores measured = glia::evaluate(net, data, several_losses, {.metrics = metrics});
  const auto y = glia::predict(
      net, {{"left", arrays.left}, {"right", arrays.right}, {"number", arrays.number}});
  REQUIRE(y.size() == 3);
  CHECK(y.at("steps").dimension() == 3);
  double right_sides = 0;
  double loss = 0;
  double right_steps = 0;
  for (std::size_t n = 0; n < several_samples; ++n) {
    const auto row = xt::view(y.at("side"), n);
    const auto truth = static_cast<std::size_t>(arrays.side(n));
    right_sides +=
        std::max_element(row.begin(), row.end()) == row.begin() + static_cast<std::ptrdiff_t>(truth)
            ? 1
            : 0;
    double exponentials = 0;
    for (const float value : row) {
      exponentials += std::exp(static_cast<double>(value));
    }
    loss += std::log(exponentials) - static_cast<double>(row(truth));
    const double error = static_cast<double>(y.at("sum")(n, 0) - arrays.sum(n, 0));
    loss += 0.5 * error * error;
    for (std::size_t t = 0; t < 3; ++t) {
      const auto a = static_cast<double>(y.at("steps")(n, t, 0));
      const auto b = static_cast<double>(y.at("steps")(n, t, 1));
      const bool is_positive = arrays.steps(n, t) == 1;
      right_steps += (b > a) == is_positive ? 1 : 0;
      loss += (std::log(std::exp(a) + std::exp(b)) - (is_positive ? b : a)) / 3;
    }
  }
  CHECK(measured.loss == Approx(loss / several_samples).epsilon(1e-5));
  CHECK(measured["side_accuracy"] == Approx(right_sides / several_samples));
  CHECK(measured["steps_accuracy"] == Approx(right_steps / several_samples / 3));
}

TEST_CASE("a shared layer has one set of parameters, and the gradients of all places") {
  glia::model net{several};
  std::vector<std::string> names;
  for (const auto& p : net.parameters()) {
    names.push_back(p.spec.name);
  }
  CHECK(names == std::vector<std::string>{"tower.dense_0.kernel", "tower.dense_0.bias",
                                          "tower.dense_1.kernel", "tower.dense_1.bias",
                                          "dense_0.kernel", "dense_0.bias", "side.kernel",
                                          "side.bias", "sum.kernel", "sum.bias",
                                          "steps.dense_0.kernel", "steps.dense_0.bias"});
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), several, {{3, 13}, 1U}) <
        tolerance::gradient);
  // Twice in a row, within another, with statistics of its own.
  const glia::shared inner{"inner", glia::dense{4, glia::tanh}};
  const glia::shared outer{"outer", glia::sequential{inner, glia::batch_norm{}, inner}};
  const glia::sequential nested{glia::dense{4}, outer, inner,
                                glia::parallel{glia::join::add{}, outer, glia::dense{4}}};
  glia::model nested_model{nested, {5}};
  CHECK(nested_model.parameters().size() == 2 + 2 + 4 + 2);
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), nested, {{6, 5}, 1U}) <
        tolerance::gradient);
  // In a frozen place it is trained all the same where it stands first.
  glia::model frozen{glia::sequential{glia::frozen{inner}, inner, glia::dense{2}}, {4}};
  CHECK_FALSE(frozen.parameters()[0].spec.trainable);
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model other{glia::sequential{glia::shared{"a", glia::dense{4}},
                                                      glia::shared{"a", glia::dense{5}}},
                                     {4}};
                 }),
                 "requests the parameter 'kernel' of shape (4, 5), but earlier 'a.kernel' of shape "
                 "(4, 4) was requested here"));
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model other{glia::sequential{glia::shared{"a", glia::dense{4}},
                                                      glia::shared{"a", glia::identity{}}},
                                     {4}};
                 }),
                 "the first shared layer 'a' has 2 parameters, this one has 0"));
}

TEST_CASE("models of several inputs train to the same bits on any threads, and go on exactly") {
  const glia::named_arrays data = several_arrays().data();
  const glia::fit_options options{
      .epochs = 4, .batch_size = 20, .metrics = std::vector<glia::metric>{}, .progress = nullptr};
  const auto trained = [&](const auto& device) {
    glia::model net{several, device};
    glia::trainer trainer{net, several_losses, glia::adam{.learning_rate = 0.01}};
    trainer.fit(data, options);
    return test::parameters_of(net);
  };
  const std::vector<float> expected = trained(glia::cpu<float>{{.threads = 1}});
  CHECK(expected == trained(glia::cpu<float>{{.threads = 2}}));
  CHECK(expected == trained(glia::cpu<float>{{.threads = 3}}));
  CHECK(test::distance(expected, trained(glia::reference<float>{})) < tolerance::golden);

  // Half of it, put aside and gone on with.
  glia::model net{several};
  glia::trainer trainer{net, several_losses, glia::adam{.learning_rate = 0.01}};
  glia::fit_options half = options;
  half.epochs = 2;
  trainer.fit(data, half);
  const glia::training_state state = trainer.state();
  glia::model resumed{several};
  glia::trainer other{resumed, several_losses, glia::adam{.learning_rate = 0.01}};
  other.restore(state);
  glia::fit_options rest = options;
  rest.resume = true;
  other.fit(data, rest);
  CHECK(test::parameters_of(resumed) == expected);
}

TEST_CASE("what does not fit several inputs and outputs is said by name") {
  const several_arrays arrays;
  glia::model net{several};
  const auto losses_throw = [&](const auto& losses) {
    return message_of<glia::value_error>([&] { glia::trainer trainer{net, losses, glia::sgd{}}; });
  };
  const glia::output_loss side{"side", glia::softmax_cross_entropy{}};
  CHECK(losses_throw(glia::output_losses{glia::output_loss{"age", glia::mean_squared_error{}}}) ==
        "output_losses: there is no tensor named 'age'; the names are: side (3,), sum (1,), steps "
        "(4, 2)");
  CHECK(losses_throw(glia::output_losses{side, side}) ==
        "output_losses: the output 'side' has 2 losses, expected one loss for each output");
  CHECK(contains(losses_throw(glia::output_losses{
                     glia::output_loss{"side", glia::softmax_cross_entropy{}, -1}}),
                 "expected a finite weight of at least 0 for the output 'side', got -1"));
  // An output that applies already what its loss does.
  glia::model softmax_model{glia::outputs{glia::output{"side", glia::dense{3, glia::softmax}}},
                            {4}};
  CHECK(contains(message_of<glia::value_error>([&] {
                   glia::trainer trainer{softmax_model, glia::output_losses{side}, glia::sgd{}};
                 }),
                 "the output 'side' ends in a softmax, but softmax_cross_entropy expects logits"));

  glia::trainer trainer{net, several_losses, glia::sgd{}};
  const auto fit_throws = [&](const glia::named_arrays& data,
                              const glia::metric_list& metrics = {}) {
    return message_of<glia::error>(
        [&] { trainer.fit(data, {.metrics = metrics, .progress = nullptr}); });
  };
  CHECK(fit_throws({{{"right", arrays.left}, {"left", arrays.right}, {"number", arrays.number}},
                    {{"side", arrays.side}, {"sum", arrays.sum}, {"steps", arrays.steps}}}) ==
        "fit: the model's inputs are left (2, 3), right (2, 3), number (1,), got right (2, 3), "
        "left (2, 3), number (1,); give them by these names, in this order");
  CHECK(contains(
      fit_throws({{{"left", arrays.left}, {"right", arrays.right}, {"number", arrays.number}},
                  {{"side", arrays.side}, {"sum", arrays.sum}}}),
      "fit: the model's targets are side (), sum (1,), steps (4,), got side (), sum (1,)"));
  several_arrays wrong;
  wrong.side(7) = 3;
  CHECK(contains(fit_throws(wrong.data()),
                 "the data contain class 3, but the model has outputs for classes 0 to 2"));
  wrong = {};
  wrong.steps(7, 1) = -2;
  CHECK(contains(
      fit_throws(wrong.data()),
      "the data contain class -2, but the model has outputs for classes 0 to 1 (-1 means no "
      "label)"));
  const auto checked = [&](const auto& loss, float target) {
    glia::model small{glia::sequential{glia::outputs{glia::output{"a", glia::dense{2}}}}, {2}};
    glia::trainer of_small{small, glia::output_losses{glia::output_loss{"a", loss, 1, false}},
                           glia::sgd{}};
    const glia::named_arrays data{{{"x", xt::xarray<float>(xt::zeros<float>({3, 2}))}},
                                  {{"a", xt::xarray<float>(xt::ones<float>({3, 2}) * target)}}};
    return message_of<glia::data_error>([&] { of_small.fit(data, {.progress = nullptr}); });
  };
  CHECK(contains(checked(glia::softmax_cross_entropy{}, 2), "got a row (2, ...)"));
  CHECK(checked(glia::softmax_cross_entropy{}, 0.5F).empty());
  CHECK(checked(glia::sigmoid_cross_entropy{}, 2) ==
        "sigmoid_cross_entropy: expected targets from 0 to 1, got 2");
  CHECK(checked(glia::sigmoid_cross_entropy{}, 1).empty());
  CHECK(contains(fit_throws(arrays.data(), {glia::accuracy()}),
                 "accuracy: the model has several outputs; name one of them, as in "
                 "glia::for_output(\"digit\", ...)"));
  CHECK(contains(fit_throws(arrays.data(), {glia::for_output("age", glia::mae())}),
                 "age_mae: there is no tensor named 'age'"));
  CHECK(contains(fit_throws(arrays.data(), {glia::for_output("sum", glia::accuracy())}),
                 "sum_accuracy: the metric needs one score for each class, but the output 'sum' is "
                 "one number"));
  CHECK(contains(fit_throws(arrays.data(), {glia::for_output("side", glia::top_k_accuracy(4))}),
                 "expected k from 1 to the 3 classes of the output 'side', got 4"));
  CHECK(
      contains(message_of<glia::value_error>([&] {
                 static_cast<void>(glia::predict(net, {{"left", arrays.left}}));
               }),
               "predict: the model's inputs are left (2, 3), right (2, 3), number (1,), got left"));

  CHECK(contains(message_of<glia::shape_error>([&] {
                   const glia::named_arrays data({{"a", arrays.left}, {"b", xt::ones<float>({3})}},
                                                 {{"side", arrays.side}});
                 }),
                 "named_arrays: inputs: expected 'b' of shape (90, ...), got (3,)"));
  CHECK(contains(message_of<glia::value_error>([&] {
                   const glia::named_arrays data({{"a", arrays.left}, {"a", arrays.left}},
                                                 {{"side", arrays.side}});
                 }),
                 "two arrays have the name 'a'"));
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model bad{glia::inputs{glia::input{"a", {2}}, glia::input{"a", {2}}}};
                 }),
                 "the model has two inputs named 'a'; give each its own name"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   glia::model bad{several, {12}};
                 }),
                 "expected rows (N, 13) that hold all inputs, got (N, 12); named_arrays makes"));
}

TEST_CASE("integers of one of several inputs are looked at") {
  glia::model net{glia::sequential{
      glia::inputs{glia::input{"number", {2}},
                   glia::input{"words",
                               {3},
                               glia::sequential{glia::embedding{.input_dim = 5, .output_dim = 2},
                                                glia::global_avg_pool1d{}}}},
      glia::dense{2}}};
  const xt::xarray<float> numbers{{-1, 0.5}};
  const xt::xarray<float> words{{1, 2, 4}};
  CHECK(glia::predict(net, {{"number", numbers}, {"words", words}}).at("output").size() == 2);
  const xt::xarray<float> wrong{{1, 2, 5}};
  CHECK(contains(message_of<glia::data_error>([&] {
                   static_cast<void>(glia::predict(net, {{"number", numbers}, {"words", wrong}}));
                 }),
                 "embedding(5, 2): sample 0 of the batch has the value 5 at index 4"));
}

TEST_CASE("classes of the steps of sequences are learnt, and those of none left out") {
  const glia::softmax_cross_entropy loss;
  const glia::reference<double> device;
  const std::vector<double> logits{1, 2, 0, 0, 3, -1, 0.5, 0.5, 2, 1, 0, 1};
  const std::vector<double> steps{1, -1, 0, -1, -1, -1};
  glia::tape tape(device);
  const auto y = tape.leaf(device.from_host(std::span<const double>(logits), {2, 3, 2}));
  const auto losses =
      loss(y, glia::targets{{}, device.from_host(std::span<const double>(steps), {2, 3})});
  std::vector<double> values(2);
  device.to_host(losses.value(), std::span<double>(values));
  const double first = std::log(std::exp(1) + std::exp(2)) - 2;
  const double third = std::log(std::exp(3) + std::exp(-1)) - 3;
  CHECK(values[0] == Approx((first + third) / 2));
  CHECK(values[1] == 0);
  CHECK(glia::testing::loss_gradient_error(glia::cpu<double>(), loss, {{2, 3, 2}, 1U},
                                           {{2, 3}, steps}) < tolerance::gradient);
  // Of the rows that have a class.
  const xt::xarray<float> x{{0, 1, 0, 0, 1, 1}, {1, 0, 1, 0, 0, 1}};
  const xt::xarray<float> classes{{1, 1, 0}, {0, -1, -1}};
  glia::model same{glia::reshape{{3, 2}}, {6}};
  const auto found =
      glia::evaluate(same, glia::target_arrays(x, classes), loss, {.metrics = {glia::accuracy()}});
  CHECK(found["accuracy"] == Approx((2.0 / 3 + 1) / 2));
  const std::vector<double> shares{0.2, 0.8, 1, 0, 0.5, 0.5, 0, 1, 0.3, 0.7, 1, 0};
  CHECK(glia::testing::loss_gradient_error(glia::cpu<double>(), loss, {{2, 3, 2}, 1U},
                                           {{2, 3, 2}, shares}) < tolerance::gradient);
}
