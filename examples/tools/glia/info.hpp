#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <glia/core/text_table.hpp>
#include <glia/io/checked_content.hpp>
#include <glia/io/hdf5.hpp>
#include <glia/io/keras_weights.hpp>
#include <glia/io/npy.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/summary.hpp>
#include <glia/onnx.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"
#include "file_format.hpp"
#include "network.hpp"

struct info_settings {
  std::filesystem::path file;
  bool every_tensor = false, json = false;
};

/// A tensor of a file.
struct tensor_entry {
  std::string name;
  std::vector<std::size_t> extents;
  std::string type;  ///< Type of its elements, as the format calls it.
  std::size_t bytes = 0;

  [[nodiscard]] std::size_t numbers() const {
    std::size_t product = 1;
    for (const std::size_t extent : extents) {
      product *= extent;
    }
    return product;
  }
};

/// The content of a file.
struct file_content {
  json_document properties;  ///< Format, network, checksum and the like.
  std::vector<tensor_entry> tensors;
  std::map<std::string, std::string> metadata;  ///< Without the entries of glia.
};

/// Adds whether glia can run the network in a file and, if it cannot, the reason.
inline void add_network_check(const std::filesystem::path& path, json_document& properties) {
  try {
    const network net(path, {.images = true});
    properties["glia runs it"] = true;
    properties["sample"] = shape_document(net.model().sample_shape());
    properties["output"] = shape_document(net.model().output_shape());
  } catch (const glia::error& e) {
    properties["glia runs it"] = false;
    properties["reason"] = one_line(e.what());
  }
}

[[nodiscard]] inline std::string_view kind_of_safetensors(
    const std::map<std::string, std::string>& metadata) {
  const auto found = metadata.find("glia");
  const std::string_view kind = found == metadata.end() ? "" : std::string_view(found->second);
  return kind == glia::detail::model_file        ? "model of glia::save"
         : kind == glia::detail::checkpoint_file ? "checkpoint of a training with glia"
         : kind == glia::detail::stream_file     ? "state of a stream of glia"
         : kind.empty()                          ? "tensors without a network (safetensors)"
                                                 : "file of another version of glia";
}

[[nodiscard]] inline file_content content_of_safetensors(const std::filesystem::path& path) {
  file_content result;
  glia::detail::safetensors_reader reader(path);
  std::map<std::string, std::string> metadata = reader.metadata();
  // Both calls read all elements and check the file.
  if (metadata.contains("checksum")) {
    static_cast<void>(glia::detail::read_checked_content(path));
  } else {
    static_cast<void>(reader.read());
  }
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  std::string header(length, '\0');
  file.read(header.data(), static_cast<std::streamsize>(length));
  bool has_example = false;
  const nlohmann::json entries = nlohmann::json::parse(header);
  for (const auto& [name, entry] : entries.items()) {
    if (name != "__metadata__") {
      const auto offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
      result.tensors.push_back({name, entry.at("shape").get<std::vector<std::size_t>>(),
                                entry.at("dtype").get<std::string>(), offsets[1] - offsets[0]});
      has_example = has_example || name == glia::detail::example_inputs;
    }
  }
  result.properties["format"] = kind_of_safetensors(metadata);
  const bool from_glia = metadata.contains("glia");
  if (from_glia) {
    const auto value = [&](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? std::string() : found->second;
    };
    const std::string fingerprint = value("fingerprint");
    result.properties["written by"] = fingerprint.substr(0, fingerprint.find(':'));
    result.properties["network"] = value("description");
    result.properties["describes its network"] =
        metadata.contains(std::string(glia::detail::network_key));
    result.properties["has an example"] = has_example;
  }
  result.properties["checksum"] = metadata.contains("checksum") ? "correct" : "none";
  if (from_glia && metadata.at("glia") == glia::detail::model_file) {
    add_network_check(path, result.properties);
  }
  result.metadata = std::move(metadata);
  if (from_glia) {
    std::erase_if(result.metadata,
                  [](const auto& entry) { return glia::detail::is_metadata_of_glia(entry.first); });
  }
  return result;
}

/// Returns the bytes of an element of a tensor in an ONNX file, or 0 if it has no fixed size.
[[nodiscard]] inline std::size_t element_bytes(int type) {
  using proto = ::onnx::TensorProto;
  switch (type) {
    case proto::DOUBLE:
    case proto::INT64:
    case proto::UINT64:
      return 8;
    case proto::FLOAT:
    case proto::INT32:
    case proto::UINT32:
      return 4;
    case proto::FLOAT16:
    case proto::BFLOAT16:
    case proto::INT16:
    case proto::UINT16:
      return 2;
    case proto::INT8:
    case proto::UINT8:
    case proto::BOOL:
      return 1;
    default:
      return 0;
  }
}

/// Returns the name and the shape of an input or output of an ONNX file. An extent that the file
/// does not fix is a text.
[[nodiscard]] inline json_document interface_document(const ::onnx::ValueInfoProto& value) {
  json_document extents = json_document::array();
  for (const auto& dimension : value.type().tensor_type().shape().dim()) {
    if (dimension.has_dim_value()) {
      extents.push_back(dimension.dim_value());
    } else {
      extents.push_back(dimension.dim_param().empty() ? "?" : dimension.dim_param());
    }
  }
  return {{"name", value.name()}, {"shape", extents}};
}

[[nodiscard]] inline file_content content_of_onnx(const std::filesystem::path& path) {
  const glia::onnx::model_content content(path);
  const ::onnx::ModelProto& message = content.message();
  file_content result;
  result.properties["format"] = "ONNX";
  result.properties["opset"] = content.opset();
  result.properties["written by"] =
      message.producer_version().empty()
          ? message.producer_name()
          : message.producer_name() + ' ' + message.producer_version();
  result.properties["nodes"] = content.graph().node_size();
  const auto add_interface = [&](const char* key, const auto& values, const auto& skipped) {
    json_document list = json_document::array();
    for (const ::onnx::ValueInfoProto& value : values) {
      if (!skipped(value.name())) {
        list.push_back(interface_document(value));
      }
    }
    result.properties[key] = list;
  };
  const auto is_weight = [&](const std::string& name) {
    const auto& weights = content.graph().initializer();
    return std::any_of(weights.begin(), weights.end(),
                       [&](const auto& weight) { return weight.name() == name; });
  };
  add_interface("inputs", content.graph().input(), is_weight);
  add_interface("outputs", content.graph().output(), [](const std::string&) { return false; });
  for (const ::onnx::TensorProto& weight : content.graph().initializer()) {
    tensor_entry entry{weight.name(),
                       {weight.dims().begin(), weight.dims().end()},
                       ::onnx::TensorProto::DataType_Name(
                           static_cast<::onnx::TensorProto::DataType>(weight.data_type()))};
    entry.bytes = entry.numbers() * element_bytes(weight.data_type());
    result.tensors.push_back(std::move(entry));
  }
  add_network_check(path, result.properties);
  for (const auto& property : message.metadata_props()) {
    result.metadata[property.key()] = property.value();
  }
  return result;
}

/// Adds the tensors of a file that was read as a map.
template <class T>
void add_tensors(const glia::basic_tensor_map<T>& tensors, const std::string& type,
                 file_content& content) {
  for (const auto& [name, values] : tensors) {
    content.tensors.push_back(
        {name, {values.shape().begin(), values.shape().end()}, type, values.size() * sizeof(T)});
  }
  if (!tensors.unreadable().empty()) {
    content.properties["tensors that glia cannot read"] = tensors.unreadable().size();
  }
}

[[nodiscard]] inline file_content content_of_hdf5(const std::filesystem::path& path) {
  end_hdf5_quietly();
  file_content result;
  try {
    const glia::tensor_map weights = glia::read_keras_weights(path);
    result.properties["format"] = "HDF5 with weights of a Keras model";
    add_tensors(weights, "read as float", result);
  } catch (const glia::data_error&) {
    const glia::tensor_map weights = glia::read_hdf5(path);
    result.properties["format"] = "HDF5";
    add_tensors(weights, "read as float", result);
  }
  return result;
}

/// Returns the type of the elements of an array that is known to be readable, such as "<f4".
[[nodiscard]] inline std::string npy_type(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(256, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::size_t key = start.find("'descr': '");
  const std::size_t first = key + std::string_view("'descr': '").size();
  return key == std::string::npos ? "" : start.substr(first, start.find('\'', first) - first);
}

[[nodiscard]] inline file_content content_of_numpy(const std::filesystem::path& path,
                                                   file_format format) {
  file_content result;
  if (format == file_format::npy) {
    const xt::xarray<double> values = glia::read_npy<double>(path);
    result.properties["format"] = "array of NumPy";
    result.tensors.push_back({path.stem().string(),
                              {values.shape().begin(), values.shape().end()},
                              npy_type(path),
                              values.size() * sizeof(double)});
    if (const std::size_t digit = result.tensors[0].type.find_first_of("0123456789");
        digit != std::string::npos) {
      result.tensors[0].bytes =
          values.size() * std::strtoul(result.tensors[0].type.c_str() + digit, nullptr, 10);
    }
    return result;
  }
  glia::require<glia::data_error>(
      extension_of(path) != ".keras", path.string(),
      ": is a zip archive of Keras; its weights are in the file model.weights.h5 in the archive, "
      "which unzip extracts");
  const auto arrays = glia::read_npz<double>(path);
  result.properties["format"] = "archive of NumPy arrays";
  add_tensors(arrays, "read as double", result);
  return result;
}

[[nodiscard]] inline file_content content_of(const std::filesystem::path& path) {
  switch (const file_format format = format_of(path)) {
    case file_format::safetensors:
      return content_of_safetensors(path);
    case file_format::onnx:
      return content_of_onnx(path);
    case file_format::hdf5:
      return content_of_hdf5(path);
    case file_format::npy:
    case file_format::zip:
      return content_of_numpy(path, format);
    case file_format::other:
      break;
  }
  throw glia::data_error(path.string() +
                         ": expected an ONNX, safetensors, HDF5, .npy or .npz file; the file has "
                         "another format or is damaged");
}

/// Returns a value of a JSON document as text for people.
[[nodiscard]] inline std::string value_text(const json_document& value) {
  if (value.is_object()) {
    return value_text(value.at("name")) + ' ' + value_text(value.at("shape"));
  }
  if (value.is_array()) {
    const bool is_shape = value.empty() || !value.front().is_object();
    std::string result;
    for (const json_document& element : value) {
      result += (result.empty() ? "" : ", ") + value_text(element);
    }
    return is_shape ? '(' + result + ')' : result;
  }
  return value.is_boolean()  ? (value.get<bool>() ? "yes" : "no")
         : value.is_string() ? one_line(value.get<std::string>())
                             : value.dump();
}

inline void print_content(const info_settings& s, const file_content& content, std::size_t numbers,
                          std::size_t bytes) {
  std::cout << s.file.string() << '\n';
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [key, value] : content.properties.items()) {
    lines.emplace_back(key, value_text(value));
  }
  lines.emplace_back("tensors", glia::text(glia::grouped(content.tensors.size()), ", with ",
                                           glia::grouped(numbers), " numbers, ",
                                           glia::scaled(static_cast<double>(bytes), "B")));
  for (const auto& [key, value] : content.metadata) {
    lines.emplace_back("metadata " + key, one_line(value));
  }
  constexpr std::size_t longest_line = 200;
  for (const auto& [key, value] : lines) {
    std::cout << "  " << key << ": "
              << (value.size() > longest_line && !s.every_tensor
                      ? value.substr(0, longest_line) + "..."
                      : value)
              << '\n';
  }
  if (content.tensors.empty()) {
    return;
  }
  constexpr std::size_t most_rows = 20;
  const std::size_t count =
      s.every_tensor ? content.tensors.size() : std::min(content.tensors.size(), most_rows);
  std::vector<std::vector<std::string>> rows{{"tensor", "shape", "type", "numbers"}};
  for (std::size_t i = 0; i < count; ++i) {
    const tensor_entry& entry = content.tensors[i];
    std::string extents;
    for (const std::size_t extent : entry.extents) {
      extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    }
    rows.push_back({entry.name, '(' + extents + ')', entry.type, glia::grouped(entry.numbers())});
  }
  std::cout << '\n' << glia::text_table(rows, 3);
  if (count < content.tensors.size()) {
    std::cout << "and " << content.tensors.size() - count << " more; --all shows them\n";
  }
}

inline int show_info(const info_settings& s) {
  const file_content content = naming_file(s.file, [&] { return content_of(s.file); });
  std::size_t numbers = 0;
  std::size_t bytes = 0;
  for (const tensor_entry& entry : content.tensors) {
    numbers += entry.numbers();
    bytes += entry.bytes;
  }
  if (!s.json) {
    print_content(s, content, numbers, bytes);
    return exit_fine;
  }
  json_document document{{"file", s.file.string()}, {"bytes", std::filesystem::file_size(s.file)}};
  for (const auto& [key, value] : content.properties.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), ' ', '_');
    document[name] = value;
  }
  document["numbers"] = numbers;
  document["metadata"] = content.metadata;
  document["tensors"] = json_document::array();
  for (const tensor_entry& entry : content.tensors) {
    document["tensors"].push_back({{"name", entry.name},
                                   {"shape", entry.extents},
                                   {"type", entry.type},
                                   {"bytes", entry.bytes}});
  }
  print_json(document);
  return exit_fine;
}

inline void add_info(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<info_settings>();
  CLI::App& command =
      add_command(app, action, "info", "Describe a file and check it", s, &show_info);
  command.add_option("file", s->file, "ONNX, safetensors, HDF5, .npy or .npz file")
      ->type_name("FILE")
      ->required();
  command.add_flag("--all", s->every_tensor, "Show all tensors, and long texts in full");
  add_json_option(command, s->json);
  command.footer(
      "Reads the whole file, so that a damaged file is an error. The content of the file\n"
      "determines its format, not its name.\n\n"
      "Examples:\n"
      "  glia info net.onnx\n"
      "  glia info model.weights.h5 --json");
}
