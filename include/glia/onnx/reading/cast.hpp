#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/number_format.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/reshaping.hpp"
#include "glia/onnx/reading/tensor_data.hpp"

// Conversions to other types of numbers.
namespace glia::onnx::reading {

/// Rounds to a format with fewer digits: to an integer multiple of the format's step size.
inline value_id nearest_of(graph_builder& out, value_id x, const number_format& format) {
  const value_id size = out.apply(unary_function::abs, x);
  // The largest power of 2 up to x, found by bisection of its exponent.
  value_id scale = out.constant({}, {std::ldexp(1, format.min_exponent)});
  int reach = 1;
  while (2 * reach <= format.max_exponent - format.min_exponent) {
    reach *= 2;
  }
  for (bool first = true; reach > 0; reach /= 2, first = false) {
    const value_id grown = first ? out.constant({}, {std::ldexp(1, format.min_exponent + reach)})
                                 : out.affine(scale, std::ldexp(1, reach), 0);
    scale = out.call(kernels::select{},
                     {out.binary(binary_function::greater, grown, size), scale, grown});
  }
  const value_id steps =
      out.scaled(out.binary(binary_function::divide, x, scale), 1 / format.step());
  const value_id near = out.multiply(out.scaled(rounded_to_even(out, steps), format.step()), scale);
  const value_id fits = out.binary(binary_function::greater, out.constant({}, {format.limit()}),
                                   out.apply(unary_function::abs, near));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return out.call(kernels::select{}, {fits, near, out.scaled(x, infinity)});
}

/// Wraps integers to a type of 8 or 16 bits: drops the higher bits.
inline value_id held_as(graph_builder& out, value_id x, element_type type) {
  using P = ::onnx::TensorProto;
  const bool bytes = type == P::INT8 || type == P::UINT8;
  if (!bytes && type != P::INT16 && type != P::UINT16) {
    return x;
  }
  const double count = bytes ? 0x1p8 : 0x1p16;
  const double minimum = type == P::INT8 || type == P::INT16 ? -count / 2 : 0;
  const value_id quotient =
      out.apply(unary_function::floor, out.affine(x, 1 / count, -minimum / count));
  return out.subtract(x, out.affine(quotient, count, 0));
}

inline void cast(operation& n) {
  tensor x = n.operand(0);
  const auto type = n.node.op_type() == "CastLike" ? n.operand(1).type
                                                   : static_cast<element_type>(n.integer("to", 1));
  require<data_error>(glia::onnx::detail::raw_size(type) > 0, "casts to ", name_of_type(type),
                      ", which glia does not support");
  const auto format = format_of(type);
  if (type == x.type) {
    return n.give(std::move(x));
  }
  if (type == truth) {
    x = in_graph(n.out, x);
    const value_id zero = n.out.constant({}, {0});
    x.id = not_of(n.out, n.out.binary(binary_function::equal, x.id, zero));
  } else if (!is_real(type)) {
    if (x.type != truth) {
      x = in_graph(n.out, x);
      x.id = held_as(n.out, is_real(x.type) ? truncated(n.out, x.id) : x.id, type);
    }
  } else if (format && x.type != truth) {
    x = in_graph(n.out, x);
    x.id = nearest_of(n.out, x.id, *format);
  }
  x.type = type;
  n.give(std::move(x));
}

}  // namespace glia::onnx::reading
