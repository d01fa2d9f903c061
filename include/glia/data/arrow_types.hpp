#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "glia/core/half.hpp"
#include "glia/core/representable.hpp"
#include "glia/data/csv_cells.hpp"

namespace glia::detail {

/// The kind of values in an Arrow array. `nothing` is Arrow's null type, whose values are all null.
enum class arrow_type : std::uint8_t { nothing, number, date, text, other };

/// Returns the kind of values in arrays of a format, by the format strings of the C data interface.
[[nodiscard]] inline arrow_type type_of_format(std::string_view format) {
  constexpr std::string_view numbers = "bcCsSiIlLefg";
  if (format == "n") {
    return arrow_type::nothing;
  }
  if (format.size() == 1 && numbers.find(format[0]) != std::string_view::npos) {
    return arrow_type::number;
  }
  if (format == "u" || format == "U" || format == "vu") {
    return arrow_type::text;
  }
  const bool timestamp = format.starts_with("tss:") || format.starts_with("tsm:") ||
                         format.starts_with("tsu:") || format.starts_with("tsn:");
  return timestamp || format == "tdD" || format == "tdm" ? arrow_type::date : arrow_type::other;
}

/// Returns whether a format is that of integers.
[[nodiscard]] inline bool is_integer_format(std::string_view format) {
  return format.size() == 1 &&
         std::string_view("cCsSiIlL").find(format[0]) != std::string_view::npos;
}

/// Calls a function with a value of the type that a format of numbers has in C++.
template <class Function>
void with_number_type(char format, const Function& call) {
  switch (format) {
    case 'b':
      return call(bool{});
    case 'c':
      return call(std::int8_t{});
    case 'C':
      return call(std::uint8_t{});
    case 's':
      return call(std::int16_t{});
    case 'S':
      return call(std::uint16_t{});
    case 'i':
      return call(std::int32_t{});
    case 'I':
      return call(std::uint32_t{});
    case 'l':
      return call(std::int64_t{});
    case 'L':
      return call(std::uint64_t{});
    case 'e':
      return call(half{});
    case 'f':
      return call(float{});
    default:
      return call(double{});
  }
}

/// Converts a number of a column to the nearest float.
template <class T>
[[nodiscard]] cell_kind nearest_float(T number, float& nearest) {
  nearest = static_cast<float>(number);
  if constexpr (std::integral<T>) {
    return representable<float>(number) ? cell_kind::number : cell_kind::rounded_integer;
  } else {
    // Programs store integers as doubles if values are missing. Doubles represent all integers up
    // to this one.
    constexpr double max_integer = 0x1p53;
    const bool integer = std::abs(number) <= max_integer && std::trunc(number) == number;
    return !representable<float>(number)                       ? cell_kind::too_large
           : integer && static_cast<double>(nearest) != number ? cell_kind::rounded_integer
                                                               : cell_kind::number;
  }
}

}  // namespace glia::detail
