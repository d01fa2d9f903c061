#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/row_part.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/data/dataset.hpp"

namespace glia {

/// An array with a name and one row for each sample.
struct named_array {
  std::string name;          ///< The name of an input or output of the model.
  xt::xarray<float> values;  ///< Values of shape (N, ...).
};

namespace detail {

/// A row holds one sample of each array. Returns the name, shape and position of each tensor in
/// such a row. Throws `shape_error` if an array does not have `samples` rows, and `value_error` if
/// two arrays have the same name.
[[nodiscard]] inline std::vector<row_part> parts_of(std::string_view caller,
                                                    const std::vector<named_array>& arrays,
                                                    std::size_t samples) {
  std::vector<row_part> parts;
  for (const named_array& array : arrays) {
    const shape s(array.values.shape().begin(), array.values.shape().end());
    require<shape_error>(s.rank() > 0 && s[0] == samples, caller, ": expected '", array.name,
                         "' of shape (", samples, ", ...), got ", s);
    require<value_error>(
        std::none_of(parts.begin(), parts.end(),
                     [&](const row_part& other) { return other.name == array.name; }),
        caller, ": two arrays have the name '", array.name, "'");
    parts.push_back({array.name, sample_of(s), row_size(parts)});
  }
  return parts;
}

inline void write_row(const std::vector<named_array>& arrays, std::size_t sample,
                      std::span<float> row) {
  for (const named_array& array : arrays) {
    const std::size_t size = array.values.size() / array.values.shape()[0];
    std::copy_n(array.values.data() + sample * size, size, row.begin());
    row = row.subspan(size);
  }
}

[[nodiscard]] inline std::size_t sample_count(const std::vector<named_array>& arrays) {
  return arrays.empty() || arrays[0].values.dimension() == 0 ? 0 : arrays[0].values.shape()[0];
}

}  // namespace detail

/// A data set for models with several inputs or outputs: models that begin with the layer `inputs`
/// or end with the layer `outputs`.
///
/// It holds one named array (N, ...) for each input and one for each output, in the order of the
/// model. Class labels are whole numbers of the shape (N), or (N, T) with a label for each step of
/// a sequence.
///
///     const glia::named_arrays data({{"image", images}, {"age", ages}},
///                                   {{"digit", labels}, {"slant", slants}});
///
/// Throws `shape_error` if the numbers of samples differ. Throws `value_error` if two inputs or two
/// targets have the same name, or if there is no input or no target.
class named_arrays {
 public:
  static constexpr bool writes_whole_rows = true;

  named_arrays(std::vector<named_array> inputs, std::vector<named_array> targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    require<value_error>(!inputs_.empty() && !targets_.empty(),
                         "named_arrays: expected one or more inputs and one or more targets, got ",
                         inputs_.size(), " and ", targets_.size());
    const std::size_t samples = detail::sample_count(inputs_);
    input_parts_ = detail::parts_of("named_arrays: inputs", inputs_, samples);
    target_parts_ = detail::parts_of("named_arrays: targets", targets_, samples);
  }

  [[nodiscard]] std::size_t size() const { return detail::sample_count(inputs_); }
  [[nodiscard]] shape input_shape() const { return {row_size(input_parts_)}; }
  void input(std::size_t i, std::span<float> values) const {
    detail::write_row(inputs_, i, values);
  }
  [[nodiscard]] shape target_shape() const { return {row_size(target_parts_)}; }
  void target(std::size_t i, std::span<float> values) const {
    detail::write_row(targets_, i, values);
  }
  [[nodiscard]] const std::vector<row_part>& input_parts() const { return input_parts_; }
  [[nodiscard]] const std::vector<row_part>& target_parts() const { return target_parts_; }

 private:
  std::vector<named_array> inputs_;
  std::vector<named_array> targets_;
  std::vector<row_part> input_parts_;
  std::vector<row_part> target_parts_;
};

static_assert(target_dataset<named_arrays> && named_dataset<named_arrays>);

/// Joins named arrays (N, ...) into rows (N, I). Each row holds one sample of every array, one
/// after the other.
///
/// Use it for a model with several inputs if the data set is not `named_arrays`, as in
/// `labeled_arrays{rows_of({{"left", left}, {"right", right}}), labels}`. `named_arrays` and
/// `predict` join the arrays themselves.
///
/// Throws `shape_error` if the numbers of samples differ, and `value_error` if two arrays have the
/// same name.
[[nodiscard]] inline xt::xarray<float> rows_of(const std::vector<named_array>& arrays) {
  const std::size_t samples = detail::sample_count(arrays);
  const std::size_t size = row_size(detail::parts_of("rows_of", arrays, samples));
  xt::xarray<float> rows(xt::xarray<float>::shape_type{samples, size});
  for (std::size_t i = 0; i < samples; ++i) {
    detail::write_row(arrays, i, std::span(rows.data() + i * size, size));
  }
  return rows;
}

/// Returns one of the arrays (N, ...) that are joined to rows (N, I), for instance by `rows_of`.
/// `name` is the name of the array, and `parts` describes the rows.
///
/// Throws `value_error` if `parts` has no array of this name, and `shape_error` if the size of a
/// row is not the sum of the sizes in `parts`.
[[nodiscard]] inline xt::xarray<float> part_of(const xt::xarray<float>& rows, std::string_view name,
                                               const std::vector<row_part>& parts) {
  const row_part& part = detail::part_called(name, parts, "part_of");
  const shape extents(rows.shape().begin(), rows.shape().end());
  require<shape_error>(extents.rank() == 2 && extents[1] == row_size(parts),
                       "part_of: expected rows (N, ", row_size(parts), ") of ",
                       detail::parts_text(parts), ", got ", extents);
  const shape s = batch_of(extents[0], part.extents);
  xt::xarray<float> values(xt::xarray<float>::shape_type(s.begin(), s.end()));
  for (std::size_t i = 0; i < extents[0]; ++i) {
    std::copy_n(rows.data() + i * extents[1] + part.first, part.size(),
                values.data() + i * part.size());
  }
  return values;
}

}  // namespace glia
