#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/data/csv_cells.hpp"
#include "glia/data/csv_options.hpp"
#include "glia/data/csv_table.hpp"
#include "glia/data/date.hpp"
#include "glia/data/file_reader.hpp"

namespace glia {

namespace detail {

/// Parses a text of comma-separated values into a table.
class csv_parser {
 public:
  csv_parser(std::string_view text, const std::string& file, const csv_options& options)
      : options_(options), text_(text), cells_(text, options.delimiter, file) {
    table_.file = file;
    table_.options = options;
  }

  [[nodiscard]] csv_contents read() && {
    require_utf8();
    require<data_error>(!cells_.done(), table_.file, ": the file is empty");
    read_names();
    place_columns();
    require<data_error>(!cells_.done(), table_.file, ": expected rows below the header, got none");
    while (!cells_.done()) {
      read_row();
    }
    name_classes();
    return std::move(table_);
  }

 private:
  /// Throws `data_error` for a text in UTF-16 or UTF-32. Such texts contain zero bytes, because
  /// each character takes two or four bytes.
  void require_utf8() const {
    const bool marked = text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF");
    require<data_error>(!marked, table_.file,
                        ": expected a file in UTF-8, got one in UTF-16; save it as UTF-8");
    if (const auto zero = text_.find('\0'); zero != std::string_view::npos) {
      const auto lines =
          std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
      throw data_error(text(table_.file, ':', lines + 1,
                            ": expected text in UTF-8, got a zero byte; the file is in UTF-16 or "
                            "is not a text file; save it as UTF-8"));
    }
  }

  void read_names() {
    read_all_names();
    for (const std::string& name : options_.columns) {
      (void)table_.find(name);  // throws if there is no such column
    }
    std::vector<std::string> names;
    for (std::string& name : table_.names) {
      const bool is_read = options_.columns.empty() ||
                           std::find(options_.columns.begin(), options_.columns.end(), name) !=
                               options_.columns.end();
      columns_.push_back(is_read ? names.size() : skipped);
      if (is_read) {
        names.push_back(std::move(name));
      }
    }
    table_.names = std::move(names);
  }

  void read_all_names() {
    if (!options_.header) {
      csv_cells first_row = cells_;
      do {
        table_.names.push_back(std::to_string(table_.names.size()));
        (void)first_row.next();
      } while (!first_row.line_ended());
      return;
    }
    std::set<std::string> known;
    do {
      table_.names.emplace_back(cells_.next());
      if (const std::string& name = table_.names.back(); !known.insert(name).second) {
        throw data_error(text(table_.file, ":1: two columns have the name '", shown_cell(name),
                              "'; if the file has no line of names, set csv_options::header to "
                              "false"));
      }
    } while (!cells_.line_ended());
  }

  void place_columns() {
    table_.places.resize(table_.names.size());
    is_date_.resize(table_.names.size());
    for (const std::string& name : options_.text_columns) {
      table_.places[table_.find(name)].text = true;
    }
    for (const auto& [name, classes] : options_.class_names) {
      table_.places[table_.find(name)].text = true;
    }
    for (const std::string& name : options_.date_columns) {
      const std::size_t column = table_.find(name);
      require<value_error>(!table_.places[column].text, "read_csv: the column '", name,
                           "' is listed both as a column of text and as one of dates");
      is_date_[column] = true;
    }
    for (std::size_t i = 0; i < table_.places.size(); ++i) {
      csv_contents::place& place = table_.places[i];
      place.index = place.text ? table_.texts.size() : table_.number_columns++;
      if (place.text) {
        const auto names = options_.class_names.find(table_.names[i]);
        const bool has_names = names != options_.class_names.end();
        table_.texts.push_back({has_names ? names->second : std::vector<std::string>{}, {}});
        known_.push_back(has_names ? numbered(names->first, names->second) : text_numbers{});
      }
    }
    // There are at most as many rows as lines, and each cell takes at least one byte.
    const std::size_t columns = columns_.size();
    const auto lines = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')) + 1;
    const std::size_t rows = std::min(lines, text_.size() / columns + 1);
    table_.numbers.reserve(rows * table_.number_columns);
  }

  void read_row() {
    const std::string* wrong = nullptr;
    std::size_t count = 0;
    row_ = cells_.line();
    do {
      if (count < columns_.size() && columns_[count] != skipped && wrong == nullptr) {
        wrong = read_cell(columns_[count]);
      } else {
        (void)cells_.next();
      }
      ++count;
    } while (!cells_.line_ended());
    // Checked first: if a cell is missing, the cells after it are in the wrong columns.
    require<data_error>(count == columns_.size(), table_.file, ':', row_, ": expected ",
                        columns_.size(), " cells, got ", count);
    require<data_error>(wrong == nullptr, problem_);
    ++table_.rows;
  }

  /// Reads a cell of the given column. Returns null, or the error message for a wrong cell.
  [[nodiscard]] const std::string* read_cell(std::size_t column) {
    const auto [is_text, index] = table_.places[column];
    const bool is_date = is_date_[column];
    if (float number = 0; !is_text && !is_date && options_.missing_texts.empty() &&
                          cells_.next_short_number(number)) {
      table_.numbers.push_back(number);
      return nullptr;
    }
    const std::size_t line = cells_.line();
    const std::string_view cell = cells_.next();
    const std::string_view content = is_text ? cell : trimmed(cell);
    const bool empty = content.empty() || is_missing(content);
    const char* const expected = is_text ? "text" : is_date ? "a date" : "a number";
    if (empty && !options_.filling_value) {
      return problem(line, column, expected,
                     text(cell.empty() ? "an empty cell" : text("'", shown_cell(cell), "'"),
                          "; set csv_options::filling_value to accept empty cells"));
    }
    if (is_text) {
      read_text(index, empty ? std::string_view() : cell);
      return nullptr;
    }
    float number = 0;
    if (empty) {
      number = *options_.filling_value;
    } else if (is_date) {
      const std::optional<double> days = days_in(content);
      if (!days) {
        return problem(line, column, expected,
                       text("'", shown_cell(cell),
                            "'; write dates as 2026-11-28, 2026-11-28 16:45 or "
                            "2026-11-28T16:45:30Z"));
      }
      number = static_cast<float>(*days);
    } else if (const std::string wrong = wrong_number(cell, number); !wrong.empty()) {
      return problem(line, column, expected, wrong);
    }
    table_.numbers.push_back(number);
    return nullptr;
  }

  /// Reads a number into `value`. Returns an empty text if the number is accepted, and otherwise
  /// the end of the error message.
  [[nodiscard]] std::string wrong_number(std::string_view cell, float& value) const {
    const auto describe = [&](const std::string& why) {
      return text("'", shown_cell(cell), "'", why);
    };
    switch (number_in(cell, value)) {
      case cell_kind::no_number:
        return describe(advice_for(cell, options_.delimiter));
      case cell_kind::too_large:
        return describe("; the largest number that a float can hold is 3.4028235e38");
      case cell_kind::rounded_integer:
        return options_.round_integers
                   ? ""
                   : describe(
                         "; a float cannot hold this integer exactly; set "
                         "csv_options::round_integers to round it, or list the column in "
                         "csv_options::text_columns if it holds identifiers");
      default:
        return options_.allow_non_finite || std::isfinite(value)
                   ? ""
                   : describe("; set csv_options::allow_non_finite to accept it");
    }
  }

  const std::string* problem(std::size_t line, std::size_t column, const char* expected,
                             const std::string& actual) {
    problem_ = text(table_.file, ':', line, ": column '", shown_cell(table_.names[column]),
                    "': expected ", expected, ", got ", actual);
    return &problem_;
  }

  [[nodiscard]] bool is_missing(std::string_view cell) const {
    return std::find(options_.missing_texts.begin(), options_.missing_texts.end(), cell) !=
           options_.missing_texts.end();
  }

  using text_numbers = std::map<std::string, std::int32_t, std::less<>>;

  /// Returns the index of each class name. Throws `value_error` if a name occurs twice.
  [[nodiscard]] static text_numbers numbered(const std::string& column,
                                             const std::vector<std::string>& names) {
    require<value_error>(
        !names.empty(), "read_csv: expected one or more class names for the column '", column,
        "', got none; without names, list the column in csv_options::text_columns");
    text_numbers result;
    for (const std::string& name : names) {
      require<value_error>(result.emplace(name, static_cast<std::int32_t>(result.size())).second,
                           "read_csv: csv_options::class_names lists '", name,
                           "' twice for the column '", column, "'");
    }
    return result;
  }

  void read_text(std::size_t index, std::string_view cell) {
    text_numbers& known = known_[index];
    csv_text& column = table_.texts[index];
    auto entry = known.find(cell);
    if (entry == known.end() && !column.class_names.empty()) {
      column.classes.push_back(static_cast<std::int32_t>(column.class_names.size()));
      return;
    }
    if (entry == known.end()) {
      entry = known.emplace(cell, static_cast<std::int32_t>(known.size())).first;
    }
    column.classes.push_back(entry->second);
  }

  /// Numbers the classes of columns without class names in the order of their texts. Until now, a
  /// class has the index of its first appearance.
  void name_classes() {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      csv_text& column = table_.texts[i];
      if (!column.class_names.empty()) {
        continue;
      }
      std::vector<std::int32_t> sorted(known_[i].size());
      for (const auto& [name, number] : known_[i]) {
        sorted[static_cast<std::size_t>(number)] =
            static_cast<std::int32_t>(column.class_names.size());
        column.class_names.push_back(name);
      }
      for (std::int32_t& k : column.classes) {
        k = sorted[static_cast<std::size_t>(k)];
      }
    }
  }

  const csv_options& options_;
  std::string_view text_;
  csv_cells cells_;
  csv_contents table_;
  static constexpr std::size_t skipped = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> columns_;  // of each cell of a row: index of the column, or `skipped`
  std::vector<text_numbers> known_;   // for each text column
  std::vector<bool> is_date_;         // for each column
  std::size_t row_ = 0;               // number of the line in which the current row begins
  std::string problem_;
};

inline void require_delimiter(char d) {
  constexpr std::string_view reserved_characters = "\"\r\n.+-";
  const bool alphanumeric =
      (d >= '0' && d <= '9') || (d >= 'a' && d <= 'z') || (d >= 'A' && d <= 'Z');
  require<value_error>(!alphanumeric && reserved_characters.find(d) == std::string_view::npos,
                       "read_csv: expected a delimiter other than letters, digits, quotes, line "
                       "breaks and the characters . + -, got '",
                       d, "'");
}

}  // namespace detail

/// Reads a table from a CSV file.
///
/// The format is RFC 4180 in UTF-8: cells may be quoted, and lines end in LF or CR LF. Other
/// delimiters, such as semicolons and tabs, are set in the options. Cells hold numbers, except in
/// the columns that `text_columns`, `date_columns` and `class_names` list. A number becomes the
/// nearest float, and spaces around it are ignored; text is read unchanged. A number too small for
/// a float becomes 0; a number too large for a float is an error. An integer that a float cannot
/// hold exactly is an error unless `round_integers` is set. Unlike in pandas, a text column becomes
/// class indices: its distinct texts in sorted order are the classes.
///
///     const auto flowers = glia::read_csv("flowers.csv", {.text_columns = {"species"}});
///     trainer.fit(flowers.with_labels("species"));
///
/// The memory needed is proportional to the size of the file.
///
/// Throws `data_error` if the file cannot be read or has no rows, if two columns have the same
/// name, or if the file has no column with a name from the options. Throws `data_error`, with file,
/// line and column, if a row has a wrong number of cells, or if a cell does not contain a value of
/// its column's type. Throws `value_error` if the delimiter is a letter, a digit, a quote, a line
/// break or one of `.`, `+`, `-`, if a column is listed both as text and as dates, or if a list of
/// class names is empty or has a name twice.
[[nodiscard]] inline csv_table read_csv(const std::filesystem::path& path,
                                        const csv_options& options = {}) {
  detail::require_delimiter(options.delimiter);
  const std::string name = path.string();
  detail::require_no_folder(path);
  require<data_error>(std::filesystem::is_regular_file(path), name, ": no such file");
  auto source = plain_files{}.open(path);
  return detail::within_memory(name, [&] {
    const auto text = detail::read_announced<std::string>(
        std::filesystem::file_size(path), [&](char* destination, std::size_t count) {
          return source.read({reinterpret_cast<std::uint8_t*>(destination), count});
        });
    return csv_table(detail::csv_parser(text, name, options).read());
  });
}

/// Reads a table from a text in memory, in the format of the files of `read_csv`.
///
///     const auto rows = glia::parse_csv("area,rooms\n73,3\n", options);
///
/// Throws what `read_csv` throws. `name` takes the place of the file's name in messages.
[[nodiscard]] inline csv_table parse_csv(std::string_view text, const csv_options& options = {},
                                         const std::string& name = "text") {
  detail::require_delimiter(options.delimiter);
  return csv_table(detail::csv_parser(text, name, options).read());
}

}  // namespace glia
