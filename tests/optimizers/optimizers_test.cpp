#include <array>
#include <cmath>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

/// Two tensors of one element each, taken through two steps with the given gradients.
template <class Optimizer>
std::vector<double> two_steps(const Optimizer& optimizer) {
  const glia::cpu<double> device;
  const double gradients[2][2] = {{0.5, -2.0}, {1.0, 0.25}};
  std::vector<glia::tensor> parameters{device.run(kernels::full{{1}, 1.0}),
                                       device.run(kernels::full{{1}, -3.0})};
  std::vector<std::vector<glia::tensor>> slots(2);
  for (auto& states : slots) {
    for (std::size_t i = 0; i < optimizer.state_count(); ++i) {
      states.push_back(device.run(kernels::full{{1}, optimizer.initial_state()}));
    }
  }
  for (std::size_t step = 0; step < 2; ++step) {
    const auto numbers = glia::numbers_of(optimizer, device, step);
    for (std::size_t i = 0; i < 2; ++i) {
      optimizer.apply(device, parameters[i], device.run(kernels::full{{1}, gradients[step][i]}),
                      slots[i], numbers);
    }
  }
  return {test::data_of<double>(parameters[0])[0], test::data_of<double>(parameters[1])[0]};
}

constexpr double exact = 1e-14;

}  // namespace

TEST_CASE("sgd takes two exact steps") {
  CHECK(test::distance(two_steps(glia::sgd{0.1}), std::vector{1 - 0.1 * 1.5, -3 + 0.1 * 1.75}) <
        exact);
  // v1 = g1; v2 = 0.9 g1 + g2.
  CHECK(test::distance(two_steps(glia::sgd{.learning_rate = 0.1, .momentum = 0.9}),
                       std::vector{1 - 0.1 * (0.5 + 0.45 + 1), -3 - 0.1 * (-2 - 1.8 + 0.25)}) <
        exact);
  CHECK(
      test::distance(two_steps(glia::sgd{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}),
                     std::vector{1 - 0.1 * (0.5 + 0.45 + 1 + 0.9 * 1.45),
                                 -3 - 0.1 * (-2 - 1.8 + 0.25 + 0.9 * -1.55)}) < exact);
  const double first = 1 - 0.1 * (0.5 + 0.01);
  CHECK(std::abs(two_steps(glia::sgd{.learning_rate = 0.1, .weight_decay = 0.01})[0] -
                 (first - 0.1 * (1 + 0.01 * first))) < exact);
}

TEST_CASE("adam and adamw take two exact steps") {
  const auto expected = [](double p, double g1, double g2, double coupled, double decoupled) {
    double m = 0;
    double v = 0;
    const double gradients[] = {g1, g2};
    for (int t = 1; t <= 2; ++t) {
      const double g = gradients[t - 1] + coupled * p;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double mean = m / (1 - std::pow(0.9, t));
      const double square = v / (1 - std::pow(0.999, t));
      p -= 0.01 * mean / (std::sqrt(square) + 1e-7) + 0.01 * decoupled * p;
    }
    return p;
  };
  CHECK(test::distance(two_steps(glia::adam{0.01}),
                       std::vector{expected(1, 0.5, 1, 0, 0), expected(-3, -2, 0.25, 0, 0)}) <
        exact);
  CHECK(test::distance(two_steps(glia::adam{.learning_rate = 0.01, .weight_decay = 0.1}),
                       std::vector{expected(1, 0.5, 1, 0.1, 0), expected(-3, -2, 0.25, 0.1, 0)}) <
        exact);
  CHECK(test::distance(two_steps(glia::adamw{.learning_rate = 0.01, .weight_decay = 0.1}),
                       std::vector{expected(1, 0.5, 1, 0, 0.1), expected(-3, -2, 0.25, 0, 0.1)}) <
        exact);
}

TEST_CASE("adam's epsilon goes where it is asked to") {
  const auto expected = [](bool hat) {
    const double corrected = std::sqrt(1 - 0.999);
    // The first step: m^ = g and v^ = g^2.
    const double root = hat ? 2 + 0.5 / corrected : 2 + 0.5;
    return -3 + 0.01 * 2 / root;
  };
  for (const bool hat : {false, true}) {
    const std::array<double, 3> numbers[] = {
        glia::adam{.learning_rate = 0.01, .epsilon = 0.5, .epsilon_hat = hat}.numbers(0),
        glia::adamw{.learning_rate = 0.01, .epsilon = 0.5, .weight_decay = 0, .epsilon_hat = hat}
            .numbers(0)};
    for (const auto& [rate, epsilon, decay_factor] : numbers) {
      // p, g and both slots as in the kernel of any backend.
      const double m = (1 - 0.9) * -2;
      const double v = (1 - 0.999) * 4;
      const double p = -3 - rate * m / (std::sqrt(v) + epsilon);
      CHECK(std::abs(p - expected(hat)) < exact);
      CHECK(decay_factor == 1);
    }
  }
}

TEST_CASE("rmsprop takes two exact steps") {
  const auto expected = [](double p, double g1, double g2, double momentum) {
    double v = 0;
    double u = 0;
    for (double g : {g1, g2}) {
      v = 0.9 * v + 0.1 * g * g;
      u = momentum * u + 0.01 * g / std::sqrt(v + 1e-7);
      p -= u;
    }
    return p;
  };
  CHECK(test::distance(two_steps(glia::rmsprop{0.01}),
                       std::vector{expected(1, 0.5, 1, 0), expected(-3, -2, 0.25, 0)}) < exact);
  CHECK(test::distance(two_steps(glia::rmsprop{.learning_rate = 0.01, .momentum = 0.5}),
                       std::vector{expected(1, 0.5, 1, 0.5), expected(-3, -2, 0.25, 0.5)}) < exact);
}

TEST_CASE("adagrad takes two exact steps") {
  const auto expected = [](double p, double g1, double g2) {
    double v = 0.1;
    for (double g : {g1, g2}) {
      v += g * g;
      p -= 0.01 * g / std::sqrt(v + 1e-7);
    }
    return p;
  };
  CHECK(test::distance(two_steps(glia::adagrad{0.01}),
                       std::vector{expected(1, 0.5, 1), expected(-3, -2, 0.25)}) < exact);
}

TEST_CASE("optimizers describe themselves, compare, and refuse what is out of range") {
  CHECK(glia::text(glia::adam{}) == "adam(0.001)");
  CHECK(glia::text(glia::sgd{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}) ==
        "sgd(0.1, momentum 0.9, nesterov)");
  CHECK(glia::adam{} == glia::adam{1e-3});
  CHECK(glia::adam{} != glia::adam{1e-2});
  CHECK_THROWS_AS((void)glia::adam{.beta_1 = 1}.numbers(0), glia::value_error);
  CHECK_THROWS_AS((void)glia::sgd{.nesterov = true}.numbers(0), glia::value_error);
  CHECK_THROWS_AS((void)glia::rmsprop{.rho = -1}.numbers(0), glia::value_error);
  CHECK_THROWS_AS((void)glia::adagrad{.epsilon = 0}.numbers(0), glia::value_error);
}

TEST_CASE("clipping bounds every value, or the joint norm") {
  const glia::cpu<float> device;
  const auto clipped = [&](const std::vector<glia::gradient_transform>& transforms) {
    std::vector<glia::tensor> gradients{
        test::tensor_of(device, {2}, {3, 0}), {}, test::tensor_of(device, {1}, {-4})};
    glia::detail::transform_gradients(transforms, device, gradients);
    auto values = test::values_of(device, gradients[0]);
    values.push_back(test::values_of(device, gradients[2])[0]);
    return values;
  };
  CHECK(clipped({}) == std::vector<float>{3, 0, -4});
  CHECK(clipped({glia::clip_by_value(3.5)}) == std::vector<float>{3, 0, -3.5F});
  CHECK(clipped({glia::clip_by_global_norm(10)}) == std::vector<float>{3, 0, -4});
  CHECK(test::distance(clipped({glia::clip_by_global_norm(1)}), std::vector<double>{0.6, 0, -0.8}) <
        tolerance::hand_computed);
  // In the order in which they are listed: 3 and -3 of norm 18^(1/2), or 6/10 and -8/10.
  CHECK(test::distance(clipped({glia::clip_by_value(3), glia::clip_by_global_norm(1)}),
                       std::vector<double>{std::sqrt(0.5), 0, -std::sqrt(0.5)}) <
        tolerance::hand_computed);
  CHECK(test::distance(clipped({glia::clip_by_global_norm(1), glia::clip_by_value(0.7)}),
                       std::vector<double>{0.6, 0, -0.7}) < tolerance::hand_computed);
}

TEST_CASE("optimizers refuse decays and epsilons that are negative or not finite") {
  const auto refused = [](const auto& optimizer, const std::string& message) {
    return test::contains(test::message_of<glia::value_error>([&] { (void)optimizer.numbers(0); }),
                          message);
  };
  for (const double decay : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const std::string message = ": expected a finite weight_decay of at least 0, got ";
    CHECK(refused(glia::sgd{.weight_decay = decay}, "sgd" + message));
    CHECK(refused(glia::adam{.weight_decay = decay}, "adam" + message));
    CHECK(refused(glia::adamw{.weight_decay = decay}, "adamw" + message));
    CHECK(refused(glia::rmsprop{.weight_decay = decay}, "rmsprop" + message));
    CHECK(refused(glia::adagrad{.weight_decay = decay}, "adagrad" + message));
  }
  for (const double epsilon : {0.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const std::string message = ": expected a finite positive epsilon, got ";
    CHECK(refused(glia::adam{.epsilon = epsilon}, "adam" + message));
    CHECK(refused(glia::adamw{.epsilon = epsilon}, "adamw" + message));
    CHECK(refused(glia::rmsprop{.epsilon = epsilon}, "rmsprop" + message));
    CHECK(refused(glia::adagrad{.epsilon = epsilon}, "adagrad" + message));
  }
  CHECK(refused(glia::adagrad{.initial_accumulator_value = INFINITY}, "initial_accumulator_value"));
}

TEST_CASE("clipping refuses bounds that bound nothing or make nothing of gradients") {
  for (const double bound : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    CHECK_THROWS_AS(glia::clip_by_global_norm(bound), glia::value_error);
    CHECK_THROWS_AS(glia::clip_by_value(bound), glia::value_error);
  }
  std::vector<glia::tensor> gradients;
  CHECK_THROWS_AS(
      glia::detail::transform_gradients({{.bound = INFINITY}}, glia::cpu<float>(), gradients),
      glia::value_error);
  constexpr glia::gradient_transform transform = glia::clip_by_global_norm(2);
  CHECK(transform.bound == 2);
}
