#include <algorithm>
#include <cmath>
#include <glia/models/calibrate.hpp>
#include <glia/testing/values.hpp>
#include <limits>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"

namespace {

xt::xarray<float> samples_of(std::size_t count, const glia::shape& sample, std::uint32_t stream) {
  const glia::shape s = glia::batch_of(count, sample);
  return xt::adapt(glia::testing::test_values(s, stream),
                   std::vector<std::size_t>(s.begin(), s.end()));
}

/// Windows over images, each channel on its own, single pixels, with batch normalizations.
auto block() {
  return glia::sequential{
      glia::conv2d{.filters = 12, .kernel_size = 3, .padding = glia::same},
      glia::batch_norm{},
      glia::relu6,
      glia::depthwise_conv2d{.kernel_size = 3, .strides = 2, .padding = glia::same},
      glia::batch_norm{},
      glia::relu6,
      glia::conv2d{8, 1},
      glia::flatten{},
      glia::dense{20, glia::tanh},
      glia::dense{5}};
}

bool same(const xt::xarray<float>& a, const xt::xarray<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST_CASE("a calibrated model predicts with integers, nearly the same") {
  const glia::shape sample{13, 11, 3};
  glia::model net{block(), sample};
  const xt::xarray<float> x = samples_of(64, sample, 3);
  const glia::quantization quantization = glia::calibrate(net, x);
  REQUIRE(quantization.products.size() == 5);
  CHECK(quantization.left_in_float == 0);
  CHECK(quantization.error < 0.05);
  CHECK(quantization.error > 0);
  CHECK(quantization.products[0].layer == "conv2d_0");
  CHECK(quantization.products[0].weight_scales.size() == 12);
  CHECK(quantization.products[3].layer == "dense_0");
  // After a function that bounds from below by 0, so do its bytes.
  CHECK(quantization.products[1].input_zero == 0);
  CHECK(quantization.products[0].input_zero == Approx(127.5).margin(6));

  const auto ready = net.prepare(quantization, {.batch_size = 64});
  CHECK(test::kernel_count(ready.calls(), "quantized_chain") == 3);
  CHECK(test::kernel_count(ready.calls(), "conv2d_chain") +
            test::kernel_count(ready.calls(), "packed_dense") ==
        0);
  const xt::xarray<float> y = net.predict(x);
  CHECK(test::relative_change(ready(x), y) == Approx(quantization.error).epsilon(1e-3));
  // Others of the kind that it has not seen.
  const xt::xarray<float> unseen = samples_of(64, sample, 4);
  CHECK(test::relative_change(ready(unseen), net.predict(unseen)) < 2 * quantization.error);

  SECTION("the same for every number of threads, and for every batch") {
    const glia::model single_threaded{block(), sample, glia::cpu<float>({.threads = 1})};
    CHECK(same(single_threaded.prepare(quantization, {.batch_size = 64})(x), ready(x)));
    const auto single = net.prepare(quantization);
    const xt::xarray<float> first = xt::view(x, xt::range(0, 1));
    CHECK(same(single(first), xt::view(ready(x), xt::range(0, 1))));
  }
  SECTION("a model that was prepared before stays in float") {
    CHECK(same(net.prepare({.batch_size = 64})(x), y));
  }
  SECTION("a backend without integers computes the same by numbers") {
    const glia::model plain{block(), sample, glia::reference<float>()};
    const auto by_numbers = plain.prepare(quantization, {.batch_size = 64});
    CHECK(test::kernel_count(by_numbers.calls(), "quantized_chain") == 0);
    CHECK(test::kernel_count(by_numbers.calls(), "fake_quantize") == 5);
    CHECK(test::relative_change(by_numbers(x), ready(x)) < quantization.error / 2);
  }
  SECTION("one product of several") {
    glia::quantization subset = quantization;
    subset.products.erase(subset.products.begin() + 1, subset.products.end());
    const auto partial = net.prepare(subset, {.batch_size = 64});
    CHECK(test::kernel_count(partial.calls(), "quantized_chain") == 1);
    CHECK(test::relative_change(partial(x), y) ==
          Approx(quantization.products[0].error).epsilon(1e-3));
  }
}

TEST_CASE("inputs that come of others by another shape alone are seen") {
  const auto check = [](const std::string& name, const auto& description,
                        const glia::shape& sample) {
    INFO(name);
    const glia::model net{description, sample};
    const auto quantization = glia::calibrate(net, samples_of(64, sample, 3), {.tolerance = 1e9});
    REQUIRE_FALSE(quantization.products.empty());
    for (const auto& product : quantization.products) {
      CHECK(product.input_scale < 0.1F);
      CHECK(product.error < 0.1);
    }
  };
  const glia::conv2d convolution{.filters = 8, .kernel_size = 3};
  check("rows cut off", glia::sequential{glia::crop2d{glia::border2d(1, 1, 0, 0)}, convolution},
        {12, 12, 3});
  check("nothing cut off", glia::sequential{glia::crop2d{0}, convolution}, {12, 12, 3});
  check("one head", glia::multi_head_attention{.num_heads = 1, .key_dim = 4}, {6, 4});
}

TEST_CASE("a pooling of single pixels between products of bytes changes nothing") {
  const auto make_network = [](const auto& middle) {
    return glia::sequential{glia::conv2d{.filters = 4, .kernel_size = 1}, middle,
                            glia::conv2d{.filters = 17, .kernel_size = 3, .padding = glia::same}};
  };
  const glia::shape sample{8, 12, 8};
  const xt::xarray<float> x = samples_of(32, sample, 5);
  const glia::model plain{make_network(glia::identity{}), sample};
  const glia::model pooled{make_network(glia::max_pool2d{1}), sample};
  const glia::quantization quantization = glia::calibrate(plain, x, {.tolerance = 1e9});
  REQUIRE(quantization.products.size() == 2);
  const xt::xarray<float> y = plain.prepare(quantization, {.batch_size = 32})(x);
  CHECK(test::relative_change(pooled.prepare(quantization, {.batch_size = 32})(x), y) < 0.02);
  CHECK(test::relative_change(y, plain.predict(x)) < 0.1);
}

TEST_CASE("products that move the outputs too far stay as they are") {
  const glia::shape sample{20};
  glia::model net{glia::sequential{glia::dense{30, glia::relu}, glia::dense{10}}, sample};
  const xt::xarray<float> x = samples_of(96, sample, 5);
  const glia::quantization complete = glia::calibrate(net, x, {.tolerance = 1});
  REQUIRE(complete.products.size() == 2);
  CHECK(complete.products[0].error > 0);
  const double smaller = std::min(complete.products[0].error, complete.products[1].error);
  const glia::quantization partial = glia::calibrate(net, x, {.tolerance = smaller * 1.01});
  REQUIRE(partial.products.size() == 1);
  CHECK(partial.products[0].error == smaller);
  CHECK(partial.left_in_float == 1);
  const glia::quantization empty = glia::calibrate(net, x, {.tolerance = smaller / 2});
  CHECK(empty.products.empty());
  CHECK(empty.left_in_float == 2);
  CHECK(empty.error == 0);
  CHECK(same(net.prepare(empty, {.batch_size = 96})(x), net.predict(x)));
}

TEST_CASE("a data set is sampled all over") {
  const glia::shape sample{4};
  glia::model net{glia::sequential{glia::dense{3, glia::relu}, glia::dense{2}}, sample};
  const xt::xarray<float> x = samples_of(64, sample, 1);
  const glia::labeled_arrays data(x, xt::xarray<int>(xt::zeros<int>({64})));
  CHECK(glia::calibrate(net, data) == glia::calibrate(net, x));
  const xt::xarray<float> subset = xt::view(x, xt::range(0, 64, 4));
  CHECK(glia::calibrate(net, data, {.batch_size = 4, .samples = 16}) ==
        glia::calibrate(net, subset, {.batch_size = 4}));
}

TEST_CASE("ranges leave rare outliers out") {
  glia::detail::number_histogram histogram;
  std::vector<float> numbers = glia::testing::test_values({1000000}, 7);
  numbers.push_back(4);
  for (int pass = 0; pass < 2; ++pass) {
    histogram.add(numbers);
    histogram.end_pass();
  }
  const glia::byte_scale best = histogram.best_bytes();
  CHECK(best.scale * 255 < 3);
  CHECK(best.scale * 255 > 2);
  CHECK(best.scale * static_cast<float>(best.zero) == Approx(1).margin(0.2));

  glia::detail::number_histogram empty;
  empty.add({});
  empty.end_pass();
  CHECK(empty.best_bytes().scale == 1);
}

TEST_CASE("calibrate says what is wrong") {
  const glia::shape sample{4};
  glia::model net{glia::sequential{glia::dense{3, glia::relu}, glia::dense{2}}, sample};
  const auto message = [&](const xt::xarray<float>& x,
                           const glia::calibrate_options& options = {}) {
    return test::message_of<glia::error>(
        [&] { static_cast<void>(glia::calibrate(net, x, options)); });
  };
  CHECK(test::contains(message(samples_of(0, sample, 1)), "got 0 samples"));
  CHECK(test::contains(message(samples_of(4, sample, 1), {.tolerance = -1}), "-1"));
  CHECK(test::contains(message(samples_of(4, {5}, 1)), "(N, 4)"));
  xt::xarray<float> broken = samples_of(4, sample, 1);
  broken.flat(6) = std::numeric_limits<float>::quiet_NaN();
  CHECK(test::contains(message(broken), "expected finite inputs of a product, got nan"));

  glia::quantization quantization =
      glia::calibrate(net, samples_of(4, sample, 1), {.tolerance = 1});
  quantization.products[0].layer = "dense_7";
  CHECK(test::contains(
      test::message_of<glia::value_error>([&] { static_cast<void>(net.prepare(quantization)); }),
      "no product 0 with fixed weights in the layer 'dense_7'"));
  quantization.products[0].layer = "dense_1";
  quantization.products[0].weight_scales = {1};
  CHECK(test::contains(
      test::message_of<glia::value_error>([&] { static_cast<void>(net.prepare(quantization)); }),
      "one scale for each of 2 outputs of 'dense_1', got 1"));
}

TEST_CASE("a quantization's scales are above 0, and its zeros bytes") {
  glia::model net{glia::sequential{glia::dense{2}}, {3}};
  const auto message = [&](const glia::quantized_product& product) {
    return test::message_of<glia::value_error>(
        [&] { static_cast<void>(net.prepare(glia::quantization{{product}})); });
  };
  CHECK(message({"dense_0", 0, 0.1F, 3, {1, 2}}).empty());
  CHECK(test::contains(message({"dense_0", 0, 0.1F, 3, {1, 0}}),
                       "scales above 0 for the weights of 'dense_0', got 0"));
  CHECK(test::contains(message({"dense_0", 0, -0.1F, 3, {1, 2}}), "got -0.1 and 3"));
  CHECK(test::contains(message({"dense_0", 0, 0.1F, 256, {1, 2}}), "got 0.1 and 256"));
  CHECK(test::contains(message({"dense_0", 0, std::numeric_limits<float>::infinity(), 3, {1, 2}}),
                       "got inf"));
}

TEST_CASE("weights and inputs of nothing but zeros are quantized") {
  const glia::shape sample{4};
  glia::model net{glia::sequential{glia::dense{3, glia::relu}, glia::dense{2}}, sample};
  net.set("dense_0.kernel", xt::xarray<float>(xt::zeros<float>({4, 3})));
  const xt::xarray<float> x = samples_of(8, sample, 1);
  const glia::quantization quantization = glia::calibrate(net, x, {.tolerance = 1});
  const xt::xarray<float> y = net.prepare(quantization, {.batch_size = 8})(x);
  CHECK(same(y, net.predict(x)));
}
