#pragma once

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/data/arrow_reader.hpp"
#include "glia/data/arrow_structs.hpp"
#include "glia/data/csv_options.hpp"
#include "glia/data/csv_table.hpp"

namespace glia {

/// Reads a table from an Arrow record batch: a struct array with one child for each column, in
/// Apache Arrow's C data interface. Releases both structs, also if it throws, and needs no library.
///
///     ArrowSchema schema;
///     ArrowArray array;
///     ...  // filled by a program that produces Arrow tables
///     const glia::csv_table table =
///         glia::read_arrow(&schema, &array, {.text_columns = {"city"}, .date_columns = {"sold"}});
///
/// The options have the same meaning as in `read_csv`, so that the schema of a model reads Arrow
/// tables, too. `delimiter` and `header` are ignored.
///
/// - Columns of numbers are booleans, integers of 8 to 64 bits, or floating-point numbers of 16 to
///   64 bits. A whole number up to 2^53 in a column of doubles counts as an integer.
/// - Columns of text are listed in `text_columns` or `class_names`. They hold text (UTF-8, also
///   large or as views), or integers.
/// - Columns of dates are listed in `date_columns`. They hold dates, timestamps or text. The days
///   of a timestamp with a time zone are counted in UTC.
/// - All these can be encoded with a dictionary. Null is a missing value, and so are an empty
///   text and numbers and texts in `missing_texts`.
///
/// Throws `value_error` if a struct is missing or has been released. Throws `data_error` if the
/// array is not a struct array, has no rows or no columns, has two columns with the same name, or
/// does not have the columns in the options. Throws `data_error`, with the name of the column, if a
/// column has an unsupported format or a format that does not match its type in the options, and
/// with column and row for a value that `read_csv` would refuse.
[[nodiscard]] inline csv_table read_arrow(ArrowSchema* schema, ArrowArray* array,
                                          const csv_options& options = {}) {
  const detail::arrow_release schema_release(schema);
  const detail::arrow_release array_release(array);
  require<value_error>(schema != nullptr && array != nullptr,
                       "read_arrow: expected an ArrowSchema and an ArrowArray, got a null pointer");
  require<value_error>(
      schema->release != nullptr && array->release != nullptr,
      "read_arrow: expected an ArrowSchema and an ArrowArray with content, got one "
      "that has been released");
  return detail::within_memory("the Arrow table", [&] {
    return csv_table(detail::arrow_reader(options).read(*schema, *array));
  });
}

}  // namespace glia
