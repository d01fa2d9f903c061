#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/io/checked_content.hpp"
#include "glia/layers/option_writer.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/models/model_access.hpp"
#include "glia/models/model_identity.hpp"

namespace glia {

namespace detail {

inline constexpr std::string_view model_file = "model 1";
inline constexpr std::string_view checkpoint_file = "checkpoint 1";
inline constexpr std::string_view stream_file = "stream 1";

/// The key of the metadata entry that describes the layers and their options; see `open`.
inline constexpr std::string_view network_key = "glia.network";
/// The names of the tensors of `save_options::example`.
inline constexpr std::string_view example_inputs = "glia.example.inputs";
inline constexpr std::string_view example_outputs = "glia.example.outputs";

/// Returns the layers of a network and their options as a JSON text.
template <class Description>
[[nodiscard]] std::string network_text(const Description& description, const shape& sample) {
  option_writer writer;
  writer.write(description);
  option_writer extents;
  extents.write(sample);
  return text(R"({"version":1,"sample":)", extents.text(), R"(,"layer":)", writer.text(), '}');
}

/// Returns whether files of glia contain a metadata entry with this key.
[[nodiscard]] inline bool is_metadata_of_glia(std::string_view key) {
  constexpr std::string_view keys[] = {"glia",   "description", "sample",
                                       "layers", "fingerprint", "checksum"};
  return key == network_key || std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

/// Returns the metadata of a file without the entries of glia.
[[nodiscard]] inline std::map<std::string, std::string> metadata_of_users(
    std::map<std::string, std::string> metadata) {
  const auto kind = metadata.find("glia");
  if (kind == metadata.end()) {
    return metadata;
  }
  if (kind->second == checkpoint_file || kind->second == stream_file) {
    return {};
  }
  std::erase_if(metadata, [](const auto& entry) { return is_metadata_of_glia(entry.first); });
  return metadata;
}

/// Returns an array as a tensor of a file.
[[nodiscard]] inline named_tensor array_tensor(std::string_view name, const xt::xarray<float>& x) {
  return {std::string(name), shape(x.shape().begin(), x.shape().end()),
          std::vector<float>(x.begin(), x.end())};
}

/// Reads a file with the parameters of a model. The example of `save_options` is moved to `example`
/// or, if that is null, left out.
[[nodiscard]] inline safetensors_content read_model_file(
    const file_source& file, std::vector<named_tensor>* example = nullptr) {
  safetensors_content content = read_checked_content(file);
  std::erase_if(content.tensors, [&](named_tensor& t) {
    const bool is_example = t.name == example_inputs || t.name == example_outputs;
    if (is_example && example != nullptr) {
      example->push_back(std::move(t));
    }
    return is_example;
  });
  return content;
}

/// Throws `data_error` unless a file holds the parameters of a model or a checkpoint.
inline void require_model(const std::string& file, const safetensors_content& content) {
  const auto kind = content.metadata.find("glia");
  const std::string_view said = kind == content.metadata.end() ? std::string_view() : kind->second;
  require<data_error>(said != stream_file, file,
                      ": expected the parameters of a model, but the file holds the state of a "
                      "stream; use load_state");
  require<data_error>(said == model_file || said == checkpoint_file, file, ": expected '",
                      model_file, "' or '", checkpoint_file, "' in the metadata, got '", said,
                      "'; the file was written by another version of glia");
}

/// Returns the tensors of a file for the parameters of a model, on a device. The device may use
/// those that are `in_place`.
[[nodiscard]] inline std::vector<tensor> tensors_for(
    const std::string& file, const safetensors_content& content,
    const std::vector<parameter_spec>& parameters, const device& target,
    const std::map<std::string, shared_floats>& in_place = {}) {
  std::map<std::string_view, const named_tensor*> by_name;
  for (const named_tensor& t : content.tensors) {
    by_name.emplace(t.name, &t);
  }
  std::vector<tensor> result;
  for (const parameter_spec& p : parameters) {
    const auto entry = by_name.find(p.name);
    require<data_error>(entry != by_name.end(), file, ": there is no tensor '", p.name,
                        "'; the file is damaged");
    const named_tensor& found = *entry->second;
    require<data_error>(found.shape == p.shape, file, ": expected the tensor '", p.name,
                        "' of shape ", p.shape, ", got ", found.shape, "; the file is damaged");
    const auto known = in_place.find(p.name);
    result.push_back(known != in_place.end() ? target.from_memory(known->second, p.shape)
                                             : tensor_of(target, found.values, p.shape));
  }
  require<data_error>(
      content.tensors.size() == result.size() || content.metadata.at("glia") == checkpoint_file,
      file, ": expected ", result.size(), " tensors, got ", content.tensors.size(),
      "; the file is damaged");
  return result;
}

}  // namespace detail

/// Options of `save`.
struct save_options {
  /// Texts to store in the file, by keys. `read_metadata` returns them. The keys "glia",
  /// "glia.network", "description", "sample", "layers", "fingerprint" and "checksum" belong to
  /// glia.
  std::map<std::string, std::string> metadata = {};
  /// Some samples (N, ...sample). The file stores them with the outputs of the model, and `open`
  /// checks that it computes these outputs, too.
  std::optional<xt::xarray<float>> example = {};
};

/// Saves the parameters of a model to a safetensors file.
///
///     glia::save(net, "net.safetensors");
///     glia::save(net, "net.safetensors", {.metadata = {{"classes", "cat\ndog"}}});
///
/// The numbers have the type that the backend computes in. The file also contains a description of
/// the network, so that `load` can check it and `open` can make it, and a checksum. The file is
/// written as a whole or not at all. If another thread trains the model, the file has the state
/// between two steps.
///
/// Throws `data_error`, with the path, if the file cannot be written. Throws `value_error` if a key
/// of the metadata belongs to glia, and `shape_error` if the example does not fit the model. Needs
/// nlohmann-json: link `glia::safetensors`.
template <class Model>
void save(const Model& net, const std::filesystem::path& path, const save_options& options = {}) {
  safetensors_content content{.tensors = {},
                              .metadata = detail::model_identity(net.plan(), net.sample_shape())};
  content.metadata["glia"] = detail::model_file;
  content.metadata[std::string(detail::network_key)] =
      detail::network_text(net.description(), net.sample_shape());
  for (const auto& [key, value] : options.metadata) {
    require<value_error>(!detail::is_metadata_of_glia(key), "save: the metadata key '", key,
                         "' belongs to glia; use another key");
    content.metadata[key] = value;
  }
  // The example must be that of the parameters, while another thread may train the model.
  const std::optional<Model> snapshot = options.example ? std::optional<Model>(net) : std::nullopt;
  for (const auto& p : snapshot ? snapshot->core().parameters() : net.core().parameters_now()) {
    content.tensors.push_back({p.spec.name, p.spec.shape, numbers_of(net.device(), p.value)});
  }
  // Tensors of whole cache lines come first, so that they can be used in a mapped file.
  std::stable_partition(content.tensors.begin(), content.tensors.end(), [](const named_tensor& t) {
    return t.shape.size() * sizeof(float) % shared_floats::alignment == 0;
  });
  if (options.example) {
    require<shape_error>(options.example->dimension() > 0 && options.example->size() > 0,
                         "save: expected an example of at least one sample, got none");
    content.tensors.push_back(detail::array_tensor(detail::example_inputs, *options.example));
    content.tensors.push_back(
        detail::array_tensor(detail::example_outputs, snapshot->predict(*options.example)));
  }
  detail::write_checked_content(path, std::move(content));
}

/// Loads the parameters of a model from a file that `save` wrote, or from a checkpoint of the
/// model's training.
///
///     glia::load(net, "net.safetensors");
///     glia::load(net, bytes);  // the bytes of such a file in memory
///
/// A network is trained without the softmax or sigmoid at its end, because the losses apply it.
/// `load` accepts its file for the network with this activation as its last layer, too:
///
///     glia::model served{glia::sequential{network(), glia::softmax}, {32}};
///     glia::load(served, "net.safetensors");
///
/// The values are the same, bit for bit, if both models compute in the same type. Everything is
/// checked and copied to the device before the model changes.
///
/// Throws `data_error`, with the path, if the file is damaged, was not written by glia, or belongs
/// to another network; the message names the first difference. Throws `value_error` if another
/// thread trains the model. For files of other programs, and for networks that differ on purpose,
/// use `load_parameters`.
template <class Model>
void load(Model& net, const file_source& file) {
  static_assert(!std::is_const_v<Model>,
                "load: the model is const, but loading changes its parameters; declare it without "
                "const, as in glia::model net{...}");
  const safetensors_content content = detail::read_model_file(file);
  detail::require_identity(file.name(), content.metadata, net.plan(), net.sample_shape());
  detail::require_model(file.name(), content);
  std::vector<tensor> tensors =
      detail::tensors_for(file.name(), content, net.plan().parameters, net.device());
  const model_access::training alone(net.access());
  auto& parameters = net.parameters();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    parameters[i].value = std::move(tensors[i]);
  }
}

/// Returns the metadata that `save` stored in a file, without the entries of glia. Checkpoints and
/// states of streams have no other entries.
///
///     const std::string classes = glia::read_metadata("net.safetensors").at("classes");
///
/// Files of other programs have metadata, too. Throws `data_error`, with the path, if the file
/// cannot be read or is damaged.
[[nodiscard]] inline std::map<std::string, std::string> read_metadata(const file_source& file) {
  return detail::metadata_of_users(detail::read_checked_content(file).metadata);
}

/// Does not compile: the error message says that the model is missing.
template <std::convertible_to<std::filesystem::path> Path>
auto load(const Path&) {
  static_assert(!std::convertible_to<Path, std::filesystem::path>,
                "load: expected a model and a path; describe the network in the program, as in "
                "glia::model net{layers, {28, 28, 1}}, and glia::load(net, path) fills in its "
                "parameters");
}

}  // namespace glia
