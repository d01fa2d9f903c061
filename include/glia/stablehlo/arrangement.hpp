#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/stablehlo/elementwise.hpp"

namespace glia::stablehlo {

[[nodiscard]] inline values lower(const lowering& l, const kernels::full& k, operand_list) {
  return {l.out.constant(k.value, k.target_shape, l.real)};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::reshape& k, operand_list x) {
  return {l.out.reshape(x[0], k.target_shape)};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::broadcast_to& k,
                                  operand_list x) {
  return {l.out.broadcast(x[0], k.target_shape)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::sum_to& k, operand_list x) {
  const shape& s = x[0].shape;
  numbers axes;
  for (std::size_t axis = 0; axis < s.rank(); ++axis) {
    const std::size_t missing = s.rank() - k.target_shape.rank();
    if (axis < missing || (k.target_shape[axis - missing] == 1 && s[axis] != 1)) {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return {l.out.reshape(axes.empty() ? x[0] : l.out.sum(x[0], axes), k.target_shape)};
}

/// Divides x by its largest absolute value before squaring, unless this value is 0 or infinite.
[[nodiscard]] inline values lower(const lowering& l, const kernels::norm&, operand_list x) {
  writer& w = l.out;
  const value elements = w.reshape(x[0], {x[0].shape.size()});
  const value largest = w.reduce("maximum", w.unary("abs", elements), 0, {0});
  const value usable = w.binary("and", w.compare("GT", largest, 0),
                                w.compare("LT", largest, std::numeric_limits<double>::infinity()));
  const value scale = w.select(usable, largest, w.constant(1, largest));
  const value parts = w.divide(elements, w.broadcast(scale, elements.shape));
  return {w.multiply(w.sqrt(w.sum(w.multiply(parts, parts), {0})), scale)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::concat& k, operand_list x) {
  values parts;
  for (const value& part : x) {
    if (part) {
      parts.push_back(part);
    }
  }
  return {l.out.concatenate(parts, k.axis)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::slice& k, operand_list x) {
  const shape& s = x[0].shape;
  numbers begin(s.rank(), 0);
  numbers end(s.begin(), s.end());
  begin[k.axis] = static_cast<std::int64_t>(k.begin);
  end[k.axis] = static_cast<std::int64_t>(k.begin + k.extent);
  return {l.out.slice(x[0], begin, end, numbers(s.rank(), 1))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::pad& k, operand_list x) {
  const numbers zeros(x[0].shape.rank(), 0);
  numbers leading = zeros;
  numbers trailing = zeros;
  leading[k.axis] = static_cast<std::int64_t>(k.before);
  trailing[k.axis] = static_cast<std::int64_t>(k.after);
  return {l.out.pad(x[0], k.value, leading, trailing, zeros)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::permute_axes& k,
                                  operand_list x) {
  return {l.out.transpose(x[0], numbers(k.order.begin(), k.order.end()))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::to_index&, operand_list x) {
  writer& w = l.out;
  const value in_range = w.binary("and", w.compare("GE", x[0], 0), w.compare("LT", x[0], 0x1p31));
  const value whole = w.binary("and", in_range, w.compare("EQ", x[0], w.unary("floor", x[0])));
  // Numbers that are not integers are replaced first, because their conversion is undefined.
  const value integers = w.convert(w.select(whole, x[0], 0), scalar::i32);
  return {w.select(whole, integers, -1)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::gather& k, operand_list x) {
  writer& w = l.out;
  const shape& table = x[0].shape;
  const std::size_t rows = x[1].shape.size();
  const std::size_t columns = sample_of(table).size();
  const shape result_shape = k.result(real_of(table), {x[1].shape, element::index}).shape;
  if (result_shape.size() == 0 || table[0] == 0) {
    return {w.constant(0, result_shape, l.real)};
  }
  // The operation uses the nearest row for an index that is out of range.
  const value indices = w.reshape(x[1], {rows, 1});
  const value inside = w.binary("and", w.compare("GE", indices, 0),
                                w.compare("LT", indices, static_cast<double>(table[0])));
  const value table_rows = w.rows_at(w.reshape(x[0], {table[0], columns}), indices);
  const value holds = w.broadcast(inside, table_rows.shape, {0, 1});
  return {w.reshape(w.select(holds, table_rows, 0), result_shape)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::scatter_add& k,
                                  operand_list x) {
  writer& w = l.out;
  const shape result_shape = k.result(real_of(x[0].shape), {x[1].shape, element::index}).shape;
  const std::size_t columns = sample_of(result_shape).size();
  const value nothing = w.constant(0, {k.count, columns}, l.real);
  if (x[0].shape.size() == 0 || result_shape.size() == 0) {
    return {w.reshape(nothing, result_shape)};
  }
  const std::size_t rows = x[1].shape.size();
  const value sums =
      w.add_rows_at(nothing, w.reshape(x[1], {rows, 1}), w.reshape(x[0], {rows, columns}));
  return {w.reshape(sums, result_shape)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::update_slice& k,
                                  operand_list x) {
  return {x[0].shape.size() == 0 ? x[0] : l.out.update_slice_at(x[0], x[1], x[2], k.axis)};
}

}  // namespace glia::stablehlo
