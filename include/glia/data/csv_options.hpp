#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace glia {

/// Options of `read_csv`, `parse_csv` and `read_arrow`.
struct csv_options {
  /// Character between cells. Any character except letters, digits, quotes, line breaks and `.`,
  /// `+`, `-`.
  char delimiter = ',';
  /// Whether the first line holds the names of the columns. If false, the names are "0", "1", ...
  bool header = true;
  /// Names of the columns to read, in any order. All other columns are skipped, whatever they hold.
  /// Empty: all columns.
  std::vector<std::string> columns = {};
  /// Names of the columns that hold text, not numbers.
  std::vector<std::string> text_columns = {};
  /// Names of the columns that hold dates, such as 2026-11-28, 2026-11-28 16:45 or
  /// 2026-11-28T16:45:30Z (ISO 8601, without other time zones). Their numbers are the days since
  /// 1970-01-01. A float rounds times of recent years to three minutes.
  std::vector<std::string> date_columns = {};
  /// Number that replaces an empty cell. If it is set, cells of text columns may also be empty. By
  /// default, an empty cell is an error. `standardize` and `one_hot` accept NaN. In a text column,
  /// an empty cell is the class "", or an unknown text if the column has `class_names`;
  /// `one_hot{.ignore_unknown = true}` accepts unknown texts.
  std::optional<float> filling_value = {};
  /// Texts that mean the same as an empty cell, such as "NA" or "?".
  std::vector<std::string> missing_texts = {};
  /// Class names of text columns, by the name of the column; see `csv_table::class_names`. A column
  /// in this map has these classes, in this order, and need not be listed in `text_columns`. Any
  /// other text is unknown: its class index is the number of class names. A list must not be empty.
  /// By default, all texts of a column are classes.
  std::map<std::string, std::vector<std::string>> class_names = {};
  bool allow_non_finite = false;  ///< Whether NaN and infinity are accepted as numbers.
  /// Whether an integer that a float cannot represent, such as 16777217, is rounded to the nearest
  /// float. By default it is an error, because different identifiers could become equal.
  bool round_integers = false;
};

}  // namespace glia
