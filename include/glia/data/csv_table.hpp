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
#include "glia/core/xtensor.hpp"
#include "glia/data/array_dataset.hpp"

namespace glia {

/// Which columns of a table are inputs.
struct csv_selection {
  std::vector<std::string> inputs = {};  ///< in this order; empty: all but what is to be learned
};

namespace detail {

/// A column of text: each row's class, the classes being the texts in sorted order.
struct csv_text {
  std::vector<std::string> class_names;
  std::vector<std::int32_t> classes;  // (N)
};

/// What a file of comma-separated values holds.
struct csv_contents {
  /// Where a column's values are: among the texts, or among the numbers of a row.
  struct place {
    bool text = false;
    std::size_t index = 0;
  };

  std::string file;
  std::vector<std::string> names;
  std::vector<place> places;
  std::size_t rows = 0;
  std::size_t number_columns = 0;
  std::vector<float> numbers;  // (N, number_columns)
  std::vector<csv_text> texts;

  /// Throws `data_error` where there is no such column.
  [[nodiscard]] std::size_t find(std::string_view name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      constexpr std::size_t most = 20;
      std::string known;
      for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
        known += (i == 0 ? "" : ", ") + names[i];
      }
      throw data_error(text(file, ": has no column '", name, "'; there are: ", known,
                            names.size() > most ? ", ..." : ""));
    }
    return static_cast<std::size_t>(at - names.begin());
  }
};

}  // namespace detail

/// A table as `read_csv` gives it: N rows, columns of numbers and of text. Where a number is asked
/// of text, it is that of its class.
///
/// Members throw `data_error`, naming the file, for a column that there is not.
class csv_table {
 public:
  explicit csv_table(detail::csv_contents contents) : contents_(std::move(contents)) {}

  [[nodiscard]] const std::vector<std::string>& names() const { return contents_.names; }
  [[nodiscard]] std::size_t rows() const { return contents_.rows; }

  /// A column (N).
  [[nodiscard]] xt::xarray<float> column(std::string_view name) const {
    xt::xarray<float> values = side_by_side({contents_.find(name)});
    values.reshape({rows()});
    return values;
  }

  /// Several side by side, (N, columns), in the order in which they are named. Throws `value_error`
  /// for none.
  [[nodiscard]] xt::xarray<float> columns(const std::vector<std::string>& names) const {
    require<value_error>(!names.empty(), "columns: expected the name of at least one column");
    return side_by_side(places_of(names));
  }

  /// The texts of a column in sorted order: the name of each class. Throws `value_error` for a
  /// column of numbers.
  [[nodiscard]] const std::vector<std::string>& class_names(std::string_view name) const {
    const auto place = contents_.places[contents_.find(name)];
    require<value_error>(place.text, "class_names: the column '", name,
                         "' holds numbers; read_csv reads it as text where csv_options::text has "
                         "its name");
    return contents_.texts[place.index].class_names;
  }

  /// Samples whose inputs (N, columns) are all columns but one, which holds their classes: text, or
  /// whole numbers from 0 on.
  ///
  ///     table.labelled("species", {.inputs = {"width", "length"}})
  ///
  /// Throws `data_error`, naming column and row, for a number that is no class, `value_error` for
  /// inputs that hold what is to be learned, for none and for text that was not asked for.
  [[nodiscard]] labelled_arrays labelled(std::string_view label,
                                         const csv_selection& which = {}) const {
    const std::size_t at = contents_.find(label);
    return {inputs("labelled", {at}, which), classes(at)};
  }

  /// Samples whose inputs (N, columns) are all columns but those of their target values (N,
  /// targets). Throws as `labelled` does.
  [[nodiscard]] valued_arrays valued(const std::vector<std::string>& targets,
                                     const csv_selection& which = {}) const {
    const std::vector<std::size_t> columns = places_of(targets);
    require<value_error>(!columns.empty(), "valued: expected at least one column of targets");
    return {inputs("valued", columns, which), side_by_side(columns)};
  }

 private:
  [[nodiscard]] std::vector<std::size_t> places_of(const std::vector<std::string>& names) const {
    std::vector<std::size_t> places(names.size());
    std::transform(names.begin(), names.end(), places.begin(),
                   [&](const std::string& name) { return contents_.find(name); });
    return places;
  }
  /// (N, columns)
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
    float* to = values.data();
    for (std::size_t n = 0; n < rows(); ++n) {
      for (const auto& [numbers, classes] : sources) {
        *to++ = numbers != nullptr ? numbers[n * contents_.number_columns]
                                   : static_cast<float>(classes[n]);
      }
    }
    return values;
  }

  [[nodiscard]] xt::xarray<float> inputs(std::string_view what,
                                         const std::vector<std::size_t>& learned,
                                         const csv_selection& which) const {
    const auto is_learned = [&](std::size_t column) {
      return std::find(learned.begin(), learned.end(), column) != learned.end();
    };
    std::vector<std::size_t> columns;
    for (const std::string& name : which.inputs) {
      columns.push_back(contents_.find(name));
      require<value_error>(!is_learned(columns.back()), what, ": the column '", name,
                           "' is to be learned and cannot be an input");
    }
    for (std::size_t i = 0; which.inputs.empty() && i < names().size(); ++i) {
      if (!is_learned(i)) {
        require<value_error>(!contents_.places[i].text, what, ": the column '", names()[i],
                             "' holds text; list the columns that are inputs, as by {.inputs = "
                             "{...}}; text that is among them gives the numbers of its classes");
        columns.push_back(i);
      }
    }
    require<value_error>(!columns.empty(), what, ": ", contents_.file,
                         " has no columns beside what is to be learned");
    return side_by_side(columns);
  }

  [[nodiscard]] xt::xarray<std::int32_t> classes(std::size_t column) const {
    xt::xarray<std::int32_t> labels(xt::xarray<std::int32_t>::shape_type{rows()});
    if (const auto [is_text, index] = contents_.places[column]; is_text) {
      const auto& known = contents_.texts[index].classes;
      std::copy(known.begin(), known.end(), labels.begin());
      return labels;
    }
    const xt::xarray<float> numbers = this->column(names()[column]);
    for (std::size_t n = 0; n < rows(); ++n) {
      const float k = numbers.data()[n];
      constexpr float most = 1 << 24;  // beyond it, a float does not hold every whole number
      require<data_error>(k >= 0 && k <= most && k == std::floor(k), contents_.file, ": column '",
                          names()[column], "', row ", n + 1,
                          ": expected a class, a whole number from 0 on, got ", k,
                          "; values to come close to are `valued`");
      labels.data()[n] = static_cast<std::int32_t>(k);
    }
    return labels;
  }

  detail::csv_contents contents_;
};

}  // namespace glia
