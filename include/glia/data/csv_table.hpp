#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/data/array_dataset.hpp"
#include "glia/data/csv_options.hpp"
#include "glia/data/csv_schema.hpp"

namespace glia {

/// The columns of a table that a model receives as inputs.
struct csv_selection {
  /// Names of the input columns, in the order of the model's inputs. If empty, the inputs are all
  /// columns except the columns of labels or targets.
  std::vector<std::string> inputs = {};
};

namespace detail {

/// A column of text, stored as class indices. An unknown text has the index `class_names.size()`.
struct csv_text {
  std::vector<std::string> class_names;
  std::vector<std::int32_t> classes;  // (N)
};

/// The contents of a CSV file.
struct csv_contents {
  /// The position of a column's values: an index into `texts`, or an index into a row of `numbers`.
  struct place {
    bool text = false;
    std::size_t index = 0;
  };

  std::string file;
  csv_options options;
  std::vector<std::string> names;
  std::vector<place> places;
  std::size_t rows = 0;
  std::size_t number_columns = 0;
  std::vector<float> numbers;  // (N, number_columns)
  std::vector<csv_text> texts;

  /// Returns the index of a column. Throws `data_error` if there is no column of this name.
  [[nodiscard]] std::size_t find(std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      constexpr std::size_t max_names = 20;
      throw data_error(text(file, ": there is no column '", name,
                            "'; the columns are: ", with_commas(names, max_names),
                            names.size() > max_names ? ", ..." : ""));
    }
    return static_cast<std::size_t>(found - names.begin());
  }
};

}  // namespace detail

/// A table of N rows with columns of numbers and of text, as returned by `read_csv`.
///
/// In a column of text, each distinct text is a class. The classes are numbered from 0 in the
/// sorted order of the texts, or in the order of `csv_options::class_names`. For such a column,
/// members that return numbers return these class indices. With `csv_options::class_names`, an
/// unknown text has the number of class names as its index, which `one_hot` takes for an error
/// unless `ignore_unknown` is set.
///
/// All members that take a column's name throw `data_error`, with the name of the file, if the
/// table has no such column.
class csv_table {
 public:
  explicit csv_table(detail::csv_contents contents) : contents_(std::move(contents)) {}

  /// The names of all columns, in the order of the file.
  [[nodiscard]] const std::vector<std::string>& names() const { return contents_.names; }
  /// The number of rows, N, without the header.
  [[nodiscard]] std::size_t rows() const { return contents_.rows; }

  /// Returns one column as an array (N).
  [[nodiscard]] xt::xarray<float> column(std::string_view name) const {
    xt::xarray<float> values = side_by_side({contents_.find(name)});
    values.reshape({rows()});
    return values;
  }

  /// Returns several columns as an array (N, number of names), in the order of the names. Throws
  /// `value_error` if the list of names is empty.
  [[nodiscard]] xt::xarray<float> columns(const std::vector<std::string>& names) const {
    require<value_error>(!names.empty(),
                         "columns: expected the names of one or more columns, got an empty list");
    return side_by_side(places_of(names));
  }

  /// Returns the class names of a text column: its distinct texts in sorted order, or the names in
  /// `csv_options::class_names`. Throws
  /// `value_error` if the column holds numbers.
  [[nodiscard]] const std::vector<std::string>& class_names(std::string_view name) const {
    const auto place = contents_.places[contents_.find(name)];
    require<value_error>(
        place.text, "class_names: the column '", name,
        "' holds numbers; to read it as text, add its name to csv_options::text_columns");
    return contents_.texts[place.index].class_names;
  }

  /// Returns what another program needs to read rows for a model that is trained on these input
  /// columns: their names, their class names, and the options of this table.
  [[nodiscard]] csv_schema schema(const std::vector<std::string>& inputs) const {
    csv_schema result{inputs, contents_.options};
    result.options.columns = inputs;
    result.options.text_columns.clear();
    result.options.date_columns.clear();
    result.options.class_names.clear();
    const auto& dates = contents_.options.date_columns;
    for (const std::string& name : inputs) {
      if (const auto [is_text, index] = contents_.places[contents_.find(name)]; is_text) {
        result.options.class_names[name] = contents_.texts[index].class_names;
      } else if (std::find(dates.begin(), dates.end(), name) != dates.end()) {
        result.options.date_columns.push_back(name);
      }
    }
    return result;
  }

  /// Returns a data set with one column of the table as labels. The inputs (N, columns) are the
  /// columns in `selection` or, by default, all other columns. The label column holds text, or
  /// whole numbers from 0 to 16777216.
  ///
  ///     table.with_labels("species", {.inputs = {"width", "length"}})
  ///
  /// Throws `data_error`, with column and row, if a number in the label column is not a class
  /// index, or if a text is unknown. Throws `value_error` if the label column is also an input, or
  /// if there are no input columns. Without `selection`, it also throws `value_error` if one of the
  /// other columns holds text. To use a text column as an input, list it in `selection`.
  [[nodiscard]] labeled_arrays with_labels(std::string_view label,
                                           const csv_selection& selection = {}) const {
    const std::size_t column = contents_.find(label);
    return {inputs("with_labels", {column}, selection), classes(column)};
  }

  /// Returns a data set with the named columns as targets (N, number of names). The inputs
  /// (N, columns) are the columns in `selection` or, by default, all other columns.
  ///
  /// Throws `value_error` if `targets` is empty, if one of its columns is also an input, or if
  /// there are no input columns. Without `selection`, it also throws `value_error` if one of the
  /// other columns holds text. To use a text column as an input, list it in `selection`.
  [[nodiscard]] target_arrays with_targets(const std::vector<std::string>& targets,
                                           const csv_selection& selection = {}) const {
    const std::vector<std::size_t> columns = places_of(targets);
    require<value_error>(!columns.empty(),
                         "with_targets: expected the names of one or more columns, got an empty "
                         "list");
    return {inputs("with_targets", columns, selection), side_by_side(columns)};
  }

 private:
  [[nodiscard]] std::vector<std::size_t> places_of(const std::vector<std::string>& names) const {
    std::vector<std::size_t> places(names.size());
    std::transform(names.begin(), names.end(), places.begin(),
                   [&](const std::string& name) { return contents_.find(name); });
    return places;
  }
  /// Returns the given columns as an array (N, columns).
  [[nodiscard]] xt::xarray<float> side_by_side(const std::vector<std::size_t>& columns) const {
    struct source {
      const float* numbers;
      const std::int32_t* classes;
    };
    std::vector<source> sources;
    for (const std::size_t column : columns) {
      const auto [is_text, index] = contents_.places[column];
      sources.push_back(is_text ? source{nullptr, contents_.texts[index].classes.data()}
                                : source{contents_.numbers.data() + index, nullptr});
    }
    xt::xarray<float> values(xt::xarray<float>::shape_type{rows(), columns.size()});
    float* destination = values.data();
    for (std::size_t n = 0; n < rows(); ++n) {
      for (const auto& [numbers, classes] : sources) {
        *destination++ = numbers != nullptr ? numbers[n * contents_.number_columns]
                                            : static_cast<float>(classes[n]);
      }
    }
    return values;
  }

  [[nodiscard]] xt::xarray<float> inputs(std::string_view caller,
                                         const std::vector<std::size_t>& learned,
                                         const csv_selection& selection) const {
    const auto is_learned = [&](std::size_t column) {
      return std::find(learned.begin(), learned.end(), column) != learned.end();
    };
    std::vector<std::size_t> columns;
    for (const std::string& name : selection.inputs) {
      columns.push_back(contents_.find(name));
      require<value_error>(!is_learned(columns.back()), caller, ": the column '", name,
                           "' holds labels or targets and cannot be an input");
    }
    for (std::size_t i = 0; selection.inputs.empty() && i < names().size(); ++i) {
      if (!is_learned(i)) {
        require<value_error>(!contents_.places[i].text, caller, ": the column '", names()[i],
                             "' holds text; list the input columns with {.inputs = {...}}; a text "
                             "column in this list is read as class indices");
        columns.push_back(i);
      }
    }
    require<value_error>(!columns.empty(), caller, ": ", contents_.file,
                         " has no input columns left beside those of labels or targets");
    return side_by_side(columns);
  }

  [[nodiscard]] xt::xarray<std::int32_t> classes(std::size_t column) const {
    xt::xarray<std::int32_t> labels(xt::xarray<std::int32_t>::shape_type{rows()});
    if (const auto [is_text, index] = contents_.places[column]; is_text) {
      const auto& [class_names, known] = contents_.texts[index];
      const auto unknown =
          std::find(known.begin(), known.end(), static_cast<std::int32_t>(class_names.size()));
      require<data_error>(unknown == known.end(), contents_.file, ": column '", names()[column],
                          "', row ", unknown - known.begin() + 1,
                          ": the text is not among the class names of csv_options::class_names");
      std::copy(known.begin(), known.end(), labels.begin());
      return labels;
    }
    const xt::xarray<float> numbers = this->column(names()[column]);
    for (std::size_t n = 0; n < rows(); ++n) {
      const float k = numbers.data()[n];
      constexpr float max_class = 1 << 24;  // a float holds every whole number up to this one
      require<data_error>(k >= 0 && k <= max_class && k == std::floor(k), contents_.file,
                          ": column '", names()[column], "', row ", n + 1,
                          ": expected a class index, a whole number from 0 to 16777216, got ", k,
                          "; for real-valued targets, use with_targets");
      labels.data()[n] = static_cast<std::int32_t>(k);
    }
    return labels;
  }

  detail::csv_contents contents_;
};

}  // namespace glia
