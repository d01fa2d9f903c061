#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/io/safetensors_reader.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// The contents of a safetensors file: its tensors and its metadata.
struct safetensors_content {
  std::vector<named_tensor> tensors;            ///< Tensors of floats or doubles.
  std::map<std::string, std::string> metadata;  ///< Texts by name: `__metadata__` of the header.
};

namespace detail {

/// Writes a safetensors file from tensors in memory, without copying their elements.
class safetensors_writer {
 public:
  explicit safetensors_writer(std::filesystem::path path) : path_(std::move(path)) {}

  /// Adds the elements of a tensor: floats or doubles, of which each has `number_size` bytes.
  void add(const std::string& name, const std::vector<std::size_t>& extents,
           std::span<const std::byte> elements, std::size_t number_size) {
    require<data_error>(name != "__metadata__", path_.string(), ": a tensor cannot have the name '",
                        name, "', which the safetensors format reserves");
    require<data_error>(!header_.contains(name), path_.string(), ": two tensors have the name '",
                        name, "'");
    header_[name] = {{"dtype", number_size == sizeof(double) ? "F64" : "F32"},
                     {"shape", extents},
                     {"data_offsets", {size_, size_ + elements.size()}}};
    size_ += elements.size();
    parts_.emplace_back(elements, number_size);
  }
  void add_metadata(const std::map<std::string, std::string>& metadata) {
    if (!metadata.empty()) {
      header_["__metadata__"] = metadata;
    }
  }

  void write() const {
    std::string head;
    try {
      head = header_.dump();
    } catch (const nlohmann::json::exception& e) {
      throw data_error(text(path_.string(),
                            ": expected names and metadata in UTF-8, got other bytes (", e.what(),
                            ")"));
    }
    // The elements begin at a multiple of the alignment, so that they can be used in a mapped file.
    constexpr std::size_t alignment = shared_floats::alignment;
    const std::size_t begin = (sizeof(std::uint64_t) + head.size() + alignment - 1) / alignment;
    head.resize(begin * alignment - sizeof(std::uint64_t), ' ');
    write_whole_file(path_, [&](std::ostream& out) {
      std::string length;
      append_little_endian(length, head.size(), sizeof(std::uint64_t));
      out << length << head;
      for (const auto& [elements, number_size] : parts_) {
        use_little_endian(elements, number_size, [&](std::string_view bytes) { out << bytes; });
      }
    });
  }

 private:
  std::filesystem::path path_;
  nlohmann::json header_ = nlohmann::json::object();
  std::uint64_t size_ = 0;
  std::vector<std::pair<std::span<const std::byte>, std::size_t>> parts_;  // with number sizes
};

}  // namespace detail

/// Reads all tensors of a safetensors file as floats.
///
/// Tensors may hold floating-point numbers of 8 to 64 bits, integers and booleans. Doubles are
/// rounded to the nearest float. Two sorts of tensors are not in the map: tensors of other dtypes,
/// such as complex numbers, and tensors with a number that a float cannot hold, such as 2^24 + 1 or
/// 1e300. `at` with the name of such a tensor throws an error with the reason. Needs the library
/// nlohmann-json: link `glia::safetensors`.
///
/// Throws `data_error` if the file cannot be opened, has another format, or is damaged or
/// truncated. Throws `data_error`, too, if a name occurs twice, if tensors overlap, or if bytes
/// belong to no tensor, because the format forbids it. The message names the file and the tensor.
[[nodiscard]] inline tensor_map read_safetensors(const file_source& file) {
  return detail::safetensors_reader(file).read();
}

/// Reads the tensors and the metadata of a safetensors file. Doubles stay doubles; all other types
/// become floats. The tensors are in the order of their data in the file.
///
/// Throws `data_error` as `read_safetensors` does. Throws `data_error`, too, if a tensor cannot be
/// read or has more axes than a `shape` supports, or if the metadata are not texts.
[[nodiscard]] inline safetensors_content read_safetensors_content(const file_source& file) {
  detail::safetensors_reader reader(file);
  auto metadata = reader.metadata();
  return {reader.read_exactly(), std::move(metadata)};
}

/// Writes tensors as floats to a safetensors file. The file replaces an existing one only after it
/// is complete. Needs the library nlohmann-json: link `glia::safetensors`.
///
/// Throws `data_error`, with the name of the file, if the file cannot be written, or if a tensor's
/// name is `__metadata__` or not UTF-8.
inline void write_safetensors(const std::filesystem::path& path, const tensor_map& tensors) {
  detail::safetensors_writer writer(path);
  for (const auto& [name, values] : tensors) {
    writer.add(name, {values.shape().begin(), values.shape().end()},
               std::as_bytes(std::span(values.data(), values.size())), sizeof(float));
  }
  writer.write();
}

/// Writes tensors of floats and doubles, with metadata, to a safetensors file. The file replaces an
/// existing one only after it is complete.
///
/// Throws `data_error` as `write_safetensors` does, and also if two tensors have the same name.
inline void write_safetensors_content(const std::filesystem::path& path,
                                      const safetensors_content& content) {
  detail::safetensors_writer writer(path);
  for (const named_tensor& t : content.tensors) {
    std::visit(
        [&](const auto& values) {
          writer.add(t.name, {t.shape.begin(), t.shape.end()}, std::as_bytes(std::span(values)),
                     sizeof(values[0]));
        },
        t.values);
  }
  writer.add_metadata(content.metadata);
  writer.write();
}

}  // namespace glia
