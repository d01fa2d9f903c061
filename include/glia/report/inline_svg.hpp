#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/html_text.hpp"

namespace glia::detail {

/// Converts an SVG picture of gnuplot to an element for an HTML page. All of gnuplot's pictures use
/// the same ids, so each id gets a prefix that differs from picture to picture.
class svg_rewriter {
 public:
  /// `prefix` is the prefix of the picture's ids.
  svg_rewriter(std::string_view svg, std::string_view prefix) : remaining_(svg), prefix_(prefix) {}

  /// Returns the element. `name` is its name for screen readers. Comments, namespaces, descriptions
  /// and titles are left out; browsers would show gnuplot's titles as tooltips.
  [[nodiscard]] std::string element(std::string_view name) {
    while (!remaining_.empty()) {
      result_ += take(remaining_.find('<'));
      if (remaining_.starts_with("<!--")) {
        take_past("-->");
      } else if (remaining_.starts_with("<title") || remaining_.starts_with("<desc")) {
        take_past(remaining_.starts_with("<title") ? "</title>" : "</desc>");
      } else if (remaining_.starts_with("<svg")) {
        rewrite_tag();
        result_.insert(result_.rfind("<svg") + 4,
                       R"( role="img" aria-label=")" + html_text(name) + '"');
      } else if (!remaining_.empty()) {
        rewrite_tag();
      }
    }
    return std::move(result_);
  }

 private:
  static constexpr std::string_view spaces = " \t\r\n";

  std::string_view take(std::size_t count) {
    const std::string_view piece = remaining_.substr(0, count);
    remaining_.remove_prefix(piece.size());
    return piece;
  }
  void take_past(std::string_view end) {
    const std::size_t position = remaining_.find(end);
    take(position == std::string_view::npos ? position : position + end.size());
  }

  void take_spaces() { take(remaining_.find_first_not_of(spaces)); }

  /// Rewrites a tag, attribute by attribute.
  void rewrite_tag() {
    result_ += take(remaining_.find_first_of(" \t\r\n>"));
    for (take_spaces(); !remaining_.empty() && remaining_.front() != '>'; take_spaces()) {
      std::string_view name = take(remaining_.find_first_of("= \t\r\n>"));
      take_spaces();
      if (!remaining_.starts_with('=')) {  // the end of a tag without content
        result_ += name;
        continue;
      }
      take(1);
      take_spaces();
      const std::string_view quote = take(1);
      const std::string_view value = take(remaining_.find(quote));
      take(1);
      if (!name.starts_with("xmlns")) {
        name.remove_prefix(name.starts_with("xlink:") ? std::string_view("xlink:").size() : 0);
        result_ += text(' ', name, '=', quote, with_prefix(name, value), quote);
      }
    }
    result_ += take(1);
  }
  [[nodiscard]] std::string with_prefix(std::string_view name, std::string_view value) const {
    constexpr std::string_view reference = "url(#";
    std::string result(value);
    if (name == "id") {
      return prefix_ + result;
    }
    if (name == "href" && value.starts_with('#')) {
      return '#' + prefix_ + result.substr(1);
    }
    for (std::size_t position = result.find(reference); position != std::string::npos;
         position = result.find(reference, position + 1)) {
      result.insert(position + reference.size(), prefix_);
    }
    return result;
  }

  std::string_view remaining_;
  std::string prefix_;
  std::string result_;
};

}  // namespace glia::detail
