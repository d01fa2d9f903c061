#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/io/hdf5.hpp"
#include "glia/io/hdf5_calls.hpp"
#include "glia/io/hdf5_reader.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

namespace detail {

/// Splits a path at its slashes: layers/dense/vars/0 becomes layers, dense, vars and 0.
[[nodiscard]] inline std::vector<std::string> parts_of_path(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = path.find('/');
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  }
  return parts;
}

[[nodiscard]] inline std::string path_of(const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) {
    path += (path.empty() ? "" : "/") + part;
  }
  return path;
}

/// Returns whether this is the name of a numbered weight of Keras 3, such as .../vars/0.
[[nodiscard]] inline bool is_numbered_weight(const std::string& name) {
  const std::vector<std::string> parts = parts_of_path(name);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return parts.size() > 1 && parts[parts.size() - 2] == "vars" &&
         std::all_of(parts.back().begin(), parts.back().end(), digit);
}

/// Shortens the name of a numbered weight: layers/dense/vars/0 becomes dense/0.
[[nodiscard]] inline std::string name_of_numbered_weight(const std::string& name) {
  std::vector<std::string> parts = parts_of_path(name);
  const std::string number = parts.back();
  parts.resize(parts.size() - 2);
  if (parts.empty()) {
    return name;  // a weight of the model, not of a layer
  }
  // Lists of layers are called "layers". The last part is a layer, even if it has this name.
  parts.erase(std::remove(parts.begin(), parts.end() - 1, "layers"), parts.end() - 1);
  parts.push_back(number);
  return path_of(parts);
}

/// Shortens the name of a named weight: dense/dense/kernel:0 and dense/sequential/dense/kernel
/// become dense/kernel.
[[nodiscard]] inline std::string name_of_named_weight(const std::string& name) {
  std::vector<std::string> parts = parts_of_path(name);
  const auto repetition = std::find(parts.begin() + 1, parts.end() - 1, parts.front());
  if (repetition != parts.end() - 1) {
    parts.erase(parts.begin(), repetition);
  }
  if (parts.back().ends_with(":0")) {
    parts.back().resize(parts.back().size() - 2);
  }
  return path_of(parts);
}

/// Maps the name of a data set in a Keras file to its name in the result of `read_keras_weights`.
/// Returns no name for data sets that do not belong to the model, such as the optimizer's state.
class keras_names {
 public:
  /// `location` names the file in error messages.
  keras_names(const std::vector<std::string>& names, std::string location)
      : location_(std::move(location)) {
    for (const std::string& name : names) {
      numbered_ = numbered_ || is_numbered_weight(name);
      whole_model_ = whole_model_ || name.starts_with(in_whole_model);
    }
  }

  [[nodiscard]] std::optional<std::string> operator()(const std::string& name) const {
    std::string weight = name;
    if (numbered_) {
      if (name.starts_with("optimizer/")) {
        return std::nullopt;
      }
    } else if (whole_model_) {
      if (!name.starts_with(in_whole_model)) {
        return std::nullopt;
      }
      weight = name.substr(in_whole_model.size());
    }
    const bool known =
        numbered_ ? is_numbered_weight(weight) : weight.find('/') != std::string::npos;
    require<data_error>(known, location_, ": expected weights of a Keras model, but the data set '",
                        name, "' is not in a group ",
                        numbered_ ? "'vars', as the others are" : "of a layer",
                        "; use read_hdf5, which reads any HDF5 file");
    return numbered_ ? name_of_numbered_weight(weight) : name_of_named_weight(weight);
  }

 private:
  static constexpr std::string_view in_whole_model = "model_weights/";

  std::string location_;
  bool numbered_ = false;     // written by save_weights of Keras 3
  bool whole_model_ = false;  // written by model.save
};

}  // namespace detail

/// Reads the weights of a Keras model from an HDF5 file. In the result, a weight has the name
/// `<layer>/<weight>`. The optimizer's state is skipped. Needs the HDF5 library: link `glia::hdf5`.
///
/// **Numbered weights.** A `.weights.h5` file of Keras 3 is written by `save_weights`, or is part
/// of a `.keras` file, which is a zip archive. It numbers the weights of each layer and names the
/// layers after their classes: `layers/conv2d_1/vars/0` becomes `conv2d_1/0`, and
/// `layers/sequential/layers/dense/vars/0` becomes `sequential/dense/0`. The number of a weight is
/// its index in `layer.weights`. For most layers, 0 is the kernel and 1 the bias. For
/// BatchNormalization, 0 to 3 are gamma, beta, moving_mean and moving_variance.
///
/// **Named weights.** A `.h5` file of Keras 1 and 2, of keras.applications, or of
/// `model.save("model.h5")` in Keras 3 has names: `block1_conv1/block1_conv1/kernel:0` becomes
/// `block1_conv1/kernel`. If the file holds the whole model, `model_weights/` in front of the name
/// is removed, too. If the layer's name occurs again within the path, everything before the
/// repetition is removed. A nested model counts as a layer whose weights have longer names.
///
///     const glia::name_map names{{{"conv2d_0.kernel", "block1_conv1/kernel"},  // or "conv2d/0"
///                                 {"conv2d_0.bias", "block1_conv1/bias"},      // "conv2d/1"
///                                 {"dense_0.kernel", "predictions/kernel"},    // "dense/0"
///                                 {"dense_0.bias", "predictions/bias"}},       // "dense/1"
///                                {}};
///     glia::load_parameters(net, glia::read_keras_weights("model.h5"), names);
///
/// Kernels of convolutions and dense layers, also after a flatten, have the same order of axes in
/// Keras as in glia: `tensor_layout::as_is`. Kernels of depthwise convolutions have the layout
/// `tensor_layout::hwim`. Old files with kernels of the Theano backend have other layouts.
///
/// Throws `data_error` as `read_hdf5` does. Throws `data_error`, too, if the file has data sets
/// that are not weights of a Keras model, or if two weights get the same name.
[[nodiscard]] inline tensor_map read_keras_weights(const std::filesystem::path& path,
                                                   const hdf5_options& options = {}) {
  const detail::hdf5_session session;
  const detail::hdf5_reader reader(path);
  return reader.read(options.max_bytes, detail::keras_names(reader.names(), path.string()));
}

}  // namespace glia
