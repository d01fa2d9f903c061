#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/io/safetensors_reader.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// All that a safetensors file holds: tensors, and texts that its writer put beside them, by name.
struct safetensors_content {
  std::vector<named_tensor> tensors;
  std::map<std::string, std::string> metadata;
};

namespace detail {

/// Puts a file together, whose elements stay where they are.
class safetensors_writer {
 public:
  explicit safetensors_writer(std::filesystem::path path) : path_(std::move(path)) {}

  void add(const std::string& name, const char* dtype, const std::vector<std::size_t>& extents,
           const void* elements, std::size_t bytes) {
    require<data_error>(name != "__metadata__", path_.string(), ": a tensor cannot be called '",
                        name, "', which is the format's own");
    require<data_error>(!header_.contains(name), path_.string(), ": two tensors are called '", name,
                        "'");
    header_[name] = {
        {"dtype", dtype}, {"shape", extents}, {"data_offsets", {size_, size_ + bytes}}};
    size_ += bytes;
    parts_.emplace_back(static_cast<const char*>(elements), bytes);
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
      throw data_error(text(path_.string(), ": a tensor's name is no UTF-8 (", e.what(), ")"));
    }
    head.resize((head.size() + 7) / 8 * 8, ' ');  // so that the elements are aligned
    write_whole_file(path_, [&](std::ostream& out) {
      const std::uint64_t length = head.size();
      out.write(reinterpret_cast<const char*>(&length), sizeof(length));
      out.write(head.data(), static_cast<std::streamsize>(length));
      for (const auto& [elements, bytes] : parts_) {
        out.write(elements, static_cast<std::streamsize>(bytes));
      }
    });
  }

 private:
  std::filesystem::path path_;
  nlohmann::json header_ = nlohmann::json::object();
  std::uint64_t size_ = 0;
  std::vector<std::pair<const char*, std::size_t>> parts_;
};

}  // namespace detail

/// Reads all tensors of a safetensors file as floats: floating-point numbers of 8 to 64 bits, which
/// are rounded, integers and truth values. A tensor of another dtype, such as complex numbers, and
/// one with a number that a float cannot hold, such as 2^24 + 1 or 1e300, is an error where it is
/// asked for. Needs nlohmann-json: link `glia::safetensors`.
///
/// Throws `data_error`, naming file and tensor, for a file that cannot be opened, is of another
/// format, damaged or cut short, and for what the format forbids: a name given twice, tensors that
/// overlap, and bytes that belong to none.
[[nodiscard]] inline tensor_map read_safetensors(const std::filesystem::path& path) {
  return detail::safetensors_reader(path).read();
}

/// The same with all that the file holds, doubles as they are, in the order of their bytes. Throws
/// `data_error`, too, for tensors that cannot be read, for metadata that is not texts, and for
/// tensors of more axes than a shape has.
[[nodiscard]] inline safetensors_content read_safetensors_content(
    const std::filesystem::path& path) {
  detail::safetensors_reader reader(path);
  auto metadata = reader.metadata();
  return {reader.read_exactly(), std::move(metadata)};
}

/// Writes tensors as floats to a safetensors file, which is there whole or not at all.
///
/// Throws `data_error`, naming the file, where it cannot be written, and for names that the format
/// does not have: `__metadata__`, and what is no UTF-8.
inline void write_safetensors(const std::filesystem::path& path, const tensor_map& tensors) {
  detail::safetensors_writer writer(path);
  for (const auto& [name, values] : tensors) {
    writer.add(name, "F32", {values.shape().begin(), values.shape().end()}, values.data(),
               values.size() * sizeof(float));
  }
  writer.write();
}

/// The same for tensors of floats and doubles, with metadata; also throws for a name given twice.
inline void write_safetensors_content(const std::filesystem::path& path,
                                      const safetensors_content& content) {
  detail::safetensors_writer writer(path);
  for (const named_tensor& t : content.tensors) {
    std::visit(
        [&](const auto& values) {
          using T = typename std::remove_cvref_t<decltype(values)>::value_type;
          writer.add(t.name, std::is_same_v<T, double> ? "F64" : "F32",
                     {t.shape.begin(), t.shape.end()}, values.data(), values.size() * sizeof(T));
        },
        t.values);
  }
  writer.add_metadata(content.metadata);
  writer.write();
}

}  // namespace glia
