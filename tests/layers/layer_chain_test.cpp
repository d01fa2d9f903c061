#include <glia/testing/values.hpp>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::relu6;
using glia::sequential;

/// The cpu backend, which writes down how many convolutions each of its chains takes. It has no
/// lanes: whole batches come to it.
class spy : public glia::cpu<float> {
 public:
  template <glia::kernel K, std::same_as<tensor>... Operands>
  requires glia::runs<glia::cpu<float>, K>
  [[nodiscard]] glia::results_t<K, tensor> run(const K& k, Operands... operands) const {
    if constexpr (std::same_as<K, kernels::conv2d_chain>) {
      chains_->push_back(k.count);
    }
    return glia::cpu<float>::run(k, std::move(operands)...);
  }
  [[nodiscard]] std::vector<std::size_t> chains() const { return *chains_; }

 private:
  std::shared_ptr<std::vector<std::size_t>> chains_ = std::make_shared<std::vector<std::size_t>>();
};
static_assert(glia::runs<spy, kernels::conv2d_chain> && !glia::lane_backend<spy>);

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
  double distance;  // from the reference, relative to the largest output
  std::vector<std::size_t> chains;
};

template <class Description>
comparison compare(const Description& layers, const glia::shape& sample, std::size_t count = 3) {
  const auto expected = predictions(layers, sample, count, glia::reference<float>());
  const spy device;
  const auto got = predictions(layers, sample, count, device);
  double largest = 0;
  for (const float value : expected) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  CHECK(largest > 0.01);
  return {test::distance(got, expected) / largest, device.chains()};
}

conv2d depthwise(std::size_t channels, std::size_t stride) {
  return {.filters = channels,
          .kernel = 3,
          .stride = stride,
          .padding = 1,
          .groups = channels,
          .bias = false};
}
conv2d pointwise(std::size_t filters) { return {.filters = filters, .kernel = 1, .bias = false}; }

/// More convolutions than one chain takes; channels that fill no vector; a stride in the middle.
auto bottlenecks() {
  return sequential{conv2d{.filters = 13, .kernel = 3, .stride = 2, .padding = 1, .bias = false},
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

/// Holds a convolution and a normalisation in one chain.
struct two_in_a_chain {
  using holds_layers = void;

  template <glia::backend B>
  [[nodiscard]] glia::variable<B> operator()(glia::scope<B>& s, glia::variable<B> x) const {
    glia::layer_chain<B> chain(s, std::move(x));
    chain.run(conv2d{.filters = 1, .kernel = 1}, "chain", 0);
    chain.run(batch_norm{.epsilon = 1e-9}, "chain", 1);
    return std::move(chain).result();
  }
  [[nodiscard]] static std::string description() { return "two_in_a_chain"; }
};

}  // namespace

TEST_CASE("convolutions and normalisations in inference are what the reference computes") {
  const comparison result = compare(bottlenecks(), {15, 18, 3});
  CHECK(result.distance < tolerance::float_kernel);
  // Four is the most; the depthwise one behind them cannot begin a chain.
  CHECK(result.chains == std::vector<std::size_t>{4});
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
      compare(sequential{conv2d{.filters = 5, .kernel = 3}, batch_norm{},
                         conv2d{.filters = 4, .kernel = 1}, batch_norm{}, batch_norm{}, relu6},
              {6, 7, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2});
}

TEST_CASE("a batch_norm behind a convolution's own activation is applied after it") {
  // Folded, the map would come after the normalisation: that gives other numbers.
  const conv2d activated{.filters = 5, .kernel = 3, .activation = glia::relu};
  const sequential layers{activated, batch_norm{}, conv2d{.filters = 4, .kernel = 1}, batch_norm{}};
  const auto result = compare(layers, {6, 7, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains.empty());
  // The same with the activation as a layer, and one activation after another.
  CHECK(compare(sequential{conv2d{.filters = 5, .kernel = 3}, glia::relu, batch_norm{}}, {6, 7, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{conv2d{.filters = 5, .kernel = 3}, relu6, glia::tanh}, {6, 7, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{activated, conv2d{.filters = 4, .kernel = 1}, glia::relu}, {6, 7, 2})
            .chains == std::vector<std::size_t>{2});
}

TEST_CASE("activations that no chain takes are applied all the same") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel = 1}, batch_norm{}, glia::gelu,
                         conv2d{.filters = 4, .kernel = 1}, batch_norm{}, glia::leaky_relu(0.2),
                         conv2d{.filters = 3, .kernel = 1}, glia::linear,
                         conv2d{.filters = 6, .kernel = 1}, glia::tanh},
              {4, 5, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains.empty());
}

TEST_CASE("softmax behind a convolution is over the channels") {
  const auto result =
      compare(sequential{conv2d{.filters = 5, .kernel = 1}, glia::softmax,
                         conv2d{.filters = 4, .kernel = 1}, batch_norm{},
                         conv2d{.filters = 3, .kernel = 1, .activation = glia::softmax}},
              {4, 5, 2});
  CHECK(result.distance < tolerance::float_kernel);
  const auto y = predictions(sequential{conv2d{.filters = 4, .kernel = 1},
                                        conv2d{.filters = 5, .kernel = 1}, glia::softmax},
                             {4, 5, 2}, 2, glia::cpu<float>());
  for (std::size_t i = 0; i < y.size(); i += 5) {
    REQUIRE(std::abs(std::accumulate(y.data() + i, y.data() + i + 5, 0.0F) - 1) < 1e-5F);
  }
}

TEST_CASE("pooling behind a convolution goes on in one kernel, chained or not") {
  const auto result =
      compare(sequential{conv2d{.filters = 8, .kernel = 3, .activation = glia::relu},
                         glia::max_pool2d{}, conv2d{.filters = 8, .kernel = 1}, batch_norm{}, relu6,
                         glia::max_pool2d{}, pointwise(6), depthwise(6, 1), glia::avg_pool2d{}},
              {18, 18, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2});
}

TEST_CASE("a batch_norm with no convolution before it runs on its own") {
  CHECK(
      compare(sequential{batch_norm{}, conv2d{.filters = 4, .kernel = 1}, batch_norm{}}, {4, 5, 2})
          .distance < tolerance::float_kernel);
  CHECK(compare(sequential{glia::flatten{}, glia::dense{6}, batch_norm{}, glia::relu, batch_norm{}},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
  CHECK(compare(sequential{conv2d{.filters = 4, .kernel = 1}, glia::flatten{}, batch_norm{},
                           glia::relu},
                {4, 5, 2})
            .distance < tolerance::float_kernel);
}

TEST_CASE("convolutions that no chain takes break it") {
  const auto result = compare(
      sequential{conv2d{.filters = 6, .kernel = 1, .groups = 2}, batch_norm{}, pointwise(6),
                 depthwise(6, 1), conv2d{.filters = 5, .kernel = 3, .padding = 1}, relu6,
                 pointwise(4), conv2d{.filters = 4, .kernel = 2, .dilation = 2, .groups = 4},
                 pointwise(3), batch_norm{}},
      {8, 9, 4});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{2, 3});
}

TEST_CASE("residuals in chains add what came before") {
  const auto result = compare(
      sequential{conv2d{.filters = 6, .kernel = 3}, batch_norm{}, relu6,
                 glia::residual{sequential{pointwise(12), batch_norm{}, relu6, depthwise(12, 1),
                                           batch_norm{}, relu6, pointwise(6), batch_norm{}}},
                 pointwise(4), batch_norm{}},
      {8, 9, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{3});
}

TEST_CASE("a layer of chains adds shortcuts and settles") {
  const spy device;
  glia::tape<spy> record(device);
  glia::parameter_list<spy> parameters;
  std::vector<glia::gradient_slot> slots;
  const conv2d twice{.filters = 1,
                     .kernel = 1,
                     .kernel_initializer = glia::constant(2),
                     .bias_initializer = glia::constant(1)};
  for (int i = 0; i < 3; ++i) {
    parameters.push_back({{"kernel", {1, 1, 1, 1}, glia::constant(0), true},
                          device.run(kernels::full{{1, 1, 1, 1}, 2})});
    parameters.push_back(
        {{"bias", {1}, glia::constant(0), true}, device.run(kernels::full{{1}, 1})});
  }
  glia::scope<spy> s(record, parameters, slots, glia::run_mode::inference, {});
  glia::layer_chain<spy> chain(s, record.constant(device.run(kernels::full{{1, 2, 2, 1}, 10})));
  chain.run(twice, "test", 0);
  const auto first = chain.settle();  // 2 * 10 + 1
  CHECK(test::values_of(device, first.value()) == std::vector<float>(4, 21));
  chain.run(twice, "test", 1);
  chain.run(twice, "test", 2);
  chain.add(first);  // 2 * (2 * 21 + 1) + 1 + 21
  CHECK(test::values_of(device, std::move(chain).result().value()) == std::vector<float>(4, 108));
  CHECK(device.chains() == std::vector<std::size_t>{2});
}

TEST_CASE("in training nothing is chained and the batch's statistics count") {
  const spy device;
  glia::model net{bottlenecks(), {15, 18, 3}, device};
  glia::model oracle{bottlenecks(), {15, 18, 3}, glia::reference<float>()};
  set_all(net);
  set_all(oracle);
  const auto forward = [](auto& model) {
    using B = typename std::remove_reference_t<decltype(model)>::backend_type;
    glia::tape<B> record(model.device());
    std::vector<glia::gradient_slot> slots;
    const auto x = record.constant(test::tensor_of(model.device(), {4, 15, 18, 3},
                                                   glia::testing::test_values({4, 15, 18, 3}, 1)));
    const auto y = model.forward(x, slots, glia::run_mode::training, {.seed = 1});
    return test::values_of(model.device(), y.value());
  };
  CHECK(test::distance(forward(net), forward(oracle)) < tolerance::float_kernel * 20);
  CHECK(device.chains().empty());
}

TEST_CASE("a batch_norm joins the convolution before it in inference only") {
  glia::model net{two_in_a_chain{}, {1, 1, 1}};
  net.set("conv2d_0.kernel", xt::xarray<float>(xt::ones<float>({1, 1, 1, 1}) * 2));
  net.set("conv2d_0.bias", {1});
  net.set("batch_norm_0.moving_mean", {4});
  net.set("batch_norm_0.moving_variance", {9});
  const auto run = [&](glia::run_mode mode) {
    using B = glia::cpu<float>;
    glia::tape<B> record(net.device());
    std::vector<glia::gradient_slot> slots;
    const auto x = record.constant(test::tensor_of(net.device(), {2, 1, 1, 1}, {1, 3}));
    return test::values_of(net.device(), net.forward(x, slots, mode, {}).value());
  };
  // 2 x + 1 is 3 and 7.
  CHECK(test::distance(run(glia::run_mode::inference), std::vector<double>{-1.0 / 3, 1}) <
        tolerance::hand_computed);
  CHECK(test::distance(run(glia::run_mode::training), std::vector<double>{-1, 1}) <
        tolerance::hand_computed);
}

TEST_CASE("where the gradient of the input is wanted in inference, nothing is chained") {
  const spy device;
  glia::model net{bottlenecks(), {15, 18, 3}, device};
  glia::model oracle{bottlenecks(), {15, 18, 3}, glia::reference<float>()};
  set_all(net);
  set_all(oracle);
  const auto gradient = [](auto& model, bool wanted) {
    using B = typename std::remove_reference_t<decltype(model)>::backend_type;
    const B& on = model.device();
    glia::tape<B> record(on);
    std::vector<glia::gradient_slot> slots;
    const auto values =
        test::tensor_of(on, {2, 15, 18, 3}, glia::testing::test_values({2, 15, 18, 3}, 1));
    const auto x = wanted ? record.leaf(values) : record.constant(values);
    const auto y = model.forward(x, slots, glia::run_mode::inference, {});
    if (!wanted) {
      CHECK_FALSE(y.needs_gradient());
      return test::values_of(on, y.value());
    }
    const auto weights =
        record.constant(test::tensor_of(on, y.shape(), glia::testing::test_values(y.shape(), 2)));
    record.backward(glia::ops::sum(y * weights));
    return test::values_of(on, record.take_gradient(x.slot()));
  };
  const auto expected = gradient(oracle, true);
  double largest = 0;
  for (const float value : expected) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  REQUIRE(largest > 0.01);
  CHECK(test::distance(gradient(net, true), expected) < tolerance::float_kernel * largest);
  CHECK(device.chains().empty());
  CHECK(test::distance(gradient(net, false), gradient(oracle, false)) <
        tolerance::float_kernel * 20);
  CHECK(device.chains() == std::vector<std::size_t>{4});
}
