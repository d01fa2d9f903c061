#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glia {

/// The activation at the end of a layer, as far as losses and metrics distinguish it.
enum class output_kind : std::uint8_t { other, sigmoid, softmax };

/// Returns the name of an output kind.
[[nodiscard]] constexpr std::string_view name_of(output_kind kind) noexcept {
  constexpr std::string_view names[] = {"other", "sigmoid", "softmax"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace glia
