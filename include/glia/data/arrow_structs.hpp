#pragma once

#include <cstdint>

// The structs of Apache Arrow's C data interface, as its specification defines them:
// https://arrow.apache.org/docs/format/CDataInterface.html. All libraries that exchange tables in
// this way define the same structs and guard them by this macro, so that a program can include
// several of these definitions.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {

// NOLINTBEGIN(readability-identifier-naming)
/// The type of an Arrow array: its format, name, children and dictionary.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

/// The values of an Arrow array: its buffers, children and dictionary.
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
// NOLINTEND(readability-identifier-naming)

}  // extern "C"

#endif  // ARROW_C_DATA_INTERFACE

namespace glia::detail {

/// Releases an `ArrowSchema` or `ArrowArray` at the end of a scope, unless it has been released or
/// moved elsewhere.
template <class Struct>
class arrow_release {
 public:
  /// `content` may be null.
  explicit arrow_release(Struct* content) : content_(content) {}
  arrow_release(const arrow_release&) = delete;
  arrow_release& operator=(const arrow_release&) = delete;
  ~arrow_release() {
    if (content_ != nullptr && content_->release != nullptr) {
      content_->release(content_);
    }
  }

 private:
  Struct* content_;
};

}  // namespace glia::detail
