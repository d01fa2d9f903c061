#include <cmath>
#include <glia/layers/preprocessing.hpp>
#include <glia/models/model_file.hpp>
#include <glia/training/adapt.hpp>
#include <limits>
#include <numbers>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;
using test::run_layer;

namespace {

const float missing = std::numeric_limits<float>::quiet_NaN();

xt::xarray<float> table() { return {{1, 10, 7}, {3, missing, 7}, {5, 30, 7}, {7, 30, 7}}; }

glia::target_arrays table_data() { return {table(), xt::ones<float>({4, 1})}; }

template <class Layer>
auto model_of(const Layer& layer) {
  return glia::model{glia::sequential{layer}, {3}, glia::cpu<double>()};
}

}  // namespace

TEST_CASE("adapt computes means and deviations, without missing values") {
  auto net = model_of(glia::standardize{});
  glia::adapt(net, table_data());
  const double mean = 70.0 / 3;
  const double deviation = std::sqrt((2 * 20.0 / 3 * 20 / 3 + 40.0 / 3 * 40 / 3) / 3);
  CHECK(net.get<double>("standardize_0.mean")(0) == Approx(4));
  CHECK(net.get<double>("standardize_0.mean")(1) == Approx(mean));
  CHECK(net.get<double>("standardize_0.mean")(2) == Approx(7));
  CHECK(net.get<double>("standardize_0.scale")(0) == Approx(std::sqrt(5)));
  CHECK(net.get<double>("standardize_0.scale")(1) == Approx(deviation));
  CHECK(net.get<double>("standardize_0.scale")(2) == 1);  // a constant column
  const xt::xarray<float> y = net.predict(table());
  CHECK(y(0, 0) == Approx(-3 / std::sqrt(5)));
  CHECK(y(1, 1) == 0);  // a missing value
  CHECK(y(2, 1) == Approx((30 - mean) / deviation));
  CHECK(y(3, 2) == 0);
  for (const auto& p : net.parameters()) {
    CHECK_FALSE(p.spec.trainable);
  }
}

TEST_CASE("adapt gives the same numbers for every batch size, and again") {
  auto whole = model_of(glia::standardize{});
  glia::adapt(whole, table_data());
  for (const std::size_t batch_size : {1U, 2U, 3U}) {
    auto net = model_of(glia::standardize{});
    glia::adapt(net, table_data(), {.batch_size = batch_size});
    glia::adapt(net, table_data(), {.batch_size = batch_size});  // the second call begins anew
    for (const auto& p : net.parameters()) {
      CHECK((net.get<double>(p.spec.name) == whole.get<double>(p.spec.name)));
    }
  }
}

TEST_CASE("adapt uses the samples of a part only") {
  const auto data = table_data();
  const glia::subset part(data, {0, 2});
  auto net = model_of(glia::standardize{});
  glia::adapt(net, part);
  CHECK(net.get<double>("standardize_0.mean")(0) == 3);
  CHECK(net.get<double>("standardize_0.scale")(0) == 2);
}

TEST_CASE("adapt keeps its digits if a mean is much larger than the deviation") {
  const xt::xarray<float> x{{16777000, 0, 0}, {16777001, 0, 0}, {16777002, 0, 0}};
  auto net = model_of(glia::standardize{});
  glia::adapt(net, glia::target_arrays{x, xt::ones<float>({3, 1})});
  CHECK(net.get<double>("standardize_0.mean")(0) == 16777001);
  CHECK(net.get<double>("standardize_0.scale")(0) == Approx(std::sqrt(2.0 / 3)));
}

TEST_CASE("adapt fits a layer to the outputs of the layers before it") {
  const auto logarithm =
      glia::lambda{"log", [](const glia::variable& x) { return glia::ops::log(x); }};
  auto net = model_of(glia::sequential{logarithm, glia::standardize{}});
  const xt::xarray<float> x{{1, 1, 1}, {100, 1, 1}};
  glia::adapt(net, glia::target_arrays{x, xt::ones<float>({2, 1})});
  CHECK(net.predict(x)(0, 0) == Approx(-1));
  CHECK(net.get<double>(net.parameters()[0].spec.name)(0) == Approx(std::log(10)));
}

TEST_CASE("a fitted layer behind another one is fitted to its final outputs") {
  const xt::xarray<float> x{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {90, 90, 90}};
  const glia::target_arrays data{x, xt::ones<float>({4, 1})};
  const auto square =
      glia::lambda{"square", [](const glia::variable& v) { return glia::ops::square(v); }};
  auto net = model_of(glia::sequential{glia::standardize{}, square, glia::standardize{}});
  glia::adapt(net, data, {.batch_size = 1});
  // The squares of standardized values have the mean 1.
  CHECK(net.get<double>("standardize_1.mean")(0) == Approx(1));
}

TEST_CASE("adapt refuses numbers that are no integers where an embedding needs them") {
  auto net = model_of(glia::sequential{glia::embedding{4, 2}, glia::standardize{}});
  CHECK_THROWS_AS(glia::adapt(net, table_data()), glia::data_error);
}

TEST_CASE("a deviation that is 0 as a float counts as 0") {
  glia::model net{glia::standardize{}, {1}};
  const xt::xarray<float> x =
      xt::concatenate(xt::xtuple(xt::zeros<float>({1, 1}), 1e-45F * xt::ones<float>({1, 1})), 0);
  glia::adapt(net, glia::target_arrays{x, xt::ones<float>({2, 1})});
  CHECK(net.get("standardize_0.scale")(0) > 0);
}

TEST_CASE("a shared layer is fitted to all its inputs") {
  const glia::shared scaled{"scaled", glia::standardize{}};
  glia::model net{
      glia::sequential{glia::inputs{glia::input{"a", {1}, scaled}, glia::input{"b", {1}, scaled}}},
      glia::cpu<double>()};
  const xt::xarray<float> x{{1, 5}, {3, 7}};
  glia::adapt(net, glia::target_arrays{x, xt::ones<float>({2, 1})});
  CHECK(net.get<double>("scaled.mean")(0) == 4);
  CHECK(net.get<double>("scaled.scale")(0) == Approx(std::sqrt(5)));
}

TEST_CASE("a failed adapt leaves the model unchanged") {
  auto net = model_of(glia::standardize{});
  glia::adapt(net, table_data());
  const auto mean = net.get<double>("standardize_0.mean");
  const xt::xarray<float> x{{1, 2, 3}, {1, std::numeric_limits<float>::infinity(), 3}};
  CHECK(message_of<glia::data_error>([&] {
          glia::adapt(net, glia::target_arrays{x, xt::ones<float>({2, 1})}, {.batch_size = 1});
        }) == "adapt: expected finite values or NaN for missing values, got infinity in column 1");
  CHECK((net.get<double>("standardize_0.mean") == mean));
  auto dense = model_of(glia::dense{1});
  CHECK(contains(message_of<glia::value_error>([&] { glia::adapt(dense, table_data()); }),
                 "the model has no layer that is fitted to data"));
  CHECK(contains(
      message_of<glia::shape_error>([&] {
        glia::adapt(net, glia::target_arrays{xt::ones<float>({4, 2}), xt::ones<float>({4, 1})});
      }),
      "adapt: a sample"));
  CHECK(contains(
      message_of<glia::value_error>([&] {
        glia::adapt(net, glia::target_arrays{xt::ones<float>({0, 3}), xt::ones<float>({0, 1})});
      }),
      "expected at least one sample"));
}

TEST_CASE("with invert, standardize is fitted to the targets and returns their unit") {
  const xt::xarray<float> x{{1, 2}, {3, 4}, {5, 9}};
  const xt::xarray<float> targets{{1000, -5}, {1010, -5}, {1020, missing}};
  const glia::target_arrays data{x, targets};
  const glia::standardize last{.invert = true};
  CHECK(last.description() == "standardize, invert");
  auto net = glia::model{last, {2}, glia::cpu<double>()};
  for (const std::size_t batch_size : {0U, 2U}) {
    glia::adapt(net, data, {.batch_size = batch_size});
    CHECK(net.get<double>("standardize_0.mean")(0) == Approx(1010));
    CHECK(net.get<double>("standardize_0.mean")(1) == -5);
    CHECK(net.get<double>("standardize_0.scale")(0) == Approx(std::sqrt(200.0 / 3)));
    CHECK(net.get<double>("standardize_0.scale")(1) == 1);
  }
  const auto y = net.predict<double>(x);
  CHECK(y(0, 0) == Approx(1010 + std::sqrt(200.0 / 3)));
  CHECK(y(2, 1) == Approx(-5 + 9));

  // It is the inverse of a layer that is fitted to the same numbers.
  auto both = glia::model{glia::sequential{glia::standardize{}, last}, {2}, glia::cpu<double>()};
  const xt::xarray<float> numbers{{1, 80}, {3, 70}, {5, 20}};
  glia::adapt(both, glia::target_arrays{numbers, numbers});
  CHECK(xt::allclose(both.predict<double>(numbers), numbers));

  // The gradient of the input is the scale.
  glia::tape tape(net.device());
  std::vector<glia::gradient_slot> slots;
  const std::vector<double> row{0.5, -1};
  const auto leaf = tape.leaf(net.device().from_host(std::span<const double>(row), {1, 2}));
  tape.backward(net.forward(leaf, slots, glia::run_mode::training, {}));
  std::vector<double> gradient(2);
  net.device().to_host(tape.gradient(leaf.slot()), std::span<double>(gradient));
  CHECK(gradient[0] == Approx(std::sqrt(200.0 / 3)));
  CHECK(gradient[1] == 1);
}

TEST_CASE("a network with an inverted last layer learns targets far from 0") {
  xt::xarray<float> x{-1, 0, 1, 2};
  x.reshape({4, 1});
  const glia::target_arrays data{x, 5000.0F + 100.0F * x};
  glia::model net{
      glia::sequential{glia::standardize{}, glia::dense{1}, glia::standardize{.invert = true}},
      {1}};
  glia::adapt(net, data);
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.05}};
  const auto history = trainer.fit(data, {.epochs = 200, .progress = nullptr});
  CHECK(history.notes.empty());
  CHECK(net.predict(x)(3, 0) == Approx(5200).margin(1));

  // A file has the statistics, so that a loaded model needs no adapt.
  const test::temporary_folder scratch;
  glia::save(net, scratch.path() / "net.safetensors");
  glia::model loaded{net.description(), {1}, glia::cpu<float>(), {.seed = 2}};
  glia::load(loaded, scratch.path() / "net.safetensors");
  CHECK((loaded.predict(x) == net.predict(x)));
  glia::trainer again{loaded, glia::mean_squared_error{}, glia::adam{}};
  CHECK(again.fit(data, {.progress = nullptr}).notes.empty());
}

TEST_CASE("with invert, adapt needs targets of the shape of the layer's output") {
  auto net = model_of(glia::standardize{.invert = true});
  CHECK(message_of<glia::shape_error>([&] { glia::adapt(net, table_data()); }) ==
        "sequential[0] standardize, invert: adapt fits a layer with invert to the targets of the "
        "data "
        "set, so expected targets (N, 3), got (N, 1); pass a data set whose targets have the shape "
        "of the layer's output");
  CHECK(contains(message_of<glia::shape_error>([&] {
                   glia::adapt(net, glia::labeled_arrays{table(), xt::zeros<int>({4})});
                 }),
                 "expected targets (N, 3), got class labels"));
  CHECK((net.get("standardize_0.mean") == xt::zeros<float>({3})));
  const xt::xarray<float> endless{{1, 2, std::numeric_limits<float>::infinity()}};
  CHECK_THROWS_AS(glia::adapt(net, glia::target_arrays{endless, endless}), glia::data_error);
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)model_of(glia::standardize{.missing_indicator = true, .invert = true});
                 }),
                 "expected only one of invert and missing_indicator, got both"));
}

TEST_CASE("fit notes layers that adapt has not fitted") {
  const auto notes_of = [](auto& net) {
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.01}};
    return trainer.fit(table_data(), {.epochs = 2, .batch_size = 2, .progress = nullptr}).notes;
  };
  const glia::sequential network{glia::standardize{}, glia::dense{1}};
  glia::model net{network, {3}};
  CHECK(notes_of(net) ==
        std::vector<std::string>{
            "the layer standardize_0 does not scale its inputs, because its statistics still have "
            "their initial values; call glia::adapt(net, train) before fit"});
  CHECK(notes_of(net).size() == 1);  // training has not changed them
  glia::model adapted{network, {3}};
  glia::adapt(adapted, table_data());
  CHECK(notes_of(adapted).empty());
  // Statistics that are those of the initial values.
  const xt::xarray<float> unit{{-1, 1, -1}, {1, -1, 1}};
  glia::model scaled_before{network, {3}};
  glia::adapt(scaled_before, glia::target_arrays{unit, xt::zeros<float>({2, 1})});
  CHECK((scaled_before.get("standardize_0.scale") == xt::ones<float>({3})));
  CHECK(notes_of(scaled_before).empty());
  // Values that were set, as `load` does, or that the layer begins with, are meant.
  net.set("standardize_0.mean", xt::xarray<float>{1, 2, 3});
  CHECK(notes_of(net).empty());
  glia::model given{
      glia::sequential{glia::standardize{.mean_initializer = glia::constant(2)}, glia::dense{1}},
      {3}};
  CHECK(notes_of(given).empty());
  // Two layers, one of them fitted by hand, and a shared one.
  const glia::shared scaled{"scaled", glia::standardize{}};
  glia::model several{glia::sequential{glia::standardize{}, scaled, scaled, glia::dense{1}}, {3}};
  CHECK(notes_of(several).size() == 2);
  several.set("standardize_0.scale", xt::xarray<float>{1, 2, 1});
  REQUIRE(notes_of(several).size() == 1);
  CHECK(contains(notes_of(several)[0], "the layer scaled does not scale"));
}

TEST_CASE("training changes no fitted statistics, and missing values do not spoil gradients") {
  glia::model net{glia::sequential{glia::standardize{.missing_indicator = true}, glia::dense{1}},
                  {3}};
  const auto data = table_data();
  glia::adapt(net, data);
  const auto mean = net.get("standardize_0.mean");
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.01}};
  const auto history = trainer.fit(data, {.epochs = 2, .progress = nullptr});
  CHECK(std::isfinite(history.epochs.back().training.loss));
  CHECK((net.get("standardize_0.mean") == mean));
  CHECK(std::isfinite(net.get("dense_0.kernel")(1, 0)));
}

TEST_CASE("standardize marks missing values") {
  CHECK(run_layer(glia::standardize{.missing_indicator = true}, {2, 2}, {1, missing, missing, 4},
                  {{1, 0}, {1, 2}}) == std::vector<float>{0, 0, 0, 1, 0, 2, 1, 0});
  CHECK(contains(message_of<glia::shape_error>([] {
                   glia::model net{glia::sequential{glia::reshape{{}}, glia::standardize{}}, {1}};
                 }),
                 "expected an input (N, ..., C), got (N)"));
}

TEST_CASE("one_hot makes a column for each class, and zeros for unknown ones") {
  const glia::one_hot layer{.num_classes = 3, .ignore_unknown = true};
  const glia::model encoder{layer, {6}};
  const xt::xarray<float> y = encoder.predict(xt::xarray<float>{{0, 2, 3, -1, missing, 0.5F}});
  CHECK(std::vector<float>(y.begin(), y.end()) ==
        std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(layer.description() == "one_hot(3, ignore unknown)");
  CHECK(run_layer(glia::one_hot{2}, {1, 2}, {1, 0}, {}) == std::vector<float>{0, 1, 1, 0});
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::sequential{glia::one_hot{}}, {1}};
                 }),
                 "expected a num_classes of at least 1"));
}

TEST_CASE("one_hot refuses a number that is no class") {
  glia::model net{glia::sequential{glia::inputs{glia::input{"x", {1}, glia::identity{}},
                                                glia::input{"class", {2}, glia::one_hot{3}}},
                                   glia::dense{1}}};
  const auto rows = [](float number) { return xt::xarray<float>{{9, 0, 1}, {9, 2, number}}; };
  CHECK_NOTHROW(net.predict(rows(missing)));
  CHECK(message_of<glia::data_error>([&] { (void)net.predict(rows(3)); }) ==
        "sequential[0] class: one_hot(3): sample 1 of the batch has the value 3 at index 2; "
        "expected integers from 0 to 2, or NaN for a missing value; increase num_classes, correct "
        "the data, or set ignore_unknown, which gives zeros for unknown classes");
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.01}};
  const float infinite = std::numeric_limits<float>::infinity();
  for (const float number : {3.0F, -1.0F, 0.5F, infinite, -infinite}) {
    const glia::target_arrays data{rows(number), xt::ones<float>({2, 1})};
    const auto fit = [&] { (void)trainer.fit(data, {.epochs = 1, .progress = nullptr}); };
    CHECK(contains(message_of<glia::data_error>(fit), "one_hot(3)"));
    CHECK_THROWS_AS(glia::evaluate(net, data, glia::mean_squared_error{}), glia::data_error);
    CHECK_THROWS_AS(net.predict(rows(number)), glia::data_error);
  }
}

TEST_CASE("periodic_encoding makes sines and cosines") {
  const auto y = run_layer(glia::periodic_encoding{8}, {4, 1}, {0, 2, 9, missing}, {});
  const float half = std::numbers::sqrt2_v<float> / 2;
  const std::vector<float> expected{0, 1, 1, 0, half, half, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(y[i] == Approx(expected[i]).margin(1e-6));
  }
  CHECK(run_layer(glia::periodic_encoding{4}, {1, 2}, {1, 0}, {}) ==
        std::vector<float>{y[2], 0, y[3], 1});
  for (const double period : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    CHECK(contains(message_of<glia::value_error>([&] {
                     glia::model net{glia::sequential{glia::periodic_encoding{period}}, {1}};
                   }),
                   "expected a positive finite period"));
  }
}
