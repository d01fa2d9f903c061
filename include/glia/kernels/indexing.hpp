#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia::kernels {

/// Converts floating-point numbers to 32-bit integers. Whole numbers from 0 to 2^31 - 1 keep their
/// value; all other numbers become -1.
struct to_index {
  static constexpr std::string_view name = "to_index";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& x) {
    require_elements("to_index", x, element::real);
    return {x.shape, element::index};
  }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec&) {
    return detail::by_rows<to_index>();
  }
  friend bool operator==(const to_index&, const to_index&) = default;
};

/// Returns the row of a table (V, ...) for each index, as an embedding does. An index that is not
/// in 0 ... V - 1 gives a row of zeros, as a product with `one_hot` does.
struct gather {
  static constexpr std::string_view name = "gather";
  static constexpr std::size_t operands = 2;  // table, indices
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& table, const tensor_spec& indices) {
    require_elements("gather", table, element::real);
    require_elements("gather: indices", indices, element::index);
    require<shape_error>(table.shape.rank() > 0, "gather: expected a table (V, ...), got a number");
    shape rows = indices.shape;
    require<shape_error>(rows.rank() + table.shape.rank() - 1 <= shape::max_rank,
                         "gather: a row of a table ", table.shape, " for each index of ", rows,
                         " would need more than ", shape::max_rank, " axes");
    for (const std::size_t extent : sample_of(table.shape)) {
      rows.push_back(extent);
    }
    return real_of(rows);
  }
  [[nodiscard]] static double flops(const tensor_spec&, const tensor_spec&) { return 0; }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec& indices) {
    if (indices.shape.rank() == 0) {
      return batch_axes<2, 1>::whole();
    }
    return {{batch_axis::shared, batch_axis::rows}, {batch_axis::rows}};
  }
  friend bool operator==(const gather&, const gather&) = default;
};

/// Returns a table of `count` rows. Row i is the sum of all operand rows with the index i, added in
/// their order. Rows whose index is not in 0 ... count - 1 are ignored. This is the gradient of
/// `gather`.
struct scatter_add {
  std::size_t count = 0;

  static constexpr std::string_view name = "scatter_add";
  static constexpr std::size_t operands = 2;  // rows, indices
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& rows, const tensor_spec& indices) const {
    require_elements("scatter_add", rows, element::real);
    require_elements("scatter_add: indices", indices, element::index);
    const shape& s = indices.shape;
    require<shape_error>(
        s.rank() <= rows.shape.rank() && std::equal(s.begin(), s.end(), rows.shape.begin()),
        "scatter_add: expected a row for each index of ", s, ", got ", rows.shape);
    return real_of(batch_of(count, shape(rows.shape.begin() + s.rank(), rows.shape.end())));
  }
  [[nodiscard]] static double flops(const tensor_spec& rows, const tensor_spec&) {
    return detail::count(rows.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec& indices) {
    if (indices.shape.rank() == 0) {
      return batch_axes<2, 1>::whole();
    }
    return {{batch_axis::rows, batch_axis::rows}, {batch_axis::summed}};
  }
  friend bool operator==(const scatter_add&, const scatter_add&) = default;
};

/// Returns x with a block of elements replaced: along the axis, the elements of `part` take the
/// places from `begin` on, as in XLA's DynamicUpdateSlice. `begin` is an integer () that can change
/// from run to run. If the block does not fit behind it, the block ends at the last element; a
/// negative `begin` counts as 0.
struct update_slice {
  std::size_t axis = 0;

  static constexpr std::string_view name = "update_slice";
  static constexpr std::size_t operands = 3;  // x, part, begin
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};
  static constexpr bool updates = true;

  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& part,
                                   const tensor_spec& begin) const {
    require_elements("update_slice", x, element::real);
    require_elements("update_slice: part", part, element::real);
    require_elements("update_slice: begin", begin, element::index);
    require_axis("update_slice", x.shape, axis);
    shape expected = x.shape;
    if (part.shape.rank() == expected.rank()) {
      expected[axis] = std::min(expected[axis], part.shape[axis]);
    }
    require_same_shape("update_slice: part", expected, part.shape);
    require_same_shape("update_slice: begin", {}, begin.shape);
    return x;
  }
  [[nodiscard]] static double flops(const tensor_spec&, const tensor_spec&, const tensor_spec&) {
    return 0;
  }
  [[nodiscard]] batch_axes<3, 1> axes(const tensor_spec&, const tensor_spec&,
                                      const tensor_spec&) const {
    return axis > 0 ? detail::by_rows<update_slice>(1) : batch_axes<3, 1>::whole();
  }
  /// Returns the first place of a block of `block` elements among `extent` elements.
  [[nodiscard]] static constexpr std::size_t first_place(std::int32_t begin, std::size_t extent,
                                                         std::size_t block) {
    return begin < 0 ? 0 : std::min(static_cast<std::size_t>(begin), extent - block);
  }
  friend bool operator==(const update_slice&, const update_slice&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const gather&) {
  return {.operands = 0b10};
}
template <class Call>
void add_gradients(const gather&, Call& call) {
  call.add(0, call.run(scatter_add{call.shape_of(0)[0]}, call.dy(), call.operand(1)));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const scatter_add&) {
  return {.operands = 0b10};
}
template <class Call>
void add_gradients(const scatter_add&, Call& call) {
  call.add(0, call.run(gather{}, call.dy(), call.operand(1)));
}

}  // namespace glia::kernels
