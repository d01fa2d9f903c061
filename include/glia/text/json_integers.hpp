#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/utf8.hpp"

namespace glia::detail {

/// Returns the place of a byte of a file for messages, "file:line:column", counted from 1.
[[nodiscard]] inline std::string place_in(std::string_view content, std::size_t position,
                                          std::string_view file) {
  const std::string_view before = content.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return text(file, ':', line, ':', column);
}

/// A member of a JSON object with its position in the file.
struct json_integer {
  std::string key;
  std::uint64_t value = 0;
  std::size_t position = 0;
};

/// Reads a JSON object of non-negative integers, such as {"a": 0, "\u00e9": 1} (RFC 8259).
///
/// Throws `data_error`, with file, line and column, if the content is anything else.
class json_integer_reader {
 public:
  /// `file` is the name of the file, for messages.
  json_integer_reader(std::string_view content, std::string_view file)
      : content_(content), file_(file) {}

  [[nodiscard]] std::vector<json_integer> read() {
    std::vector<json_integer> members;
    expect('{', "'{'");
    if (!accept('}')) {
      do {
        json_integer& member = members.emplace_back();
        expect('"', "a key in quotes");
        member.position = position_ - 1;
        member.key = text_in_quotes();
        expect(':', "':'");
        member.value = integer();
      } while (accept(','));
      expect('}', "',' or '}'");
    }
    skip_spaces();
    require_here(position_ == content_.size(), "the end of the file");
    return members;
  }

 private:
  void skip_spaces() {
    position_ = std::min(content_.find_first_not_of(" \t\r\n", position_), content_.size());
  }
  [[nodiscard]] bool accept(char c) {
    skip_spaces();
    const bool accepted = content_.substr(position_, 1) == std::string_view(&c, 1);
    position_ += accepted ? 1 : 0;
    return accepted;
  }
  void expect(char c, const char* description) { require_here(accept(c), description); }

  /// Throws `data_error` with the current position if `condition` is false.
  void require_here(bool condition, const char* expected) const {
    if (condition) {
      return;
    }
    const std::string_view rest = content_.substr(position_);
    const std::size_t bytes = rest.empty() ? 0 : character_bytes(rest);
    const std::string found = rest.empty() ? "the end of the file"
                              : bytes == 0 ? "invalid UTF-8"
                              : static_cast<unsigned char>(rest[0]) < 32
                                  ? "a control character"
                                  : text('\'', rest.substr(0, bytes), '\'');
    fail<data_error>({place_in(content_, position_, file_), ": expected ", expected, ", got ",
                      found, "; the file must be a JSON object of tokens and their ids"});
  }

  /// Returns the text behind an opening quote.
  [[nodiscard]] std::string text_in_quotes() {
    std::string result;
    while (true) {
      const std::string_view rest = content_.substr(position_);
      const std::size_t bytes = rest.empty() ? 0 : character_bytes(rest);
      require_here(bytes > 0 && static_cast<unsigned char>(rest[0]) >= 32,
                   "a character of a text, or a quote at its end");
      if (rest[0] == '\\') {
        ++position_;
        append_escaped(result);
        continue;
      }
      position_ += bytes;
      if (rest[0] == '"') {
        return result;
      }
      result += rest.substr(0, bytes);
    }
  }

  /// Reads the characters behind a backslash.
  void append_escaped(std::string& result) {
    constexpr std::string_view letters = R"("\/bfnrtu)";
    constexpr std::string_view characters = "\"\\/\b\f\n\r\t";
    const std::size_t index =
        position_ < content_.size() ? letters.find(content_[position_]) : std::string_view::npos;
    require_here(index != std::string_view::npos, R"(one of "\/bfnrtu behind a backslash)");
    ++position_;
    if (index < characters.size()) {
      result += characters[index];
      return;
    }
    char32_t code = utf16_unit();
    if (code >= 0xD800 && code <= 0xDBFF && content_.substr(position_).starts_with("\\u")) {
      position_ += 2;
      const char32_t second = utf16_unit();
      if (second >= 0xDC00 && second <= 0xDFFF) {
        code = 0x10000 + ((code & 0x3FFU) << 10U | (second & 0x3FFU));
      }
    }
    require_here(code < 0xD800 || code > 0xDFFF, "both halves of a surrogate pair");
    append_utf8(result, code);
  }

  [[nodiscard]] char32_t utf16_unit() {
    const std::string_view digits = content_.substr(position_, 4);
    unsigned unit = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    require_here(problem == std::errc() && end == digits.data() + 4, "four hexadecimal digits");
    position_ += 4;
    return unit;
  }

  [[nodiscard]] std::uint64_t integer() {
    skip_spaces();
    const std::string_view rest = content_.substr(position_);
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    require_here(problem == std::errc() && (digits == 1 || rest[0] != '0'),
                 "a non-negative integer");
    position_ += digits;
    return value;
  }

  std::string_view content_;
  std::string_view file_;
  std::size_t position_ = 0;
};

}  // namespace glia::detail
