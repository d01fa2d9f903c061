#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/data/arrow_memory.hpp"
#include "glia/data/arrow_structs.hpp"

namespace glia {

/// Options of `write_arrow`.
struct write_arrow_options {
  /// Class names of columns that hold class indices, by the name of the column. Such a column
  /// becomes text with a dictionary. NaN and the number of class names, which is the index of an
  /// unknown text, become null.
  std::map<std::string, std::vector<std::string>> class_names = {};
};

namespace detail {

/// Returns the texts as an Arrow array.
[[nodiscard]] inline ArrowArray arrow_texts(const std::vector<std::string>& texts) {
  std::vector<std::int32_t> offsets{0};
  std::string joined;
  for (const std::string& part : texts) {
    joined += part;
    require<value_error>(joined.size() <= std::numeric_limits<std::int32_t>::max(),
                         "write_arrow: the class names of a column have more than 2 GiB");
    offsets.push_back(static_cast<std::int32_t>(joined.size()));
  }
  auto memory = std::make_unique<arrow_memory<ArrowArray>>();
  memory->buffers.push_back(nullptr);  // no text is null
  memory->add_buffer(std::move(offsets));
  memory->add_buffer(std::move(joined));
  return arrow_array(texts.size(), 0, std::move(memory));
}

/// Returns a column of class indices as an Arrow array with a dictionary.
[[nodiscard]] inline ArrowArray arrow_classes(const std::vector<float>& column,
                                              const std::string& name,
                                              const std::vector<std::string>& class_names) {
  const auto classes = static_cast<float>(class_names.size());
  std::vector<std::int32_t> indices(column.size());
  std::vector<std::uint8_t> valid((column.size() + 7) / 8);
  std::size_t null_count = 0;
  for (std::size_t n = 0; n < column.size(); ++n) {
    const float k = column[n];
    if (std::isnan(k) || k == classes) {
      ++null_count;
      continue;
    }
    require<data_error>(k >= 0 && k < classes && k == std::floor(k), "write_arrow: column '", name,
                        "', row ", n + 1, ": expected a class index, a whole number from 0 to ",
                        classes, ", got ", k);
    indices[n] = static_cast<std::int32_t>(k);
    valid[n / 8] = static_cast<std::uint8_t>(valid[n / 8] | 1U << n % 8);
  }
  auto memory = std::make_unique<arrow_memory<ArrowArray>>();
  memory->add_buffer(std::move(valid));
  memory->add_buffer(std::move(indices));
  memory->dictionary = arrow_texts(class_names);
  return arrow_array(column.size(), null_count, std::move(memory));
}

}  // namespace detail

/// Writes an array (N, K), such as predictions, as an Arrow record batch in Apache Arrow's C data
/// interface: a struct array with K columns of 32-bit floats. Needs no library.
///
///     ArrowSchema schema;
///     ArrowArray array;
///     glia::write_arrow(net.predict(x), {"price"}, &schema, &array);
///
/// The values are copied. Whoever receives the structs must call their release callbacks, as Arrow
/// libraries do. Previous contents of the structs are overwritten, not released.
///
/// Throws `shape_error` if the array does not have one column for each name. Throws `value_error`
/// if a struct is missing, if two columns have the same name, or if the options contain a column
/// that `names` does not. Throws `data_error`, with column and row, if a value is not an index of
/// the class names of its column. If it throws, the structs are unchanged.
inline void write_arrow(const xt::xarray<float>& values, const std::vector<std::string>& names,
                        ArrowSchema* schema, ArrowArray* array,
                        const write_arrow_options& options = {}) {
  require<value_error>(
      schema != nullptr && array != nullptr,
      "write_arrow: expected an ArrowSchema and an ArrowArray, got a null pointer");
  const shape extents(values.shape().begin(), values.shape().end());
  require<shape_error>(extents.rank() == 2 && extents[1] == names.size(),
                       "write_arrow: expected an array (N, ", names.size(), ") for ", names.size(),
                       " names, got ", extents);
  std::set<std::string> known;
  for (const std::string& name : names) {
    require<value_error>(known.insert(name).second, "write_arrow: two columns have the name '",
                         name, "'");
  }
  for (const auto& [name, classes] : options.class_names) {
    require<value_error>(known.contains(name), "write_arrow: options.class_names has the column '",
                         name, "'; the columns are: ", detail::with_commas(names));
  }
  auto fields = std::make_unique<detail::arrow_memory<ArrowSchema>>();
  auto columns = std::make_unique<detail::arrow_memory<ArrowArray>>();
  fields->children.reserve(names.size());
  columns->children.reserve(names.size());
  columns->buffers.push_back(nullptr);  // no row is null
  std::vector<float> column(extents[0]);
  for (std::size_t k = 0; k < names.size(); ++k) {
    for (std::size_t n = 0; n < column.size(); ++n) {
      column[n] = values.data()[n * names.size() + k];
    }
    if (const auto classes = options.class_names.find(names[k]);
        classes != options.class_names.end()) {
      auto memory = std::make_unique<detail::arrow_memory<ArrowSchema>>();
      memory->dictionary = detail::arrow_field("u", "");
      fields->children.push_back(detail::arrow_field("i", names[k], std::move(memory)));
      columns->children.push_back(detail::arrow_classes(column, names[k], classes->second));
    } else {
      auto memory = std::make_unique<detail::arrow_memory<ArrowArray>>();
      memory->buffers.push_back(nullptr);  // no value is null
      memory->add_buffer(column);
      fields->children.push_back(detail::arrow_field("f", names[k]));
      columns->children.push_back(detail::arrow_array(column.size(), 0, std::move(memory)));
    }
  }
  ArrowSchema written = detail::arrow_field("+s", "", std::move(fields));
  const detail::arrow_release unfinished(&written);
  *array = detail::arrow_array(extents[0], 0, std::move(columns));
  *schema = std::exchange(written, {});
}

}  // namespace glia
