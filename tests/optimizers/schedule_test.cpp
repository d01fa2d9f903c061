#include <cmath>
#include <functional>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("schedules follow their formulas") {
  const glia::schedule constant = 0.5;
  CHECK(constant(0) == 0.5);
  CHECK(constant(1000) == 0.5);

  const auto steps = glia::exponential_decay(1, 10, 0.5, {.staircase = true});
  CHECK(steps(9) == 1);
  CHECK(steps(10) == 0.5);
  CHECK(steps(29) == 0.25);

  const auto exponential = glia::exponential_decay(2, 10, 0.25);
  CHECK(std::abs(exponential(5) - 1) < 1e-12);
  CHECK(std::abs(exponential(10) - 0.5) < 1e-12);

  const auto cosine = glia::cosine_decay(1, 100, 0.2);
  CHECK(cosine(0) == 1);
  CHECK(std::abs(cosine(50) - 0.6) < 1e-12);
  CHECK(std::abs(cosine(100) - 0.2) < 1e-12);
  CHECK(std::abs(cosine(5000) - 0.2) < 1e-12);

  const auto warm =
      glia::linear_warmup(10, glia::exponential_decay(1, 10, 0.5, {.staircase = true}), 0.2);
  CHECK(std::abs(warm(0) - 0.2) < 1e-12);
  CHECK(std::abs(warm(5) - 0.6) < 1e-12);
  CHECK(warm(10) == 1);
  CHECK(warm(20) == 0.5);

  const glia::schedule custom = [](std::size_t step) {
    return 1.0 / static_cast<double>(step + 1);
  };
  CHECK(custom(3) == 0.25);
}

TEST_CASE("one cycle has the rates of PyTorch's OneCycleLR") {
  // 30 of 100 steps upwards: step 29 is the peak, and step 99 the last one.
  const auto rate = glia::one_cycle(0.1, 100);
  const auto between = [](double first, double last, double done) {
    return last + (first - last) * (1 + std::cos(std::acos(-1.0) * done)) / 2;
  };
  CHECK(rate(0) == Approx(0.004));
  CHECK(rate(10) == Approx(between(0.004, 0.1, 10.0 / 29)));
  CHECK(rate(29) == Approx(0.1));
  CHECK(rate(60) == Approx(between(0.1, 4e-7, 31.0 / 70)));
  CHECK(rate(99) == Approx(4e-7));
  CHECK(rate(1000) == rate(99));
  for (std::size_t step = 0; step < 99; ++step) {
    CHECK((step < 29 ? rate(step) < rate(step + 1) : rate(step) > rate(step + 1)));
  }
  const glia::one_cycle_options falling{.pct_start = 0, .div_factor = 1, .final_div_factor = 10};
  CHECK(glia::one_cycle(1, 11, falling)(0) == Approx(1));
  CHECK(glia::one_cycle(1, 11, falling)(5) == Approx(0.55));
  const glia::one_cycle_options growing{.pct_start = 1, .div_factor = 4};
  CHECK(glia::one_cycle(1, 11, growing)(0) == Approx(0.25));
  CHECK(glia::one_cycle(1, 11, growing)(10) == Approx(1));
  CHECK(glia::one_cycle(1, 11, growing) != glia::one_cycle(1, 11, falling));
  CHECK_THROWS_AS(glia::one_cycle(0.1, 1), glia::value_error);
  CHECK_THROWS_AS(glia::one_cycle(NAN, 10), glia::value_error);
  CHECK_THROWS_AS(glia::one_cycle(0.1, 10, {.pct_start = 1.5}), glia::value_error);
  CHECK_THROWS_AS(glia::one_cycle(0.1, 10, {.div_factor = 0}), glia::value_error);
}

TEST_CASE("schedules compare and print") {
  CHECK(glia::cosine_decay(1, 100) == glia::cosine_decay(1, 100));
  CHECK(glia::cosine_decay(1, 100) != glia::cosine_decay(1, 101));
  const glia::schedule custom = [](std::size_t) { return 1.0; };
  const glia::schedule copy = custom;
  const glia::schedule other = [](std::size_t) { return 1.0; };
  CHECK(custom == copy);
  CHECK(custom != other);
  CHECK(glia::text(glia::linear_warmup(5, 0.1)) == "linear_warmup(5 steps from 0, then 0.1)");
  CHECK_THROWS_AS(glia::exponential_decay(1, 0, 0.5, {.staircase = true}), glia::value_error);
  CHECK_THROWS_AS(glia::cosine_decay(1, 0), glia::value_error);
}

TEST_CASE("a learning rate is finite and not negative") {
  const glia::schedule falling = [](std::size_t step) { return 1 - static_cast<double>(step); };
  CHECK(falling(1) == 0);
  CHECK_THROWS_WITH(falling(2),
                    "learning rate custom: expected a finite number of at least 0, "
                    "got -1 at step 2");
  CHECK_THROWS_AS(glia::adam{-1e-3}, glia::value_error);
  CHECK_THROWS_AS(glia::schedule(std::nan("")), glia::value_error);
}

TEST_CASE("a trainer asks the schedule once per step, whatever the number of parameters") {
  std::vector<std::size_t> asked;
  const glia::schedule recording = [&](std::size_t step) {
    asked.push_back(step);
    return 0.1;
  };
  glia::model net{glia::sequential{glia::dense{3, glia::tanh}, glia::dense{4}}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{recording}};
  const test::quadrants data{10};
  trainer.fit(data, {.epochs = 1, .batch_size = 5, .progress = nullptr});
  // Two steps, and once more for the epoch's record.
  CHECK(asked == std::vector<std::size_t>{0, 1, 1});
}

TEST_CASE("schedules refuse rates and factors that would fail at a later step, and no function") {
  CHECK_THROWS_AS(glia::exponential_decay(0.1, 2, -1, {.staircase = true}), glia::value_error);
  CHECK_THROWS_AS(glia::exponential_decay(0.1, 2, NAN, {.staircase = true}), glia::value_error);
  CHECK_THROWS_AS(glia::exponential_decay(0.1, 1, INFINITY), glia::value_error);
  CHECK_THROWS_AS(glia::cosine_decay(0.1, 10, -1), glia::value_error);
  CHECK_THROWS_AS(glia::linear_warmup(10, 0.1, NAN), glia::value_error);
  CHECK_THROWS_AS(glia::schedule(std::function<double(std::size_t)>()), glia::value_error);
}
