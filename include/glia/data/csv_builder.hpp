#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/data/csv_cells.hpp"
#include "glia/data/csv_options.hpp"
#include "glia/data/csv_table.hpp"

namespace glia::detail {

/// The type of a column, set by the options.
enum class column_type : std::uint8_t { number, date, text };

/// Builds the contents of a table as the options of `read_csv` say: places the columns,
/// checks numbers, and assigns indices to classes. The options must outlive the object.
class csv_builder {
 public:
  /// The index of a column that is not read.
  static constexpr std::size_t skipped = std::numeric_limits<std::size_t>::max();

  /// `file` is the name of the file, for messages.
  csv_builder(std::string file, const csv_options& options) : options_(options) {
    contents.file = std::move(file);
    contents.options = options;
  }

  /// Places the columns to read. Takes the names of all columns, and returns the index of each in
  /// the table, or `skipped`. Throws `data_error` if there is no column with a name from the
  /// options.
  [[nodiscard]] std::vector<std::size_t> place_columns(std::vector<std::string> names) {
    contents.names = std::move(names);
    for (const std::string& name : options_.columns) {
      (void)contents.find(name);  // throws if there is no such column
    }
    std::vector<std::size_t> columns;
    std::vector<std::string> read_names;
    for (std::string& name : contents.names) {
      const bool is_read = options_.columns.empty() ||
                           std::find(options_.columns.begin(), options_.columns.end(), name) !=
                               options_.columns.end();
      columns.push_back(is_read ? read_names.size() : skipped);
      if (is_read) {
        read_names.push_back(std::move(name));
      }
    }
    contents.names = std::move(read_names);
    set_types();
    set_places();
    return columns;
  }

  [[nodiscard]] column_type type(std::size_t column) const { return types_[column]; }
  /// The type of a column as messages name it.
  [[nodiscard]] const char* type_name(std::size_t column) const {
    return types_[column] == column_type::text   ? "text"
           : types_[column] == column_type::date ? "a date"
                                                 : "a number";
  }

  /// Returns whether a cell is empty or equals one of `csv_options::missing_texts`.
  [[nodiscard]] bool is_missing(std::string_view cell) const {
    return cell.empty() || std::find(options_.missing_texts.begin(), options_.missing_texts.end(),
                                     cell) != options_.missing_texts.end();
  }

  /// Returns why a number is refused, as the end of an error message. The result is empty if the
  /// number is accepted.
  [[nodiscard]] std::string problem_with(cell_kind kind, float value) const {
    if (kind == cell_kind::too_large) {
      return "; the largest number that a float can hold is 3.4028235e38";
    }
    if (kind == cell_kind::rounded_integer) {
      return options_.round_integers
                 ? ""
                 : "; a float cannot hold this integer exactly; set csv_options::round_integers to "
                   "round it, or list the column in csv_options::text_columns if it holds "
                   "identifiers";
    }
    return options_.allow_non_finite || std::isfinite(value)
               ? ""
               : "; set csv_options::allow_non_finite to accept it";
  }

  /// Appends a text, or "" for a missing one, to a column of text.
  void add_text(std::size_t column, std::string_view cell) {
    const std::size_t index = contents.places[column].index;
    text_numbers& known = known_[index];
    csv_text& texts = contents.texts[index];
    auto entry = known.find(cell);
    if (entry == known.end() && !texts.class_names.empty()) {
      texts.classes.push_back(static_cast<std::int32_t>(texts.class_names.size()));
      return;
    }
    if (entry == known.end()) {
      entry = known.emplace(cell, static_cast<std::int32_t>(known.size())).first;
    }
    texts.classes.push_back(entry->second);
  }

  /// Numbers the classes of columns without class names in the order of their texts. Until now, a
  /// class has the index of its first appearance.
  void name_classes() {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      csv_text& column = contents.texts[i];
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

  csv_contents contents;

 private:
  using text_numbers = std::map<std::string, std::int32_t, std::less<>>;

  void set_types() {
    types_.assign(contents.names.size(), column_type::number);
    for (const std::string& name : options_.text_columns) {
      types_[contents.find(name)] = column_type::text;
    }
    for (const auto& [name, classes] : options_.class_names) {
      types_[contents.find(name)] = column_type::text;
    }
    for (const std::string& name : options_.date_columns) {
      column_type& type = types_[contents.find(name)];
      require<value_error>(type != column_type::text, "csv_options: the column '", name,
                           "' is listed both as a column of text and as one of dates");
      type = column_type::date;
    }
  }

  void set_places() {
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const bool is_text = types_[i] == column_type::text;
      contents.places.push_back(
          {is_text, is_text ? contents.texts.size() : contents.number_columns++});
      if (is_text) {
        const auto names = options_.class_names.find(contents.names[i]);
        const bool has_names = names != options_.class_names.end();
        contents.texts.push_back({has_names ? names->second : std::vector<std::string>{}, {}});
        known_.push_back(has_names ? numbered(names->first, names->second) : text_numbers{});
      }
    }
  }

  /// Returns the index of each class name. Throws `value_error` if a name occurs twice.
  [[nodiscard]] static text_numbers numbered(const std::string& column,
                                             const std::vector<std::string>& names) {
    require<value_error>(
        !names.empty(),
        "csv_options::class_names: expected one or more class names for the column '", column,
        "', got none; without names, list the column in csv_options::text_columns");
    text_numbers result;
    for (const std::string& name : names) {
      require<value_error>(result.emplace(name, static_cast<std::int32_t>(result.size())).second,
                           "csv_options::class_names lists '", name, "' twice for the column '",
                           column, "'");
    }
    return result;
  }

  const csv_options& options_;
  std::vector<column_type> types_;
  std::vector<text_numbers> known_;  // for each text column
};

/// The end of an error message about a text that is not a date.
inline constexpr std::string_view date_advice =
    "; write dates as 2026-11-28, 2026-11-28 16:45 or 2026-11-28T16:45:30Z";

}  // namespace glia::detail
