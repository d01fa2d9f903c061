#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <ostream>
#include <string>
#include <system_error>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/utf8_path.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/writing/write.hpp"

namespace glia::onnx {

namespace detail {

/// Returns the name of the file that contains the weights of a model; empty if the weights are in
/// the model file, or if there is no model file.
[[nodiscard]] inline std::string weights_beside(const std::filesystem::path& model) {
  ::onnx::ModelProto old;
  std::ifstream file(model, std::ios::binary);
  if (!file || !old.ParseFromIstream(&file)) {
    return "";
  }
  for (const ::onnx::TensorProto& tensor : old.graph().initializer()) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") {
        return entry.value();
      }
    }
  }
  return "";
}

inline void set_external(::onnx::TensorProto& tensor, const std::string& key,
                         const std::string& value) {
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

/// Writes weights to a file and stores their positions in the message.
inline void move_weights(::onnx::ModelProto& model, const std::filesystem::path& path) {
  constexpr std::size_t min_bytes = 1024;  // smaller weights stay in the message
  constexpr std::size_t aligned = 4096;    // so that they can be memory-mapped
  glia::write_whole_file(path, [&](std::ostream& out) {
    std::size_t position = 0;
    for (::onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
      const std::string& bytes = tensor.raw_data();
      if (bytes.size() < min_bytes) {
        continue;
      }
      const std::size_t begin = (position + aligned - 1) / aligned * aligned;
      const std::string gap(begin - position, '\0');
      out.write(gap.data(), static_cast<std::streamsize>(gap.size()));
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      position = begin + bytes.size();
      tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
      set_external(tensor, "location", path.filename().string());
      set_external(tensor, "offset", std::to_string(begin));
      set_external(tensor, "length", std::to_string(bytes.size()));
      tensor.clear_raw_data();
    }
  });
}

}  // namespace detail

GLIA_INLINE void write_message(::onnx::ModelProto& model, const std::filesystem::path& path,
                               std::size_t largest) {
  const std::string old = detail::weights_beside(path);
  const std::string name = path.filename().string();
  const std::string first = name + ".data";
  const std::string second = name + ".data2";
  const std::size_t limit =
      std::min<std::size_t>(largest, std::numeric_limits<std::int32_t>::max());
  std::string used;
  if (model.ByteSizeLong() > limit) {
    used = old == first ? second : first;
    detail::move_weights(model, path.parent_path() / glia::detail::utf8_path(used));
  }
  require<data_error>(model.ByteSizeLong() <= std::numeric_limits<std::int32_t>::max(),
                      path.string(), ": the model has ", model.ByteSizeLong(),
                      " bytes without its weights, but an ONNX file has at most 2 GiB");
  glia::write_whole_file(path, [&](std::ostream& out) {
    require<data_error>(model.SerializeToOstream(&out), path.string(),
                        ": writing failed; check that the disk is not full");
  });
  if ((old == first || old == second) && old != used) {
    std::error_code ignored;
    std::filesystem::remove(path.parent_path() / glia::detail::utf8_path(old), ignored);
  }
}

}  // namespace glia::onnx
