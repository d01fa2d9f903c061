#include <algorithm>
#include <array>
#include <filesystem>
#include <glia/io/keras_weights.hpp>
#include <glia/io/parameters.hpp>
#include <map>
#include <utility>

#include "../golden/keras_golden.hpp"
#include "catch.hpp"
#include "helpers.hpp"
#include "io/hdf5_writer.hpp"
#include "tolerances.hpp"

using glia::tensor_layout;
using test::contains;
using test::hdf5_writer;
using test::message_of;

namespace {

struct keras_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "model.weights.h5";

  /// Writes a file of these data sets, the i-th with the one element i.
  void write(const std::vector<std::string>& names) const {
    hdf5_writer writer(path);
    for (std::size_t i = 0; i < names.size(); ++i) {
      writer.add(names[i], {static_cast<float>(i)});
    }
  }
  /// The element of each weight.
  [[nodiscard]] std::map<std::string, float> weights_of(
      const std::vector<std::string>& names) const {
    write(names);
    std::map<std::string, float> result;
    for (const auto& [name, values] : glia::read_keras_weights(path)) {
      result[name] = values(0);
    }
    return result;
  }
  [[nodiscard]] std::string error_of(const std::vector<std::string>& names) const {
    return message_of<glia::data_error>([&] { (void)weights_of(names); });
  }
};

using keras_elements = std::map<std::string, float>;

/// What tests/golden/make_keras_golden.py describes.
auto keras_network() {
  return glia::model{glia::sequential{glia::conv2d{.filters = 3, .kernel_size = {2, 3}}, glia::relu,
                                      glia::batch_norm{},
                                      glia::conv2d{.filters = 6, .kernel_size = 2, .groups = 3},
                                      glia::dropout{}, glia::flatten{}, glia::dense{3}},
                     {5, 4, 2}};
}

/// For the numbers that Keras 3 gives the weights of this network.
glia::name_map keras_numbers() {
  return {{{"conv2d_0.kernel", "conv2d/0"},
           {"conv2d_0.bias", "conv2d/1"},
           {"batch_norm_0.gamma", "batch_normalization/0"},
           {"batch_norm_0.beta", "batch_normalization/1"},
           {"batch_norm_0.moving_mean", "batch_normalization/2"},
           {"batch_norm_0.moving_variance", "batch_normalization/3"},
           {"conv2d_1.kernel", "depthwise_conv2d/0", tensor_layout::hwim},
           {"conv2d_1.bias", "depthwise_conv2d/1"},
           {"dense_0.kernel", "dense/0"},
           {"dense_0.bias", "dense/1"}},
          {}};
}

/// For the names of its layers that it has in keras_golden.h5.
glia::name_map keras_words() {
  return {{{"conv2d_0.kernel", "first/kernel"},
           {"conv2d_0.bias", "first/bias"},
           {"batch_norm_0.gamma", "norm/gamma"},
           {"batch_norm_0.beta", "norm/beta"},
           {"batch_norm_0.moving_mean", "norm/moving_mean"},
           {"batch_norm_0.moving_variance", "norm/moving_variance"},
           {"conv2d_1.kernel", "depth/kernel", tensor_layout::hwim},
           {"conv2d_1.bias", "depth/bias"},
           {"dense_0.kernel", "scores/kernel"},
           {"dense_0.bias", "scores/bias"}},
          {}};
}

std::filesystem::path golden_file(const std::string& name) {
  return std::filesystem::path(__FILE__).parent_path() / "../golden" / name;
}

template <std::size_t Size>
xt::xarray<float> keras_array(const std::array<float, Size>& values,
                              const std::vector<std::size_t>& extents) {
  xt::xarray<float> result(xt::xarray<float>::shape_type(extents.begin(), extents.end()));
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

}  // namespace

TEST_CASE("weights of files by Keras 1 and 2 have the names of layer and weight") {
  const keras_scratch file;
  // As in keras.applications, by Keras 1, 2 and 3, and with nested models and cells.
  CHECK(file.weights_of({"block1_conv1/block1_conv1/kernel:0", "block1_conv1/block1_conv1/bias:0",
                         "fc1/fc1_W_1:0", "lstm/lstm/lstm_cell/recurrent_kernel:0",
                         "dense_2/sequential/dense_2/kernel", "inner/inner/dense/kernel:0",
                         "wrapped/dense/kernel:0", "kernel/kernel:0", "same/same/same/kernel",
                         "top_level_model_weights/Variable:0", "conv/kernel:10"}) ==
        keras_elements{{"block1_conv1/kernel", 0},
                       {"block1_conv1/bias", 1},
                       {"fc1/fc1_W_1", 2},
                       {"lstm/lstm_cell/recurrent_kernel", 3},
                       {"dense_2/kernel", 4},
                       {"inner/dense/kernel", 5},
                       {"wrapped/dense/kernel", 6},
                       {"kernel/kernel", 7},
                       {"same/same/kernel", 8},
                       {"top_level_model_weights/Variable", 9},
                       {"conv/kernel:10", 10}});
}

TEST_CASE("of a file by Keras that holds a whole model only the weights are read") {
  const keras_scratch file;
  CHECK(file.weights_of({"model_weights/dense/dense/kernel:0", "model_weights/dense/dense/bias:0",
                         "optimizer_weights/Adam/iter:0", "optimizer_weights/dense/kernel/m:0",
                         "anything"}) == keras_elements{{"dense/kernel", 0}, {"dense/bias", 1}});
}

TEST_CASE("weights of files by Keras 3 have the names of layer and number") {
  const keras_scratch file;
  CHECK(file.weights_of({"layers/conv2d/vars/0", "layers/conv2d/vars/1", "layers/conv2d_1/vars/0",
                         "layers/sequential/layers/dense/vars/10",
                         "layers/bidirectional/forward_layer/cell/vars/2", "optimizer/vars/0",
                         "optimizer/vars/1", "encoder/layers/dense/vars/0", "layers/layers/vars/0",
                         "vars/0"}) == keras_elements{{"conv2d/0", 0},
                                                      {"conv2d/1", 1},
                                                      {"conv2d_1/0", 2},
                                                      {"sequential/dense/10", 3},
                                                      {"bidirectional/forward_layer/cell/2", 4},
                                                      {"encoder/dense/0", 7},
                                                      {"layers/0", 8},
                                                      {"vars/0", 9}});
}

TEST_CASE("a file by Keras without weights has none") {
  const keras_scratch file;
  hdf5_writer(file.path).add_group("layers/flatten/vars");
  CHECK(glia::read_keras_weights(file.path).empty());
}

TEST_CASE("a file of HDF5 that is none of Keras's weights is refused") {
  const keras_scratch file;
  const std::string expected =
      file.path.string() + ": expected weights of a Keras model, but the data set '";
  CHECK(file.error_of({"dense/kernel", "x"}) ==
        expected + "x' is not in a group of a layer; use read_hdf5, which reads any HDF5 file");
  CHECK(file.error_of({"layers/dense/vars/0", "layers/dense/kernel"}) ==
        expected +
            "layers/dense/kernel' is not in a group 'vars', as the others are; use read_hdf5, "
            "which reads any HDF5 file");
  CHECK(file.error_of({"layers/dense/vars/0", "layers/dense/vars/0a"}) ==
        expected +
            "layers/dense/vars/0a' is not in a group 'vars', as the others are; use read_hdf5, "
            "which reads any HDF5 file");
  CHECK(
      file.error_of({"dense/dense/kernel:0", "dense/kernel"}) ==
      file.path.string() +
          ": data set 'dense/dense/kernel:0': another data set gets the same name, 'dense/kernel'");
  CHECK(contains(message_of<glia::data_error>(
                     [&] { (void)glia::read_keras_weights(file.folder.path() / "none.h5"); }),
                 "none.h5: the file cannot be opened for reading"));
}

TEST_CASE("the limit for files by Keras counts what is read of them") {
  const keras_scratch file;
  file.write({"optimizer/vars/0", "optimizer/vars/1", "layers/dense/vars/0"});
  CHECK(glia::read_keras_weights(file.path, {.max_bytes = 4}).size() == 1);
  CHECK(contains(message_of<glia::data_error>(
                     [&] { (void)glia::read_keras_weights(file.path, {.max_bytes = 3}); }),
                 "data set 'layers/dense/vars/0' takes 4 bytes as floats, more than the 3"));
}

TEST_CASE("weights by Keras make a model that predicts as with parameters set by hand") {
  const keras_scratch file;
  auto by_hand = keras_network();
  {
    hdf5_writer numbered(file.path);
    hdf5_writer named(file.folder.path() / "model.h5");
    float first = -0.9F;
    const auto numbers = keras_numbers().sources;
    const auto words = keras_words().sources;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      xt::xarray<float> values = by_hand.get(numbers[i].parameter);
      const bool positive = numbers[i].parameter.ends_with("variance");
      for (std::size_t k = 0; k < values.size(); ++k) {
        values.data()[k] = (positive ? 0.5F : first) + 0.05F * static_cast<float>(k % 23);
      }
      by_hand.set(numbers[i].parameter, values);
      first += 0.1F;
      std::vector<hsize_t> extents(values.shape().begin(), values.shape().end());
      if (numbers[i].layout == tensor_layout::hwim) {
        extents = {2, 2, 3, 2};
      }
      const std::vector<float> elements(values.begin(), values.end());
      const auto parts = [](const std::string& name) {
        const std::size_t end = name.find('/');
        return std::pair(name.substr(0, end), name.substr(end + 1));
      };
      const auto [layer, number] = parts(numbers[i].tensor);
      numbered.add("layers/" + layer + "/vars/" + number, elements, extents);
      const auto [called, weight] = parts(words[i].tensor);
      named.add("model_weights/" + called + "/" + called + "/" + weight + ":0", elements, extents);
    }
    numbered.add("optimizer/vars/0", {1});
    named.add("optimizer_weights/adam/step:0", {1});
  }
  const xt::xarray<float> x = keras_array(glia_golden::keras_inputs, {2, 5, 4, 2});
  const xt::xarray<float> expected = by_hand.predict(x);

  auto of_numbers = keras_network();
  REQUIRE((of_numbers.predict(x) != expected));
  glia::load_parameters(of_numbers, glia::read_keras_weights(file.path), keras_numbers());
  CHECK((glia::parameters_of(of_numbers) == glia::parameters_of(by_hand)));
  CHECK((of_numbers.predict(x) == expected));

  auto of_words = keras_network();
  glia::load_parameters(of_words, glia::read_keras_weights(file.folder.path() / "model.h5"),
                        keras_words());
  CHECK((of_words.predict(x) == expected));
}

TEST_CASE("files that Keras wrote make a model that predicts what Keras did") {
  const xt::xarray<float> x = keras_array(glia_golden::keras_inputs, {2, 5, 4, 2});
  auto newer = keras_network();
  glia::load_parameters(newer, glia::read_keras_weights(golden_file("keras_golden.weights.h5")),
                        keras_numbers());
  // The outputs are up to 11.
  CHECK(test::distance(newer.predict(x), glia_golden::keras_outputs) < tolerance::golden);

  auto older = keras_network();
  glia::load_parameters(older, glia::read_keras_weights(golden_file("keras_golden.h5")),
                        keras_words());
  CHECK((glia::parameters_of(older) == glia::parameters_of(newer)));
}
