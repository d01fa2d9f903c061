#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/number_text.hpp"
#include "glia/layers/option_writer.hpp"

namespace glia::detail {

GLIA_INLINE void option_writer::write(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  text_ += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) {
      text_ += "\\u00";
      text_ += digits[code >> 4U];
      text_ += digits[code & 15U];
      continue;
    }
    if (c == '"' || c == '\\') {
      text_ += '\\';
    }
    text_ += c;
  }
  text_ += '"';
}

GLIA_INLINE void option_writer::write_number(double number) {
  const std::string digits = std::isnan(number) ? "nan" : exact_text(number);
  text_ += std::isfinite(number) ? digits : '"' + digits + '"';
}

GLIA_INLINE void option_writer::write(const activation& a) {
  const std::string name(a.name);
  write(a.description() == name ? name : glia::text(name, '(', exact_text(a.map.a), ')'));
}

GLIA_INLINE void option_writer::write(const shape& s) {
  write(std::vector<std::size_t>(s.begin(), s.end()));
}

GLIA_INLINE void option_writer::write(const padding1d& p) {
  switch (p.kind) {
    case padding1d::mode::no_padding:
      return write(std::string("valid"));
    case padding1d::mode::same_length:
      return write(std::string("same"));
    case padding1d::mode::causal:
      return write(std::string("causal"));
    default:
      return write(std::vector{p.before, p.after});
  }
}

GLIA_INLINE void option_writer::write(const padding2d& p) {
  switch (p.kind) {
    case padding2d::mode::valid:
      return write(std::string("valid"));
    case padding2d::mode::same:
      return write(std::string("same"));
    default:
      return write(std::vector{p.top, p.bottom, p.left, p.right});
  }
}

GLIA_INLINE void option_writer::write(const padding3d& p) {
  switch (p.kind) {
    case padding3d::mode::no_padding:
      return write(std::string("valid"));
    case padding3d::mode::same_size:
      return write(std::string("same"));
    default:
      return write(std::vector{p.front, p.back, p.top, p.bottom, p.left, p.right});
  }
}

}  // namespace glia::detail
