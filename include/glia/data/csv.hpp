#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/data/csv_builder.hpp"
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
      : options_(options),
        text_(text),
        cells_(text, options.delimiter, file),
        table_(file, options) {}

  [[nodiscard]] csv_contents read() && {
    require_utf8();
    require<data_error>(!cells_.done(), file(), ": the file is empty");
    columns_ = table_.place_columns(read_names());
    reserve_numbers();
    require<data_error>(!cells_.done(), file(), ": expected rows below the header, got none");
    while (!cells_.done()) {
      read_row();
    }
    table_.name_classes();
    return std::move(table_.contents);
  }

 private:
  [[nodiscard]] const std::string& file() const { return table_.contents.file; }

  /// Throws `data_error` for a text in UTF-16 or UTF-32. Such texts contain zero bytes, because
  /// each character takes two or four bytes.
  void require_utf8() const {
    const bool marked = text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF");
    require<data_error>(!marked, file(),
                        ": expected a file in UTF-8, got one in UTF-16; save it as UTF-8");
    if (const auto zero = text_.find('\0'); zero != std::string_view::npos) {
      const auto lines =
          std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
      throw data_error(text(file(), ':', lines + 1,
                            ": expected text in UTF-8, got a zero byte; the file is in UTF-16 or "
                            "is not a text file; save it as UTF-8"));
    }
  }

  /// Returns the names of all columns.
  [[nodiscard]] std::vector<std::string> read_names() {
    std::vector<std::string> names;
    if (!options_.header) {
      csv_cells first_row = cells_;
      do {
        names.push_back(std::to_string(names.size()));
        (void)first_row.next();
      } while (!first_row.line_ended());
      return names;
    }
    std::set<std::string> known;
    do {
      names.emplace_back(cells_.next());
      if (const std::string& name = names.back(); !known.insert(name).second) {
        throw data_error(text(file(), ":1: two columns have the name '", shown_cell(name),
                              "'; if the file has no line of names, set csv_options::header to "
                              "false"));
      }
    } while (!cells_.line_ended());
    return names;
  }

  void reserve_numbers() {
    // There are at most as many rows as lines, and each cell takes at least one byte.
    const auto lines = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')) + 1;
    const std::size_t rows = std::min(lines, text_.size() / columns_.size() + 1);
    table_.contents.numbers.reserve(rows * table_.contents.number_columns);
  }

  void read_row() {
    const std::string* wrong = nullptr;
    std::size_t count = 0;
    row_ = cells_.line();
    do {
      if (count < columns_.size() && columns_[count] != csv_builder::skipped && wrong == nullptr) {
        wrong = read_cell(columns_[count]);
      } else {
        (void)cells_.next();
      }
      ++count;
    } while (!cells_.line_ended());
    // Checked first: if a cell is missing, the cells after it are in the wrong columns.
    require<data_error>(count == columns_.size(), file(), ':', row_, ": expected ", columns_.size(),
                        " cells, got ", count);
    require<data_error>(wrong == nullptr, problem_);
    ++table_.contents.rows;
  }

  /// Reads a cell of the given column. Returns null, or the error message for a wrong cell.
  [[nodiscard]] const std::string* read_cell(std::size_t column) {
    const column_type type = table_.type(column);
    if (float number = 0; type == column_type::number && options_.missing_texts.empty() &&
                          cells_.next_short_number(number)) {
      table_.contents.numbers.push_back(number);
      return nullptr;
    }
    const std::size_t line = cells_.line();
    const std::string_view cell = cells_.next();
    const std::string_view content = type == column_type::text ? cell : trimmed(cell);
    const bool missing = table_.is_missing(content);
    if (missing && !options_.filling_value) {
      return problem(line, column,
                     text(cell.empty() ? "an empty cell" : text("'", shown_cell(cell), "'"),
                          "; set csv_options::filling_value to accept empty cells"));
    }
    if (type == column_type::text) {
      table_.add_text(column, missing ? std::string_view() : cell);
      return nullptr;
    }
    float number = 0;
    if (missing) {
      number = *options_.filling_value;
    } else if (type == column_type::date) {
      const std::optional<double> days = days_in(content);
      if (!days) {
        return problem(line, column, text("'", shown_cell(cell), "'", date_advice));
      }
      number = static_cast<float>(*days);
    } else {
      const cell_kind kind = number_in(cell, number);
      const std::string wrong = kind == cell_kind::no_number ? advice_for(cell, options_.delimiter)
                                                             : table_.problem_with(kind, number);
      if (kind == cell_kind::no_number || !wrong.empty()) {
        return problem(line, column, text("'", shown_cell(cell), "'", wrong));
      }
    }
    table_.contents.numbers.push_back(number);
    return nullptr;
  }

  const std::string* problem(std::size_t line, std::size_t column, const std::string& actual) {
    problem_ = text(file(), ':', line, ": column '", shown_cell(table_.contents.names[column]),
                    "': expected ", table_.type_name(column), ", got ", actual);
    return &problem_;
  }

  const csv_options& options_;
  std::string_view text_;
  csv_cells cells_;
  csv_builder table_;
  std::vector<std::size_t> columns_;  // of each cell of a row: index of the column, or `skipped`
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
