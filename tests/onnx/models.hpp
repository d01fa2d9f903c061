#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <glia/onnx/proto.hpp>
#include <stdexcept>
#include <string>
#include <vector>

// The networks in tests/onnx/models, which its scripts have exported from PyTorch and Keras.
namespace test {

inline std::filesystem::path onnx_folder() { return GLIA_ONNX_MODELS; }

inline std::vector<std::string> onnx_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(onnx_folder())) {
    if (entry.path().extension() == ".onnx") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline ::onnx::ModelProto onnx_message_in(const std::filesystem::path& path) {
  ::onnx::ModelProto message;
  std::ifstream file(path, std::ios::binary);
  if (!message.ParseFromIstream(&file)) {
    throw std::runtime_error(path.string() + ": no ONNX model");
  }
  return message;
}
inline ::onnx::ModelProto onnx_message(const std::string& name) {
  return onnx_message_in(onnx_folder() / (name + ".onnx"));
}

inline void write_message(const ::onnx::ModelProto& message, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  message.SerializeToOstream(&file);
}

}  // namespace test
