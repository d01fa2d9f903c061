#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

/// Two weights a and b, whose loss (a b)^2 / 2 has the gradients a b^2 and a^2 b.
struct two_weights {
  glia::target_arrays data{xt::ones<float>({1, 1}), xt::zeros<float>({1, 1})};

  template <class Optimizer>
  std::vector<double> train(const Optimizer& rule, std::vector<glia::parameter_group> groups,
                            std::size_t steps = 1,
                            std::vector<glia::gradient_transform> transforms = {}) const {
    const auto layer = [](double value) {
      return glia::dense{
          .units = 1, .use_bias = false, .kernel_initializer = glia::constant(value)};
    };
    glia::model net{glia::sequential{glia::named{"a", layer(2)}, glia::named{"b", layer(-3)}},
                    {1},
                    glia::cpu<double>()};
    const auto half_square = [](const glia::variable& y, const glia::targets&) {
      return glia::ops::sum(glia::ops::square(y), {1}) * 0.5;
    };
    glia::trainer trainer{
        net,
        half_square,
        rule,
        {.gradient_transforms = std::move(transforms), .parameter_groups = std::move(groups)}};
    (void)trainer.fit(data, {.epochs = steps, .progress = nullptr});
    return test::parameters_of<double>(net);
  }
};

constexpr double group_tolerance = 1e-12;

/// Two weights after steps of SGD with the rate 0.01, in which b has the given options.
std::vector<double> expected_by_sgd(std::size_t steps, double rate_factor, double decay, double l1,
                                    double l2) {
  double a = 2;
  double b = -3;
  for (std::size_t i = 0; i < steps; ++i) {
    const double gradient_of_a = a * b * b;
    const double gradient_of_b = a * a * b + l1 * (b > 0 ? 1 : -1) + 2 * l2 * b;
    a -= 0.01 * gradient_of_a;
    const double rate = 0.01 * rate_factor;
    b = (1 - rate * decay) * b - rate * gradient_of_b;
  }
  return {a, b};
}

template <class Network>
std::string refused_groups(const Network& network, std::vector<glia::parameter_group> groups) {
  glia::model net{network, {2}};
  return message_of<glia::value_error>([&] {
    const glia::trainer trainer{
        net, glia::softmax_cross_entropy{}, glia::sgd{}, {.parameter_groups = std::move(groups)}};
  });
}

}  // namespace

TEST_CASE("the options of a parameter group change its parameters alone") {
  const two_weights w;
  const glia::sgd rule{0.01};
  CHECK(test::distance(w.train(rule, {{.path = "b", .rate_factor = 0.5}}, 2),
                       expected_by_sgd(2, 0.5, 0, 0, 0)) < group_tolerance);
  CHECK(test::distance(w.train(rule, {{.path = "b", .weight_decay = 4}}, 2),
                       expected_by_sgd(2, 1, 4, 0, 0)) < group_tolerance);
  CHECK(test::distance(w.train(rule, {{.path = "b", .l1 = 0.7}}, 2),
                       expected_by_sgd(2, 1, 0, 0.7, 0)) < group_tolerance);
  CHECK(test::distance(w.train(rule, {{.path = "b", .l2 = 0.7}}, 2),
                       expected_by_sgd(2, 1, 0, 0, 0.7)) < group_tolerance);
  CHECK(
      test::distance(
          w.train(rule, {{.path = "b", .rate_factor = 3, .weight_decay = 2, .l1 = 1, .l2 = 5}}, 3),
          expected_by_sgd(3, 3, 2, 1, 5)) < group_tolerance);
}

TEST_CASE("options of a parameter group are those of the optimizers that have them") {
  const two_weights w;
  const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
    return test::distance(a, b) < group_tolerance;
  };
  const std::vector<glia::parameter_group> decay{{.weight_decay = 0.2}};
  CHECK(same(w.train(glia::adam{0.01}, decay, 5),
             w.train(glia::adamw{.learning_rate = 0.01, .weight_decay = 0.2}, {}, 5)));
  CHECK(
      same(w.train(glia::sgd{.learning_rate = 0.01, .momentum = 0.9}, {{.l2 = 0.1}}, 5),
           w.train(glia::sgd{.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 0.2}, {}, 5)));
  const std::vector<glia::parameter_group> slow{{.rate_factor = 0.5}};
  CHECK(same(w.train(glia::adam{0.02}, slow, 5), w.train(glia::adam{0.01}, {}, 5)));
  CHECK(same(w.train(glia::rmsprop{.learning_rate = 0.02, .momentum = 0.5}, slow, 5),
             w.train(glia::rmsprop{.learning_rate = 0.01, .momentum = 0.5}, {}, 5)));
  CHECK(same(w.train(glia::adamw{.learning_rate = 0.02, .weight_decay = 0.1}, slow, 5),
             w.train(glia::adamw{.learning_rate = 0.01, .weight_decay = 0.1}, {}, 5)));
  CHECK(same(w.train(glia::adagrad{0.02}, slow, 5), w.train(glia::adagrad{0.01}, {}, 5)));
  // The decay follows the schedule.
  const glia::schedule falling = glia::exponential_decay(0.1, 2, 0.5);
  CHECK(same(w.train(glia::adam{falling}, decay, 5),
             w.train(glia::adamw{.learning_rate = falling, .weight_decay = 0.2}, {}, 5)));
}

TEST_CASE("parameters decay once per update of several batches") {
  const two_weights w;
  const std::vector<glia::parameter_group> decay{{.weight_decay = 0.2}};
  const auto accumulated = [&](std::size_t steps) {
    return w.train(glia::gradient_accumulation{glia::adam{0.01}, 3}, decay, steps);
  };
  CHECK(test::distance(accumulated(6), w.train(glia::adam{0.01}, decay, 2)) < group_tolerance);
  CHECK(accumulated(2) == std::vector{2.0, -3.0});
}

TEST_CASE("frozen parameters keep their values and do not count for the norm of the gradients") {
  const two_weights w;
  // The gradient of a is 18; with that of b, -12, the norm would be larger.
  const std::vector<double> found =
      w.train(glia::sgd{0.01}, {{.path = "b", .frozen = true}}, 1, {glia::clip_by_global_norm(9)});
  CHECK(test::distance(found, std::vector{2 - 0.01 * 9, -3.0}) < group_tolerance);
}

TEST_CASE("a parameter belongs to the first group whose path fits") {
  const auto fits = [](std::string_view path, std::string_view name) {
    return glia::detail::fits_path(path, name);
  };
  CHECK(fits("", "a.kernel"));
  CHECK(fits("a", "a.kernel"));
  CHECK(fits("a.", "a.kernel"));
  CHECK(fits("a.kernel", "a.kernel"));
  CHECK_FALSE(fits("a.k", "a.kernel"));
  CHECK_FALSE(fits("kernel", "a.kernel"));
  CHECK_FALSE(fits("dense_1", "dense_10.kernel"));
  CHECK(fits("dense_1*", "dense_10.kernel"));
  CHECK(fits("*.kernel", "a.b.kernel"));
  CHECK_FALSE(fits("*.kernel", "a.b.bias"));
  CHECK(fits("a.*.c", "a.b.c.kernel"));
  CHECK(fits("*", "kernel"));
  CHECK(fits("**a**", "a"));
  CHECK_FALSE(fits("*b*", "a.kernel"));

  const two_weights w;
  const std::vector<double> found =
      w.train(glia::sgd{0.01}, {{.path = "a", .frozen = true}, {.path = "*", .rate_factor = 2}});
  CHECK(test::distance(found, std::vector{2.0, -3 + 0.02 * 12}) < group_tolerance);
}

TEST_CASE("a parameter group does not change the updates of other parameters by a bit") {
  const test::quadrants data{40};
  const auto train = [&](std::vector<glia::parameter_group> groups) {
    glia::model net{glia::sequential{glia::dense{6, glia::relu}, glia::dense{4}}, {2}};
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::adam{0.01},
                          {.parameter_groups = std::move(groups)}};
    (void)trainer.fit(data, {.epochs = 1, .batch_size = 40, .progress = nullptr});
    const std::vector<float> values = test::parameters_of(net);
    return std::vector(values.end() - (6 * 4 + 4), values.end());  // of dense_1
  };
  const auto plain = train({});
  CHECK(train({{.path = "dense_0", .rate_factor = 0.1, .weight_decay = 0.1, .l1 = 0.1}}) == plain);
  CHECK(train({{.path = "dense_0", .frozen = true}}) == plain);
}

TEST_CASE("parameter groups without parameters or with options out of range are refused") {
  const auto network =
      glia::sequential{glia::frozen{glia::dense{3}}, glia::batch_norm{}, glia::dense{2}};
  const std::string trained = "batch_norm_0.gamma, batch_norm_0.beta, dense_1.kernel, dense_1.bias";
  const auto refused = [&](std::vector<glia::parameter_group> groups) {
    return refused_groups(network, std::move(groups));
  };
  CHECK(refused({{.path = "dens"}}) ==
        "trainer: no trained parameter fits the path 'dens' of a parameter group; the trained "
        "parameters are " +
            trained);
  CHECK(contains(refused({{.path = "dense_0"}}), "fits the path 'dense_0'"));
  CHECK(contains(refused({{.path = "batch_norm_0.moving_mean"}}), "no trained parameter"));
  CHECK(refused({{.path = "*.kernel"}, {.path = "dense_1.kernel"}}) ==
        "trainer: all parameters that fit the path 'dense_1.kernel' belong to earlier parameter "
        "groups; list the group with the more precise path first");
  CHECK(refused({{.frozen = true}}) ==
        "trainer: expected a parameter to train, but the parameter groups freeze all of " +
            trained);
  CHECK(refused({{.path = "dense_1", .rate_factor = 0}}) ==
        "trainer: expected a positive, finite rate_factor for the parameter group 'dense_1', got "
        "0; use .frozen = true to keep the parameters");
  CHECK(refused({{.path = "dense_1", .weight_decay = -1}}) ==
        "trainer: expected a finite weight_decay of at least 0 for the parameter group 'dense_1', "
        "got -1");
  CHECK(contains(refused({{.path = "dense_1", .l1 = INFINITY}}), "expected a finite l1"));
  CHECK(contains(refused({{.path = "dense_1", .l2 = std::nan("")}}), "expected a finite l2"));
}
