#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace glia::detail {

/// Reads `count` digits at the beginning of a text and removes them. Returns nothing if there are
/// fewer.
[[nodiscard]] inline std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) {
    return {};
  }
  int number = 0;
  for (const char digit : text.substr(0, count)) {
    if (digit < '0' || digit > '9') {
      return {};
    }
    number = 10 * number + (digit - '0');
  }
  text.remove_prefix(count);
  return number;
}

/// Removes a character at the beginning of a text, and returns whether it was there.
[[nodiscard]] inline bool take_character(std::string_view& text, std::string_view characters) {
  const bool found = !text.empty() && characters.find(text.front()) != std::string_view::npos;
  text.remove_prefix(found ? 1 : 0);
  return found;
}

/// Returns the days since midnight for a time hh:mm, hh:mm:ss or hh:mm:ss.fff, with an optional Z.
/// Returns nothing for any other text.
[[nodiscard]] inline std::optional<double> time_in(std::string_view text) {
  const auto hours = take_digits(text, 2);
  const bool has_minutes = take_character(text, ":");
  const auto minutes = take_digits(text, 2);
  if (!hours || !has_minutes || !minutes || *hours > 23 || *minutes > 59) {
    return {};
  }
  double seconds = 0;
  if (take_character(text, ":")) {
    const auto whole = take_digits(text, 2);
    if (!whole || *whole > 59) {
      return {};
    }
    seconds = *whole;
    if (take_character(text, ".")) {
      double unit = 1;
      for (auto digit = take_digits(text, 1); digit; digit = take_digits(text, 1)) {
        unit /= 10;
        seconds += unit * *digit;
      }
      if (unit == 1) {
        return {};
      }
    }
  }
  static_cast<void>(take_character(text, "Z"));
  if (!text.empty()) {
    return {};
  }
  return (*hours * 3600 + *minutes * 60 + seconds) / 86400;
}

/// Returns the days since 1970-01-01 for a date such as 2026-11-28, with an optional time after a
/// space or a T. Returns nothing for any other text.
[[nodiscard]] inline std::optional<double> days_in(std::string_view text) {
  const auto year = take_digits(text, 4);
  const bool has_month = take_character(text, "-");
  const auto month = take_digits(text, 2);
  const bool has_day = take_character(text, "-");
  const auto day = take_digits(text, 2);
  if (!year || !has_month || !month || !has_day || !day) {
    return {};
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) {
    return {};
  }
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  if (text.empty()) {
    return days;
  }
  const std::optional<double> time = take_character(text, " T") ? time_in(text) : std::nullopt;
  return time ? std::optional(days + *time) : std::nullopt;
}

}  // namespace glia::detail
