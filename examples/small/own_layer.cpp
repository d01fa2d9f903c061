// Your own layer: a few ops, no derivative.

#include <glia/glia.hpp>
#include <glia/testing/gradient_check.hpp>
#include <iostream>

/// x for x > 0, and a x below, with a (C) learned: He et al., ICCV 2015.
struct prelu {
  static constexpr std::string_view type_name = "prelu";

  glia::variable operator()(glia::scope& s, const glia::variable& x) const {
    const auto slope = s.parameter("slope", {x.shape().back()}, glia::constant(0.25));
    return glia::ops::relu(x) - slope * glia::ops::relu(-x);
  }
  std::string description() const { return "prelu"; }
  friend bool operator==(const prelu&, const prelu&) = default;
};

int main() {
  const double error =
      glia::testing::layer_gradient_error(glia::reference<double>{}, prelu{}, {{5, 4}, 1U});
  std::cout << "its gradient is " << (error < 1e-6 ? "right" : "wrong") << '\n';

  glia::model net{glia::sequential{glia::dense{8}, prelu{}, glia::dense{1}}, {1}};
  xt::xarray<float> x = xt::linspace<float>(-2, 2, 100);
  x.reshape({100, 1});
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.01}};
  const auto history = trainer.fit(glia::target_arrays{x, xt::abs(x)},
                                   {.epochs = 200, .batch_size = 10, .progress = nullptr});
  std::cout << net.summary() << "learnt |x|: " << std::boolalpha
            << (history.epochs.back().training.loss < 1e-3) << '\n';
}
