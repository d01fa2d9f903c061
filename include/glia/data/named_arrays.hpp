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

/// An array (N, ...) of numbers with a name.
struct named_array {
  std::string name;
  xt::xarray<float> values;
};

namespace detail {

/// The parts of rows that hold one sample of each array. Throws where they are of no samples or of
/// different numbers of them, or where two have one name.
[[nodiscard]] inline std::vector<row_part> parts_of(std::string_view what,
                                                    const std::vector<named_array>& arrays,
                                                    std::size_t samples) {
  std::vector<row_part> parts;
  for (const named_array& array : arrays) {
    const shape s(array.values.shape().begin(), array.values.shape().end());
    require<shape_error>(s.rank() > 0 && s[0] == samples, what, ": expected '", array.name,
                         "' of shape (", samples, ", ...), got ", s);
    require<value_error>(
        std::none_of(parts.begin(), parts.end(),
                     [&](const row_part& other) { return other.name == array.name; }),
        what, ": two arrays are called '", array.name, "'");
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

/// Samples of several tensors and what their outputs should have been, for models that begin with
/// `inputs` or end in `outputs`: arrays (N, ...) by name, in the model's order. Classes are whole
/// numbers (N), or (N, T) for the steps of sequences.
///
///     const glia::named_arrays data({{"image", images}, {"age", ages}},
///                                   {{"digit", labels}, {"slant", slants}});
///
/// Throws `shape_error` for arrays of different numbers of samples, `value_error` for two of one
/// name and for none.
class named_arrays {
 public:
  static constexpr bool writes_whole_rows = true;

  named_arrays(std::vector<named_array> inputs, std::vector<named_array> targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    require<value_error>(!inputs_.empty() && !targets_.empty(),
                         "named_arrays: expected at least one input and one target");
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

static_assert(valued_dataset<named_arrays> && named_dataset<named_arrays>);

/// Arrays (N, ...) one behind the other as rows (N, I), and what is called so of such rows.
[[nodiscard]] inline xt::xarray<float> rows_of(const std::vector<named_array>& arrays) {
  const std::size_t samples = detail::sample_count(arrays);
  const std::size_t size = row_size(detail::parts_of("rows_of", arrays, samples));
  xt::xarray<float> rows(xt::xarray<float>::shape_type{samples, size});
  for (std::size_t i = 0; i < samples; ++i) {
    detail::write_row(arrays, i, std::span(rows.data() + i * size, size));
  }
  return rows;
}
/// Throws `value_error` for a name that there is not, `shape_error` for other rows.
[[nodiscard]] inline xt::xarray<float> part_of(const xt::xarray<float>& rows, std::string_view name,
                                               const std::vector<row_part>& parts) {
  const row_part& part = part_called(name, parts, "part_of");
  const shape given(rows.shape().begin(), rows.shape().end());
  require<shape_error>(given.rank() == 2 && given[1] == row_size(parts),
                       "part_of: expected rows (N, ", row_size(parts), ") of ", parts_text(parts),
                       ", got ", given);
  const shape s = batch_of(given[0], part.extents);
  xt::xarray<float> values(xt::xarray<float>::shape_type(s.begin(), s.end()));
  for (std::size_t i = 0; i < given[0]; ++i) {
    std::copy_n(rows.data() + i * given[1] + part.first, part.size(),
                values.data() + i * part.size());
  }
  return values;
}

}  // namespace glia
