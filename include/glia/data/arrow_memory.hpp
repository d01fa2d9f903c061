#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glia/data/arrow_structs.hpp"

namespace glia::detail {

/// The memory of an exported `ArrowSchema` or `ArrowArray`, with its children and its dictionary.
/// Each child has its own memory, so that a consumer can move it elsewhere.
template <class Struct>
struct arrow_memory {
  std::string name;
  std::vector<std::shared_ptr<const void>> storage;  // of the buffers
  std::vector<const void*> buffers;
  std::vector<Struct> children;
  std::vector<Struct*> child_pointers;
  Struct dictionary{};

  arrow_memory() = default;
  arrow_memory(const arrow_memory&) = delete;
  arrow_memory& operator=(const arrow_memory&) = delete;
  ~arrow_memory() {
    for (Struct& child : children) {
      const arrow_release released(&child);
    }
    const arrow_release released(&dictionary);
  }

  /// Appends a buffer with the elements of a container.
  template <class Container>
  void add_buffer(Container elements) {
    auto owned = std::make_shared<const Container>(std::move(elements));
    buffers.push_back(owned->data());
    storage.push_back(std::move(owned));
  }
};

/// Makes the memory, its children and its dictionary a part of a struct, whose release callback
/// frees them.
template <class Struct>
void attach(Struct& content, std::unique_ptr<arrow_memory<Struct>> memory) {
  for (Struct& child : memory->children) {
    memory->child_pointers.push_back(&child);
  }
  content.n_children = static_cast<std::int64_t>(memory->children.size());
  content.children = memory->child_pointers.data();
  content.dictionary = memory->dictionary.release == nullptr ? nullptr : &memory->dictionary;
  content.release = [](Struct* released) {
    delete static_cast<arrow_memory<Struct>*>(released->private_data);
    released->release = nullptr;
  };
  content.private_data = memory.release();
}

/// Returns a schema that owns its memory. The format must be a string literal.
[[nodiscard]] inline ArrowSchema arrow_field(const char* format, const std::string& name,
                                             std::unique_ptr<arrow_memory<ArrowSchema>> memory =
                                                 std::make_unique<arrow_memory<ArrowSchema>>()) {
  memory->name = name;
  ArrowSchema field{};
  field.format = format;
  field.name = memory->name.c_str();
  field.flags = ARROW_FLAG_NULLABLE;
  attach(field, std::move(memory));
  return field;
}

/// Returns an array that owns its memory.
[[nodiscard]] inline ArrowArray arrow_array(std::size_t length, std::size_t null_count,
                                            std::unique_ptr<arrow_memory<ArrowArray>> memory) {
  ArrowArray array{};
  array.length = static_cast<std::int64_t>(length);
  array.null_count = static_cast<std::int64_t>(null_count);
  array.n_buffers = static_cast<std::int64_t>(memory->buffers.size());
  array.buffers = memory->buffers.data();
  attach(array, std::move(memory));
  return array;
}

}  // namespace glia::detail
