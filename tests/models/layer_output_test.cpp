#include <numeric>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using glia::dense;
using glia::layer_output;
using glia::sequential;
using test::contains;
using test::message_of;

namespace {

/// Two dense layers whose numbers can be computed by hand, with dropout between them.
auto layered_network() { return sequential{dense{2, glia::relu}, glia::dropout{0.5}, dense{1}}; }
template <class Model>
void set_layered_numbers(Model& net) {
  net.set("dense_0.kernel", xt::xarray<float>{{1, -1}, {2, 1}});
  net.set("dense_0.bias", xt::xarray<float>{0.5, 0});
  net.set("dense_1.kernel", xt::transpose(xt::xarray<float>{{3, -2}}));
  net.set("dense_1.bias", xt::xarray<float>{1});
}
const xt::xarray<float> layered_inputs{{1, 2}, {2, -1}, {-3, 1}};

}  // namespace

TEST_CASE("the output of each layer is computed in inference mode") {
  glia::model net{layered_network(), {2}};
  set_layered_numbers(net);
  // x * kernel + bias: (5.5, 1), (0.5, -3), (-0.5, 4)
  const xt::xarray<float> hidden{{5.5, 1}, {0.5, 0}, {0, 4}};
  CHECK((layer_output(net, "dense_0", layered_inputs) == hidden));
  CHECK((layer_output(net, "dropout_0", layered_inputs) == hidden));
  CHECK((layer_output(net, "dense_1", layered_inputs) ==
         xt::transpose(xt::xarray<float>{{15.5, 2.5, -7}})));
  // In batches, the last of which is shorter, and for no samples.
  CHECK((layer_output(net, "dense_0", layered_inputs, {.batch_size = 2}) == hidden));
  CHECK((layer_output(net, "dense_0", layered_inputs, {.batch_size = 1}) == hidden));
  CHECK((layer_output(net, "dense_0", 2 * layered_inputs) ==
         xt::xarray<float>{{10.5, 2}, {0.5, 0}, {0, 8}}));
  const xt::xarray<float> none = layer_output(net, "dense_0", xt::zeros<float>({0, 2}));
  CHECK((none.shape(0) == 0 && none.shape(1) == 2));

  glia::model precise{layered_network(), {2}, glia::reference<double>{}};
  set_layered_numbers(precise);
  const xt::xarray<double> y =
      layer_output<double>(precise, "dense_1", xt::xarray<double>{{0.1, 0}});
  CHECK(y(0, 0) == Approx(3 * 0.6 + 1).epsilon(1e-15));
}

TEST_CASE("the outputs of layers that return their input, and of the first and the last layer") {
  const glia::model net{sequential{glia::identity{}, glia::flatten{}, dense{2}, glia::identity{}},
                        {2, 1}};
  const xt::xarray<float> rows{{1, 2}, {3, 4}};
  const xt::xarray<float> x = xt::expand_dims(rows, 2);
  CHECK((layer_output(net, "identity_0", x) == x));
  CHECK((layer_output(net, "flatten_0", x) == rows));
  CHECK((layer_output(net, "identity_1", x) == net.predict(x)));
  const glia::model single{dense{2}, {2}};
  CHECK((layer_output(single, "dense_0", layered_inputs) == single.predict(layered_inputs)));
}

TEST_CASE("compositions have outputs by their names, and by their types and numbers") {
  const auto block =
      glia::residual{sequential{dense{2, glia::tanh}, dense{2}}, glia::identity{}, glia::relu};
  const glia::model net{
      sequential{block, glia::named{"features", sequential{dense{3}, glia::relu}},
                 glia::named{"branches", glia::parallel{dense{2}, dense{1}}},
                 glia::residual{dense{3}},
                 glia::parallel{glia::join::add{}, glia::identity{}, glia::identity{}}, dense{1}},
      {2}};
  const auto output_of = [&](const std::string& name) {
    return layer_output(net, name, layered_inputs);
  };
  CHECK(
      xt::allclose(output_of("residual_0"), xt::maximum(output_of("dense_1") + layered_inputs, 0)));
  CHECK(xt::allclose(output_of("features"), xt::maximum(output_of("features.dense_0"), 0)));
  const xt::xarray<float> branches = output_of("branches");
  CHECK((xt::view(branches, xt::all(), xt::range(0, 2)) == output_of("branches.dense_0")));
  CHECK((xt::view(branches, xt::all(), xt::range(2, 3)) == output_of("branches.dense_1")));
  CHECK(output_of("residual_1").shape(1) == 3);
  CHECK(xt::allclose(output_of("parallel_0"), 2 * output_of("residual_1")));
}

TEST_CASE("a shared layer has an output for each call, and named inputs and outputs have theirs") {
  const glia::shared tower{"tower", dense{2}};
  const glia::model net{sequential{
      glia::inputs{glia::input{"left", {2}, tower}, glia::input{"right", {2}, tower}}, dense{3},
      glia::outputs{glia::output{"sum", dense{1}}, glia::output{"pair", sequential{dense{2}}}}}};
  const xt::xarray<float> x{{1, 2, 3, 4}, {5, 6, 7, 8}};
  const xt::xarray<float> both = layer_output(net, "inputs_0", x);
  CHECK((layer_output(net, "tower", x) == xt::view(both, xt::all(), xt::range(0, 2))));
  CHECK((layer_output(net, "tower", x, {.call = 1}) == xt::view(both, xt::all(), xt::range(2, 4))));
  CHECK((layer_output(net, "pair", x) == xt::view(net.predict(x), xt::all(), xt::range(1, 3))));
  CHECK(message_of<glia::value_error>([&] {
          static_cast<void>(layer_output(net, "tower", x, {.call = 2}));
        }) == "layer_output: expected a call of the layer 'tower' from 0 to 1, got 2");
}

TEST_CASE("what has no output is refused with the names of the layers") {
  const glia::model net{layered_network(), {2}};
  const auto message = [&](const std::string& name, const xt::xarray<float>& x) {
    return message_of<glia::error>([&] { static_cast<void>(layer_output(net, name, x)); });
  };
  CHECK(message("dens_0", layered_inputs) ==
        "layer_output: there is no layer 'dens_0'; the layers are: dense_0, dropout_0, dense_1; to "
        "read the output of another composition, give it a name with glia::named");
  CHECK(
      message("", layered_inputs) ==
      "layer_output: expected the name of a layer, got an empty string; summary prints the names");
  CHECK(message("dense_0", xt::ones<float>({1, 3})) ==
        "layer_output: expected samples of shape (N, 2), got (1, 3)");
  const glia::model steps{
      sequential{glia::named{"steps", glia::time_distributed{sequential{dense{2}}}}}, {4, 3}};
  const xt::xarray<float> x = xt::ones<float>({2, 4, 3});
  CHECK(contains(message_of<glia::shape_error>(
                     [&] { static_cast<void>(layer_output(steps, "steps.dense_0", x)); }),
                 "does not have one row for each of 2 samples"));
  CHECK(layer_output(steps, "steps", x).dimension() == 3);
  const glia::model words{sequential{glia::embedding{.input_dim = 5, .output_dim = 2}}, {3}};
  CHECK(
      contains(message_of<glia::data_error>([&] {
                 static_cast<void>(layer_output(words, "embedding_0", 9 * xt::ones<float>({1, 3})));
               }),
               "embedding"));
}
