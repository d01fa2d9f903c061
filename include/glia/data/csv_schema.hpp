#pragma once

#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/parse_number.hpp"
#include "glia/data/csv_options.hpp"

namespace glia {

/// The input columns of a model, and how to read them from CSV files. `csv_table::schema` returns
/// it.
///
/// Store it with the model as metadata, so that the program that loads the model can read raw rows:
///
///     glia::save(net, "net.safetensors", {.metadata = schema.to_metadata()});
///
///     const auto schema = glia::csv_schema::from_metadata(glia::read_metadata("net.safetensors"));
///     const auto y = net.predict(glia::read_csv(path, schema.options).columns(schema.inputs));
struct csv_schema {
  std::vector<std::string> inputs = {};  ///< Names of the input columns, in the model's order.
  csv_options options = {};              ///< Options for `read_csv` and `parse_csv`.

  /// Returns the schema as metadata of a file. The keys begin with "table.". Throws `value_error`
  /// if a name or text contains a line break, or if `options.text_columns` lists columns: a schema
  /// has class names for each text column.
  [[nodiscard]] std::map<std::string, std::string> to_metadata() const {
    require<value_error>(options.text_columns.empty(),
                         "csv_schema: expected the class names of text columns in "
                         "options.class_names, got columns in options.text_columns");
    std::map<std::string, std::string> metadata{{"table.inputs", lines(inputs)},
                                                {"table.delimiter", {options.delimiter}},
                                                {"table.header", options.header ? "yes" : "no"}};
    if (!options.date_columns.empty()) {
      metadata["table.dates"] = lines(options.date_columns);
    }
    if (options.filling_value) {
      metadata["table.filling"] = exact_text(static_cast<double>(*options.filling_value));
    }
    if (!options.missing_texts.empty()) {
      metadata["table.missing"] = lines(options.missing_texts);
    }
    if (options.allow_non_finite) {
      metadata["table.non_finite"] = "yes";
    }
    if (options.round_integers) {
      metadata["table.rounded"] = "yes";
    }
    for (const auto& [column, names] : options.class_names) {
      metadata[std::string(class_key) + column] = lines(names);
    }
    return metadata;
  }

  /// Reads the members from a file's metadata, and ignores other keys. Throws `data_error` if the
  /// metadata contain no schema, or if a value has the wrong format.
  [[nodiscard]] static csv_schema from_metadata(
      const std::map<std::string, std::string>& metadata) {
    const auto value = [&](const std::string& key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? std::string() : found->second;
    };
    csv_schema result{.inputs = detail::lines_of(value("table.inputs"))};
    require<data_error>(
        !result.inputs.empty(),
        "csv_schema: the metadata have no value of 'table.inputs'; expected those of "
        "a model that was saved with csv_schema::to_metadata");
    const std::string delimiter = value("table.delimiter");
    require<data_error>(delimiter.size() == 1,
                        "csv_schema: the metadata value of "
                        "'table.delimiter' is '",
                        delimiter, "'; expected one character");
    result.options.columns = result.inputs;
    result.options.delimiter = delimiter[0];
    result.options.header = value("table.header") != "no";
    result.options.date_columns = detail::lines_of(value("table.dates"));
    result.options.missing_texts = detail::lines_of(value("table.missing"));
    result.options.allow_non_finite = value("table.non_finite") == "yes";
    result.options.round_integers = value("table.rounded") == "yes";
    if (const std::string filling = value("table.filling"); !filling.empty()) {
      float number = 0;
      const char* const end = filling.data() + filling.size();
      const auto read = detail::parse_number(filling.data(), end, number);
      require<data_error>(read.ec == std::errc{} && read.ptr == end,
                          "csv_schema: the metadata value of 'table.filling' is '", filling,
                          "'; expected a number");
      result.options.filling_value = number;
    }
    for (const auto& [key, names] : metadata) {
      if (key.starts_with(class_key)) {
        result.options.class_names[key.substr(class_key.size())] = detail::lines_of(names);
      }
    }
    return result;
  }

 private:
  static constexpr std::string_view class_key = "table.classes.";

  /// Returns the texts as lines. Throws `value_error` if a text contains a line break.
  [[nodiscard]] static std::string lines(const std::vector<std::string>& texts) {
    for (const std::string& line : texts) {
      require<value_error>(line.find('\n') == std::string::npos, "csv_schema: '", line,
                           "' contains a line break; expected names and texts of one line");
    }
    return detail::joined_lines(texts);
  }
};

}  // namespace glia
