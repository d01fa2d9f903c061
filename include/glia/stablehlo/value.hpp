#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "glia/core/shape.hpp"

namespace glia::stablehlo {

/// The element types that glia's graphs use.
enum class scalar : std::uint8_t { f32, f64, i1, i32, u8, u32, u64 };

[[nodiscard]] constexpr std::string_view name_of(scalar type) noexcept {
  constexpr std::string_view names[] = {"f32", "f64", "i1", "i32", "ui8", "ui32", "ui64"};
  return names[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr bool is_real(scalar type) noexcept { return type <= scalar::f64; }

/// A value of a module: its number, shape and type. A default-constructed value stands for an
/// omitted operand.
struct value {
  static constexpr std::size_t no_id = static_cast<std::size_t>(-1);

  std::size_t id = no_id;
  glia::shape shape{};
  scalar type = scalar::f32;

  [[nodiscard]] explicit operator bool() const noexcept { return id != no_id; }
};

[[nodiscard]] inline std::string type_text(const shape& s, scalar type) {
  std::string result = "tensor<";
  for (const std::size_t extent : s) {
    result += std::to_string(extent) + 'x';
  }
  return result.append(name_of(type)) + '>';
}
[[nodiscard]] inline std::string type_text(const value& v) { return type_text(v.shape, v.type); }

}  // namespace glia::stablehlo
