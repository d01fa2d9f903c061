#include <glia/testing/values.hpp>
#include <numeric>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::relu6;
using glia::sequential;

/// The cpu backend, which writes down how many convolutions each of its chains takes. Whole batches
/// come to it, and kernels one by one.
class spy : public test::forwarding_backend {
 public:
  spy() : forwarding_backend(glia::cpu<float>()) {}

  void run(const glia::kernel_call& call) const override {
    if (const auto* const chain = call.as<kernels::conv2d_chain>()) {
      chains_.push_back(chain->count);
    }
    forwarding_backend::run(call);
  }
  [[nodiscard]] std::vector<std::size_t> chains() const { return chains_; }

 private:
  mutable std::vector<std::size_t> chains_;
};

/// Parameters all different, variances positive, scales not near 0.
template <class Model>
void set_all(Model& net) {
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const glia::parameter_spec spec = net.parameters()[i].spec;
    auto values = glia::testing::test_values(spec.shape, static_cast<std::uint32_t>(50 + i));
    for (float& value : values) {
      if (spec.name.ends_with("variance")) {
        value = 0.3F + 2 * std::abs(value);
      } else if (spec.name.ends_with("gamma")) {
        value = value < 0 ? value - 0.5F : value + 0.5F;
      }
    }
    const xt::xarray<float> shaped =
        xt::adapt(values, std::vector<std::size_t>(spec.shape.begin(), spec.shape.end()));
    net.set(spec.name, shaped);
  }
}

xt::xarray<float> images(std::size_t count, const glia::shape& sample) {
  const glia::shape s = glia::batch_of(count, sample);
  const auto values = glia::testing::test_values(s, 1);
  return xt::adapt(values, std::vector<std::size_t>(s.begin(), s.end()));
}

template <class Description, class B>
xt::xarray<float> predictions(const Description& layers, const glia::shape& sample,
                              std::size_t count, const B& device) {
  glia::model net{layers, sample, device};
  set_all(net);
  return net.predict(images(count, sample), {.batch_size = count});
}

struct comparison {
  double distance;                  // from the reference, relative to the largest output
  std::vector<std::size_t> chains;  // a convolution on its own is one
};

template <class Description>
comparison compare(const Description& layers, const glia::shape& sample, std::size_t count = 3) {
  const auto expected = predictions(layers, sample, count, glia::reference<float>());
  const auto watched = std::make_shared<const spy>();
  const glia::device device(watched);
  const auto got = predictions(layers, sample, count, device);
  double largest = 0;
  for (const float value : expected) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  CHECK(largest > 0.01);
  return {test::distance(got, expected) / largest, watched->chains()};
}

conv2d depthwise(std::size_t channels, std::size_t stride) {
  return {.filters = channels,
          .kernel_size = 3,
          .strides = stride,
          .padding = 1,
          .groups = channels,
          .use_bias = false};
}
conv2d pointwise(std::size_t filters) {
  return {.filters = filters, .kernel_size = 1, .use_bias = false};
}

/// More convolutions than one chain takes; channels that fill no vector; a stride in the middle.
auto bottlenecks() {
  return sequential{
      conv2d{.filters = 13, .kernel_size = 3, .strides = 2, .padding = 1, .use_bias = false},
      batch_norm{},
      relu6,
      depthwise(13, 1),
      batch_norm{.epsilon = 1e-5},
      relu6,
      pointwise(9),
      batch_norm{},
      pointwise(35),
      batch_norm{},
      relu6,
      depthwise(35, 2),
      batch_norm{},
      relu6,
      pointwise(17),
      batch_norm{}};
}

}  // namespace

TEST_CASE("convolutions and normalizations in inference are what the reference computes") {
  const comparison result = compare(bottlenecks(), {15, 18, 3});
  CHECK(result.distance < tolerance::float_kernel);
  // One that widens its input begins a chain.
  CHECK(result.chains == std::vector<std::size_t>{3, 3});
}

TEST_CASE("chains agree with the reference for every number of images") {
  const glia::shape sample{15, 18, 3};
  for (const std::size_t count : {1U, 2U, 7U, 8U, 9U, 16U, 21U}) {
    INFO(count);
    CHECK(compare(bottlenecks(), sample, count).distance < tolerance::float_kernel);
    const auto expected = predictions(bottlenecks(), sample, count, glia::reference<float>());
    // This one has lanes, and sends pieces through.
    const auto got = predictions(bottlenecks(), sample, count, glia::cpu<float>());
    CHECK(test::distance(got, expected) < tolerance::float_kernel * 20);
  }
}

TEST_CASE("chains give the same bits for 1, 2 and 3 threads") {
  for (const std::size_t count : {1U, 5U, 11U, 40U}) {
    INFO(count);
    const auto on = [&](std::size_t threads) {
      return predictions(bottlenecks(), {15, 18, 3}, count, glia::cpu<float>({.threads = threads}));
    };
    const auto one = on(1);
    CHECK((on(2) == one));
    CHECK((on(3) == one));
  }
}

TEST_CASE("a batch_norm behind a convolution with a bias becomes part of it") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel_size = 3}, batch_norm{},
                         conv2d{.filters = 4, .kernel_size = 1}, batch_norm{}, batch_norm{}, relu6},
              {6, 7, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2});
}

TEST_CASE("a batch_norm behind a convolution's own activation is applied after it") {
  // Folded, the map would come after the normalization: that gives other numbers.
  const conv2d activated{.filters = 5, .kernel_size = 3, .activation = glia::relu};
  const sequential layers{activated, batch_norm{}, conv2d{.filters = 4, .kernel_size = 1},
                          batch_norm{}};
  const auto result = compare(layers, {6, 7, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{1, 1});
  // The same with the activation as a layer, and one activation after another.
  CHECK(compare(sequential{conv2d{.filters = 5, .kernel_size = 3}, glia::relu, batch_norm{}},
                {6, 7, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{conv2d{.filters = 5, .kernel_size = 3}, relu6, glia::tanh}, {6, 7, 2})
            .distance < tolerance::float_kernel);
  CHECK(
      compare(sequential{activated, conv2d{.filters = 4, .kernel_size = 1}, glia::relu}, {6, 7, 2})
          .chains == std::vector<std::size_t>{2});
}

TEST_CASE("activations that no chain takes are applied all the same") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel_size = 1}, batch_norm{}, glia::gelu,
                         conv2d{.filters = 4, .kernel_size = 1}, batch_norm{},
                         glia::leaky_relu(0.2), conv2d{.filters = 3, .kernel_size = 1},
                         glia::linear, conv2d{.filters = 6, .kernel_size = 1}, glia::tanh},
              {4, 5, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{1});
}

TEST_CASE("softmax behind a convolution is over the channels") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel_size = 1}, glia::softmax,
                         conv2d{.filters = 4, .kernel_size = 1}, batch_norm{},
                         conv2d{.filters = 3, .kernel_size = 1, .activation = glia::softmax}},
              {4, 5, 2});
  CHECK(result.distance < tolerance::float_kernel);
  const auto y = predictions(sequential{conv2d{.filters = 4, .kernel_size = 1},
                                        conv2d{.filters = 5, .kernel_size = 1}, glia::softmax},
                             {4, 5, 2}, 2, glia::cpu<float>());
  for (std::size_t i = 0; i < y.size(); i += 5) {
    REQUIRE(std::abs(std::accumulate(y.data() + i, y.data() + i + 5, 0.0F) - 1) < 1e-5F);
  }
}

TEST_CASE("pooling behind a convolution goes on in one kernel, chained or not") {
  const auto result = compare(
      sequential{conv2d{.filters = 8, .kernel_size = 3, .activation = glia::relu},
                 glia::max_pool2d{}, conv2d{.filters = 8, .kernel_size = 1}, batch_norm{}, relu6,
                 glia::max_pool2d{}, pointwise(6), depthwise(6, 1), glia::avg_pool2d{}},
      {18, 18, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2});
}

TEST_CASE("a batch_norm with no convolution before it runs on its own") {
  CHECK(compare(sequential{batch_norm{}, conv2d{.filters = 4, .kernel_size = 1}, batch_norm{}},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{glia::flatten{}, glia::dense{6}, batch_norm{}, glia::relu, batch_norm{}},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{conv2d{.filters = 4, .kernel_size = 1}, glia::flatten{}, batch_norm{},
                           glia::relu},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
}

TEST_CASE("convolutions that no chain takes break it") {
  const auto result =
      compare(sequential{conv2d{.filters = 6, .kernel_size = 1, .groups = 2}, batch_norm{},
                         pointwise(6), depthwise(6, 1),
                         conv2d{.filters = 5, .kernel_size = 3, .padding = 1}, relu6, pointwise(4),
                         conv2d{.filters = 4, .kernel_size = 2, .dilation_rate = 2, .groups = 4},
                         pointwise(3), batch_norm{}},
              {8, 9, 4});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2, 4});
}

TEST_CASE("residuals in chains add what came before") {
  const auto result = compare(
      sequential{conv2d{.filters = 6, .kernel_size = 3}, batch_norm{}, relu6,
                 glia::residual{sequential{pointwise(12), batch_norm{}, relu6, depthwise(12, 1),
                                           batch_norm{}, relu6, pointwise(6), batch_norm{}}},
                 pointwise(4), batch_norm{}},
      {8, 9, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{1, 3, 1});
}

TEST_CASE("a chain has at most four convolutions") {
  const auto result = compare(sequential{pointwise(8), depthwise(8, 1), depthwise(8, 1),
                                         depthwise(8, 1), depthwise(8, 1), pointwise(3)},
                              {6, 7, 8});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{4, 1});
}

TEST_CASE("branches and users' own layers are fused as sequential is") {
  const glia::lambda block{"block", [](auto& s, auto x) {
                             auto y = s.run(pointwise(12), x, "block", 0);
                             y = s.run(batch_norm{}, y, "block", 1);
                             y = s.run(relu6, y, "block", 2);
                             y = s.run(depthwise(12, 1), y, "block", 3);
                             return s.run(pointwise(2), y, "block", 4) + x;
                           }};
  const auto result = compare(sequential{block, glia::residual{block}}, {8, 9, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{3, 3});
}

TEST_CASE("dense and an activation behind it are what dense with it is") {
  const auto kernels_of = [](const auto& layers) {
    glia::model net{layers, {5}};
    std::vector<std::string> names;
    for (const auto& node : net.prepare({.batch_size = 2}).calls().nodes()) {
      names.emplace_back(node.kernel.name());
    }
    return names;
  };
  const auto one = kernels_of(sequential{glia::dense{4, glia::relu}, glia::dense{3}});
  CHECK(one == std::vector<std::string>{"packed_dense", "packed_dense"});
  CHECK(kernels_of(sequential{glia::dense{4}, glia::relu, glia::dense{3}}) == one);
  CHECK(kernels_of(sequential{glia::dense{4}, batch_norm{}, glia::gelu, glia::dense{3}}) == one);
}
