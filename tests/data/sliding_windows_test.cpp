#include <glia/data/sliding_windows.hpp>
#include <glia/data/time_split.hpp>
#include <glia/data/weighted_samples.hpp>
#include <glia/models/forecast.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

xt::xarray<float> counted(std::size_t steps) {
  return xt::arange<float>(0, static_cast<float>(steps));
}

std::vector<float> input_of(const glia::sliding_windows& windows, std::size_t sample) {
  std::vector<float> values(windows.input_shape().size());
  windows.input(sample, values);
  return values;
}
std::vector<float> target_of(const glia::sliding_windows& windows, std::size_t sample) {
  std::vector<float> values(windows.target_shape().size());
  windows.target(sample, values);
  return values;
}

}  // namespace

TEST_CASE("windows slide over one series") {
  const glia::sliding_windows windows(counted(10), {.length = 3, .horizon = 2});
  CHECK(windows.size() == 6);
  CHECK(windows.input_shape() == glia::shape{3, 1});
  CHECK(windows.target_shape() == glia::shape{2});
  CHECK(input_of(windows, 0) == std::vector<float>{0, 1, 2});
  CHECK(target_of(windows, 0) == std::vector<float>{3, 4});
  CHECK(input_of(windows, 5) == std::vector<float>{5, 6, 7});
  CHECK(target_of(windows, 5) == std::vector<float>{8, 9});

  const glia::sliding_windows apart(counted(10), {.length = 3, .gap = 2, .stride = 4});
  CHECK(apart.size() == 2);
  CHECK(input_of(apart, 1) == std::vector<float>{4, 5, 6});
  CHECK(target_of(apart, 1) == std::vector<float>{9});
  CHECK(apart.position(1) == glia::window_position{0, 4, 9, 10});
}

TEST_CASE("windows over several series lie in one of them, and copies share the series") {
  const xt::xarray<float> first{{0, 10}, {1, 11}, {2, 12}};
  const xt::xarray<float> other{{5, 15}};
  const xt::xarray<float> last{{6, 16}, {7, 17}};
  const glia::sliding_windows windows(std::vector{first, other, last}, {.length = 1});
  CHECK(windows.size() == 3);
  CHECK(windows.target_shape() == glia::shape{1, 2});
  CHECK(input_of(windows, 1) == std::vector<float>{1, 11});
  CHECK(target_of(windows, 1) == std::vector<float>{2, 12});
  CHECK(input_of(windows, 2) == std::vector<float>{6, 16});
  CHECK(windows.position(2) == glia::window_position{2, 0, 1, 2});
  const glia::sliding_windows copy =
      windows;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(&copy.series() == &windows.series());

  const glia::sliding_windows one_column(first, {.length = 2, .target_columns = {1}});
  CHECK(one_column.target_shape() == glia::shape{1});
  CHECK(target_of(one_column, 0) == std::vector<float>{12});
}

TEST_CASE("wrong series and options of windows are refused") {
  const auto error = [](const std::vector<xt::xarray<float>>& series,
                        const glia::sliding_windows_options& options) {
    return message_of<glia::error>([&] { const glia::sliding_windows windows(series, options); });
  };
  CHECK(contains(error({}, {.length = 1}), "expected one or more series, got none"));
  CHECK(contains(error({counted(5)}, {}), "at least 1, got 0, 1 and 1"));
  CHECK(contains(error({counted(5)}, {.length = 4, .horizon = 2}),
                 "a window takes 6 steps (length, gap and horizon), but the longest series has 5"));
  CHECK(contains(error({counted(5)}, {.length = 1, .target_columns = {1}}),
                 "expected target columns from 0 to 0, got 1"));
  CHECK(contains(error({xt::ones<float>({2, 2, 2})}, {.length = 1}), "got (2, 2, 2)"));
  CHECK(contains(error({xt::ones<float>({4, 2}), xt::ones<float>({4, 3})}, {.length = 1}),
                 "the same number of columns, got 2 and 3"));
}

TEST_CASE("a split by time keeps the targets of the test out of the training") {
  const glia::sliding_windows windows(counted(20), {.length = 3, .horizon = 2});
  const auto [train, test] = glia::time_split(windows, {.test_size = 0.25});
  CHECK(train.samples().front() == 0);
  CHECK(windows.position(train.samples().back()).end == 15);
  CHECK(windows.position(test.samples().front()).first_target == 15);
  CHECK(windows.position(test.samples().back()).end == 20);
  CHECK(train.size() == 11);
  CHECK(test.size() == 4);

  // Each series has its own border.
  const glia::sliding_windows two(std::vector{counted(8), counted(4)}, {.length = 1});
  const auto parts = glia::time_split(two, {.test_size = 0.5});
  CHECK(parts.train.samples() == std::vector<std::uint32_t>{0, 1, 2, 7});
  CHECK(parts.test.samples() == std::vector<std::uint32_t>{3, 4, 5, 6, 8, 9});

  CHECK(contains(message_of<glia::value_error>([&] { (void)glia::time_split(windows, {1.0}); }),
                 "test_size between 0 and 1, got 1"));
  CHECK(contains(message_of<glia::value_error>([&] { (void)glia::time_split(windows, {0.05}); }),
                 "expected windows to train and to test, got 15 and 0"));
}

TEST_CASE("windows that overlap are not shuffled before a split") {
  const glia::sliding_windows windows(counted(20), {.length = 3, .horizon = 2});
  CHECK(message_of<glia::value_error>([&] { (void)glia::train_test_split(windows); }) ==
        "train_test_split: expected samples that do not overlap, because they are shuffled: of two "
        "overlapping windows, one would be used for training and one for testing; use time_split "
        "or walk_forward, or set shuffle to false: then only windows at the border of the parts "
        "overlap");
  CHECK(contains(message_of<glia::value_error>([&] { (void)glia::k_fold(windows, 2); }),
                 "k_fold: expected samples that do not overlap"));
  // The advice.
  CHECK_NOTHROW(glia::time_split(windows));
  CHECK(glia::train_test_split(windows, {.shuffle = false}).test.samples() ==
        std::vector<std::uint32_t>{13, 14, 15});
  CHECK(glia::k_fold(windows, 2, {.shuffle = false})[0].test.samples().front() == 0);
  // Views of windows are windows.
  const auto [train, test] = glia::time_split(windows);
  CHECK_THROWS_AS(glia::train_test_split(train), glia::value_error);
  CHECK_NOTHROW(glia::train_test_split(train, {.shuffle = false}));
  const glia::weighted_samples weighted(windows, xt::ones<float>({windows.size()}));
  CHECK_THROWS_AS(glia::train_test_split(weighted), glia::value_error);
  // Without a common step, the order does not matter: 3 + 1 + 2 steps in a window.
  for (const std::size_t stride : {5U, 6U}) {
    const glia::sliding_windows apart(counted(30),
                                      {.length = 3, .horizon = 2, .gap = 1, .stride = stride});
    CHECK(apart.samples_overlap() == (stride == 5));
    const auto split = [&] { (void)glia::train_test_split(apart); };
    CHECK(message_of<glia::value_error>(split).empty() == (stride == 6));
  }
}

TEST_CASE("a walk-forward validation tests each block by what lies before it") {
  const glia::sliding_windows windows(counted(12), {.length = 1});
  const auto parts = glia::walk_forward(windows, 3);
  REQUIRE(parts.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(parts[k].train.samples().front() == 0);
    CHECK(windows.position(parts[k].train.samples().back()).end == 3 * (k + 1));
    CHECK(windows.position(parts[k].test.samples().front()).first_target == 3 * (k + 1));
    CHECK(windows.position(parts[k].test.samples().back()).end == 3 * (k + 2));
  }
  const auto limited = glia::walk_forward(windows, 3, {.max_train_steps = 4});
  CHECK(limited[0].train.size() == 2);
  CHECK(limited[2].train.samples() == std::vector<std::uint32_t>{5, 6, 7});
  CHECK(contains(message_of<glia::value_error>([&] { (void)glia::walk_forward(windows, 0); }),
                 "at least 1 test block"));
  CHECK_THROWS_AS(glia::walk_forward(windows, 12), glia::value_error);
}

TEST_CASE("a forecast feeds predictions back") {
  // The mean of the last two steps, as the only weights of a network.
  glia::model net{glia::sequential{glia::flatten{}, glia::dense{1}}, {2, 1}};
  net.set("dense_0.kernel", 0.5F * xt::ones<float>({2, 1}));
  net.set("dense_0.bias", xt::xarray<float>{0.0F});
  const xt::xarray<float> recent{9, 2, 4};
  const xt::xarray<float> next = glia::forecast(net, recent, 3);
  CHECK(next.dimension() == 2);
  CHECK(std::vector<float>(next.begin(), next.end()) == std::vector<float>{3, 3.5F, 3.25F});

  // Two columns and two steps at a time: the columns change places.
  glia::model swap{glia::sequential{glia::flatten{}, glia::dense{4}}, {1, 2}};
  swap.set("dense_0.kernel", xt::xarray<float>{{0, 1, 1, 0}, {1, 0, 0, 1}});
  swap.set("dense_0.bias", xt::xarray<float>{0, 0, 0, 0});
  const xt::xarray<float> pairs{{1, 2}};
  const xt::xarray<float> swapped{{2, 1}, {1, 2}, {2, 1}};
  CHECK((glia::forecast(swap, pairs, 3) == swapped));

  CHECK(contains(message_of<glia::shape_error>([&] { (void)glia::forecast(net, pairs, 1); }),
                 "expected at least 2 steps of 1 columns, got (1, 2)"));
  CHECK_THROWS_AS(glia::forecast(net, recent, 0), glia::value_error);
}
