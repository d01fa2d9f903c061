#pragma once

#include <cerrno>
#include <clocale>
#include <cmath>
#include <concepts>
#include <cstdlib>

#if defined(__APPLE__)
#include <xlocale.h>
#elif !defined(_WIN32) && !defined(__wasm__)
#include <locale.h>  // NOLINT(modernize-deprecated-headers): newlocale is POSIX's
#endif

namespace glia::platform {

/// Calls `strtof` or `strtod` in the locale "C"; on Windows always `strtod`. Sets `errno` to ERANGE
/// if the number is outside the range of T. WebAssembly has no other locale.
template <std::floating_point T>
[[nodiscard]] T plain_number(const char* text, char** end) {
#if defined(_WIN32)
  static const _locale_t plain = _create_locale(LC_ALL, "C");
  // MinGW has no _strtof_l. Rounding twice can change the last bit.
  const double number = _strtod_l(text, end, plain);
  const T rounded = static_cast<T>(number);
  if ((std::isinf(rounded) && !std::isinf(number)) || (rounded == 0 && number != 0)) {
    errno = ERANGE;
  }
  return rounded;
#elif defined(__wasm__)
  if constexpr (std::same_as<T, float>) {
    return std::strtof(text, end);
  } else {
    return std::strtod(text, end);
  }
#else
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if constexpr (std::same_as<T, float>) {
    return ::strtof_l(text, end, plain);
  } else {
    return ::strtod_l(text, end, plain);
  }
#endif
}

}  // namespace glia::platform
