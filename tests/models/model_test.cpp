#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {
auto small_network() {
  return glia::sequential{glia::conv2d{.filters = 4, .kernel_size = 3, .padding = glia::same},
                          glia::batch_norm{},
                          glia::relu,
                          glia::max_pool2d{},
                          glia::flatten{},
                          glia::dense{5, glia::tanh},
                          glia::dense{3}};
}
}  // namespace

TEST_CASE("a model infers shapes and names its parameters") {
  const glia::model net{small_network(), {6, 8, 2}};
  CHECK(net.output_shape() == glia::shape{3});
  CHECK(net.sample_shape() == glia::shape{6, 8, 2});
  std::vector<std::string> names;
  for (const auto& p : net.parameters()) {
    names.push_back(p.spec.name);
  }
  CHECK(names == std::vector<std::string>{"conv2d_0.kernel", "conv2d_0.bias", "batch_norm_0.gamma",
                                          "batch_norm_0.beta", "batch_norm_0.moving_mean",
                                          "batch_norm_0.moving_variance", "dense_0.kernel",
                                          "dense_0.bias", "dense_1.kernel", "dense_1.bias"});
  CHECK(net.parameter_count() == 3 * 3 * 2 * 4 + 4 + 16 + 48 * 5 + 5 + 5 * 3 + 3);
}

TEST_CASE("the MNIST perceptron has 679,910 parameters and 1.36 MFLOP a sample") {
  const glia::model net{glia::sequential{glia::dense{400, glia::relu}, glia::dense{400, glia::relu},
                                         glia::dense{500, glia::relu}, glia::dense{10}},
                        {784}};
  CHECK(net.parameter_count() == 679910);
  double flops = 0;
  for (const auto& layer : net.plan().layers) {
    flops += layer.flops;
  }
  // 2 I O, a bias and a ReLU for each layer.
  CHECK(flops == 2.0 * (784 * 400 + 400 * 400 + 400 * 500 + 500 * 10) + 2 * 1300 + 10);
}

TEST_CASE("the summary is a table") {
  const glia::model net{small_network(), {6, 8, 2}};
  // What batch_norm gives up the ReLU writes over, and its own output is what its gradient needs;
  // nobody needs that of the last layer.
  CHECK(net.summary() ==
        R"(layer                                 output        parameters   FLOPs  activations
------------------------------------  ------------  ----------  ------  -----------
conv2d_0  conv2d(4, 3x3, same)        (N, 6, 8, 4)          76  7.10 k        768 B
batch_norm_0  batch_norm              (N, 6, 8, 4)          16  1.56 k         32 B
activation_0  relu                    (N, 6, 8, 4)           0     192        768 B
max_pool2d_0  max_pool2d(2x2, valid)  (N, 3, 4, 4)           0     192        384 B
flatten_0  flatten                    (N, 48)                0       0          0 B
dense_0  dense(5, tanh)               (N, 5)               245     535         20 B
dense_1  dense(3)                     (N, 3)                18      33          0 B
------------------------------------  ------------  ----------  ------  -----------
total                                 (N, 3)               355  9.62 k      1.97 kB
FLOPs and activations are those of one sample.
347 parameters are trained, 8 are not (frozen layers, running statistics).
)");
}

TEST_CASE("a layer's activations are those of its tensors that the backward pass still needs") {
  const auto conv = glia::conv2d{.filters = 1, .kernel_size = 3, .padding = glia::same};
  const glia::model net{glia::sequential{glia::residual{conv}, glia::max_pool2d{}, glia::flatten{},
                                         glia::dense{2, glia::relu}},
                        {4, 4, 1}};
  std::vector<std::size_t> bytes;
  for (const auto& layer : net.plan().layers) {
    bytes.push_back(layer.activation_bytes);
  }
  // Nobody needs the sum of a residual once it is pooled; the pool keeps its output, which is the
  // dense layer's input, and its positions.
  CHECK(bytes == std::vector<std::size_t>{0, 0, 4 * 4 + 4 * 4, 0, 2 * 4});
}

TEST_CASE("predict takes any number of samples in batches of any size") {
  glia::model net{small_network(), {6, 8, 2}};
  xt::xarray<float> x = xt::zeros<float>({7, 6, 8, 2});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(glia::detail::random_bits({.seed = 1}, i) * 0x1p-32);
  }
  const auto outputs = net.predict(x);
  CHECK(outputs.shape()[0] == 7);
  CHECK(outputs.shape()[1] == 3);
  CHECK(test::distance(net.predict(x, {.batch_size = 2}), outputs) < 1e-6);
  // Expressions are evaluated, not kept.
  CHECK(test::distance(net.predict(x * 1.0F), outputs) < 1e-6);
  const xt::xarray<float> empty = xt::zeros<float>({0, 6, 8, 2});
  CHECK(net.predict(empty).shape()[0] == 0);
}

TEST_CASE("the same description runs on every backend") {
  const auto description = small_network();
  glia::model fast{description, {6, 8, 2}};
  glia::model exact{description, {6, 8, 2}, glia::reference<double>()};
  const xt::xarray<float> x = xt::ones<float>({3, 6, 8, 2});
  CHECK(test::distance(fast.predict(x), exact.predict(x)) < 1e-5);
}

TEST_CASE("parameters can be read and replaced by name") {
  glia::model net{glia::dense{2}, {2}};
  net.set("dense_0.kernel", xt::xarray<float>{{1, 2}, {3, 4}});
  net.set("dense_0.bias", xt::xarray<float>{10, 20});
  CHECK((net.predict(xt::xarray<float>{{1, 1}}) == xt::xarray<float>{{14, 26}}));
  CHECK(message_of<glia::value_error>([&] { (void)net.get("dense_1.kernel"); }) ==
        "model: there is no parameter 'dense_1.kernel'; the parameters are: dense_0.kernel, "
        "dense_0.bias");
  CHECK(message_of<glia::shape_error>([&] {
          net.set("dense_0.bias", xt::xarray<float>{1, 2, 3});
        }) == "dense_0.bias: expected shape (2,), got (3,)");
}

TEST_CASE("predict says what shape it expected") {
  glia::model net{glia::dense{2}, {4}};
  CHECK(message_of<glia::shape_error>([&] {
          (void)net.predict(xt::xarray<float>(xt::zeros<float>({3, 5})));
        }) == "predict: expected inputs of shape (N, 4), got (3, 5)");
  const xt::xarray<float> inputs{{1, 2, 3, 4}, {4, 3, 2, 1}, {0, 1, 0, 1}};
  CHECK(test::distance(net.predict(inputs, {.batch_size = 0}),
                       net.predict(inputs, {.batch_size = 3})) == 0);
}

TEST_CASE("a layer that changes its mind about its parameters is found out") {
  std::size_t units = 2;
  const glia::lambda fickle{"fickle", [&](auto& s, auto x) {
                              return x * s.parameter("factor", {units}, glia::constant(1));
                            }};
  glia::model net{glia::sequential{fickle}, {1}};
  units = 3;
  CHECK(contains(message_of<glia::value_error>([&] {
                   (void)net.predict(xt::ones<float>({1, 1}));
                 }),
                 "sequential[0] lambda(fickle): requests the parameter 'factor' of shape (3,), but "
                 "earlier "));
}

TEST_CASE("a backend in double takes and gives all digits") {
  glia::model net{glia::dense{1}, {1}, glia::reference<double>()};
  xt::xarray<double> kernel{0.1};
  kernel.reshape({1, 1});
  net.set("dense_0.kernel", kernel);
  CHECK(net.get<double>("dense_0.kernel")(0, 0) == 0.1);
  CHECK(net.get("dense_0.kernel")(0, 0) == 0.1F);
  net.set("dense_0.bias", xt::zeros<double>({1}));
  xt::xarray<double> x{3.3};
  x.reshape({1, 1});
  CHECK(net.predict<double>(x)(0, 0) == 3.3 * 0.1);
  double y = 0;
  net.predict_batch(std::span<const double>(x.data(), 1), std::span<double>(&y, 1));
  CHECK(y == 3.3 * 0.1);
}

TEST_CASE("a plan knows what a model's outputs are and which layer made them so") {
  const auto check = [](const auto& layers, glia::output_kind kind, const std::string& giver) {
    const glia::model_plan plan = glia::plan_model(layers, {4});
    CHECK(plan.gives == kind);
    CHECK(plan.giver == giver);
  };
  using glia::dense;
  using glia::output_kind;
  using glia::sequential;
  check(dense{3, glia::softmax}, output_kind::softmax, "model[0] dense(3, softmax)");
  check(sequential{dense{3}, glia::softmax}, output_kind::softmax, "sequential[1] softmax");
  check(sequential{dense{3}, sequential{dense{3}, sequential{glia::sigmoid}}}, output_kind::sigmoid,
        "sequential[1] sequential[1] sequential[0] sigmoid");
  check(sequential{dense{3, glia::softmax}, glia::dropout{0.5}, glia::reshape{{1, 3}},
                   glia::flatten{}, glia::identity{}},
        output_kind::softmax, "sequential[0] dense(3, softmax)");
  check(sequential{glia::frozen{dense{3, glia::softmax}}}, output_kind::softmax,
        "sequential[0] frozen[0] dense(3, softmax)");
  check(glia::residual{dense{4}, glia::identity{}, glia::sigmoid}, output_kind::sigmoid,
        "residual(dense(4))");
  check(sequential{glia::relu, glia::residual{dense{4}, dense{4}, glia::softmax}},
        output_kind::softmax, "sequential[1] residual(dense(4), dense(4))");
  // Sums, products and functions of probabilities are something else.
  check(glia::residual{dense{4, glia::softmax}, dense{4, glia::softmax}}, output_kind::other,
        "residual(dense(4, softmax), dense(4, softmax))");
  check(sequential{dense{4, glia::softmax}, dense{3}}, output_kind::other,
        "sequential[1] dense(3)");
  check(sequential{dense{4, glia::softmax},
                   glia::lambda{"log", [](auto x) { return glia::ops::log(x); }}},
        output_kind::other, "");
}

TEST_CASE("samples without elements are refused") {
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{glia::dense{2}, {3, 0}};
        }) == "model: expected a sample shape with extents of at least 1, got (3, 0)");
}

TEST_CASE("batches may be asked for that no memory holds") {
  const glia::model net{glia::dense{3}, {2}};
  const xt::xarray<float> x = xt::ones<float>({5, 2});
  CHECK((net.predict(x, {.batch_size = std::size_t{1} << 63}) == net.predict(x)));
}
