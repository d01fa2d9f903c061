#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/long_sum.hpp"

namespace glia::cpu_loops {

/// The layout of patches in a padded image. A patch is the input of one output position of a
/// convolution. There are `rows` x `columns` patches, and the first begins at the first element of
/// the image. One list of offsets within a patch is valid for all patches (see patch_offsets).
struct patch_grid {
  std::size_t rows;
  std::size_t columns;
  std::size_t row_step;     ///< Elements from a patch to the patch below.
  std::size_t column_step;  ///< Elements from a patch to the patch on its right.
  /// Number of patches whose products one sum of the gradient of a kernel adds.
  std::size_t chain = detail::product_chain;

  [[nodiscard]] std::size_t count() const { return rows * columns; }
  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t column) const {
    return row * row_step + column * column_step;
  }

  /// Returns the number of rows in one part. A part has at most `chain` patches. It
  /// consists of whole rows or, if one row has more patches, of a piece of a row.
  [[nodiscard]] std::size_t part_rows() const {
    return std::max<std::size_t>(chain / std::max<std::size_t>(columns, 1), 1);
  }
  [[nodiscard]] std::size_t parts() const {
    return (rows + part_rows() - 1) / part_rows() * ((columns + chain - 1) / chain);
  }
  /// Calls body(part, offset of its first patch, index of its first patch).
  template <class Body>
  void for_parts(const Body& body) const {
    for (std::size_t row = 0; row < rows; row += part_rows()) {
      for (std::size_t column = 0; column < columns; column += chain) {
        body(patch_grid{std::min(part_rows(), rows - row), std::min(chain, columns - column),
                        row_step, column_step, chain},
             offset(row, column), row * columns + column);
      }
    }
  }
};

}  // namespace glia::cpu_loops
