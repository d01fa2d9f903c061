#include <glia/ops/comparisons.hpp>
#include <glia/ops/elementwise.hpp>
#include <glia/ops/noise.hpp>
#include <glia/ops/reductions.hpp>
#include <limits>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

namespace ops = glia::ops;
using numbers = std::vector<double>;

/// Calls a function with a tape on the reference and on the cpu device, both in double.
template <class Function>
void on_host_devices(const Function& function) {
  for (const glia::device& device :
       {glia::device(glia::reference<double>()), glia::device(glia::cpu<double>())}) {
    glia::tape tape(device);
    function(tape);
  }
}

glia::variable leaf(glia::tape& tape, const numbers& values, const glia::shape& s) {
  return tape.leaf(tape.device().from_host(std::span(values), s));
}

numbers numbers_in(const glia::tape& tape, const glia::tensor& x) {
  numbers values(x.size());
  tape.device().to_host(x, std::span(values));
  return values;
}

std::vector<std::int32_t> indices_in(const glia::tape& tape, const glia::tensor& x) {
  std::vector<std::int32_t> values(x.size());
  tape.device().to_host(x, std::span(values));
  return values;
}

}  // namespace

TEST_CASE("comparisons are 1 where they hold, and false for NaN except for not_equal") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  on_host_devices([&](glia::tape& tape) {
    const auto a = leaf(tape, {1, 2, 3, nan, nan}, {5});
    const auto b = leaf(tape, {2, 2, 2, 2, nan}, {5});
    CHECK(numbers_in(tape, ops::greater(a, b)) == numbers{0, 0, 1, 0, 0});
    CHECK(numbers_in(tape, ops::greater_equal(a, b)) == numbers{0, 1, 1, 0, 0});
    CHECK(numbers_in(tape, ops::less(a, b)) == numbers{1, 0, 0, 0, 0});
    CHECK(numbers_in(tape, ops::less_equal(a, b)) == numbers{1, 1, 0, 0, 0});
    CHECK(numbers_in(tape, ops::equal(a, b)) == numbers{0, 1, 0, 0, 0});
    CHECK(numbers_in(tape, ops::not_equal(a, b)) == numbers{1, 0, 1, 1, 1});
    CHECK(numbers_in(tape, ops::greater(a, 2)) == numbers{0, 0, 1, 0, 0});
    CHECK(numbers_in(tape, ops::greater_equal(a, 2)) == numbers{0, 1, 1, 0, 0});
    CHECK(numbers_in(tape, ops::less(a, 2)) == numbers{1, 0, 0, 0, 0});
    CHECK(numbers_in(tape, ops::less_equal(a, 2)) == numbers{1, 1, 0, 0, 0});
    CHECK(numbers_in(tape, ops::equal(a, 2)) == numbers{0, 1, 0, 0, 0});
    CHECK(numbers_in(tape, ops::not_equal(a, 2)) == numbers{1, 0, 1, 1, 1});
    CHECK_THROWS_AS(ops::less(a, leaf(tape, {1, 2}, {2})), glia::shape_error);
  });
}

TEST_CASE("comparisons broadcast and select") {
  on_host_devices([](glia::tape& tape) {
    const auto a = leaf(tape, {1, 5}, {2, 1});
    const auto b = leaf(tape, {0, 3, 6}, {3});
    const glia::tensor condition = ops::less(a, b);
    CHECK(condition.shape() == glia::shape{2, 3});
    CHECK(numbers_in(tape, condition) == numbers{0, 1, 1, 0, 0, 1});
    CHECK(numbers_in(tape, ops::where(condition, a, b).value()) == numbers{0, 1, 1, 0, 3, 5});
  });
}

TEST_CASE("max, min and argmax along axes are those of NumPy") {
  on_host_devices([](glia::tape& tape) {
    numbers values(24);
    for (std::size_t i = 0; i < 24; ++i) {
      values[i] = static_cast<double>(i * 7 % 24);  // each number from 0 to 23 once
    }
    const auto x = leaf(tape, values, {2, 3, 4});
    const auto check = [&](const glia::variable& y, const glia::shape& s, const numbers& expected) {
      CHECK(y.shape() == s);
      CHECK(numbers_in(tape, y.value()) == expected);
    };
    check(ops::max(x), {}, {23});
    check(ops::min(x), {}, {0});
    check(ops::max(x, {0}), {3, 4}, {12, 19, 14, 21, 16, 23, 18, 13, 20, 15, 22, 17});
    check(ops::min(x, {0}), {3, 4}, {0, 7, 2, 9, 4, 11, 6, 1, 8, 3, 10, 5});
    check(ops::max(x, {1}), {2, 4}, {8, 15, 22, 21, 20, 23, 10, 17});
    check(ops::max(x, {-1}), {2, 3}, {21, 18, 22, 19, 23, 20});
    check(ops::min(x, {-1}), {2, 3}, {0, 1, 5, 2, 6, 3});
    check(ops::max(x, {1, 2}), {2}, {22, 23});
    check(ops::max(x, {0, 2}), {3}, {21, 23, 22});
    check(ops::max(x, {-1, -3}), {3}, {21, 23, 22});
    check(ops::min(x, {0, 1, 2}), {}, {0});
    CHECK(indices_in(tape, ops::argmax(x, -1)) == std::vector<std::int32_t>{3, 2, 2, 1, 1, 0});
    const glia::tensor first_axis = ops::argmax(x, 0);
    CHECK(first_axis.shape() == glia::shape{3, 4});
    CHECK(indices_in(tape, first_axis) ==
          std::vector<std::int32_t>{1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1});
    CHECK(ops::argmax(x, 1).shape() == glia::shape{2, 4});
    CHECK_THROWS_AS(ops::max(x, {3}), glia::shape_error);
    CHECK_THROWS_AS(ops::argmax(x, -4), glia::shape_error);
    CHECK_THROWS_AS(ops::argmax(leaf(tape, {}, {3, 0}), 1), glia::shape_error);
    CHECK_THROWS_AS(ops::max(leaf(tape, {}, {0, 3}), {0}), glia::shape_error);
    CHECK_THROWS_AS(ops::max(leaf(tape, {}, {0, 3}), {1}), glia::shape_error);
  });
}

TEST_CASE(
    "the largest element of a row with NaN is NaN, and ties give their gradient to the first") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  on_host_devices([&](glia::tape& tape) {
    const auto x = leaf(tape, {1, nan, 2, 3, 3, 0}, {2, 3});
    const auto largest = numbers_in(tape, ops::max(x, {1}).value());
    CHECK(std::isnan(largest[0]));
    CHECK(largest[1] == 3);
    CHECK(std::isnan(numbers_in(tape, ops::min(x, {1}).value())[0]));
    const auto ties = leaf(tape, {3, 3, 0, -1, -1, 5}, {2, 3});
    tape.backward(ops::sum(ops::max(ties, {1}) + ops::min(ties, {1})));
    CHECK(numbers_in(tape, tape.take_gradient(ties.slot())) == numbers{1, 0, 1, 1, 0, 1});
  });
}

TEST_CASE("cumulative sums add all elements up to a position") {
  on_host_devices([](glia::tape& tape) {
    const auto x = leaf(tape, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 5});
    CHECK(numbers_in(tape, ops::cumsum(x, -1).value()) ==
          numbers{1, 3, 6, 10, 15, 6, 13, 21, 30, 40});
    CHECK(numbers_in(tape, ops::cumsum(x, 0).value()) == numbers{1, 2, 3, 4, 5, 7, 9, 11, 13, 15});
    CHECK_THROWS_AS(ops::cumsum(x, 2), glia::shape_error);
    tape.backward(ops::sum(ops::cumsum(x, 1)));
    CHECK(numbers_in(tape, tape.take_gradient(x.slot())) == numbers{5, 4, 3, 2, 1, 5, 4, 3, 2, 1});
  });
}

TEST_CASE("random normal numbers depend on the key and the stream, not on x") {
  on_host_devices([](glia::tape& tape) {
    const glia::step_key step{.seed = 7};
    const auto words = step.to_words();
    const glia::tensor key =
        tape.device().from_host(std::span<const std::int32_t>(words), {glia::step_key::words});
    const numbers nan(10000, std::numeric_limits<double>::quiet_NaN());
    const auto x = leaf(tape, nan, {100, 100});
    const auto draw = [&](std::uint32_t stream) {
      const auto y = ops::random_normal_like(x, {key, stream});
      CHECK(y.shape() == x.shape());
      CHECK_FALSE(y.needs_gradient());
      return numbers_in(tape, y.value());
    };
    const numbers first = draw(0);
    CHECK(first == draw(0));
    CHECK(first != draw(1));
    const double mean = std::accumulate(first.begin(), first.end(), 0.0) / 10000;
    const double square =
        std::inner_product(first.begin(), first.end(), first.begin(), 0.0) / 10000;
    CHECK(std::abs(mean) < 0.05);        // five standard errors
    CHECK(std::abs(square - 1) < 0.07);  // five standard errors
  });
}
