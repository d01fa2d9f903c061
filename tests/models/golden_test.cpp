#include "../golden/mlp_golden.hpp"

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia_golden::formula;

xt::xarray<float> formula_values(const glia::shape& s, std::size_t offset) {
  xt::xarray<float> values(xt::xarray<float>::shape_type(s.begin(), s.end()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values.data()[i] = formula(i, offset);
  }
  return values;
}

template <class Model>
void set_all(Model& net, const std::vector<std::size_t>& offsets) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto& spec = net.parameters()[i].spec;
    net.set(spec.name, formula_values(spec.shape, offsets[i]));
  }
}

template <class Model, class Optimizer>
std::vector<double> ten_losses(Model& net, const Optimizer& optimizer, std::size_t input_offset,
                               std::size_t samples) {
  glia::batch b;
  b.size = samples;
  b.input_shape = glia::batch_of(samples, net.sample_shape());
  const auto inputs = formula_values(b.input_shape, input_offset);
  b.inputs.assign(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < samples; ++i) {
    b.labels.push_back(static_cast<std::int32_t>(i % 3));
  }
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, optimizer};
  std::vector<double> losses;
  for (int step = 0; step < 10; ++step) {
    glia::running_scores sums(net.device(), {});
    trainer.step(b, &sums);
    losses.push_back(sums.loss());
  }
  return losses;
}

template <class Model, class Values>
void check_parameter(const Model& net, const char* name, const Values& expected) {
  INFO(name);
  CHECK(test::distance(net.get(name), expected) < tolerance::golden);
}

template <class B>
void check_mlp(const B& device) {
  using namespace glia_golden;
  const glia::sequential description{glia::dense{5, glia::relu}, glia::dense{4, glia::tanh},
                                     glia::dense{3}};
  {
    glia::model net{description, {6}, device};
    set_all(net, {263, 211, 757, 211, 149, 113});
    CHECK(test::distance(ten_losses(net, glia::adam{1e-2}, 839, 8), mlp_adam_losses) <
          tolerance::golden);
    check_parameter(net, "dense_0.kernel", mlp_adam_kernel_0);
    check_parameter(net, "dense_0.bias", mlp_adam_bias_0);
    check_parameter(net, "dense_1.kernel", mlp_adam_kernel_1);
    check_parameter(net, "dense_1.bias", mlp_adam_bias_1);
    check_parameter(net, "dense_2.kernel", mlp_adam_kernel_2);
    check_parameter(net, "dense_2.bias", mlp_adam_bias_2);
  }
  {
    glia::model net{description, {6}, device};
    set_all(net, {263, 211, 757, 211, 149, 113});
    const glia::sgd optimizer{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true};
    CHECK(test::distance(ten_losses(net, optimizer, 839, 8), mlp_sgd_losses) < tolerance::golden);
    check_parameter(net, "dense_0.kernel", mlp_sgd_kernel_0);
    check_parameter(net, "dense_0.bias", mlp_sgd_bias_0);
    check_parameter(net, "dense_1.kernel", mlp_sgd_kernel_1);
    check_parameter(net, "dense_1.bias", mlp_sgd_bias_1);
    check_parameter(net, "dense_2.kernel", mlp_sgd_kernel_2);
    check_parameter(net, "dense_2.bias", mlp_sgd_bias_2);
  }
}

template <class B>
void check_convolution(const B& device) {
  using namespace glia_golden;
  glia::model net{
      glia::sequential{
          glia::conv2d{
              .filters = 3, .kernel_size = 3, .strides = 2, .padding = 1, .activation = glia::relu},
          glia::max_pool2d{}, glia::flatten{}, glia::dense{3}},
      {7, 6, 2},
      device};
  set_all(net, {103, 491, 31, 347});
  CHECK(test::distance(ten_losses(net, glia::adam{1e-2}, 641, 4), conv_adam_losses) <
        tolerance::golden);
  check_parameter(net, "conv2d_0.kernel", conv_adam_conv_kernel);
  check_parameter(net, "conv2d_0.bias", conv_adam_conv_bias);
  check_parameter(net, "dense_0.kernel", conv_adam_dense_kernel);
  check_parameter(net, "dense_0.bias", conv_adam_dense_bias);
}

}  // namespace

TEST_CASE("ten steps of a perceptron agree with PyTorch") {
  check_mlp(glia::cpu<float>());
  check_mlp(glia::reference<float>());
}

TEST_CASE("ten steps of a convolutional network agree with PyTorch") {
  check_convolution(glia::cpu<float>());
  check_convolution(glia::reference<float>());
}
