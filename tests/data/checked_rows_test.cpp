#include <glia/glia.hpp>
#include <glia/training/dataset_batches.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;

namespace {

/// Writes as many values of an input and of a target as it is told.
struct careless {
  std::size_t inputs = 3;
  std::size_t targets = 2;
  std::size_t first = 0;  ///< the first sample for which it does

  [[nodiscard]] static std::size_t size() { return 8; }
  [[nodiscard]] static glia::shape input_shape() { return {3}; }
  void input(std::size_t i, std::span<float> values) const {
    std::fill_n(values.data(), i >= first ? inputs : 3, NAN);
  }
  [[nodiscard]] static glia::shape target_shape() { return {2}; }
  void target(std::size_t i, std::span<float> values) const {
    std::fill_n(values.data(), i >= first ? targets : 2, 1.0F);
  }
};

std::string careless_error(const careless& data) {
  return message_of<glia::data_error>([&] {
    glia::detail::for_each_batch(data, 4, [](const glia::batch& b) {
      CHECK(b.inputs.size() == 12);
      CHECK(b.targets.size() == 8);
      return true;
    });
  });
}

}  // namespace

TEST_CASE("a data set that leaves out a part of its span is an error that names the sample") {
  CHECK(careless_error({}).empty());
  CHECK(careless_error({.inputs = 2}) ==
        "data set: expected 3 values for the input of sample 0, but value 2 was not written; write "
        "exactly as many as the "
        "span has");
  CHECK(careless_error({.inputs = 0, .first = 6}) ==
        "data set: expected 3 values for the input of sample 6, but value 0 was not written; write "
        "exactly as many as the "
        "span has");
  CHECK(careless_error({.targets = 1, .first = 5}) ==
        "data set: expected 2 values for the target of sample 5, but value 1 was not written; "
        "write exactly as many as "
        "the span has");
}

TEST_CASE("a data set that writes beyond its span is an error that names the sample") {
  CHECK(careless_error({.inputs = 4}) ==
        "data set: expected 3 values for the input of sample 3, but more were written; write "
        "exactly as many as "
        "the span has");
  CHECK(careless_error({.inputs = 19, .first = 7}) ==
        "data set: expected 3 values for the input of sample 7, but more were written; write "
        "exactly as many as "
        "the span has");
  CHECK(careless_error({.targets = 3, .first = 7}) ==
        "data set: expected 2 values for the target of sample 7, but more were written; write "
        "exactly as many as "
        "the span has");
}

TEST_CASE("a metric that reads values where samples have classes is an error") {
  glia::model net{glia::dense{4}, {2}};
  const test::quadrants data{20};
  const auto score = [&](auto add) {
    return glia::evaluate(net, data, glia::softmax_cross_entropy{},
                          {.metrics = {{glia::metric{.name = "bias", .update_state = add}}}});
  };
  const std::string refused =
      "bias: the metric reads the values of a target, but the samples have class labels; read "
      "t.label, or t.value(i, outputs), which is 1 for the label and 0 for other classes";
  CHECK(message_of<glia::value_error>([&] {
          (void)score([](auto y, const auto& t, auto sums) { sums[0] += y[0] - t.values[0]; });
        }) == refused);
  CHECK(message_of<glia::value_error>([&] {
          (void)score([](auto, const auto& t, auto sums) {
            for (const float value : t.values) {
              sums[0] += value;
            }
          });
        }) == refused);
  CHECK(score([](auto y, const auto& t, auto sums) { sums[0] += t.value(0, y.size()); })["bias"] >
        0);

  const glia::target_arrays values(xt::ones<float>({3, 2}), xt::ones<float>({3, 4}));
  const auto of_values = [&](auto add) {
    return glia::evaluate(net, values, glia::mean_squared_error{},
                          {.metrics = {{glia::metric{.name = "bias", .update_state = add}}}});
  };
  CHECK(message_of<glia::value_error>([&] {
          (void)of_values([](auto, const auto& t, auto sums) { sums[0] += t.values[4]; });
        }) == "bias: the metric reads value 4 of a target that has 4 values");
  CHECK(of_values([](auto, const auto& t, auto sums) { sums[0] += t.values[3]; })["bias"] == 1);
}

TEST_CASE("samples whose axes are in another order are to be transposed") {
  glia::model net{glia::sequential{glia::flatten{}, glia::dense{2}}, {3, 32, 32}};
  const glia::labeled_arrays data(xt::zeros<float>({2, 32, 32, 3}), xt::xarray<std::int32_t>{0, 1});
  CHECK(message_of<glia::shape_error>(
            [&] { (void)glia::evaluate(net, data, glia::softmax_cross_entropy{}); }) ==
        "evaluate: the model takes samples of shape (3, 32, 32), but the data set has samples of "
        "shape (32, 32, 3); transpose the samples, because a reshape would mix their elements, or "
        "read an ONNX file of images with .channels_last = true");
}

TEST_CASE("a data set that was moved from is empty") {
  glia::model net{glia::dense{4}, {2}};
  const auto refused = [&](const auto& data) {
    CHECK(message_of<glia::data_error>([&] {
            (void)glia::evaluate(net, data, glia::softmax_cross_entropy{});
          }) == "evaluate: the data set is empty");
  };
  glia::labeled_arrays classes(xt::ones<float>({3, 2}), xt::xarray<std::int32_t>{0, 1, 2});
  const auto taken_classes = std::move(classes);
  refused(classes);
  glia::target_arrays values(xt::ones<float>({3, 2}), xt::ones<float>({3, 4}));
  const auto taken_values = std::move(values);
  refused(values);
}

TEST_CASE("a metric that writes beyond its sums is an error") {
  const glia::model net{glia::dense{4}, {2}};
  const glia::labeled_arrays data(xt::ones<float>({3, 2}), xt::xarray<std::int32_t>{0, 1, 2});
  const glia::weighted_samples weighted(data, xt::xarray<float>{1, 2, 0});
  const auto scores_of = [&](const glia::metric& m) {
    return glia::evaluate(net, weighted, glia::softmax_cross_entropy{}, {.metrics = {{m}}});
  };
  const auto add_to_two = [](auto, const auto&, auto sums) {
    sums.data()[0] += 1;
    sums.data()[1] += 1;
  };
  const glia::metric one_sum{.name = "m", .update_state = add_to_two};
  const auto mean = [](auto sums, double samples) { return sums[0] / samples; };
  const glia::metric one_each{
      .name = "m", .per_sample = true, .update_state = add_to_two, .result = mean};
  for (const glia::metric& m : {one_sum, one_each, glia::weighted(one_sum)}) {
    CHECK(message_of<glia::value_error>([&] { (void)scores_of(m); }) ==
          m.name +
              ": update_state writes beyond the metric's 1 sum; set .state_size to the number of "
              "sums");
  }
  const auto scores = scores_of({.name = "m", .state_size = 2, .update_state = add_to_two});
  CHECK(scores["m"] == 1);
}

TEST_CASE("a metric that counts nothing and adds nothing is an error") {
  const glia::model net{glia::dense{4}, {2}};
  const glia::labeled_arrays data(xt::ones<float>({3, 2}), xt::xarray<std::int32_t>{0, 1, 2});
  CHECK(
      message_of<glia::value_error>([&] {
        (void)glia::evaluate(net, data, glia::softmax_cross_entropy{},
                             {.metrics = {{glia::metric{.name = "m"}}}});
      }) ==
      "m: expected the metric to have .update_state, a function that adds to its sums, or .k of at "
      "least 1, the number of highest scores in which a class counts");
}

TEST_CASE("a learning rate that does not fit a float is an error") {
  CHECK(message_of<glia::value_error>([] { (void)glia::adam{1e39}; }) ==
        "learning rate 1e+39: expected a number within the range of float, got 1e+39 at step 0");
}
