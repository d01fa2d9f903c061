#include <glia/io/parameters.hpp>
#include <glia/io/safetensors.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::tensor_layout;
using test::contains;
using test::message_of;

namespace {

auto network(std::uint64_t seed) {
  return glia::model{
      glia::sequential{glia::conv2d{.filters = 4, .kernel_size = {2, 3}}, glia::batch_norm{},
                       glia::conv2d{.filters = 4, .kernel_size = 2, .groups = 4}, glia::flatten{},
                       glia::dense{2}},
      {3, 4, 2},
      glia::cpu<float>(),
      {.seed = seed}};
}

/// Every element another number.
xt::xarray<float> counting(const glia::shape& s, float first) {
  xt::xarray<float> values(xt::xarray<float>::shape_type(s.begin(), s.end()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values.data()[i] = first + static_cast<float>(i);
  }
  return values;
}

/// As PyTorch would name and lay them out.
glia::tensor_map stored() {
  return {{"conv.weight", counting({4, 2, 2, 3}, 100)},
          {"norm.weight", counting({4}, 200)},
          {"norm.bias", counting({4}, 300)},
          {"norm.running_mean", counting({4}, 400)},
          {"depth.weight", counting({4, 1, 2, 2}, 500)},
          {"depth.bias", counting({4}, 600)},
          {"linear.weight", counting({2, 4}, 700)},
          {"linear.bias", counting({2}, 800)}};
}

glia::name_map names() {
  return {{{"conv2d_0.kernel", "conv.weight", tensor_layout::oihw},
           {"conv2d_0.bias", "", {}, 5},
           {"batch_norm_0.gamma", "norm.weight"},
           {"batch_norm_0.beta", "norm.bias"},
           {"batch_norm_0.moving_mean", "norm.running_mean"},
           {"conv2d_1.kernel", "depth.weight", tensor_layout::oihw},
           {"conv2d_1.bias", "depth.bias"},
           {"dense_0.kernel", "linear.weight", tensor_layout::oi},
           {"dense_0.bias", "linear.bias"}},
          {}};
}

/// What loading throws; the model must be the same afterwards as before.
template <class Error>
std::string error_of(const glia::tensor_map& tensors, const glia::name_map& map) {
  auto net = network(1);
  const glia::tensor_map original = glia::parameters_of(net);
  const std::string message = message_of<Error>([&] { glia::load_parameters(net, tensors, map); });
  CHECK((glia::parameters_of(net) == original));
  return message;
}

}  // namespace

TEST_CASE("kernels behind a flatten are put in the order of glia's pixels") {
  glia::model net{glia::sequential{glia::flatten{}, glia::dense{2}}, glia::shape{2, 3, 4}};
  const xt::xarray<float> kernel = counting({2, 24}, 0);
  const glia::tensor_map tensors = {{"weight", kernel}, {"bias", counting({2}, 50)}};
  const auto named = [](std::size_t channels) {
    return glia::name_map{{{.parameter = "dense_0.kernel",
                            .tensor = "weight",
                            .layout = tensor_layout::o_chw,
                            .channels = channels},
                           {"dense_0.bias", "bias"}},
                          {}};
  };
  glia::load_parameters(net, tensors, named(4));
  const auto mine = net.get("dense_0.kernel");
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t pixel = 0; pixel < 6; ++pixel) {
      for (std::size_t c = 0; c < 4; ++c) {
        CHECK(mine(pixel * 4 + c, o) == kernel(o, c * 6 + pixel));
      }
    }
  }
  for (const std::size_t channels : {0U, 5U}) {
    CHECK(message_of<glia::value_error>(
              [&] { glia::load_parameters(net, tensors, named(channels)); }) ==
          "load_parameters: parameter 'dense_0.kernel' has the layout o_chw and 24 inputs: "
          "expected a number of channels that divides them, got " +
              std::to_string(channels));
  }
}

TEST_CASE("depthwise kernels of Keras become those of as many groups as channels") {
  glia::model net{glia::conv2d{.filters = 6, .kernel_size = {2, 1}, .groups = 3},
                  glia::shape{4, 4, 3}};
  const xt::xarray<float> kernel = counting({2, 1, 3, 2}, 0);
  const glia::name_map names{
      {{"conv2d_0.kernel", "depthwise_kernel", tensor_layout::hwim}, {"conv2d_0.bias", ""}}, {}};
  glia::load_parameters(net, {{"depthwise_kernel", kernel}}, names);
  const auto mine = net.get("conv2d_0.kernel");
  for (std::size_t y = 0; y < 2; ++y) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t filter = 0; filter < 2; ++filter) {
        CHECK(mine(y, 0, 0, 2 * channel + filter) == kernel(y, 0, channel, filter));
      }
    }
  }
  CHECK(
      contains(message_of<glia::shape_error>([&] {
                 glia::load_parameters(net, {{"depthwise_kernel", counting({2, 1, 3}, 0)}}, names);
               }),
               "has the shape (2, 1, 3), in another order of axes, but the model's parameter "
               "'conv2d_0.kernel'"));
}

TEST_CASE("kernels are turned into glia's layout exactly") {
  auto net = network(1);
  const xt::xarray<float> variance = xt::ones<float>({4}) * 3;
  net.set("batch_norm_0.moving_variance", variance);
  const glia::tensor_map tensors = stored();
  glia::load_parameters(net, tensors, names());

  const auto kernel = net.get("conv2d_0.kernel");
  const auto depthwise = net.get("conv2d_1.kernel");
  REQUIRE(glia::shape(kernel.shape().begin(), kernel.shape().end()) == glia::shape{2, 3, 2, 4});
  for (std::size_t o = 0; o < 4; ++o) {
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 3; ++x) {
        for (std::size_t i = 0; i < 2; ++i) {
          CHECK(kernel(y, x, i, o) == tensors.at("conv.weight")(o, i, y, x));
        }
      }
      for (std::size_t x = 0; x < 2; ++x) {
        CHECK(depthwise(y, x, 0, o) == tensors.at("depth.weight")(o, 0, y, x));
      }
    }
  }
  CHECK((net.get("dense_0.kernel") == xt::transpose(tensors.at("linear.weight"))));
  CHECK(net.get("dense_0.kernel")(3, 0) == 703);
  CHECK((net.get("dense_0.bias") == tensors.at("linear.bias")));
  CHECK((net.get("batch_norm_0.gamma") == tensors.at("norm.weight")));
  CHECK((net.get("batch_norm_0.moving_mean") == tensors.at("norm.running_mean")));
  // One value for all, and what the map does not name.
  CHECK((net.get("conv2d_0.bias") == xt::xarray<float>{5, 5, 5, 5}));
  CHECK((net.get("batch_norm_0.moving_variance") == variance));
}

TEST_CASE("tensors that are missing or too many are named") {
  const std::string advice =
      "; check that the file belongs to this model, and the name map to this file";
  auto tensors = stored();
  tensors.erase("norm.bias");
  CHECK(error_of<glia::data_error>(tensors, names()) ==
        "load_parameters: the file lacks 1 tensors of the name map: norm.bias" + advice);
  tensors["norm.beta"] = tensors["norm.weight"];
  CHECK(error_of<glia::data_error>(tensors, names()) ==
        "load_parameters: the file lacks 1 tensors of the name map: norm.bias; it has others: "
        "norm.beta" +
            advice);
  CHECK(error_of<glia::data_error>({}, names()) ==
        "load_parameters: the file lacks 8 tensors of the name map: conv.weight, norm.weight, "
        "norm.bias, "
        "norm.running_mean, depth.weight and 3 more" +
            advice);
  tensors = stored();
  tensors["norm.num_batches"] = xt::xarray<float>(3.0F);
  CHECK(
      error_of<glia::data_error>(tensors, names()) ==
      "load_parameters: the file has 1 tensors that the name map does not list: norm.num_batches; "
      "to ignore tensors, add ends of their names to name_map::ignored_suffixes" +
          advice);
}

TEST_CASE("only tensors whose names end in what is ignored may be too many") {
  auto tensors = stored();
  tensors["norm.num_batches"] = xt::xarray<float>(3.0F);
  auto map = names();
  map.ignored_suffixes = {"other", ".num_batches"};
  auto net = network(1);
  glia::load_parameters(net, tensors, map);
  CHECK((net.get("dense_0.bias") == tensors.at("linear.bias")));
  tensors["norm.num_batches.more"] = xt::xarray<float>(3.0F);
  CHECK(contains(error_of<glia::data_error>(tensors, map),
                 "1 tensors that the name map does not list: norm.num_batches.more;"));
  // Ignoring does not excuse what the map names from being there.
  map.ignored_suffixes = {"weight"};
  tensors = stored();
  tensors.erase("conv.weight");
  CHECK(contains(error_of<glia::data_error>(tensors, map),
                 "1 tensors of the name map: conv.weight;"));
}

TEST_CASE("tensors that cannot be read do no harm unless they are asked for") {
  auto tensors = stored();
  tensors.add_unreadable("norm.num_batches", "file: tensor 'norm.num_batches': too large");
  CHECK(contains(error_of<glia::data_error>(tensors, names()),
                 "1 tensors that the name map does not list: norm.num_batches;"));
  auto map = names();
  map.ignored_suffixes = {".num_batches"};
  auto net = network(1);
  glia::load_parameters(net, tensors, map);
  CHECK((net.get("dense_0.bias") == tensors.at("linear.bias")));
  tensors.erase("linear.bias");
  tensors.add_unreadable("linear.bias", "file: tensor 'linear.bias': too large");
  CHECK(error_of<glia::data_error>(tensors, map) == "file: tensor 'linear.bias': too large");
}

TEST_CASE("tensors of another shape are named with both shapes") {
  auto tensors = stored();
  tensors["linear.bias"] = xt::zeros<float>({3});
  CHECK(error_of<glia::shape_error>(tensors, names()) ==
        "load_parameters: tensor 'linear.bias' has the shape (3,) but the model's parameter "
        "'dense_0.bias' has the shape (2,)");
  tensors = stored();
  tensors["conv.weight"] = xt::zeros<float>({2, 3, 2, 4});  // glia's layout already
  CHECK(error_of<glia::shape_error>(tensors, names()) ==
        "load_parameters: tensor 'conv.weight' has the shape (2, 3, 2, 4), in another order of "
        "axes, but the model's parameter 'conv2d_0.kernel' has the shape (2, 3, 2, 4)");
  tensors = stored();
  tensors["linear.weight"] = xt::zeros<float>({2, 4, 1, 1});
  CHECK(contains(error_of<glia::shape_error>(tensors, names()), "has the shape (2, 4, 1, 1)"));
  tensors = stored();
  auto map = names();
  map.sources.push_back({"dense_7.bias", "linear.bias"});
  CHECK(
      contains(error_of<glia::value_error>(tensors, map), "there is no parameter 'dense_7.bias'"));
}

TEST_CASE("the parameters of one model make another alike, through a file or not") {
  auto first = network(1);
  auto second = network(2);
  auto third = network(3);
  first.set("batch_norm_0.moving_mean", {1, 2, 3, 4});
  const glia::tensor_map parameters = glia::parameters_of(first);
  REQUIRE(parameters.size() == 10);
  REQUIRE((glia::parameters_of(second) != parameters));
  glia::load_parameters(second, parameters, glia::same_names(second));
  CHECK((glia::parameters_of(second) == parameters));

  const test::temporary_folder folder;
  const auto path = folder.path() / "net.safetensors";
  glia::write_safetensors(path, parameters);
  glia::load_parameters(third, glia::read_safetensors(path), glia::same_names(third));
  const xt::xarray<float> x = counting({5, 3, 4, 2}, -60);
  CHECK((third.predict(x) == first.predict(x)));
}
