#include <glia/models/zoo/u_net.hpp>
#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;

TEST_CASE("u_net has the layers and parameters of the paper") {
  const glia::model_plan plan = glia::plan_model(glia::u_net{.classes = 2}, {64, 96, 1});
  CHECK(plan.output == glia::shape{1, 64, 96, 2});
  std::size_t count = 0;
  for (const auto& p : plan.parameters) {
    count += p.shape.size();
  }
  // By levels: two convolutions of 3x3 in the encoder, one of 2x2 and two of 3x3 in the decoder.
  const auto convolution = [](std::size_t size, std::size_t inputs, std::size_t outputs) {
    return size * size * inputs * outputs + outputs;
  };
  std::size_t expected = convolution(3, 1, 64) + convolution(3, 64, 64) + convolution(1, 64, 2);
  for (const std::size_t channels : {64U, 128U, 256U, 512U}) {
    const std::size_t doubled = std::size_t{2} * channels;
    expected += convolution(3, channels, doubled) + convolution(3, doubled, doubled) +
                convolution(2, doubled, channels) + convolution(3, doubled, channels) +
                convolution(3, channels, channels);
  }
  CHECK(count == expected);
  CHECK(count == 31030658);
}

TEST_CASE("u_net names its parameters by levels") {
  const auto names = [](const glia::u_net& net) {
    std::string result;
    for (const auto& p : glia::plan_model(net, {4, 4, 3}).parameters) {
      result += glia::text(p.name, ' ', p.shape, '\n');
    }
    return result;
  };
  CHECK(names({.classes = 2, .filters = 5, .depth = 1}) ==
        "encoder_0.conv2d_0.kernel (3, 3, 3, 5)\n"
        "encoder_0.conv2d_0.bias (5,)\n"
        "encoder_0.conv2d_1.kernel (3, 3, 5, 5)\n"
        "encoder_0.conv2d_1.bias (5,)\n"
        "bottom.conv2d_0.kernel (3, 3, 5, 10)\n"
        "bottom.conv2d_0.bias (10,)\n"
        "bottom.conv2d_1.kernel (3, 3, 10, 10)\n"
        "bottom.conv2d_1.bias (10,)\n"
        "upsampling_0.kernel (2, 2, 5, 10)\n"
        "upsampling_0.bias (5,)\n"
        "decoder_0.conv2d_0.kernel (3, 3, 10, 5)\n"
        "decoder_0.conv2d_0.bias (5,)\n"
        "decoder_0.conv2d_1.kernel (3, 3, 5, 5)\n"
        "decoder_0.conv2d_1.bias (5,)\n"
        "logits.kernel (1, 1, 5, 2)\n"
        "logits.bias (2,)\n");
  const std::string bilinear = names(
      {.classes = 1, .filters = 4, .depth = 2, .use_batch_norm = true, .use_transpose = false});
  CHECK(contains(bilinear, "encoder_1.batch_norm_1.gamma (8,)"));
  CHECK(contains(bilinear, "decoder_1.conv2d_0.kernel (3, 3, 24, 8)"));
  CHECK(!contains(bilinear, "upsampling"));
  CHECK(!contains(bilinear, "encoder_0.conv2d_0.bias"));
}

TEST_CASE("u_net has the right gradients") {
  const glia::testing::check_input x({2, 4, 4, 1}, 1U);
  const auto error = [&](const glia::u_net& net) {
    return glia::testing::layer_gradient_error(glia::cpu<double>(), net, x);
  };
  CHECK(error({.classes = 2, .filters = 2, .depth = 1}) < tolerance::gradient);
  CHECK(error({.classes = 1, .filters = 2, .depth = 2, .use_transpose = false}) <
        tolerance::gradient);
}

TEST_CASE("u_net says what does not fit") {
  const auto message = [](const glia::u_net& net, const glia::shape& sample) {
    return test::message_of<glia::error>(
        [&] { (void)glia::plan_model(glia::sequential{net}, sample); });
  };
  CHECK(message({.classes = 2, .depth = 3}, {20, 24, 1}) ==
        "sequential[0] u_net(2, filters 64, depth 3): expected rows and columns in multiples of 8 "
        "for u_net of depth 3, got (N, 20, 24, 1); resize the images, add zero_pad2d before the "
        "network, or use a smaller depth");
  CHECK(contains(message({.classes = 2}, {20, 24}),
                 "expected images (N, H, W, C) for u_net, got (N, 20, 24)"));
  CHECK(contains(message({}, {16, 16, 1}), "expected at least 1 class for u_net, got 0"));
  CHECK(contains(message({.classes = 2, .filters = 0}, {16, 16, 1}),
                 "expected 1 to 65536 filters for u_net, got 0"));
  CHECK(contains(message({.classes = 2, .depth = 0}, {16, 16, 1}),
                 "expected a depth of u_net from 1 to 16, got 0"));
}

TEST_CASE("u_net learns to find squares") {
  constexpr std::size_t samples = 16;
  constexpr std::size_t extent = 16;
  xt::xarray<float> images = xt::zeros<float>({samples, extent, extent, std::size_t{1}});
  xt::xarray<float> classes = xt::zeros<float>({samples, extent, extent});
  for (std::size_t n = 0; n < samples; ++n) {
    for (std::size_t i = 0; i < 36; ++i) {
      const std::size_t row = n / 4 * 3 + i / 6;
      const std::size_t column = n % 4 * 3 + i % 6;
      images(n, row, column, 0) = 1;
      classes(n, row, column) = 1;
    }
  }
  const std::vector<float> noise = glia::testing::test_values({images.size()}, 3);
  for (std::size_t i = 0; i < images.size(); ++i) {
    images.data()[i] += 0.5F * noise[i];
  }
  const glia::target_arrays data{images, classes};
  glia::model net{glia::u_net{.classes = 2, .filters = 4, .depth = 2, .use_transpose = false},
                  {extent, extent, 1}};
  glia::trainer trainer{net, glia::softmax_dice{}, glia::adam{1e-2}};
  trainer.fit(data, {.epochs = 20, .batch_size = 4, .progress = nullptr});
  CHECK(glia::evaluate(net, data, glia::softmax_dice{}).loss < 0.1);
}
