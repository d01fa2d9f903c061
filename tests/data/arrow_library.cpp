// A library that tests/python/arrow_tables.py loads.
#include <algorithm>
#include <cmath>
#include <glia/arrow.hpp>
#include <string>
#include <vector>

/// Reads an Arrow table and writes it again, text with its class names, into the same structs.
/// Missing values become NaN or "". Returns the message of an error, or "".
extern "C" const char* round_trip(ArrowSchema* schema, ArrowArray* array, const char* text_columns,
                                  const char* date_columns) {
  static std::string error;
  error.clear();
  try {
    const std::vector<std::string> texts = glia::detail::lines_of(text_columns);
    const glia::csv_table table =
        glia::read_arrow(schema, array,
                         {.text_columns = texts,
                          .date_columns = glia::detail::lines_of(date_columns),
                          .filling_value = NAN,
                          .allow_non_finite = true});
    glia::write_arrow_options options;
    for (const std::string& name : texts) {
      options.class_names[name] = table.class_names(name);
    }
    glia::write_arrow(table.columns(table.names()), table.names(), schema, array, options);
  } catch (const glia::error& e) {
    error = e.what();
  }
  return error.c_str();
}
