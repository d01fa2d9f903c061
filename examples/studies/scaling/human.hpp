#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "line_fit.hpp"

/// A unit, and from how many of it on it is used.
struct unit {
  double size;
  double minimum;
  std::string name;
};

inline const std::vector<unit> time_units{
    {1e-9, 0, " ns"}, {1e-6, 1, " us"}, {1e-3, 1, " ms"},    {1, 1, " s"},
    {60, 2, " min"},  {3600, 2, " h"},  {86400, 2, " days"}, {31557600, 2, " years"}};
inline const std::vector<unit> byte_units{{1, 0, " B"},    {1e3, 1, " kB"},  {1e6, 1, " MB"},
                                          {1e9, 1, " GB"}, {1e12, 1, " TB"}, {1e15, 1, " PB"}};
inline const std::vector<unit> dollar_units{{1, 0, ""}};

/// The largest unit that the value makes enough of.
inline const unit& unit_for(double value, const std::vector<unit>& units) {
  const auto fits = [&](const unit& u) { return std::abs(value) >= u.minimum * u.size; };
  const auto found = std::find_if(units.rbegin(), units.rend(), fits);
  return found == units.rend() ? units.front() : *found;
}

/// A number with its last digit at 10^place, thousands being set off.
inline std::string digits(double value, int place) {
  const double step = std::pow(10.0, place);
  std::array<char, 400> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", std::max(0, -place),
                std::round(value / step) * step + 0.0);
  std::string text = buffer.data();
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  for (std::size_t position = std::min(text.find('.'), text.size()); position > sign + 3;) {
    position -= 3;
    text.insert(position, ",");
  }
  return text;
}

/// Returns the value with `count` digits. Two digits suit values that rest on assumptions.
inline std::string about(double value, const std::vector<unit>& units, int count = 2) {
  const unit& u = unit_for(value, units);
  const double shown = value / u.size;
  const int place = shown > 0 ? static_cast<int>(std::floor(std::log10(shown))) - count + 1 : 0;
  return digits(shown, place) + u.name;
}

/// With its interval, and no more digits than that allows.
inline std::string shown(const estimate& estimated, const std::vector<unit>& units,
                         const std::string& prefix = "") {
  const unit& u = unit_for(std::max(std::abs(estimated.low), std::abs(estimated.high)), units);
  const double half = (estimated.high - estimated.low) / 2 / u.size;
  if (!(half > 0)) {
    return prefix + about(estimated.value, units);
  }
  const int place = static_cast<int>(std::floor(std::log10(half)));
  return prefix + digits(estimated.value / u.size, place) + u.name + " (" +
         digits(estimated.low / u.size, place) + " to " + digits(estimated.high / u.size, place) +
         ")";
}

inline estimate operator*(const estimate& estimated, double factor) {
  return {estimated.value * factor, estimated.low * factor, estimated.high * factor};
}

/// Of what cannot be less than 0.
inline estimate at_least_0(const estimate& estimated) {
  return {std::max(estimated.value, 0.0), std::max(estimated.low, 0.0),
          std::max(estimated.high, 0.0)};
}

/// The interval of a sum is at most as wide.
inline estimate operator+(const estimate& a, const estimate& b) {
  return {a.value + b.value, a.low + b.low, a.high + b.high};
}
