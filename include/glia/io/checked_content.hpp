#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/io/safetensors.hpp"

namespace glia::detail {

/// Returns the checksum of a file's tensors and metadata, independent of the order of the tensors.
[[nodiscard]] inline std::string checksum_of(const safetensors_content& content) {
  checksum sum;
  for (const auto& [name, value] : content.metadata) {
    if (name != "checksum") {
      sum.add(name);
      sum.add(value);
    }
  }
  std::vector<const named_tensor*> sorted;
  for (const named_tensor& t : content.tensors) {
    sorted.push_back(&t);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const named_tensor* t : sorted) {
    sum.add(t->name);
    sum.add(text(t->shape));
    std::visit(
        [&](const auto& values) {
          use_little_endian(std::as_bytes(std::span(values)), sizeof(values[0]),
                            [&](std::string_view bytes) { sum.add(bytes); });
        },
        t->values);
  }
  return text(sum.value());
}

/// Writes a safetensors file with a checksum of its contents, as the metadata entry `checksum`.
inline void write_checked_content(const std::filesystem::path& path, safetensors_content content) {
  content.metadata["checksum"] = detail::checksum_of(content);
  write_safetensors_content(path, content);
}

/// Reads a safetensors file. If its metadata have a checksum, compares it with the checksum of the
/// contents, and throws `data_error` if they differ. Other errors are those of
/// `read_safetensors_content`.
[[nodiscard]] inline safetensors_content read_checked_content(const file_source& file) {
  safetensors_content content = read_safetensors_content(file);
  const auto said = content.metadata.find("checksum");
  require<data_error>(
      said == content.metadata.end() || said->second == detail::checksum_of(content), file.name(),
      ": the contents do not match the checksum; the file is damaged or was changed by another "
      "program");
  return content;
}

}  // namespace glia::detail
