#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/io/hdf5_calls.hpp>
#include <string>
#include <string_view>
#include <system_error>

/// The formats of files that the command tells apart.
enum class file_format : std::uint8_t { safetensors, onnx, hdf5, npy, zip, other };

/// Returns the name of a format, for messages.
[[nodiscard]] inline std::string_view name_of(file_format format) {
  switch (format) {
    case file_format::safetensors:
      return "a safetensors file";
    case file_format::onnx:
      return "an ONNX file";
    case file_format::hdf5:
      return "an HDF5 file";
    case file_format::npy:
      return "an array of NumPy (.npy)";
    case file_format::zip:
      return "a zip archive";
    case file_format::other:
      break;
  }
  return "a file of an unknown format";
}

/// Keeps the HDF5 library from printing about a damaged file when the program ends. Call it before
/// the first file is read.
inline void end_hdf5_quietly() { H5dont_atexit(); }

/// Returns the extension of a path in lower case, such as ".onnx".
[[nodiscard]] inline std::string extension_of(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

/// Returns the format of a file by its first bytes; the extension does not matter. Throws
/// `data_error`, with the path, if the file cannot be read or is empty.
[[nodiscard]] inline file_format format_of(const std::filesystem::path& path) {
  std::error_code ignored;
  glia::require<glia::data_error>(std::filesystem::exists(path, ignored), path.string(),
                                  ": there is no such file");
  glia::require<glia::data_error>(!std::filesystem::is_directory(path, ignored), path.string(),
                                  ": is a folder; expected a file");
  std::ifstream file(path, std::ios::binary);
  glia::require<glia::data_error>(file.is_open(), path.string(),
                                  ": the file cannot be opened for reading");
  std::array<char, 16> bytes{};
  file.read(bytes.data(), bytes.size());
  const std::string_view start(bytes.data(), static_cast<std::size_t>(file.gcount()));
  glia::require<glia::data_error>(!start.empty(), path.string(), ": the file is empty");
  if (start.starts_with("\x89HDF\r\n\x1a\n")) {
    return file_format::hdf5;
  }
  if (start.starts_with("\x93NUMPY")) {
    return file_format::npy;
  }
  if (start.starts_with("PK\x03\x04")) {
    return file_format::zip;
  }
  // After the length of its header, 8 bytes, a safetensors file has a JSON object.
  if (start.size() > 8 && start[8] == '{' && start.substr(5, 3) == std::string_view("\0\0\0", 3)) {
    return file_format::safetensors;
  }
  // The first field of an ONNX file is its version, a small number.
  if (start.size() > 2 && start[0] == '\x08' && start[1] > 0 && start[1] < 32) {
    return file_format::onnx;
  }
  // A cut or changed file is reported by the reader of the format that its name promises.
  const std::string extension = extension_of(path);
  return extension == ".onnx"                         ? file_format::onnx
         : extension == ".safetensors"                ? file_format::safetensors
         : extension == ".npy"                        ? file_format::npy
         : extension == ".npz"                        ? file_format::zip
         : extension == ".h5" || extension == ".hdf5" ? file_format::hdf5
                                                      : file_format::other;
}
