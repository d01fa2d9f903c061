#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/half.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/parse_number.hpp"
#include "glia/data/arrow_structs.hpp"
#include "glia/data/arrow_types.hpp"
#include "glia/data/arrow_values.hpp"
#include "glia/data/csv_builder.hpp"
#include "glia/data/csv_cells.hpp"
#include "glia/data/csv_options.hpp"
#include "glia/data/csv_table.hpp"
#include "glia/data/date.hpp"

namespace glia::detail {

/// Reads an Arrow table into the contents of a `csv_table`.
class arrow_reader {
 public:
  explicit arrow_reader(const csv_options& options)
      : options_(options), table_("the Arrow table", options) {
    for (const std::string& missing : options.missing_texts) {
      double number = 0;
      const char* const end = missing.data() + missing.size();
      if (const auto read = parse_number(missing.data(), end, number);
          read.ec == std::errc{} && read.ptr == end) {
        missing_numbers_.push_back(number);
      }
    }
  }

  [[nodiscard]] csv_contents read(const ArrowSchema& schema, const ArrowArray& array) && {
    const std::string& file = table_.contents.file;
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    require<data_error>(format == "+s", file, ": expected a struct array, format '+s', got '",
                        format, "'");
    require<data_error>(schema.n_children == array.n_children && schema.n_children > 0, file,
                        ": expected one or more columns, as many in the schema as in the array, "
                        "got ",
                        schema.n_children, " and ", array.n_children);
    require<data_error>(array.length > 0 && array.offset >= 0, file,
                        ": expected one or more rows, got ", array.length);
    const auto first = static_cast<std::size_t>(array.offset);
    table_.contents.rows = static_cast<std::size_t>(array.length);
    require_rows(array, first);
    const std::vector<std::string> names = names_of(schema);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::int64_t values = array.children[i]->length;
      require<data_error>(values >= array.offset && values - array.offset >= array.length, file,
                          ": column '", shown_cell(names[i]), "': expected ",
                          first + table_.contents.rows, " values, got ", values);
    }
    const std::vector<std::size_t> columns = table_.place_columns(names);
    table_.contents.numbers.resize(table_.contents.rows * table_.contents.number_columns);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != csv_builder::skipped) {
        require_type(columns[i], *schema.children[i]);
        read_column(columns[i], arrow_column(*schema.children[i], *array.children[i], first,
                                             table_.contents.rows, label(columns[i])));
      }
    }
    table_.name_classes();
    return std::move(table_.contents);
  }

 private:
  [[nodiscard]] std::vector<std::string> names_of(const ArrowSchema& schema) const {
    std::vector<std::string> names;
    std::set<std::string> known;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      const char* const name = schema.children[i]->name;
      names.emplace_back(name == nullptr ? "" : name);
      require<data_error>(known.insert(names.back()).second, table_.contents.file,
                          ": two columns have the name '", names.back(), "'");
    }
    return names;
  }

  /// Throws `data_error` if a whole row is null.
  void require_rows(const ArrowArray& array, std::size_t first) const {
    const bool may_be_null = array.null_count != 0 && array.n_buffers > 0;
    const void* const valid = may_be_null ? array.buffers[0] : nullptr;
    for (std::size_t row = 0; valid != nullptr && row < table_.contents.rows; ++row) {
      const std::uint8_t bits = static_cast<const std::uint8_t*>(valid)[(first + row) / 8];
      require<data_error>((bits >> (first + row) % 8 & 1U) != 0, table_.contents.file, ": row ",
                          row + 1, " is null; expected rows with values");
    }
  }

  [[nodiscard]] std::string label(std::size_t column) const {
    return text(table_.contents.file, ": column '", shown_cell(table_.contents.names[column]), "'");
  }

  /// Throws `data_error` if the format of a column does not match its type in the options.
  void require_type(std::size_t column, const ArrowSchema& schema) const {
    const ArrowSchema& values = schema.dictionary != nullptr ? *schema.dictionary : schema;
    require<data_error>(schema.format != nullptr && values.format != nullptr, label(column),
                        ": the schema has no format");
    require<data_error>(values.dictionary == nullptr, label(column),
                        ": a dictionary of a dictionary is not supported; convert the column");
    const arrow_type type = type_of_format(values.format);
    const bool is_known = type_of_format(schema.format) != arrow_type::other;
    require<data_error>(is_known && type != arrow_type::other, label(column), ": the format '",
                        is_known ? values.format : schema.format,
                        "' is not supported; expected booleans, numbers, text, dates or "
                        "timestamps; convert the column, or list only others in "
                        "csv_options::columns");
    const column_type expected = table_.type(column);
    const bool accepted = type == arrow_type::nothing ||
                          (type == arrow_type::text && expected != column_type::number) ||
                          (type == arrow_type::date && expected == column_type::date) ||
                          (type == arrow_type::number &&
                           (expected == column_type::number ||
                            (expected == column_type::text && is_integer_format(values.format))));
    require<data_error>(accepted, label(column), ": expected ",
                        expected == column_type::text   ? "text or integers"
                        : expected == column_type::date ? "dates"
                                                        : "numbers",
                        ", got ",
                        type == arrow_type::text   ? "text"
                        : type == arrow_type::date ? "dates"
                                                   : "numbers",
                        " (format '", values.format, "'); ",
                        expected != column_type::number ? "convert the column"
                        : type == arrow_type::date
                            ? "list the column in csv_options::date_columns"
                            : "list the column in csv_options::text_columns, class_names or "
                              "date_columns");
  }

  void read_column(std::size_t column, const arrow_column& source) {
    const arrow_values& values = source.values();
    if (table_.type(column) == column_type::text) {
      read_texts(column, source);
    } else if (values.type() == arrow_type::date) {
      fill(column, source, [&](std::size_t, std::size_t i) { return values.days(i); });
    } else if (values.type() == arrow_type::text) {
      fill(column, source, [&](std::size_t row, std::size_t i) {
        return days_of_text(column, row, values.text(i));
      });
    } else {
      with_number_type(values.format()[0], [&](auto type) {
        fill(column, source, [&](std::size_t row, std::size_t i) {
          if constexpr (std::same_as<decltype(type), half>) {
            return accepted_number(column, row, values.number<half>(i).value());
          } else {
            return accepted_number(column, row, values.number<decltype(type)>(i));
          }
        });
      });
    }
  }

  /// Writes a column of numbers. `read(row, i)` returns the value at position i, or nothing if it
  /// counts as missing.
  template <class Read>
  void fill(std::size_t column, const arrow_column& source, const Read& read) {
    const std::size_t stride = table_.contents.number_columns;
    float* destination = table_.contents.numbers.data() + table_.contents.places[column].index;
    for (std::size_t row = 0; row < table_.contents.rows; ++row, destination += stride) {
      std::optional<double> number;
      if (const auto position = source.position(row); position) {
        number = read(row, *position);
      }
      if (!number) {
        require_filling(column, row, "a missing value");
      }
      *destination = number ? static_cast<float>(*number) : *options_.filling_value;
    }
  }

  template <class T>
  [[nodiscard]] std::optional<double> accepted_number(std::size_t column, std::size_t row,
                                                      T number) const {
    const auto is_number = [&](double missing) {
      const bool is_equal = std::same_as<T, float>
                                ? static_cast<float>(number) == static_cast<float>(missing)
                                : static_cast<double>(number) == missing;
      return is_equal || (std::isnan(missing) && std::isnan(static_cast<double>(number)));
    };
    if (std::any_of(missing_numbers_.begin(), missing_numbers_.end(), is_number)) {
      require_filling(column, row, exact_text(static_cast<double>(number)));
      return {};
    }
    float nearest = 0;
    const cell_kind kind = nearest_float(number, nearest);
    if (const std::string problem = table_.problem_with(kind, nearest); !problem.empty()) {
      if constexpr (std::integral<T>) {
        fail(column, row, std::to_string(number) + problem);
      } else {
        fail(column, row, exact_text(static_cast<double>(number)) + problem);
      }
    }
    return nearest;
  }

  [[nodiscard]] std::optional<double> days_of_text(std::size_t column, std::size_t row,
                                                   std::string_view cell) const {
    const std::string_view content = trimmed(cell);
    if (table_.is_missing(content)) {
      require_filling(column, row,
                      content.empty() ? "a missing value" : text("'", shown_cell(cell), "'"));
      return {};
    }
    if (const std::optional<double> days = days_in(content); days) {
      return days;
    }
    fail(column, row, text("'", shown_cell(cell), "'", date_advice));
  }

  void read_texts(std::size_t column, const arrow_column& source) {
    const arrow_values& values = source.values();
    const bool is_text = values.type() == arrow_type::text;
    std::string digits;
    for (std::size_t row = 0; row < table_.contents.rows; ++row) {
      std::string_view cell;
      if (const auto position = source.position(row); position) {
        if (is_text) {
          cell = values.text(*position);
        } else {
          with_number_type(values.format()[0], [&](auto type) {
            if constexpr (std::integral<decltype(type)>) {
              digits = std::to_string(values.number<decltype(type)>(*position));
            }
          });
          cell = digits;
        }
      }
      if (table_.is_missing(cell)) {
        require_filling(column, row,
                        cell.empty() ? "a missing value" : text("'", shown_cell(cell), "'"));
        cell = {};
      }
      table_.add_text(column, cell);
    }
  }

  void require_filling(std::size_t column, std::size_t row, const std::string& actual) const {
    if (!options_.filling_value) {
      fail(column, row, actual + "; set csv_options::filling_value to accept missing values");
    }
  }
  [[noreturn]] void fail(std::size_t column, std::size_t row, const std::string& actual) const {
    throw data_error(text(label(column), ", row ", row + 1, ": expected ", table_.type_name(column),
                          ", got ", actual));
  }

  const csv_options& options_;
  csv_builder table_;
  std::vector<double> missing_numbers_;  // of csv_options::missing_texts
};

}  // namespace glia::detail
