#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"

namespace glia::detail {

/// Walks over the cells of comma-separated values, one after the other: RFC 4180, with lines that
/// end in LF or CR LF, and without the mark that UTF-8 may begin with. Empty lines at the end are
/// passed over.
///
/// Throws `data_error`, naming the file and the line, for what is not quoted as it should be.
class csv_cells {
 public:
  /// The text must outlive the object; `file` is its name.
  csv_cells(std::string_view text, char delimiter, std::string file)
      : delimiter_(delimiter), file_(std::move(file)) {
    if (constexpr std::string_view mark = "\xEF\xBB\xBF"; text.substr(0, mark.size()) == mark) {
      text.remove_prefix(mark.size());
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
      text.remove_suffix(1);
    }
    at_ = text.data();
    end_ = at_ + text.size();
  }

  [[nodiscard]] bool done() const { return at_ == end_ && line_ended_; }
  /// Whether the last cell was the last one of its line, or there was none yet.
  [[nodiscard]] bool line_ended() const { return line_ended_; }
  /// The number, from 1, of the line that the next cell begins in.
  [[nodiscard]] std::size_t line() const { return line_; }

  /// The next cell, good until the one after it is asked for.
  [[nodiscard]] std::string_view next() {
    if (at_ != end_ && *at_ == '"') {
      return quoted();
    }
    const char* from = at_;
    while (!at_cell_end()) {
      require<data_error>(*at_ != '"', file_, ':', line_,
                          ": a quote within a cell; expected all of the cell in quotes, and a "
                          "quote in it as two");
      require<data_error>(*at_ != '\r', file_, ':', line_,
                          ": a carriage return (CR) within a cell; expected lines that end in LF "
                          "or CR LF");
      ++at_;
    }
    const std::string_view cell(from, static_cast<std::size_t>(at_ - from));
    pass_cell_end();
    return cell;
  }

  /// The next cell where it is a number of few digits, as most are, at a fraction of the time.
  /// False for any other cell, which `next` gives then.
  [[nodiscard]] bool next_short_number(float& value) {
    // Up to here, the digits are a whole number and the power of ten another that a float holds
    // exactly, and what dividing them gives is the nearest float (Clinger, PLDI 1990).
    constexpr int most_digits = 7;
    constexpr std::array<float, most_digits + 1> powers{1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    const char* from = at_;
    const bool negative = at_ != end_ && *at_ == '-';
    at_ += negative ? 1 : 0;
    std::int32_t number = 0;
    int digits = 0;
    std::size_t behind_point = 0;
    for (bool point = false; at_ != end_ && digits <= most_digits; ++at_) {
      if (*at_ >= '0' && *at_ <= '9') {
        number = 10 * number + (*at_ - '0');
        ++digits;
        behind_point += point ? 1 : 0;
      } else if (*at_ == '.' && !point) {
        point = true;
      } else {
        break;
      }
    }
    if (digits == 0 || digits > most_digits || !at_cell_end()) {
      at_ = from;
      return false;
    }
    value = static_cast<float>(number);
    value = (negative ? -value : value) / powers[behind_point];
    pass_cell_end();
    return true;
  }

 private:
  [[nodiscard]] bool at_cell_end() const {
    return at_ == end_ || *at_ == delimiter_ || *at_ == '\n' ||
           (*at_ == '\r' && end_ - at_ > 1 && at_[1] == '\n');
  }
  void pass_cell_end() {
    line_ended_ = at_ == end_ || *at_ != delimiter_;
    if (at_ != end_) {
      line_ += line_ended_ ? 1 : 0;
      at_ += *at_ == '\r' && line_ended_ ? 2 : 1;
    }
  }

  [[nodiscard]] std::string_view quoted() {
    const std::size_t began = line_;
    unquoted_.clear();
    do {
      ++at_;
      const auto left = static_cast<std::size_t>(end_ - at_);
      const auto* quote =
          left == 0 ? nullptr : static_cast<const char*>(std::memchr(at_, '"', left));
      require<data_error>(quote != nullptr, file_, ':', began,
                          ": a cell in quotes begins here that does not end");
      // Of two quotes, the first is the cell's and the second is passed over.
      const bool doubled = end_ - quote > 1 && quote[1] == '"';
      line_ += static_cast<std::size_t>(std::count(at_, quote, '\n'));
      unquoted_.append(at_, doubled ? quote + 1 : quote);
      at_ = quote + 1;
    } while (at_ != end_ && *at_ == '"');
    require<data_error>(at_cell_end(), file_, ':', line_,
                        ": expected the cell to end behind its closing quote");
    pass_cell_end();
    return unquoted_;
  }

  char delimiter_;
  std::string file_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t line_ = 1;
  bool line_ended_ = true;
  std::string unquoted_;
};

/// Without the spaces and tabs around it.
[[nodiscard]] inline std::string_view trimmed(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : cell.substr(first, cell.find_last_not_of(" \t") - first + 1);
}

/// The float nearest to a cell's number; none where it is no number or too large for a float.
[[nodiscard]] inline std::optional<float> number_in(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') {
    cell.remove_prefix(1);
  }
  const char* end = cell.data() + cell.size();
  float value = 0;
  const auto [at, problem] = std::from_chars(cell.data(), end, value);
  if (at != end || problem == std::errc::invalid_argument) {
    return std::nullopt;
  }
  if (problem == std::errc::result_out_of_range) {
    double wide = 0;
    const bool too_small = std::from_chars(cell.data(), end, wide).ec == std::errc() &&
                           std::abs(wide) < std::numeric_limits<float>::min();
    return too_small ? std::optional(static_cast<float>(wide)) : std::nullopt;
  }
  return value;
}

/// A cell as errors show it: not all of a long one, and without line breaks.
[[nodiscard]] inline std::string shown_cell(std::string_view cell) {
  constexpr std::size_t most = 40;
  std::string result(cell.substr(0, most));
  if (cell.size() > most) {
    // The bytes behind the first of a letter in UTF-8 begin with the bits 10.
    while (!result.empty() && (static_cast<unsigned char>(cell[result.size()]) & 0xC0U) == 0x80U) {
      result.pop_back();
    }
    result += "...";
  }
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; },
      ' ');
  return result;
}

}  // namespace glia::detail
