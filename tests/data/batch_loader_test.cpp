#include <numeric>
#include <stdexcept>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

struct numbers {
  std::size_t broken_at = 1000;
  [[nodiscard]] static std::size_t size() { return 10; }
  [[nodiscard]] static glia::shape input_shape() { return {2}; }
  void input(std::size_t i, std::span<float> values) const {
    if (i == broken_at) {
      throw glia::data_error("sample is broken");
    }
    values[0] = static_cast<float>(i);
    values[1] = -static_cast<float>(i);
  }
  [[nodiscard]] static std::int32_t label(std::size_t i) { return static_cast<std::int32_t>(i); }
};

std::vector<std::uint32_t> order_of(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.rbegin(), order.rend(), 0U);
  return order;
}

}  // namespace

TEST_CASE("a loader hands out all samples in order, the last batch short") {
  const numbers data;
  const auto order = order_of(10);
  glia::batch_loader loader(data, 4);
  for (int epoch = 0; epoch < 3; ++epoch) {
    loader.start(order);
    std::vector<std::int32_t> labels;
    std::vector<std::size_t> sizes;
    while (const glia::batch* b = loader.next()) {
      CHECK(b->input_shape == glia::shape{b->size, 2});
      CHECK(b->inputs.size() == 2 * b->size);
      CHECK(b->inputs[1] == -static_cast<float>(b->labels[0]));
      labels.insert(labels.end(), b->labels.begin(), b->labels.end());
      sizes.push_back(b->size);
    }
    CHECK(labels == std::vector<std::int32_t>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    CHECK(sizes == std::vector<std::size_t>{4, 4, 2});
    CHECK(loader.next() == nullptr);
  }
}

TEST_CASE("a pass that is broken off can be followed by another") {
  const numbers data;
  const auto order = order_of(10);
  glia::batch_loader loader(data, 1);
  for (int round = 0; round < 200; ++round) {
    loader.start(order);
    CHECK(loader.next()->labels[0] == 9);
    CHECK(loader.next()->labels[0] == 8);
  }
}

TEST_CASE("what a data set throws comes out of next") {
  const numbers data{.broken_at = 5};
  const auto order = order_of(10);
  glia::batch_loader loader(data, 4);
  // Again and again, so that the failure sometimes comes before the first batch is taken.
  for (int round = 0; round < 200; ++round) {
    loader.start(order);
    CHECK(loader.next()->labels[0] == 9);
    CHECK_THROWS_AS((void)loader.next(), glia::data_error);
    CHECK(loader.next() == nullptr);
    loader.start(std::span(order).first(3));
    CHECK(loader.next()->size == 3);
  }
}

TEST_CASE("a failure in a pass that was broken off does not reach the next one") {
  const numbers data{.broken_at = 5};
  const auto order = order_of(10);
  glia::batch_loader loader(data, 4);
  for (int round = 0; round < 200; ++round) {
    loader.start(order);
    CHECK(loader.next()->labels[0] == 9);
    loader.start(std::span(order).first(3));
    CHECK(loader.next()->size == 3);
    CHECK(loader.next() == nullptr);
  }
}

TEST_CASE("arrays are data sets") {
  const glia::labeled_arrays labeled(xt::xarray<float>{{1, 2}, {3, 4}},
                                     xt::xarray<std::int32_t>{1, 0});
  const glia::target_arrays valued(xt::xarray<float>{{1, 2}, {3, 4}},
                                   xt::ones<float>({2, 1}) * 5.0F);
  glia::batch b;
  const std::vector<std::uint32_t> samples{1, 0};
  glia::dataset_view(labeled).gather(samples, b);
  CHECK(b.inputs == std::vector<float>{3, 4, 1, 2});
  CHECK(b.labels == std::vector<std::int32_t>{0, 1});
  glia::batch c;
  glia::dataset_view(valued).gather(samples, c);
  CHECK(c.targets == std::vector<float>{5, 5});
  CHECK(c.target_shape == glia::shape{2, 1});
  CHECK_THROWS_AS(glia::labeled_arrays(xt::zeros<float>({2, 2}), xt::xarray<std::int32_t>{1}),
                  glia::shape_error);
}
