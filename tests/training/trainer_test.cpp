#include <algorithm>
#include <csignal>
#include <glia/training/progress.hpp>
#include <sstream>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

auto dropping_network() {
  return glia::sequential{glia::dense{16, glia::relu}, glia::dropout{0.1}, glia::dense{4}};
}

struct line {
  [[nodiscard]] static std::size_t size() { return 64; }
  [[nodiscard]] static glia::shape input_shape() { return {1}; }
  static void input(std::size_t i, std::span<float> x) { x[0] = static_cast<float>(i) / 32 - 1; }
  [[nodiscard]] static glia::shape target_shape() { return {1}; }
  static void target(std::size_t i, std::span<float> t) {
    t[0] = 3 * (static_cast<float>(i) / 32 - 1) + 0.5F;
  }
};

}  // namespace

TEST_CASE("a trainer fits a classification") {
  glia::model net{dropping_network(), {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.01}};
  const auto history = trainer.fit(test::quadrants{400}, test::quadrants{100},
                                   {.epochs = 30, .batch_size = 32, .progress = nullptr});
  REQUIRE(history.epochs.size() == 30);
  CHECK(trainer.step_count() == 30 * 13);  // the last batch is short
  CHECK(history.epochs.front().training.loss > history.epochs.back().training.loss);
  CHECK(history.epochs.back().validation->metric_values.at(0) > 0.93);
  CHECK(history.metrics == std::vector{glia::accuracy()});
}

TEST_CASE("a trainer fits a regression, and has no accuracy to report") {
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.3}};
  const auto history = trainer.fit(line{}, {.epochs = 40, .batch_size = 16, .progress = nullptr});
  CHECK(history.metrics.empty());
  CHECK(history.epochs.back().training.loss < 1e-6);
  CHECK(std::abs(net.get("dense_0.kernel")(0, 0) - 3) < 1e-3);
}

TEST_CASE("one seed gives bit-identical weights for 1, 2 and 3 threads") {
  const auto train = [](std::size_t threads, std::uint64_t seed) {
    // Wide enough for products to be cut into blocks, sparse enough for both kinds of product.
    glia::model net{
        glia::sequential{
            glia::dense{160, glia::relu}, glia::dropout{0.3}, glia::dense{200, glia::relu},
            glia::batch_norm{}, glia::reshape{{10, 10, 2}},
            glia::conv2d{
                .filters = 6, .kernel_size = 3, .padding = glia::same, .activation = glia::relu},
            glia::max_pool2d{}, glia::flatten{}, glia::dense{4}},
        {2},
        glia::cpu<float>({.threads = threads}),
        {.seed = seed}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}, {.seed = seed}};
    trainer.fit(test::quadrants{500}, {.epochs = 2, .batch_size = 120, .progress = nullptr});
    return test::parameters_of(net);
  };
  const auto single = train(1, 5);
  CHECK(single == train(2, 5));
  CHECK(single == train(3, 5));
  CHECK(single != train(1, 6));
}

TEST_CASE("evaluate averages over all samples, the last short batch included") {
  glia::model net{glia::dense{4}, {2}};
  const test::quadrants data{50};
  const auto whole = glia::evaluate(net, data, glia::softmax_cross_entropy{}, {.batch_size = 50});
  const auto parts =
      glia::evaluate(net, data, glia::softmax_cross_entropy{},
                     {.batch_size = 7, .metrics = std::vector{glia::top_k_accuracy(2)}});
  CHECK(std::abs(whole.loss - parts.loss) < 1e-5);
  const auto scores =
      glia::evaluate(net, data, glia::softmax_cross_entropy{},
                     {.metrics = std::vector{glia::top_k_accuracy(4), glia::accuracy()}});
  CHECK(scores.metric_values.at(0) == 1.0);
  CHECK(scores.metric_values.at(1) <= parts.metric_values.at(0));
  CHECK_THROWS_AS(glia::top_k_accuracy(0), glia::value_error);
}

TEST_CASE("accuracy of a single output goes by its sign, of one-hot targets by their class") {
  const glia::cpu<float> device;
  using scores = glia::running_scores;
  scores single(device, {glia::accuracy()});
  const std::vector<std::int32_t> labels{1, 0, 1};
  single.add(device.run(kernels::full{{3}, 0}), test::tensor_of(device, {3, 1}, {0.5F, -0.5F, -2}),
             {device.from_host(std::span<const std::int32_t>(labels), {3}), {}});
  CHECK(std::abs(single.means().metric_values.at(0) - 2.0 / 3) < 1e-6);
  scores no_number(device, {glia::accuracy()});
  no_number.add(device.run(kernels::full{{3}, 0}), test::tensor_of(device, {3, 1}, {NAN, NAN, 2}),
                {device.from_host(std::span<const std::int32_t>(labels), {3}), {}});
  CHECK(std::abs(no_number.means().metric_values.at(0) - 1.0 / 3) < 1e-6);
  scores one_hot(device, {glia::accuracy()});
  one_hot.add(device.run(kernels::full{{2}, 0}), test::tensor_of(device, {2, 2}, {1, 2, 4, 3}),
              {{}, test::tensor_of(device, {2, 2}, {0, 1, 0, 1})});
  CHECK(one_hot.means().metric_values.at(0) == 0.5);
}

TEST_CASE("without a terminal, fit prints one plain line per epoch") {
  glia::model net{dropping_network(), {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  std::ostringstream out;
  trainer.fit(test::quadrants{40}, test::quadrants{10},
              {.epochs = 2, .batch_size = 10, .progress = &out});
  const std::string lines = out.str();
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  CHECK(lines.find('\r') == std::string::npos);
  CHECK(contains(lines, "epoch 1/2  "));
  CHECK(contains(lines, " samples/s  loss "));
  CHECK(contains(lines, "validation accuracy "));
}

TEST_CASE("on a terminal, the bar shows how far it is") {
  std::ostringstream out;
  glia::progress bar(out, true, 12);
  bar.start_epoch(3, 200);
  bar.update(100, [] { return 0.25; });
  CHECK(contains(out.str(), "epoch  3/12 [#####"));
  CHECK(contains(out.str(), ".....] 100/200"));
  CHECK(contains(out.str(), "loss 0.2500  ETA 0:0"));
  // On one line of 80 columns, after the four characters that clear it.
  const std::size_t drawn = out.str().size();
  CHECK(drawn <= 79 + 4);
  bar.update(101, [] { return 0.25; });
  CHECK(out.str().size() == drawn);  // not before a tenth of a second is over
}

TEST_CASE("Ctrl-C stops after the step in progress and keeps the history") {
  glia::model net{dropping_network(), {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  std::ostringstream out;
  const auto ctrl_c = [](const glia::training& t) {
    if (t.event == glia::event::train_batch_end && t.step == 21) {
      std::raise(SIGINT);
    }
  };
  const auto history =
      trainer.fit(test::quadrants{100},
                  {.epochs = 50, .batch_size = 10, .progress = &out, .callbacks = {ctrl_c}});
  CHECK(history.interrupted);
  REQUIRE(history.epochs.size() == 3);
  CHECK(trainer.step_count() == 21);
  CHECK_FALSE(history.epochs.back().validation);
  CHECK(contains(out.str(), "interrupted; stopped after step 21"));
}

TEST_CASE("fit says what does not fit") {
  glia::model net{dropping_network(), {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  const glia::fit_options quiet{.progress = nullptr};
  CHECK(message_of<glia::data_error>([&] { trainer.fit(test::quadrants{0}, quiet); }) ==
        "fit: the data set is empty");
  CHECK(message_of<glia::shape_error>([&] { trainer.fit(line{}, quiet); }) ==
        "fit: the model takes samples of shape (2,), but the data set has samples of shape (1,)");
  const glia::labeled_arrays strange(xt::zeros<float>({1, 2}), xt::xarray<std::int32_t>{7});
  CHECK(message_of<glia::data_error>([&] { trainer.fit(strange, quiet); }) ==
        "the data contain class 7, but the model has outputs for classes 0 to 3; end the model "
        "with more units, or correct the labels, which count from 0; for real-valued targets, use "
        "target_arrays");
  glia::model images{glia::sequential{glia::flatten{}, glia::dense{2}}, {4, 5, 3}};
  glia::trainer of_images{images, glia::softmax_cross_entropy{}, glia::adam{}};
  const glia::labeled_arrays channels_first(xt::zeros<float>({1, 3, 4, 5}),
                                            xt::xarray<std::int32_t>{0});
  CHECK(message_of<glia::shape_error>([&] { of_images.fit(channels_first, quiet); }) ==
        "fit: the model takes samples of shape (4, 5, 3), but the data set has samples of shape "
        "(3, 4, 5); transpose the samples, because images have their channels last");
  CHECK_THROWS_AS(trainer.fit(test::quadrants{5}, {.batch_size = 0, .progress = nullptr}),
                  glia::value_error);
  glia::model wide{glia::dense{2}, {1}};
  glia::trainer regression{wide, glia::mean_squared_error{}, glia::sgd{}};
  CHECK(contains(message_of<glia::shape_error>([&] { regression.fit(line{}, quiet); }),
                 "the model has outputs of shape (2,) for each sample, but the data set's targets "
                 "have shape (1,)"));
}

TEST_CASE("a user's own loss is a function of ops") {
  glia::model net{glia::dense{1}, {1}};
  const auto loss = [](const auto& y, const auto& t) {
    return glia::ops::mean_per_sample(
        glia::ops::square(glia::ops::square(y - y.owner().constant(t.values))));
  };
  glia::trainer trainer{net, loss, glia::adam{0.05}};
  const auto history = trainer.fit(line{}, {.epochs = 150, .batch_size = 16, .progress = nullptr});
  CHECK(history.epochs.back().training.loss < 1e-3);
}

TEST_CASE("a model that ends in a softmax or sigmoid is refused by losses that apply one") {
  const auto message = [](const auto& layers, const auto& loss) {
    return message_of<glia::value_error>([&] {
      glia::model net{layers, {2}};
      glia::trainer trainer{net, loss, glia::sgd{}};
    });
  };
  const glia::softmax_cross_entropy softmax_loss;
  const glia::sigmoid_cross_entropy sigmoid_loss;
  const glia::sequential to_probabilities{glia::dense{8, glia::relu},
                                          glia::dense{3, glia::softmax}};
  CHECK(message(to_probabilities, softmax_loss) ==
        "sequential[1] dense(3, softmax): the model ends in a softmax, but softmax_cross_entropy "
        "takes logits and applies a softmax itself; end the model without it, as with dense{3}, "
        "and get probabilities with glia::softmax(net.predict(x))");
  CHECK(
      message(glia::sequential{glia::dense{1}, glia::sigmoid}, sigmoid_loss) ==
      "sequential[1] sigmoid: the model ends in a sigmoid, but sigmoid_cross_entropy takes logits "
      "and applies a sigmoid itself; end the model without it, as with dense{1}, and get "
      "probabilities with glia::sigmoid(net.predict(x))");
  CHECK(contains(message(glia::dense{3, glia::sigmoid}, softmax_loss), "ends in a sigmoid"));
  CHECK(contains(message(to_probabilities, sigmoid_loss), "ends in a softmax"));

  glia::model net{to_probabilities, {2}};
  CHECK(contains(message_of<glia::value_error>(
                     [&] { (void)glia::evaluate(net, test::quadrants{10}, softmax_loss); }),
                 "the model ends in a softmax"));

  // Others take what the model gives.
  CHECK(message(glia::dense{3}, softmax_loss).empty());
  CHECK(message(glia::dense{3, glia::relu}, softmax_loss).empty());
  CHECK(message(to_probabilities, glia::mean_squared_error{}).empty());
  const auto user_loss = [](const auto& y, const auto&) { return glia::ops::mean_per_sample(y); };
  CHECK(message(to_probabilities, user_loss).empty());
}

namespace {

/// A point for each row of targets.
struct valued {
  std::vector<std::vector<float>> rows;

  [[nodiscard]] std::size_t size() const { return rows.size(); }
  [[nodiscard]] static glia::shape input_shape() { return {1}; }
  static void input(std::size_t i, std::span<float> x) { x[0] = static_cast<float>(i); }
  [[nodiscard]] glia::shape target_shape() const { return {rows[0].size()}; }
  void target(std::size_t i, std::span<float> t) const { std::ranges::copy(rows[i], t.begin()); }
};

/// The accuracy of a model x -> (slope x + offset, 0, ...).
template <class Loss, class Data>
double accuracy_of(const Data& data, const Loss& loss, std::size_t outputs, float slope,
                   float offset, const glia::activation& last = glia::linear) {
  glia::model net{glia::dense{outputs, last}, {1}};
  xt::xarray<float> kernel = xt::zeros<float>({std::size_t{1}, outputs});
  xt::xarray<float> bias = xt::zeros<float>({outputs});
  kernel(0, 0) = slope;
  bias(0) = offset;
  net.set("dense_0.kernel", kernel);
  net.set("dense_0.bias", bias);
  return glia::evaluate(net, data, loss, {.metrics = std::vector{glia::accuracy()}})
      .metric_values.at(0);
}

}  // namespace

TEST_CASE("metrics that count classes refuse targets that are none") {
  const auto refused = [](const valued& data, const auto& loss) {
    return message_of<glia::data_error>(
        [&] { (void)accuracy_of(data, loss, data.rows[0].size(), 1, 0); });
  };
  CHECK(refused({{{0}, {1}, {2.5F}}}, glia::mean_squared_error{}) ==
        "accuracy: the metric needs classes, but the data set has real-valued targets, such as "
        "(2.5); remove the metric, or use another one, such as glia::mae()");
  CHECK(contains(refused({{{0.2F, 3}, {1, 2}}}, glia::huber{}), "such as (0.2, ...)"));
  CHECK_FALSE(refused({{{0.3F}}}, glia::mean_squared_error{}).empty());
  CHECK_FALSE(refused({{{-1}, {1}}}, glia::mean_squared_error{}).empty());  // halfway is not 1/2
  CHECK(refused({{{-1}, {1}}}, glia::hinge{}).empty());
  CHECK_FALSE(refused({{{1, 1, 0}}}, glia::sigmoid_cross_entropy{}).empty());  // several at once
  CHECK(refused({{{0.3F}, {1}, {0}}}, glia::sigmoid_cross_entropy{}).empty());
  CHECK(refused({{{0.1F, 0.9F}, {1, 0}}}, glia::softmax_cross_entropy{}).empty());
  CHECK(refused({{{0, 1}, {1, 0}}}, glia::mean_squared_error{}).empty());
  CHECK(refused({{{-1, 1, -1}}}, glia::hinge{}).empty());
  const glia::model pixels{glia::conv2d{.filters = 3, .kernel_size = 1}, {2, 2, 1}};
  xt::xarray<float> rows = xt::zeros<float>({1, 2, 2, 3});
  for (std::size_t i = 0; i < rows.size(); i += 3) {
    rows.flat(i) = 1;
  }
  CHECK(contains(message_of<glia::data_error>([&] {
                   (void)glia::evaluate(
                       pixels, glia::target_arrays(xt::ones<float>({1, 2, 2, 1}), rows),
                       glia::softmax_cross_entropy{}, {.metrics = std::vector{glia::accuracy()}});
                 }),
                 "for a class for each step or pixel, use class indices of shape (N, 2, 2)"));

  // Training asks the same; without metrics any targets will do.
  glia::model net{glia::dense{1}, {1}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{1e-3}};
  CHECK_THROWS_AS(
      trainer.fit(line{}, {.metrics = std::vector{glia::accuracy()}, .progress = nullptr}),
      glia::data_error);
  CHECK(trainer.step_count() == 0);
  trainer.fit(line{}, {.progress = nullptr});
}

TEST_CASE("a single output stands for class 1 above 0 as a logit, above 1/2 as a value") {
  // Samples 0 to 3, of class 1 from 2 on.
  const valued binary{{{0}, {0}, {1}, {1}}};
  const valued signs{{{-1}, {-1}, {1}, {1}}};
  const valued soft{{{0.1F}, {0.4F}, {0.6F}, {0.9F}}};
  CHECK(accuracy_of(binary, glia::sigmoid_cross_entropy{}, 1, 1, -1.5F) == 1);
  CHECK(accuracy_of(soft, glia::sigmoid_cross_entropy{}, 1, 1, -1.5F) == 1);
  CHECK(accuracy_of(signs, glia::hinge{}, 1, 1, -1.5F) == 1);
  // Outputs 0.2, 0.4, 0.6, 0.8: what a regression to 0 and 1 comes to.
  CHECK(accuracy_of(binary, glia::mean_squared_error{}, 1, 0.2F, 0.2F) == 1);
  CHECK(accuracy_of(binary, glia::mean_squared_error{}, 1, 1, -1.5F, glia::sigmoid) == 1);
  const auto user_loss = [](const auto& y, const auto&) { return glia::ops::mean_per_sample(y); };
  CHECK(accuracy_of(binary, user_loss, 1, 1, -1.5F, glia::sigmoid) == 1);
  CHECK(accuracy_of(binary, user_loss, 1, 1, -1.5F) == 1);
}

TEST_CASE("metrics ask for no more classes than there are") {
  glia::model net{glia::dense{4}, {2}};
  const auto message = [&](const glia::metric& m) {
    return message_of<glia::value_error>([&] {
      (void)glia::evaluate(net, test::quadrants{10}, glia::softmax_cross_entropy{},
                           {.metrics = std::vector{m}});
    });
  };
  CHECK(message(glia::top_k_accuracy(5)) ==
        "top_5_accuracy: expected k from 1 to the model's 4 outputs, got 5");
  CHECK(message({.name = "none", .k = 0}) ==
        "none: expected the metric to have .update_state, a function that adds to its sums, or .k "
        "of at least 1, the number of highest scores in which a class counts");
  CHECK(message(glia::top_k_accuracy(4)).empty());
}

TEST_CASE("scores are summed in double") {
  const glia::reference<float> single;
  glia::running_scores sums(single, {});
  const auto add = [&](double loss) {
    sums.add(single.run(kernels::full{{1}, loss}), single.run(kernels::full{{1, 1}, 0}), {});
  };
  add(0x1p24);
  for (int i = 0; i < 1000; ++i) {
    add(1);
  }
  CHECK(sums.loss() == (0x1p24 + 1000) / 1001);
  CHECK(sums.means().loss == sums.loss());
  sums.reset();
  CHECK(sums.loss() == 0);

  const glia::reference<double> exact;
  glia::running_scores digits(exact, {});
  digits.add(exact.run(kernels::full{{1}, 0.1}), exact.run(kernels::full{{1, 1}, 0}), {});
  CHECK(digits.loss() == 0.1);
}

TEST_CASE("targets that a loss does not take are refused") {
  const auto message = [](const valued& data, const auto& loss) {
    return message_of<glia::data_error>([&] {
      glia::model net{glia::dense{data.rows[0].size()}, {1}};
      glia::trainer trainer{net, loss, glia::sgd{}};
      trainer.fit(data, {.progress = nullptr});
    });
  };
  CHECK(message({{{0}, {1}, {2}}}, glia::sigmoid_cross_entropy{}) ==
        "sigmoid_cross_entropy: expected targets from 0 to 1, got 2");
  CHECK_FALSE(message({{{1, -1}}}, glia::sigmoid_cross_entropy{}).empty());
  CHECK_FALSE(message({{{NAN}}}, glia::sigmoid_cross_entropy{}).empty());
  CHECK(message({{{1}, {0}}}, glia::hinge{}) == "hinge: expected targets -1 and 1, got 0");
  CHECK(message({{{0}, {0.5F}, {1}}}, glia::sigmoid_cross_entropy{}).empty());
  CHECK(message({{{-1}, {1}}}, glia::hinge{}).empty());
  CHECK(message({{{7}}}, glia::mean_squared_error{}).empty());
  const std::string softmax =
      "softmax_cross_entropy: expected each target to be a probability distribution over the "
      "classes, with values of at least 0 that sum to 1, got a row ";
  const std::string advice =
      "; pass class labels with labeled_arrays, or use another loss for real-valued targets, such "
      "as mean_squared_error";
  CHECK(message({{{0, 1}, {2, 1}}}, glia::softmax_cross_entropy{}) ==
        softmax + "(2, ...) with the sum 3" + advice);
  CHECK(message({{{1.5F, -0.5F}}}, glia::softmax_cross_entropy{}) ==
        softmax + "(1.5, ...) that contains -0.5" + advice);
  CHECK_FALSE(message({{{0, 0}}}, glia::softmax_cross_entropy{}).empty());
  CHECK_FALSE(message({{{NAN, 1}}}, glia::softmax_cross_entropy{}).empty());
  CHECK(message({{{0.3333F, 0.3333F, 0.3333F}}}, glia::softmax_cross_entropy{}).empty());
  glia::model net{glia::dense{1}, {1}};
  CHECK_THROWS_AS(glia::evaluate(net, valued{{{2}}}, glia::sigmoid_cross_entropy{}),
                  glia::data_error);
}

TEST_CASE("a trainer notices that its model has become another") {
  const glia::fit_options quiet{.progress = nullptr};
  const auto message = [&](const auto& change) {
    glia::model net{glia::dense{3}, {2}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
    const glia::labeled_arrays data(xt::ones<float>({4, 2}), {0, 1, 2, 0});
    trainer.fit(data, quiet);
    change(net);
    return message_of<glia::value_error>([&] { trainer.fit(data, quiet); });
  };
  CHECK(contains(message([](auto& net) {
                   net = glia::model{glia::dense{4}, {2}};
                 }),
                 "make a new trainer after assigning or moving a model"));
  CHECK(contains(message([](auto& net) { const auto other = std::move(net); }),
                 "model: the model was moved from"));
  CHECK(message([](auto& net) { net = glia::model{glia::dense{3}, {2}}; }).empty());
}

TEST_CASE("a step says what is wrong with a batch of one's own") {
  glia::model net{glia::dense{4}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  glia::batch b;
  b.size = 3;
  b.input_shape = {3, 5};
  b.inputs.assign(15, 0);
  b.labels.assign(3, 1);
  CHECK(message_of<glia::shape_error>([&] { trainer.step(b); }) ==
        "model: expected a batch (N, 2) of at least one sample, got (3, 5)");
  b.input_shape = {3, 2};
  b.inputs.resize(6);
  b.size = 0;
  CHECK(message_of<glia::value_error>([&] { trainer.step(b); }) ==
        "trainer: the batch has the size 0, but its inputs have the shape (3, 2)");
  b.size = 3;
  trainer.step(b);
  CHECK(trainer.step_count() == 1);
}

TEST_CASE("a model that has become another of the same parameters is trained as what it is") {
  const auto described = [](const glia::activation& map) {
    return glia::model{glia::sequential{glia::dense{4, map}, glia::dense{4}}, {2}};
  };
  glia::batch b;
  b.size = 3;
  b.input_shape = {3, 2};
  b.inputs = {1, 2, -3, 4, 5, -6};
  b.labels = {0, 1, 3};
  auto net = described(glia::relu);
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  trainer.step(b);
  net = described(glia::tanh);
  trainer.step(b);
  auto other = described(glia::tanh);
  glia::trainer alone{other, glia::softmax_cross_entropy{}, glia::sgd{}};
  alone.step(b);
  CHECK((net.get("dense_0.kernel") == other.get("dense_0.kernel")));
}
