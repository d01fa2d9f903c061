#include <sstream>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

auto frozen_start() {
  return glia::sequential{glia::frozen{glia::dense{8, glia::relu}}, glia::dropout{0.5},
                          glia::dense{4}};
}

xt::xarray<float> inputs_of(const test::quadrants& data) {
  xt::xarray<float> inputs(xt::xarray<float>::shape_type{data.size(), 2});
  for (std::size_t i = 0; i < data.size(); ++i) {
    test::quadrants::input(i, std::span(inputs.data() + 2 * i, 2));
  }
  return inputs;
}

}  // namespace

TEST_CASE("predict gives a data set's outputs in its order, whatever the batch") {
  glia::model net{frozen_start(), {2}};
  const test::quadrants data{37};
  const xt::xarray<float> expected = net.predict(inputs_of(data));
  for (const std::size_t batch_size : std::vector<std::size_t>{0, 1, 10, 37, 100}) {
    const xt::xarray<float> outputs = glia::predict(net, data, {.batch_size = batch_size});
    REQUIRE(outputs.shape() == expected.shape());
    CHECK(test::distance(outputs, expected) < 1e-6);
  }
  CHECK_THROWS_AS(glia::predict(net, test::quadrants{0}), glia::data_error);
}

TEST_CASE("more samples than can be numbered are refused") {
  glia::model net{frozen_start(), {2}};
  const test::quadrants data{std::size_t{1} << 32};
  const std::string expected =
      ": the data set has 4294967296 samples, more than the 4294967295 that 32-bit indices "
      "can count; divide it into several data sets";
  const glia::softmax_cross_entropy loss;
  const auto error = [](const auto& call) { return test::message_of<glia::data_error>(call); };
  CHECK(error([&] { (void)glia::predict(net, data); }) == "predict" + expected);
  CHECK(error([&] { (void)glia::evaluate(net, data, loss); }) == "evaluate" + expected);
  glia::trainer trainer{net, loss, glia::adam{}};
  CHECK(error([&] { trainer.fit(data, {.progress = nullptr}); }) == "fit" + expected);
  CHECK(error([&] { trainer.fit(test::quadrants{}, data, {.progress = nullptr}); }) ==
        "fit: validation" + expected);
}

TEST_CASE("frozen outputs stand in for their data set in predict, evaluate and fit") {
  const test::quadrants data{60};
  const test::quadrants validation{30};
  glia::model net{frozen_start(), {2}};
  std::ostringstream out;
  const auto cached = glia::compute_frozen_outputs(net, data, "training", {}, &out);
  const auto cached_validation =
      glia::compute_frozen_outputs(net, validation, "validation", {}, &out);
  REQUIRE(cached);
  REQUIRE(cached_validation);
  CHECK(test::contains(out.str(), "frozen layers, training"));
  CHECK(test::contains(out.str(), "kept in memory, 1.92 kB"));
  CHECK(cached->input_shape() == glia::shape{8});
  CHECK(test::distance(glia::predict(net, *cached), glia::predict(net, data)) < 1e-6);
  const glia::softmax_cross_entropy loss;
  CHECK(glia::evaluate(net, *cached, loss).loss ==
        Approx(glia::evaluate(net, data, loss).loss).epsilon(1e-6));

  const auto losses = [&](const auto& train, const auto& validate) {
    glia::model fresh{frozen_start(), {2}};
    glia::trainer trainer{fresh, loss, glia::adam{0.01}};
    const auto history =
        trainer.fit(train, validate, {.epochs = 3, .batch_size = 16, .progress = nullptr});
    std::vector<double> result;
    for (const glia::epoch_record& e : history.epochs) {
      result.push_back(e.training.loss);
      result.push_back(e.validation->loss);
    }
    return result;
  };
  const auto expected = losses(data, validation);
  CHECK(losses(*cached, *cached_validation) == expected);
  CHECK(losses(data, *cached_validation) == expected);
  CHECK(losses(*cached, validation) == expected);
  // Of a model that has nothing frozen they are no samples.
  glia::model open{glia::dense{4}, {8}};
  CHECK(test::contains(
      test::message_of<glia::value_error>([&] { (void)glia::predict(open, *cached); }),
      "predict: the data set holds outputs of frozen layers"));
}
