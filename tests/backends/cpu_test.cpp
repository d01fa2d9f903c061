#include <glia/backends/cpu.hpp>
#include <glia/core/flush_denormals.hpp>
#include <glia/testing/values.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "tolerances.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

using device_type = glia::cpu<float>;

glia::tensor row(const device_type& device, const std::vector<float>& values) {
  return device.from_host(std::span<const float>(values), {1, values.size()});
}

}  // namespace

TEST_CASE("tensors without elements are computed with as any others") {
  const device_type device({.threads = 2});
  using glia::transpose;
  CHECK(device
            .run(kernels::binary{glia::binary_function::add}, device.run(kernels::full{{0}, 1}),
                 device.run(kernels::full{{}, 1}))
            .size() == 0);
  CHECK(test::values_of(device,
                        device.run(kernels::sum_to{{}}, device.run(kernels::full{{0, 3}, 1}))) ==
        std::vector<float>{0});
  CHECK(device
            .run(kernels::matmul{transpose::none}, device.run(kernels::full{{0, 3}, 1}),
                 device.run(kernels::full{{3, 0}, 1}))
            .size() == 0);
  CHECK(device
            .run(kernels::matmul{transpose::first}, device.run(kernels::full{{4, 0}, 1}),
                 device.run(kernels::full{{4, 3}, 1}))
            .size() == 0);
  CHECK(test::values_of(device, device.run(kernels::matmul{transpose::none},
                                           device.run(kernels::full{{2, 0}, 1}),
                                           device.run(kernels::full{{0, 3}, 1}))) ==
        std::vector<float>(6, 0.0F));
  CHECK(device.run(kernels::unary{glia::relu.map}, device.run(kernels::full{{0, 7}, 1})).size() ==
        0);
}

TEST_CASE("shapes that no memory holds are refused and not wrapped around") {
  const device_type device({.threads = 1});
  for (const glia::shape& s :
       {glia::shape{std::size_t{1} << 32, std::size_t{1} << 32},
        glia::shape{(std::size_t{1} << 62) + 1}, glia::shape{(std::size_t{1} << 62) - 1}}) {
    CHECK_THROWS_AS(test::host_of(device).uninitialized(glia::real_of(s)), glia::shape_error);
  }
  CHECK(device.run(kernels::full{{std::size_t{1} << 40, std::size_t{1} << 40, 0}, 1}).size() == 0);
  const std::string message = test::message_of<glia::error>([] {
    const glia::model net{glia::sequential{glia::dense{(std::size_t{1} << 52) - 1}},
                          {std::size_t{1} << 20}};
  });
  CHECK(test::contains(message, "sequential[0] dense("));
}

TEST_CASE("rows that no window sees are not made in a chain of convolutions") {
  for (const std::size_t stride : {2U, 3U, 4U}) {
    for (const std::size_t kernel : {1U, 2U}) {
      const auto d = glia::sequential{
          glia::conv2d{
              .filters = 8, .kernel_size = 3, .padding = glia::same, .activation = glia::relu},
          glia::conv2d{.filters = 8,
                       .kernel_size = kernel,
                       .strides = stride,
                       .groups = 8,
                       .activation = glia::relu}};
      const glia::shape sample{90, 90, 3};
      const glia::model net{d, sample, device_type({.threads = 2})};
      const glia::model oracle{d, sample, glia::reference<float>()};
      const auto x = glia::testing::test_values(glia::batch_of(2, sample), 3);
      std::vector<float> got(2 * net.output_shape().size());
      std::vector<float> expected(got.size());
      net.predict_batch(x, got);
      oracle.predict_batch(x, expected);
      INFO("stride " << stride << ", kernel " << kernel);
      CHECK(test::distance(got, expected) < tolerance::float_kernel);
    }
  }
}

TEST_CASE("an image that threads share is convolved as one thread does it") {
  for (const std::size_t height : {4U, 6U, 8U, 9U, 17U}) {
    for (const std::size_t kernel : {1U, 2U, 3U}) {
      for (const std::size_t stride : {1U, 2U, 3U}) {
        const auto d = glia::sequential{
            glia::conv2d{.filters = 20, .kernel_size = 1},
            glia::depthwise_conv2d{
                .kernel_size = kernel, .strides = stride, .activation = glia::relu},
            glia::conv2d{.filters = 7, .kernel_size = 1}};
        const glia::shape sample{height, 6, 3};
        const auto x = glia::testing::test_values(glia::batch_of(3, sample), 3);
        const auto predicted = [&](std::size_t threads) {
          const glia::model net{d, sample, device_type({.threads = threads})};
          std::vector<float> y(3 * net.output_shape().size());
          net.predict_batch(x, y);
          return y;
        };
        const std::vector<float> expected = predicted(1);
        INFO("height " << height << ", kernel " << kernel << ", stride " << stride);
        CHECK(predicted(2) == expected);
        CHECK(predicted(8) == expected);
      }
    }
  }
}

TEST_CASE("cross-entropy keeps its digits for large logits and for classes that cannot be") {
  const auto loss = [](const auto& device, const std::vector<float>& x,
                       const std::vector<float>& t) {
    return test::values_of(
        device, device.run(kernels::softmax_cross_entropy{}, test::tensor_of(device, {1, 3}, x),
                           test::tensor_of(device, {1, 3}, t))[0])[0];
  };
  const auto both = [&](const auto& device) {
    CHECK(std::abs(loss(device, {30000, 30001, 29990}, {0, 1, 0}) - 0.31327F) < 1e-5F);
    CHECK(std::abs(loss(device, {1, -infinity, 2}, {0, 0, 1}) - 0.313262F) < 1e-5F);
    CHECK(loss(device, {1, -infinity, 2}, {0, 1, 0}) == infinity);
    CHECK(std::isnan(loss(device, {1, not_a_number, 2}, {0, 0, 1})));
  };
  both(device_type({.threads = 1}));
  both(glia::reference<float>());
}

TEST_CASE("the oracle's sums over a thousand classes are exact to float") {
  const glia::reference<float> device;
  const glia::reference<double> exact;
  const std::vector<float> x = glia::testing::test_values({1, 1000}, 5);
  std::vector<float> t(1000, 1e-4F);
  t[3] += 0.9F;
  const auto of = [&](const auto& d) {
    return test::values_of(d,
                           d.run(kernels::softmax_cross_entropy{}, test::tensor_of(d, {1, 1000}, x),
                                 test::tensor_of(d, {1, 1000}, t))[0])[0];
  };
  CHECK(std::abs(of(device) - of(exact)) < 2e-6F * of(exact));
}

TEST_CASE("exp reaches zero and infinity, and what lies before them") {
  for (const auto level : {glia::cpu_loops::isa::baseline, glia::cpu_loops::best_isa()}) {
    const device_type device({.threads = 1, .isa = level});
    const auto exp = [&](float x) {
      return test::values_of(
          device, device.run(kernels::unary{{glia::unary_function::exp}}, row(device, {x})))[0];
    };
    CHECK(exp(infinity) == infinity);
    CHECK(exp(100) == infinity);
    CHECK(exp(-infinity) == 0);
    CHECK(exp(-90) == 0);
    CHECK(std::isnan(exp(not_a_number)));
    for (const float x : {-87.3F, -50.0F, 88.0F, 88.4F, 88.7F}) {
      CHECK(std::abs(exp(x) / std::exp(x) - 1) < 3e-6F);
    }
  }
}

TEST_CASE("accuracy counts what argmax finds, and nothing where an output is not a number") {
  const glia::cpu<float> device({.threads = 1});
  const auto hits = [&](const std::vector<float>& scores, std::int32_t truth, std::size_t k) {
    const std::vector<std::int32_t> classes{truth};
    return test::values_of(
        device, device.run(kernels::in_top_k{k}, row(device, scores),
                           device.from_host(std::span<const std::int32_t>(classes), {1})))[0];
  };
  CHECK(hits({0, 0, 0}, 0, 1) == 1);
  CHECK(hits({0, 0, 0}, 1, 1) == 0);
  CHECK(hits({0, 0, 0}, 1, 2) == 1);
  CHECK(hits({not_a_number, not_a_number, not_a_number}, 0, 1) == 0);
  CHECK(hits({3, 1, not_a_number}, 0, 1) == 0);
  CHECK(hits({3, 1, 2}, 2, 2) == 1);
}

TEST_CASE("logarithms are those of the C library, to some parts in ten million") {
  const glia::cpu<float> device;
  std::vector<float> x;
  for (float at = 1.2e-38F; at < 3e38F / 1.003F; at *= 1.003F) {
    x.push_back(at);
  }
  for (int i = -400; i <= 400; ++i) {  // near 1, where it nears 0
    x.push_back(1 + static_cast<float>(i) * 1e-6F);
  }
  const auto run = [&](glia::unary_function f, const std::vector<float>& of) {
    return test::values_of(
        device, device.run(kernels::unary{{f}}, test::tensor_of(device, {of.size()}, of)));
  };
  const auto y = run(glia::unary_function::log, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::log(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(y[i] - exact) / std::max(std::abs(exact), 1e-30));
  }
  CHECK(worst < 3e-7);
  const std::vector<float> special{0, -0.0F, -1, infinity, -infinity, not_a_number};
  const auto z = run(glia::unary_function::log, special);
  CHECK(z[0] == -infinity);
  CHECK(z[1] == -infinity);
  CHECK(std::isnan(z[2]));
  CHECK(z[3] == infinity);
  CHECK(std::isnan(z[4]));
  CHECK(std::isnan(z[5]));

  std::vector<float> points{infinity, -infinity, not_a_number, 0, 1000, -80, -1000};
  for (float at = -85; at < 90; at += 0.37F) {
    points.push_back(at);
  }
  const auto s = run(glia::unary_function::softplus, points);
  CHECK(s[0] == infinity);
  CHECK(s[1] == 0);
  CHECK(std::isnan(s[2]));
  worst = 0;
  for (std::size_t i = 3; i < points.size(); ++i) {
    const double at = points[i];
    const double exact = std::max(at, 0.0) + std::log1p(std::exp(-std::abs(at)));
    worst = std::max(worst, std::abs(s[i] - exact) / std::max(exact, 1e-37));
  }
  CHECK(worst < 2e-6);  // that of exp(-80)
}

TEST_CASE("a NaN among the inputs shows in the loss through a ReLU") {
  const auto d =
      glia::sequential{glia::dense{8, glia::relu}, glia::dense{8, glia::relu6}, glia::dense{3}};
  for (const float bad : {not_a_number, infinity}) {
    const auto loss = [&](auto device) {
      const glia::model net{d, {4}, device};
      xt::xarray<float> x = xt::ones<float>({50, 4});
      xt::xarray<int> y = xt::zeros<int>({50});
      x(7, 2) = bad;
      return glia::evaluate(net, glia::labeled_arrays(x, y), glia::softmax_cross_entropy{}).loss;
    };
    if (std::isnan(bad)) {
      CHECK(std::isnan(loss(device_type({.threads = 2}))));
      CHECK(std::isnan(loss(glia::reference<float>())));
    }
    const auto one = loss(device_type({.threads = 2}));
    const auto two = loss(glia::reference<float>());
    CHECK(std::isfinite(one) == std::isfinite(two));
  }
}

namespace {

struct throwing_layer {
  static inline std::atomic<bool> on = false;
  static constexpr std::string_view type_name = "throwing";
  static constexpr bool treats_samples_alone(glia::run_mode) { return true; }
  [[nodiscard]] glia::variable operator()(glia::scope&, glia::variable x) const {
    glia::require<glia::data_error>(!on, "thrown by a layer");
    return x;
  }
  [[nodiscard]] static std::string description() { return "throwing"; }
};

}  // namespace

TEST_CASE("what failed in all lanes does not fail again in the next calls") {
  const glia::model net{
      glia::sequential{glia::conv2d{.filters = 4, .kernel_size = 3}, throwing_layer{},
                       glia::conv2d{.filters = 4, .kernel_size = 3}},
      {8, 8, 1}};
  const std::vector<float> x(64 * 64, 0.5F);
  std::vector<float> y(64 * net.output_shape().size());
  throwing_layer::on = true;
  CHECK_THROWS_AS(net.predict_batch(x, y), glia::data_error);
  throwing_layer::on = false;
  for (int call = 0; call < 30; ++call) {
    CHECK_NOTHROW(net.predict_batch(x, y));
  }
}

TEST_CASE("numbers too small for full precision count as zero, on every thread and only there") {
  const device_type device({.threads = 2});
  const float tiny = 1e-39F;
  const std::vector<float> many(100'000, tiny);
  const auto doubled = device.run(kernels::unary{{glia::unary_function::affine, 2, 0}},
                                  device.from_host(std::span<const float>(many), {many.size()}));
  CHECK(test::values_of(device, doubled) == std::vector<float>(many.size(), 0.0F));
  const auto product =
      device.run(kernels::matmul{glia::transpose::none}, device.run(kernels::full{{2, 2}, 1e-30}),
                 device.run(kernels::full{{2, 2}, 1e-10}));
  CHECK(test::values_of(device, product) == std::vector<float>(4, 0.0F));
  const volatile float before = tiny;
  CHECK(before * 2 > 0);
  {
    const glia::flush_denormals here;
    CHECK(before * 2 == 0);
  }
  CHECK(before * 2 > 0);
}
