#include <glia/backends/cpu.hpp>
#include <glia/testing/values.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

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
      const glia::model net{d, sample, glia::cpu<float>({.threads = 2})};
      const glia::model oracle{d, sample, glia::reference<float>()};
      const auto x = glia::testing::test_values(glia::batch_of(2, sample), 3);
      std::vector<float> actual(2 * net.output_shape().size());
      std::vector<float> expected(actual.size());
      net.predict_batch(x, actual);
      oracle.predict_batch(x, expected);
      INFO("stride " << stride << ", kernel " << kernel);
      CHECK(test::distance(actual, expected) < tolerance::float_kernel);
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
          const glia::model net{d, sample, glia::cpu<float>({.threads = threads})};
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
