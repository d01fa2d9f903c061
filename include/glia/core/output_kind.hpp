#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glia {

/// What a layer's outputs are, as far as losses and metrics have to know.
enum class output_kind : std::uint8_t { other, sigmoid, softmax };

/// What the kind is called.
[[nodiscard]] constexpr std::string_view name_of(output_kind kind) noexcept {
  constexpr std::string_view names[] = {"other", "sigmoid", "softmax"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace glia
