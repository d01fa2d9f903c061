#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/io/parameters.hpp"
#include "glia/io/tensor_map.hpp"
#include "glia/models/zoo/zoo_network.hpp"
#include "glia/models/zoo/zoo_parameters.hpp"

namespace glia {

namespace detail {

/// The layers of a file that Keras wrote, with the paths of their weights.
class keras_file {
 public:
  // The path of each weight of a layer, such as conv1/conv1/kernel:0 for the weight "kernel".
  using weights = std::map<std::string, std::string, std::less<>>;

  explicit keras_file(const tensor_map& tensors) {
    for (const auto& [path, values] : tensors) {
      add(path);
    }
    for (const auto& [layer, found] : layers_) {
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        if (const auto number = number_of(layer, kinds[kind])) {
          numbered_[kind].emplace(*number, layer);
        }
      }
    }
  }

  /// Returns the name of a node's layer in the file. It is the name of the node or, if the file has
  /// no layer of this name, the next numbered layer of the same type.
  [[nodiscard]] std::string layer_for(const zoo_node& node) {
    const std::size_t kind = kind_of(node.layer);
    const bool renamed = node.name == classifiers[0] && layers_.contains(classifiers[1]);
    if (renamed || layers_.contains(node.name) || numbered_[kind].empty()) {
      return renamed ? std::string(classifiers[1]) : node.name;
    }
    return numbered_[kind].extract(numbered_[kind].begin()).mapped();
  }
  /// Returns the path of a layer's weight in the file. If the file does not have the weight,
  /// returns the path that Keras would write.
  [[nodiscard]] std::string path_of(const std::string& layer, const std::string& weight) const {
    const auto found = layers_.find(layer);
    if (found != layers_.end() && found->second.contains(weight)) {
      return found->second.find(weight)->second;
    }
    return text(layer, '/', layer, '/', weight, ":0");
  }
  /// Returns the paths of the classifier's weights in the file.
  [[nodiscard]] std::vector<std::string> classifier() const {
    std::vector<std::string> result;
    for (const auto& [layer, found] : layers_) {
      if (layer == classifiers[0] || layer == classifiers[1] || number_of(layer, kinds.back())) {
        for (const auto& [weight, path] : found) {
          result.push_back(path);
        }
      }
    }
    return result;
  }

 private:
  // The default names of layers in Keras before version 2, and since version 2.
  using type_names = std::array<std::string_view, 2>;
  static constexpr std::array<type_names, 4> kinds{{{"convolution2d", "conv2d"},
                                                    {"separableconvolution2d", "separable_conv2d"},
                                                    {"batchnormalization", "batch_normalization"},
                                                    {"dense", "dense"}}};

  // The name of the last layer in Keras's applications today, and in older files of residual
  // networks.
  static constexpr std::array<std::string_view, 2> classifiers{"predictions", "probs"};

  [[nodiscard]] static std::size_t kind_of(const zoo_layer& layer) {
    return std::holds_alternative<conv2d>(layer)             ? 0
           : std::holds_alternative<separable_conv2d>(layer) ? 1
           : std::holds_alternative<batch_norm>(layer)       ? 2
                                                             : 3;
  }

  /// Returns the number in a default name: 12 for conv2d_12, 0 for conv2d.
  [[nodiscard]] static std::optional<std::size_t> number_of(const std::string& layer,
                                                            const type_names& names) {
    for (const std::string_view name : names) {
      if (layer == name) {
        return 0;
      }
      constexpr std::size_t most_digits = 9;
      if (layer.starts_with(text(name, '_'))) {
        const std::string digits = layer.substr(name.size() + 1);
        if (!digits.empty() && digits.size() <= most_digits &&
            digits.find_first_not_of("0123456789") == std::string::npos) {
          return std::stoul(digits);
        }
      }
    }
    return std::nullopt;
  }

  /// Adds a path of the file, such as conv1/conv1/kernel:0 or, before version 2, conv1/conv1_W:0.
  void add(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
      return;
    }
    const std::string holders = path.substr(0, slash);
    const std::string layer = holders.substr(holders.rfind('/') + 1);
    std::string weight = path.substr(slash + 1);
    weight = weight.substr(0, weight.find(':'));
    if (weight.starts_with(layer + '_')) {
      weight.erase(0, layer.size() + 1);
    }
    static const std::map<std::string, std::string, std::less<>> since_version_2{
        {"W", "kernel"},
        {"b", "bias"},
        {"running_mean", "moving_mean"},
        {"running_std", "moving_variance"}};
    const auto renamed = since_version_2.find(weight);
    layers_[layer].emplace(renamed == since_version_2.end() ? weight : renamed->second, path);
  }

  std::map<std::string, weights, std::less<>> layers_;
  std::array<std::map<std::size_t, std::string>, kinds.size()> numbered_;
};

}  // namespace detail

/// Returns the name map with which `load_parameters` loads weights from an HDF5 file of Keras.
///
/// `file` contains the weights by their paths, such as conv1_conv/conv1_conv/kernel:0. They can be
/// the published weights of Keras's applications or your own weights. Keras gives an unnamed layer
/// a default name such as conv2d_12 or convolution2d_12. glia assigns these layers to the layers of
/// the network in their order, as Keras does. In the published file of Xception, all layers have
/// default names. In the published file of Inception v3, all layers except the classifier have
/// default names.
///
/// If the network has only some stages, only their weights are loaded. If it has no classifier, the
/// file's classifier is ignored. `prefix` is the prefix of the network's parameters in the model:
/// "features." for named{"features", resnet50()}. Throws `value_error` for a network of
/// `zoo_form::torchvision`.
[[nodiscard]] inline name_map keras_names(const zoo_network& net, const tensor_map& file,
                                          const std::string& prefix = "") {
  require<value_error>(net.form() == zoo_form::keras,
                       "keras_names: expected a network of zoo_form::keras, got ", net.name(),
                       " of zoo_form::torchvision");
  name_map map;
  detail::keras_file found(file);
  bool classifies = false;
  for (std::size_t n = 0; n < net.nodes().size(); ++n) {
    const zoo_node& node = net.nodes()[n];
    classifies = classifies || std::holds_alternative<dense>(node.layer);
    const std::vector<std::string> parameters = detail::parameter_names(node.layer);
    const std::string layer = parameters.empty() ? "" : found.layer_for(node);
    for (const std::string& parameter : parameters) {
      const std::string path = found.path_of(layer, parameter);
      if (net.has(n)) {
        map.sources.push_back({text(prefix, node.name, '.', parameter), path});
      } else {
        map.ignored_suffixes.push_back(path);
      }
    }
  }
  if (!classifies) {
    const std::vector<std::string> paths = found.classifier();
    map.ignored_suffixes.insert(map.ignored_suffixes.end(), paths.begin(), paths.end());
  }
  return map;
}

}  // namespace glia
