#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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
#include "glia/data/csv_table.hpp"
#include "glia/data/file_reader.hpp"

namespace glia {

/// How a file of separated values is read.
struct csv_options {
  /// Between cells: any character but quotes, line breaks and what numbers consist of.
  char delimiter = ',';
  bool header = true;  ///< the first line has the columns' names; false: they are "0", "1", ...
  std::vector<std::string> text = {};  ///< columns that hold text, such as names of classes
  /// What an empty cell stands for where numbers are expected; text may then be empty, too. None:
  /// an empty cell is an error.
  std::optional<float> missing = {};
  bool special_values = false;  ///< NaN and infinity are numbers, too
  /// Whether an integer that a float cannot hold, such as 16777217, is rounded to the nearest one.
  /// If not, it is an error: identifiers would run together.
  bool round_integers = false;
};

namespace detail {

/// Reads a table from a text of comma-separated values.
class csv_parser {
 public:
  csv_parser(std::string_view text, const std::string& file, const csv_options& options)
      : options_(options), text_(text), cells_(text, options.delimiter, file) {
    table_.file = file;
  }

  [[nodiscard]] csv_contents read() && {
    require_utf8();
    require<data_error>(!cells_.done(), table_.file, ": is empty");
    read_names();
    place_columns();
    require<data_error>(!cells_.done(), table_.file, ": expected rows below the header, got none");
    while (!cells_.done()) {
      read_row();
    }
    sort_classes();
    return std::move(table_);
  }

 private:
  /// Other encodings have zero bytes, since each character takes two bytes or four.
  void require_utf8() const {
    const bool marked = text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF");
    require<data_error>(!marked, table_.file, ": is UTF-16; save it as UTF-8");
    if (const auto zero = text_.find('\0'); zero != std::string_view::npos) {
      const auto lines =
          std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
      throw data_error(text(table_.file, ':', lines + 1,
                            ": a zero byte; the file is UTF-16 or no text; save it as UTF-8"));
    }
  }

  void read_names() {
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
                              "'; a file without a line of names is read with header = false"));
      }
    } while (!cells_.line_ended());
  }

  void place_columns() {
    table_.places.resize(table_.names.size());
    for (const std::string& name : options_.text) {
      table_.places[table_.find(name)].text = true;
    }
    for (csv_contents::place& place : table_.places) {
      place.index = place.text ? table_.texts.size() : table_.number_columns++;
      if (place.text) {
        table_.texts.emplace_back();
      }
    }
    known_.resize(table_.texts.size());
    // There are at most as many rows as lines, and of bytes at least one for each cell.
    const std::size_t columns = table_.names.size();
    const auto lines = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')) + 1;
    const std::size_t rows = std::min(lines, text_.size() / columns + 1);
    table_.numbers.reserve(rows * table_.number_columns);
  }

  void read_row() {
    const std::string* wrong = nullptr;
    std::size_t count = 0;
    row_ = cells_.line();
    do {
      if (count < table_.places.size() && wrong == nullptr) {
        wrong = read_cell(count);
      } else {
        (void)cells_.next();
      }
      ++count;
    } while (!cells_.line_ended());
    // Where a cell is missing, those behind it are in the wrong columns.
    require<data_error>(count == table_.places.size(), table_.file, ':', row_, ": expected ",
                        table_.places.size(), " cells, got ", count);
    require<data_error>(wrong == nullptr, problem_);
    ++table_.rows;
  }

  /// Null, or what is wrong with the cell.
  [[nodiscard]] const std::string* read_cell(std::size_t column) {
    const auto [is_text, index] = table_.places[column];
    if (float number = 0; !is_text && cells_.next_short_number(number)) {
      table_.numbers.push_back(number);
      return nullptr;
    }
    const std::size_t line = cells_.line();
    const std::string_view cell = cells_.next();
    const bool empty = is_text ? cell.empty() : trimmed(cell).empty();
    const char* const expected = is_text ? "text" : "a number";
    if (empty && !options_.missing) {
      return problem(line, column, expected, "an empty cell; csv_options::missing allows for them");
    }
    if (is_text) {
      read_text(index, cell);
      return nullptr;
    }
    float number = 0;
    if (empty) {
      number = *options_.missing;
    } else if (const std::string wrong = wrong_number(cell, number); !wrong.empty()) {
      return problem(line, column, expected, wrong);
    }
    table_.numbers.push_back(number);
    return nullptr;
  }

  /// What a cell holds instead of a number; empty for a number, which goes to `value`.
  [[nodiscard]] std::string wrong_number(std::string_view cell, float& value) const {
    const auto got = [&](const std::string& why) { return text("'", shown_cell(cell), "'", why); };
    switch (number_in(cell, value)) {
      case cell_kind::no_number:
        return got(advice_for(cell, options_.delimiter));
      case cell_kind::too_large:
        return got("; it does not fit a float, the largest of which is 3.4028235e38");
      case cell_kind::rounded_integer:
        return options_.round_integers
                   ? ""
                   : got("; the nearest float is another integer; csv_options::round_integers "
                         "allows for it, and csv_options::text keeps identifiers apart");
      default:
        return options_.special_values || std::isfinite(value)
                   ? ""
                   : got("; csv_options::special_values allows for it");
    }
  }

  const std::string* problem(std::size_t line, std::size_t column, const char* expected,
                             const std::string& got) {
    problem_ = text(table_.file, ':', line, ": column '", shown_cell(table_.names[column]),
                    "': expected ", expected, ", got ", got);
    return &problem_;
  }

  void read_text(std::size_t index, std::string_view cell) {
    auto& known = known_[index];
    auto at = known.find(cell);
    if (at == known.end()) {
      at = known.emplace(cell, static_cast<std::int32_t>(known.size())).first;
    }
    table_.texts[index].classes.push_back(at->second);
  }

  /// Numbers classes, so far in the order in which they came, in that of their names.
  void sort_classes() {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      std::vector<std::int32_t> sorted(known_[i].size());
      for (const auto& [name, number] : known_[i]) {
        sorted[static_cast<std::size_t>(number)] =
            static_cast<std::int32_t>(table_.texts[i].class_names.size());
        table_.texts[i].class_names.push_back(name);
      }
      for (std::int32_t& k : table_.texts[i].classes) {
        k = sorted[static_cast<std::size_t>(k)];
      }
    }
  }

  const csv_options& options_;
  std::string_view text_;
  csv_cells cells_;
  csv_contents table_;
  std::vector<std::map<std::string, std::int32_t, std::less<>>> known_;  // of each column of text
  std::size_t row_ = 0;                                                  // the line it begins in
  std::string problem_;
};

}  // namespace detail

/// Reads a table of comma-separated values: RFC 4180 in UTF-8, with quoted cells, lines that end in
/// LF or CR LF, or in semicolons or tabs as the options say. Cells are numbers, the nearest float
/// being taken and spaces around them left out, but for the columns of `text`, taken as they are. A
/// number too small for a float is 0; one that is too large is an error, and so is an integer that
/// a float cannot hold, unless the options say otherwise.
///
///     const glia::csv_table flowers = glia::read_csv("flowers.csv", {.text = {"species"}});
///     trainer.fit(flowers.labelled("species"));
///
/// The memory that it takes grows with the file alone. Throws `data_error`, naming the file, the
/// line and the column, for a file that cannot be read or has no rows, names that are there twice
/// or are missed, rows of another number of cells and cells that are not what the options say;
/// `value_error` for a delimiter that is none.
[[nodiscard]] inline csv_table read_csv(const std::filesystem::path& path,
                                        const csv_options& options = {}) {
  constexpr std::string_view of_numbers = "\"\r\n.+-";
  const char d = options.delimiter;
  const bool alphanumeric =
      (d >= '0' && d <= '9') || (d >= 'a' && d <= 'z') || (d >= 'A' && d <= 'Z');
  require<value_error>(!alphanumeric && of_numbers.find(d) == std::string_view::npos,
                       "read_csv: expected a delimiter that is no part of a number, got '", d, "'");
  const std::string name = path.string();
  detail::require_no_folder(path);
  require<data_error>(std::filesystem::is_regular_file(path), name, ": no such file");
  auto source = plain_files{}.open(path);
  return detail::within_memory(name, [&] {
    const auto text = detail::read_announced<std::string>(
        std::filesystem::file_size(path), [&](char* to, std::size_t count) {
          return source.read({reinterpret_cast<std::uint8_t*>(to), count});
        });
    return csv_table(detail::csv_parser(text, name, options).read());
  });
}

}  // namespace glia
