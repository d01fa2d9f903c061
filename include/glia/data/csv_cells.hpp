#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/parse_number.hpp"

namespace glia::detail {

/// Iterates over the cells of a CSV text (RFC 4180). Lines end in LF or CR LF. A UTF-8 byte order
/// mark at the beginning and empty lines at the end are skipped.
///
/// Throws `data_error`, with file and line, for a cell with wrong quotes.
class csv_cells {
 public:
  /// `file` is the name of the file, for messages. The text must outlive the object.
  csv_cells(std::string_view text, char delimiter, std::string file)
      : delimiter_(delimiter), file_(std::move(file)) {
    if (constexpr std::string_view mark = "\xEF\xBB\xBF"; text.substr(0, mark.size()) == mark) {
      text.remove_prefix(mark.size());
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
      text.remove_suffix(1);
    }
    position_ = text.data();
    end_ = position_ + text.size();
  }

  [[nodiscard]] bool done() const { return position_ == end_ && line_ended_; }
  /// Whether the next cell begins a line.
  [[nodiscard]] bool line_ended() const { return line_ended_; }
  /// The number of the line in which the next cell begins, counted from 1.
  [[nodiscard]] std::size_t line() const { return line_; }

  /// Returns the next cell. The view is valid until the next call.
  [[nodiscard]] std::string_view next() {
    if (position_ != end_ && *position_ == '"') {
      return quoted();
    }
    const char* begin = position_;
    while (!at_cell_end()) {
      require<data_error>(*position_ != '"', file_, ':', line_,
                          ": a quote within a cell; put the whole cell in quotes and write each "
                          "quote in it twice");
      require<data_error>(*position_ != '\r', file_, ':', line_,
                          ": a carriage return (CR) within a cell; expected lines that end in LF "
                          "or CR LF, or the cell in quotes");
      ++position_;
    }
    const std::string_view cell(begin, static_cast<std::size_t>(position_ - begin));
    pass_cell_end();
    return cell;
  }

  /// Reads the next cell, much faster than `next`, if it is a number with at most seven digits.
  /// Otherwise returns false and does not move to the cell after it.
  [[nodiscard]] bool next_short_number(float& value) {
    // A float holds whole numbers of seven digits and powers of ten up to 1e7 exactly, so that
    // their quotient is the nearest float (Clinger, PLDI 1990).
    constexpr int max_digits = 7;
    constexpr std::array<float, max_digits + 1> powers{1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    const char* begin = position_;
    const bool negative = position_ != end_ && *position_ == '-';
    position_ += negative ? 1 : 0;
    std::int32_t number = 0;
    int digits = 0;
    std::size_t behind_point = 0;
    for (bool point = false; position_ != end_ && digits <= max_digits; ++position_) {
      if (*position_ >= '0' && *position_ <= '9') {
        number = 10 * number + (*position_ - '0');
        ++digits;
        behind_point += point ? 1 : 0;
      } else if (*position_ == '.' && !point) {
        point = true;
      } else {
        break;
      }
    }
    if (digits == 0 || digits > max_digits || !at_cell_end()) {
      position_ = begin;
      return false;
    }
    value = static_cast<float>(number);
    value = (negative ? -value : value) / powers[behind_point];
    pass_cell_end();
    return true;
  }

 private:
  [[nodiscard]] bool at_cell_end() const {
    return position_ == end_ || *position_ == delimiter_ || *position_ == '\n' ||
           (*position_ == '\r' && end_ - position_ > 1 && position_[1] == '\n');
  }
  void pass_cell_end() {
    line_ended_ = position_ == end_ || *position_ != delimiter_;
    if (position_ != end_) {
      line_ += line_ended_ ? 1 : 0;
      position_ += *position_ == '\r' && line_ended_ ? 2 : 1;
    }
  }

  [[nodiscard]] std::string_view quoted() {
    const std::size_t began = line_;
    unquoted_.clear();
    do {
      ++position_;
      const auto remaining = static_cast<std::size_t>(end_ - position_);
      const auto* quote = remaining == 0
                              ? nullptr
                              : static_cast<const char*>(std::memchr(position_, '"', remaining));
      require<data_error>(quote != nullptr, file_, ':', began,
                          ": a cell begins with a quote here, but its closing quote is missing");
      // Two quotes stand for one quote within the cell.
      const bool doubled = end_ - quote > 1 && quote[1] == '"';
      line_ += static_cast<std::size_t>(std::count(position_, quote, '\n'));
      unquoted_.append(position_, doubled ? quote + 1 : quote);
      position_ = quote + 1;
    } while (position_ != end_ && *position_ == '"');
    require<data_error>(at_cell_end(), file_, ':', line_,
                        ": expected the end of the cell after its closing quote");
    pass_cell_end();
    return unquoted_;
  }

  char delimiter_;
  std::string file_;
  const char* position_ = nullptr;
  const char* end_ = nullptr;
  std::size_t line_ = 1;
  bool line_ended_ = true;
  std::string unquoted_;
};

/// Returns a cell without the spaces and tabs around its text.
[[nodiscard]] inline std::string_view trimmed(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : cell.substr(first, cell.find_last_not_of(" \t") - first + 1);
}

/// The result of reading a cell as a number.
enum class cell_kind : std::uint8_t { number, rounded_integer, too_large, no_number };

/// Returns whether the absolute value of a decimal number is below 1, judged by its digits and
/// exponent. For numbers outside the range of double, this distinguishes tiny from huge ones.
[[nodiscard]] inline bool is_below_one(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  const std::string_view exponent = number.substr(std::min(e + 1, number.size()));
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) {
    return true;
  }
  const auto before_point =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first > point ? 0 : 1);
  std::int64_t power = 0;
  const bool plus = exponent.starts_with('+');
  const auto [end, failure] =
      std::from_chars(exponent.data() + (plus ? 1 : 0), exponent.data() + exponent.size(), power);
  if (failure == std::errc::result_out_of_range) {
    return exponent.starts_with('-');
  }
  return power < -before_point;
}

/// Returns whether a number is an integer that a float cannot hold exactly. Numbers with an
/// exponent do not count as integers.
[[nodiscard]] inline bool is_rounded_integer(std::string_view number, float nearest) {
  if (!number.empty() && number[0] == '-') {
    number.remove_prefix(1);
  }
  const std::size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
  // 123.0 counts as an integer, because some programs write integers in this way if a column has
  // missing values.
  const bool whole = digits == number.size() ||
                     (number[digits] == '.' &&
                      number.find_first_not_of('0', digits + 1) == std::string_view::npos);
  constexpr float all_integers = 1 << 24;
  if (!whole || std::abs(nearest) < all_integers) {
    return false;
  }
  number = number.substr(0, digits);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  std::array<char, 64> exact{};
  const char* const end = std::to_chars(exact.data(), exact.data() + exact.size(),
                                        std::abs(nearest), std::chars_format::fixed, 0)
                              .ptr;
  return number != std::string_view(exact.data(), static_cast<std::size_t>(end - exact.data()));
}

/// Reads the number in a cell, as the nearest float, into `value`. A number too small for a float
/// becomes 0.
[[nodiscard]] inline cell_kind number_in(std::string_view cell, float& value) {
  cell = trimmed(cell);
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') {
    cell.remove_prefix(1);
  }
  const char* end = cell.data() + cell.size();
  const auto [parsed_end, problem] = parse_number(cell.data(), end, value);
  if (parsed_end != end || problem == std::errc::invalid_argument) {
    return cell_kind::no_number;
  }
  if (problem == std::errc::result_out_of_range) {
    double wide = 0;
    if (parse_number(cell.data(), end, wide).ec == std::errc()) {
      value = static_cast<float>(wide);
    } else if (is_below_one(cell)) {
      value = cell[0] == '-' ? -0.0F : 0.0F;
    } else {
      return cell_kind::too_large;
    }
    return std::isfinite(value) ? cell_kind::number : cell_kind::too_large;
  }
  return is_rounded_integer(cell, value) ? cell_kind::rounded_integer : cell_kind::number;
}

/// Returns advice about a cell that is not a number, as the end of an error message. The advice is
/// empty if the cause is unknown.
[[nodiscard]] inline std::string advice_for(std::string_view cell, char delimiter) {
  cell = trimmed(cell);
  const auto holds = [&](char c) {
    return c != delimiter && cell.find(c) != std::string_view::npos;
  };
  constexpr std::string_view missing_values[] = {"NA",   "N/A",  "n/a",  "na",   "#N/A",
                                                 "NULL", "Null", "null", "None", "none",
                                                 "?",    "-",    "--",   "."};
  if (std::find(std::begin(missing_values), std::end(missing_values), cell) !=
      std::end(missing_values)) {
    return text(
        "; if it means that the value is missing, add it to csv_options::missing_texts and "
        "set csv_options::filling_value");
  }
  for (const auto& [character, name] :
       {std::pair('\t', "tabs"), std::pair(';', "semicolons"), std::pair('|', "bars")}) {
    if (holds(character)) {
      return text("; if ", name, " separate the cells, set csv_options::delimiter");
    }
  }
  if (cell.starts_with("0x") || cell.starts_with("0X")) {
    return "; expected a decimal number";
  }
  if (cell.find_first_of("0123456789") != std::string_view::npos &&
      cell.find_first_not_of("+-0123456789.,' _eE") == std::string_view::npos &&
      cell.find_first_of(",' _") != std::string_view::npos) {
    return "; write numbers with a decimal point and without separators between digits";
  }
  const bool is_word = cell.find_first_of("0123456789") == std::string_view::npos &&
                       cell.find_first_not_of("+-., ") != std::string_view::npos;
  return is_word ? "; if the column holds text, list it in csv_options::text_columns" : "";
}

/// Returns a cell as error messages show it: at most 40 bytes, without line breaks.
[[nodiscard]] inline std::string shown_cell(std::string_view cell) {
  constexpr std::size_t max_bytes = 40;
  std::string result(cell.substr(0, max_bytes));
  if (cell.size() > max_bytes) {
    // In UTF-8, all bytes of a character but its first begin with the bits 10.
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
