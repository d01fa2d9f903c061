#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using glia::conv2d;
using glia::dense;
using glia::input_gradient;
using glia::sequential;
using test::message_of;

TEST_CASE("the gradient of an output with respect to the inputs is that of the chain rule") {
  glia::model net{sequential{dense{2, glia::relu}, glia::dropout{0.5}, dense{2}}, {2}};
  net.set("dense_0.kernel", xt::xarray<float>{{1, -1}, {2, 1}});
  net.set("dense_0.bias", xt::xarray<float>{0.5, 0});
  net.set("dense_1.kernel", xt::xarray<float>{{3, 0}, {-2, 1}});
  // Before relu: (5.5, 1), (0.5, -3), (-0.5, 4). The columns of active units times their weights.
  const xt::xarray<float> x{{1, 2}, {2, -1}, {-3, 1}};
  CHECK((input_gradient(net, x, 0) == xt::xarray<float>{{5, 4}, {3, 6}, {2, -2}}));
  CHECK((input_gradient(net, x, 1) == xt::xarray<float>{{-1, 1}, {0, 0}, {-1, 1}}));
  CHECK((input_gradient(net, x, 0, {.batch_size = 2}) == input_gradient(net, x, 0)));
  CHECK(input_gradient(net, xt::zeros<float>({0, 2}), 0).size() == 0);
}

TEST_CASE("input gradients equal central differences, with branches and batch normalization") {
  const auto block = glia::residual{sequential{
      conv2d{.filters = 2, .kernel_size = 3, .padding = glia::same, .activation = glia::tanh},
      glia::batch_norm{}}};
  glia::model net{sequential{block, block, glia::flatten{}, dense{3, glia::tanh}},
                  {4, 4, 2},
                  glia::cpu<double>{}};
  net.set("batch_norm_0.moving_mean", xt::xarray<double>{0.2, -0.1});
  net.set("batch_norm_0.moving_variance", xt::xarray<double>{2, 0.5});
  xt::xarray<double> x = xt::zeros<double>({2, 4, 4, 2});
  glia::random_stream random({.seed = 5});
  for (double& value : x) {
    value = random.normal();
  }
  const xt::xarray<double> gradient = input_gradient<double>(net, x, 2);
  constexpr double step = 1e-5;
  double largest_error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xt::xarray<double> above = x;
    xt::xarray<double> below = x;
    above.flat(i) += step;
    below.flat(i) -= step;
    const std::size_t sample = i / (x.size() / 2);
    const double difference =
        net.predict<double>(above)(sample, 2) - net.predict<double>(below)(sample, 2);
    largest_error = std::max(largest_error, std::abs(gradient.flat(i) - difference / (2 * step)));
  }
  CHECK(largest_error < tolerance::gradient);
}

TEST_CASE("an output of any shape is chosen by its index, and a wrong choice is refused") {
  // y(t, k) = w_k x(t): only step 1 affects the output (1, 0), whose index is 2.
  glia::model net{glia::time_distributed{dense{2}}, {3, 1}, glia::reference<float>{}};
  net.set("dense_0.kernel", xt::xarray<float>{{4, 5}});
  const xt::xarray<float> x = xt::ones<float>({1, 3, 1});
  const xt::xarray<float> gradient = input_gradient(net, x, 2);
  CHECK((xt::flatten(gradient) == xt::xarray<float>{0, 4, 0}));
  const auto message = [](const auto& model, const xt::xarray<float>& samples, std::size_t k) {
    return message_of<glia::error>([&] { static_cast<void>(input_gradient(model, samples, k)); });
  };
  CHECK(message(net, x, 6) ==
        "input_gradient: expected an output index below 6, the number of outputs of a sample, got "
        "6");
  CHECK(message(net, xt::ones<float>({1, 3}), 0) ==
        "input_gradient: expected samples of shape (N, 3, 1), got (1, 3)");
  const glia::model words{sequential{glia::embedding{5, 2}, glia::flatten{}, dense{2}}, {3}};
  CHECK(message(words, xt::ones<float>({1, 3}), 0) ==
        "input_gradient: the outputs of the model have no gradient with respect to the samples, "
        "for example because an embedding reads them as integers");
}
