#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/stablehlo/attributes.hpp"
#include "glia/stablehlo/number_text.hpp"
#include "glia/stablehlo/value.hpp"

namespace glia::stablehlo {

/// Writes the operations of one function, in StableHLO's generic form and with its oldest
/// operations, which parsers of all versions can read. Every call writes one or a few operations
/// and returns their result.
///
/// The operations are those of https://openxla.org/stablehlo/spec.
class writer {
 public:
  explicit writer(std::size_t first_id = 0) : next_(first_id) {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Adds an argument of the function.
  value argument(const shape& s, scalar type) { return {next_++, s, type}; }

  value call(std::string_view operation, std::span<const value> operands,
             const std::string& attributes, const shape& s, scalar type) {
    const value result{next_++, s, type};
    write(result, operation, operands, "", attributes);
    return result;
  }
  value call(std::string_view operation, std::initializer_list<value> operands,
             const std::string& attributes, const shape& s, scalar type) {
    return call(operation, std::span(operands.begin(), operands.size()), attributes, s, type);
  }

  // --- constants ---------------------------------------------------------------------------------

  /// Returns a tensor with the same number at every element.
  value constant(double number, const shape& s, scalar type) {
    return call("constant", {},
                "value = dense<" + literal(number, type) + "> : " + type_text(s, type), s, type);
  }
  value constant(double number, const value& like) {
    return constant(number, like.shape, like.type);
  }
  /// Returns a constant tensor. `values` are its elements in row-major order.
  template <class Number>
  value elements(std::span<const Number> values, const shape& s, scalar type) {
    if (values.empty()) {
      return constant(0, s, type);
    }
    return call("constant", {},
                "value = dense<\"0x" + bytes_text(values, type) + "\"> : " + type_text(s, type), s,
                type);
  }
  /// Returns a tensor with the numbers 0, 1, 2 ... along an axis.
  value iota(const shape& s, std::size_t axis, scalar type) {
    return call("iota", {}, "iota_dimension = " + std::to_string(axis) + " : i64", s, type);
  }

  // --- element by element ------------------------------------------------------------------------

  value unary(std::string_view operation, const value& x) {
    return call(operation, {x}, "", x.shape, x.type);
  }
  value binary(std::string_view operation, const value& a, const value& b) {
    return call(operation, {a, b}, "", a.shape, a.type);
  }
  value add(const value& a, const value& b) { return binary("add", a, b); }
  value subtract(const value& a, const value& b) { return binary("subtract", a, b); }
  value multiply(const value& a, const value& b) { return binary("multiply", a, b); }
  value divide(const value& a, const value& b) { return binary("divide", a, b); }
  value add(const value& a, double b) { return add(a, constant(b, a)); }
  value multiply(const value& a, double b) { return b == 1 ? a : multiply(a, constant(b, a)); }
  value sqrt(const value& x) { return unary("sqrt", x); }
  value reciprocal_sqrt(const value& x) { return divide(constant(1, x), sqrt(x)); }

  /// Compares a and b. `direction` is EQ, NE, GE, GT, LE or LT.
  value compare(std::string_view direction, const value& a, const value& b) {
    const std::string_view kind = is_real(a.type)         ? "FLOAT"
                                  : a.type == scalar::i32 ? "SIGNED"
                                                          : "UNSIGNED";
    std::string attributes = "comparison_direction = #stablehlo<comparison_direction ";
    attributes.append(direction).append(">, compare_type = #stablehlo<comparison_type ");
    attributes.append(kind).append(">");
    return call("compare", {a, b}, attributes, a.shape, scalar::i1);
  }
  value compare(std::string_view direction, const value& a, double b) {
    return compare(direction, a, constant(b, a));
  }
  value select(const value& condition, const value& a, const value& b) {
    return call("select", {condition, a, b}, "", a.shape, a.type);
  }
  value select(const value& condition, const value& a, double b) {
    return select(condition, a, constant(b, a));
  }
  value convert(const value& x, scalar type) {
    return x.type == type ? x : call("convert", {x}, "", x.shape, type);
  }

  // --- arrangement -------------------------------------------------------------------------------

  value reshape(const value& x, const shape& s) {
    return x.shape == s ? x : call("reshape", {x}, "", s, x.type);
  }
  /// Places the axes of x at `axes` of the new shape and repeats x along the other axes.
  value broadcast(const value& x, const shape& s, const numbers& axes) {
    return call("broadcast_in_dim", {x}, "broadcast_dimensions = " + array_text(axes), s, x.type);
  }
  /// Broadcasts x like NumPy.
  value broadcast(const value& x, const shape& s) {
    if (x.shape == s) {
      return x;
    }
    numbers axes;
    for (std::size_t axis = 0; axis < x.shape.rank(); ++axis) {
      axes.push_back(static_cast<std::int64_t>(axis + s.rank() - x.shape.rank()));
    }
    return broadcast(x, s, axes);
  }
  value transpose(const value& x, const numbers& order) {
    shape s = x.shape;
    for (std::size_t i = 0; i < order.size(); ++i) {
      s[i] = x.shape[static_cast<std::size_t>(order[i])];
    }
    return call("transpose", {x}, "permutation = " + array_text(order), s, x.type);
  }
  value concatenate(std::span<const value> parts, std::size_t axis) {
    shape s = parts[0].shape;
    s[axis] = 0;
    for (const value& part : parts) {
      s[axis] += part.shape[axis];
    }
    return call("concatenate", parts, "dimension = " + std::to_string(axis) + " : i64", s,
                parts[0].type);
  }
  value slice(const value& x, const numbers& begin, const numbers& end, const numbers& step) {
    shape s = x.shape;
    for (std::size_t i = 0; i < s.rank(); ++i) {
      s[i] = static_cast<std::size_t>((end[i] - begin[i] + step[i] - 1) / step[i]);
    }
    return call("slice", {x},
                "start_indices = " + array_text(begin) + ", limit_indices = " + array_text(end) +
                    ", strides = " + array_text(step),
                s, x.type);
  }
  /// Adds elements equal to `fill` before, after and between the elements of x, for each axis.
  /// Negative numbers before and after remove elements.
  value pad(const value& x, double fill, const numbers& leading, const numbers& trailing,
            const numbers& interior) {
    shape s = x.shape;
    for (std::size_t i = 0; i < s.rank(); ++i) {
      const auto n = static_cast<std::int64_t>(s[i]);
      s[i] = static_cast<std::size_t>(leading[i] + trailing[i] + n +
                                      (n > 0 ? n - 1 : 0) * interior[i]);
    }
    return call("pad", {x, constant(fill, {}, x.type)},
                "edge_padding_low = " + array_text(leading) + ", edge_padding_high = " +
                    array_text(trailing) + ", interior_padding = " + array_text(interior),
                s, x.type);
  }

  // --- reductions --------------------------------------------------------------------------------

  /// Reduces x over axes by `operation`, such as "add", starting with `start`, and removes the
  /// axes.
  value reduce(std::string_view operation, const value& x, double start, const numbers& axes) {
    shape s;
    for (std::size_t axis = 0; axis < x.shape.rank(); ++axis) {
      if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == axes.end()) {
        s.push_back(x.shape[axis]);
      }
    }
    const value initial = constant(start, {}, x.type);
    const value result{next_++, s, x.type};
    write(result, "reduce", std::array{x, initial}, region(operation, x.type),
          "dimensions = " + array_text(axes));
    return result;
  }
  value sum(const value& x, const numbers& axes) { return reduce("add", x, 0, axes); }

  /// Returns the sums over windows of these extents, with these strides and dilations.
  value window_sums(const value& x, const shape& result_shape, const numbers& window,
                    const numbers& stride, const numbers& dilation, const numbers& padding) {
    const value initial = constant(0, {}, x.type);
    const value result{next_++, result_shape, x.type};
    std::string pairs;
    for (std::size_t i = 0; i < padding.size(); i += 2) {
      pairs += (i == 0 ? "[" : ", [") + list_text(std::span(padding).subspan(i, 2)) + ']';
    }
    write(result, "reduce_window", std::array{x, initial}, region("add", x.type),
          "window_dimensions = " + array_text(window) + ", window_strides = " + array_text(stride) +
              ", window_dilations = " + array_text(dilation) + ", padding = dense<[" + pairs +
              "]> : tensor<" + std::to_string(padding.size() / 2) + "x2xi64>");
    return result;
  }

  // --- rows by index -----------------------------------------------------------------------------

  /// Returns the rows (n, columns) of a table (V, columns) at indices (n, 1). The indices must be
  /// in range.
  value rows_at(const value& table, const value& indices) {
    const std::size_t columns = table.shape[1];
    return call("gather", {table, indices},
                "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = "
                "[0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, " +
                    std::to_string(columns) + ">, indices_are_sorted = false",
                {indices.shape[0], columns}, table.type);
  }
  /// Adds rows (n, columns) to a table at indices (n, 1). Rows whose index is out of range are
  /// ignored.
  value add_rows_at(const value& table, const value& indices, const value& rows) {
    const value result{next_++, table.shape, table.type};
    write(result, "scatter", std::array{table, indices, rows}, region("add", table.type),
          "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
          "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
          "indices_are_sorted = false, unique_indices = false");
    return result;
  }
  /// Returns `extent` elements of a vector from index `begin` on. `begin` is a tensor without axes.
  value slice_at(const value& x, const value& begin, std::size_t extent) {
    return call("dynamic_slice", {x, begin},
                "slice_sizes = array<i64: " + std::to_string(extent) + ">", {extent}, x.type);
  }
  /// Returns x with `part` written along an axis, from index `begin` on. `begin` is a tensor
  /// without axes.
  value update_slice_at(const value& x, const value& part, const value& begin, std::size_t axis) {
    const value first = constant(0, {}, begin.type);
    std::vector<value> operands{x, part};
    for (std::size_t i = 0; i < x.shape.rank(); ++i) {
      operands.push_back(i == axis ? begin : first);
    }
    return call("dynamic_update_slice", operands, "", x.shape, x.type);
  }

 private:
  /// Returns a function of two numbers, for reductions.
  static std::string region(std::string_view operation, scalar type) {
    const std::string t = type_text({}, type);
    return text_of("({\n      ^bb0(%ra: ", t, ", %rb: ", t, "):\n      %rr = \"stablehlo.",
                   operation, "\"(%ra, %rb) : (", t, ", ", t, ") -> ", t,
                   "\n      \"stablehlo.return\"(%rr) : (", t, ") -> ()\n    })");
  }
  template <class... Parts>
  static std::string text_of(const Parts&... parts) {
    std::string result;
    (result.append(parts), ...);
    return result;
  }

  void write(const value& result, std::string_view operation, std::span<const value> operands,
             const std::string& body, const std::string& attributes) {
    text_ += "    %" + std::to_string(result.id) + " = \"stablehlo.";
    text_.append(operation) += "\"(";
    std::string types;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      text_ += (i == 0 ? "%" : ", %") + std::to_string(operands[i].id);
      types += (i == 0 ? "" : ", ") + type_text(operands[i]);
    }
    text_ += ')';
    text_ += body.empty() ? "" : " " + body;
    text_ += attributes.empty() ? "" : " {" + attributes + "}";
    text_ += " : (" + types + ") -> " + type_text(result) + '\n';
  }

  std::string text_;
  std::size_t next_;
};

}  // namespace glia::stablehlo
