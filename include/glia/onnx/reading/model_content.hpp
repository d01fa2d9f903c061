#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/mapped_file.hpp"
#include "glia/core/utf8_path.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/tensor.hpp"
#include "glia/onnx/reading/tensor_data.hpp"

namespace glia::onnx {

/// The content of an ONNX file, and the locations of its weights. Weights in other files are
/// mapped, not copied.
class model_content {
 public:
  /// The range of supported opsets.
  static constexpr std::int64_t first_opset = 1;
  static constexpr std::int64_t last_opset = 21;

  /// Reads the file. Throws `data_error`, with the file's name, if it cannot be read, is damaged or
  /// has an unsupported opset.
  explicit model_content(const file_source& file)
      : path_(file.path()), name_(file.name()), is_memory_(file.is_memory()) {
    if (is_memory_) {
      read(file.bytes());
      return;
    }
    glia::detail::require_no_folder(path_);
    read(glia::detail::mapped_file(path_).bytes());
  }
  model_content(const model_content&) = delete;
  model_content& operator=(const model_content&) = delete;
  ~model_content() = default;

  /// Returns the name for error messages: the path, or the name of the bytes.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const ::onnx::ModelProto& message() const noexcept { return message_; }
  [[nodiscard]] const ::onnx::GraphProto& graph() const noexcept { return message_.graph(); }
  [[nodiscard]] std::int64_t opset() const noexcept { return opset_; }
  /// Returns the weights of a tensor of the file, or null if it is not a weight.
  [[nodiscard]] const weight* weight_of(const ::onnx::TensorProto& proto) const {
    const auto found = weights_.find(&proto);
    return found == weights_.end() ? nullptr : &found->second;
  }
  /// Returns whether the values of `Constant` nodes are the weights. Some old exporters write
  /// weights only in this form.
  [[nodiscard]] bool weights_are_constants() const noexcept {
    return message_.graph().initializer_size() == 0;
  }
  /// Returns the function with which the file defines an operator of this name. Null if the file
  /// defines no such operator.
  [[nodiscard]] const ::onnx::FunctionProto* function(const std::string& domain,
                                                      const std::string& name) const {
    const auto found = functions_.find({domain, name});
    return found == functions_.end() ? nullptr : found->second;
  }

 private:
  void read(std::span<const std::byte> bytes) {
    glia::detail::naming(name_, [&] {
      parse(bytes);
      take_opset();
      take_weights(message_.graph());
      for (const ::onnx::FunctionProto& definition : message_.functions()) {
        take_constants(definition.node());
        functions_[{definition.domain(), definition.name()}] = &definition;
      }
    });
  }
  void parse(std::span<const std::byte> bytes) {
    require<data_error>(
        bytes.size() <= std::numeric_limits<int>::max(), "has ", bytes.size(),
        " bytes, but an ONNX file has at most 2 GiB; larger models keep their weights in "
        "separate files");
    const bool read = message_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    require<data_error>(read && message_.has_graph(),
                        "is not an ONNX model or is damaged, because its content cannot be parsed");
  }
  void take_opset() {
    for (const auto& opset_id : message_.opset_import()) {
      if (opset_id.domain().empty() || opset_id.domain() == "ai.onnx") {
        opset_ = opset_id.version();
      }
    }
    require<data_error>(
        opset_ >= first_opset && opset_ <= last_opset, "has opset ", opset_, "; glia reads opsets ",
        first_opset, " to ", last_opset,
        "; export the model with such an opset, or convert it with onnx.version_converter");
  }

  void take(const ::onnx::TensorProto& proto, const std::string& name) {
    const tensor_data data = located(proto);
    detail::require_whole(data);
    weights_.emplace(&proto, weight{name, data});
  }
  void take_weights(const ::onnx::GraphProto& graph) {
    for (const ::onnx::TensorProto& initializer : graph.initializer()) {
      take(initializer, initializer.name());
    }
    require<data_error>(graph.sparse_initializer_size() == 0,
                        "has sparse weights, which glia does not support");
    take_constants(graph.node());
  }
  template <class Nodes>
  void take_constants(const Nodes& nodes) {
    for (const ::onnx::NodeProto& node : nodes) {
      for (const ::onnx::AttributeProto& a : node.attribute()) {
        if (node.op_type() == "Constant" && a.has_t() && node.output_size() == 1) {
          take(a.t(), node.output(0));
        }
        if (a.has_g()) {
          take_weights(a.g());
        }
      }
    }
  }

  /// Returns the location of a tensor's bytes: in the message or in another file.
  [[nodiscard]] tensor_data located(const ::onnx::TensorProto& proto) {
    if (proto.data_location() != ::onnx::TensorProto::EXTERNAL) {
      return {&proto};
    }
    std::string location;
    std::size_t offset = 0;
    std::size_t length = std::numeric_limits<std::size_t>::max();
    for (const auto& entry : proto.external_data()) {
      const auto number = [&](std::size_t& result) {
        const char* const end = entry.value().data() + entry.value().size();
        const auto read = std::from_chars(entry.value().data(), end, result);
        require<data_error>(read.ec == std::errc{} && read.ptr == end, "the tensor '", proto.name(),
                            "' has the ", entry.key(), " '", entry.value(), "'; expected a number");
      };
      if (entry.key() == "location") {
        location = entry.value();
      } else if (entry.key() == "offset") {
        number(offset);
      } else if (entry.key() == "length") {
        number(length);
      }
    }
    const std::span<const std::byte> bytes = open_external(location, proto.name()).bytes();
    require<data_error>(offset <= bytes.size(), "the tensor '", proto.name(), "' begins at byte ",
                        offset, " of ", location, ", which has ", bytes.size(), " bytes");
    const std::size_t byte_count =
        length != std::numeric_limits<std::size_t>::max()
            ? length
            : count_of(extents_of(proto)) * detail::raw_size(proto.data_type());
    require<data_error>(byte_count <= bytes.size() - offset, "the tensor '", proto.name(),
                        "' needs ", byte_count, " bytes at offset ", offset, " of ", location,
                        ", which has ", bytes.size(), " bytes");
    return {&proto, bytes.subspan(offset, byte_count)};
  }

  /// Opens a file in the folder of the model. Paths that lead out of the folder, by `..` or through
  /// symbolic links, are refused, because a downloaded model must not read arbitrary files. If the
  /// model file is itself a symbolic link, as in download caches, the folder of its target is
  /// allowed, too.
  [[nodiscard]] const glia::detail::mapped_file& open_external(const std::string& location,
                                                               std::string_view tensor) {
    namespace fs = std::filesystem;
    require<data_error>(!is_memory_, "the tensor '", tensor, "' refers to the file '", location,
                        "', but a model in memory has no folder; write the weights into the model");
    const fs::path relative = glia::detail::utf8_path(location);
    bool inside = !location.empty() && !relative.has_root_path();  // also "C:name" on Windows
    for (const auto& part : relative) {
      inside = inside && part != "..";
    }
    require<data_error>(inside, "the tensor '", tensor, "' refers to the file '", location,
                        "'; expected a file in the folder of the model");
    const auto known = external_files_.find(location);
    if (known != external_files_.end()) {
      return known->second;
    }
    std::error_code failure;
    const auto resolved = [&](const fs::path& path) {
      return failure ? fs::path() : fs::weakly_canonical(path, failure);
    };
    const fs::path model = fs::absolute(path_);
    const fs::path file = resolved(model.parent_path() / relative);
    const fs::path folders[] = {resolved(model.parent_path()), resolved(model).parent_path()};
    require<data_error>(!failure, "the tensor '", tensor, "' refers to the file '", location,
                        "', which cannot be found (", failure.message(), ")");
    const bool stays = std::any_of(std::begin(folders), std::end(folders), [&](const auto& folder) {
      const auto parts = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
      return parts.first == folder.end();
    });
    require<data_error>(
        stays, "the tensor '", tensor, "' refers to the file '", location,
        "', a link that leads out of the folder of the model; copy the file into that folder");
    return external_files_.try_emplace(location, file).first->second;
  }

  std::filesystem::path path_;
  std::string name_;
  bool is_memory_;
  ::onnx::ModelProto message_;
  std::int64_t opset_ = 0;
  std::map<std::string, glia::detail::mapped_file> external_files_;
  std::map<const ::onnx::TensorProto*, weight> weights_;
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions_;
};

}  // namespace glia::onnx
