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

/// layers, dense, vars and 0 of layers/dense/vars/0.
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

/// Whether this is the name of a weight as Keras 3 numbers them: .../vars/0.
[[nodiscard]] inline bool is_numbered_weight(const std::string& name) {
  const std::vector<std::string> parts = parts_of_path(name);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return parts.size() > 1 && parts[parts.size() - 2] == "vars" &&
         std::all_of(parts.back().begin(), parts.back().end(), digit);
}

/// dense/0 of layers/dense/vars/0.
[[nodiscard]] inline std::string name_of_numbered_weight(const std::string& name) {
  std::vector<std::string> parts = parts_of_path(name);
  const std::string number = parts.back();
  parts.resize(parts.size() - 2);
  if (parts.empty()) {
    return name;  // the model's own, which belongs to no layer
  }
  // A list of layers stands before each of them; the last part is a layer, whatever its name.
  parts.erase(std::remove(parts.begin(), parts.end() - 1, "layers"), parts.end() - 1);
  parts.push_back(number);
  return path_of(parts);
}

/// dense/kernel of dense/dense/kernel:0 and of dense/sequential/dense/kernel.
[[nodiscard]] inline std::string name_of_named_weight(const std::string& name) {
  std::vector<std::string> parts = parts_of_path(name);
  const auto again = std::find(parts.begin() + 1, parts.end() - 1, parts.front());
  if (again != parts.end() - 1) {
    parts.erase(parts.begin(), again);
  }
  if (parts.back().ends_with(":0")) {
    parts.back().resize(parts.back().size() - 2);
  }
  return path_of(parts);
}

/// Gives the data sets of a file of Keras the names of `read_keras_weights`; none to those that are
/// no weights.
class keras_names {
 public:
  /// `where` names the file in errors.
  keras_names(const std::vector<std::string>& names, std::string where) : where_(std::move(where)) {
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
    require<data_error>(known, where_, ": expected a file of weights of Keras, but its data set '",
                        name, "' is ",
                        numbered_ ? "not in a group 'vars', as the others are" : "of no layer",
                        "; read_hdf5 reads any file");
    return numbered_ ? name_of_numbered_weight(weight) : name_of_named_weight(weight);
  }

 private:
  static constexpr std::string_view in_whole_model = "model_weights/";

  std::string where_;
  bool numbered_ = false;     // as by Keras 3
  bool whole_model_ = false;  // as by model.save
};

}  // namespace detail

/// Reads the weights of a file of Keras by the names of their layers, as `<layer>/<weight>`; the
/// optimizer's state is left out. Needs the HDF5 library: link `glia::hdf5`.
///
/// `.weights.h5` of Keras 3 (`save_weights`, and model.weights.h5 in a `.keras` file, which is a
/// zip archive) numbers the weights of a layer and names layers after their classes:
/// `layers/conv2d_1/vars/0` becomes `conv2d_1/0`, `layers/sequential/layers/dense/vars/0` becomes
/// `sequential/dense/0`. The numbers are those of `layer.weights`: for most layers 0 is the kernel
/// and 1 the bias, for BatchNormalization 0 to 3 are gamma, beta, moving_mean and moving_variance.
///
/// `.h5` of Keras 1 and 2 and of keras.applications, and what `model.save("model.h5")` writes in
/// Keras 3, has names: `block1_conv1/block1_conv1/kernel:0`, with `model_weights/` before it where
/// the file holds the whole model, becomes `block1_conv1/kernel`. All up to the layer's name where
/// it comes again is left away; a nested model is a layer whose weights have longer names.
///
///     const glia::name_map names{{{"conv2d_0.kernel", "block1_conv1/kernel"},  // or "conv2d/0"
///                                 {"conv2d_0.bias", "block1_conv1/bias"},      // "conv2d/1"
///                                 {"dense_0.kernel", "predictions/kernel"},    // "dense/0"
///                                 {"dense_0.bias", "predictions/bias"}},       // "dense/1"
///                                {}};
///     glia::load_parameters(net, glia::read_keras_weights("model.h5"), names);
///
/// Kernels of convolutions and dense layers lie in Keras as in glia, which is `as_is`, also behind
/// a flatten; those of depthwise convolutions are `tensor_layout::hwim`. Kernels of Theano, which
/// old files have, are laid out otherwise.
///
/// Throws what `read_hdf5` throws, and `data_error` for a file of other data sets, and for two that
/// get the same name.
[[nodiscard]] inline tensor_map read_keras_weights(const std::filesystem::path& path,
                                                   const hdf5_options& options = {}) {
  const detail::hdf5_session session;
  const detail::hdf5_reader reader(path);
  return reader.read(options.max_bytes, detail::keras_names(reader.names(), path.string()));
}

}  // namespace glia
