#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace glia {

/// Read-only floats in host memory, such as the parameters in a mapped file. A device that computes
/// with floats in host memory uses them without a copy.
struct shared_floats {
  /// Alignment with which a device can use floats without copying them, in bytes.
  static constexpr std::size_t alignment = 64;

  std::span<const float> values = {};
  /// Keeps the memory alive. Null if the memory outlives all of its users.
  std::shared_ptr<const void> owner = {};

  /// Whether the floats are aligned, so that a device can use them where they are.
  [[nodiscard]] bool is_aligned() const {
    return reinterpret_cast<std::uintptr_t>(values.data()) % alignment == 0;
  }
};

}  // namespace glia
