#include <cmath>
#include <glia/backends/cpu.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("a NaN among the inputs shows in the loss through a ReLU") {
  const auto d =
      glia::sequential{glia::dense{8, glia::relu}, glia::dense{8, glia::relu6}, glia::dense{3}};
  for (const float bad : {NAN, INFINITY}) {
    const auto loss = [&](auto device) {
      const glia::model net{d, {4}, device};
      xt::xarray<float> x = xt::ones<float>({50, 4});
      xt::xarray<int> y = xt::zeros<int>({50});
      x(7, 2) = bad;
      return glia::evaluate(net, glia::labeled_arrays(x, y), glia::softmax_cross_entropy{}).loss;
    };
    if (std::isnan(bad)) {
      CHECK(std::isnan(loss(glia::cpu<float>({.threads = 2}))));
      CHECK(std::isnan(loss(glia::reference<float>())));
    }
    const auto cpu_loss = loss(glia::cpu<float>({.threads = 2}));
    const auto reference_loss = loss(glia::reference<float>());
    CHECK(std::isfinite(cpu_loss) == std::isfinite(reference_loss));
  }
}
