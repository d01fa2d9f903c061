#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace glia {

/// Floats in memory that nobody changes, such as the weights in a mapped file. A device that
/// computes with floats in host memory uses them where they are.
struct shared_floats {
  /// Alignment with which a device can use floats without copying them, in bytes.
  static constexpr std::size_t alignment = 64;

  std::span<const float> values = {};
  /// Keeps the memory. Null if the memory exists as long as all of its users.
  std::shared_ptr<const void> owner = {};

  /// Whether the floats are aligned, so that a device can use them where they are.
  [[nodiscard]] bool is_aligned() const {
    return reinterpret_cast<std::uintptr_t>(values.data()) % alignment == 0;
  }
};

}  // namespace glia
