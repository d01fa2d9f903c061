#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <string>

#include "glia/core/error.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// Writes map(x), element by element.
[[nodiscard]] inline std::string apply(writer& w, const unary_map& map, const std::string& x) {
  const auto attribute = [](std::string_view name, double number) {
    return [=](::onnx::NodeProto& node) { writer::set(node, name, static_cast<float>(number)); };
  };
  switch (map.function) {
    case unary_function::affine: {
      const std::string scaled = map.a == 1 ? x : w.call("Mul", {x, w.number(map.a)});
      return map.b == 0 ? scaled : w.call("Add", {scaled, w.number(map.b)});
    }
    case unary_function::clamp:
      return w.call("Clip", {x, w.number(map.a), w.number(map.b)});
    case unary_function::abs:
      return w.call("Abs", {x});
    case unary_function::square:
      return w.call("Mul", {x, x});
    case unary_function::sqrt:
      return w.call("Sqrt", {x});
    case unary_function::exp:
      return w.call("Exp", {x});
    case unary_function::log:
      return w.call("Log", {x});
    case unary_function::reciprocal:
      return w.call("Reciprocal", {x});
    case unary_function::softplus:
      return w.call("Softplus", {x});
    case unary_function::floor:
      return w.call("Floor", {x});
    case unary_function::sin:
      return w.call("Sin", {x});
    case unary_function::cos:
      return w.call("Cos", {x});
    case unary_function::pow:
      return w.call("Pow", {x, w.number(map.a)});
    case unary_function::relu:
      return w.call("Relu", {x});
    case unary_function::relu6:
      return w.call("Clip", {x, w.number(0), w.number(6)});
    case unary_function::leaky_relu:
      return w.call("LeakyRelu", {x}, attribute("alpha", map.a));
    case unary_function::elu:
      return w.call("Elu", {x}, attribute("alpha", map.a));
    case unary_function::sigmoid:
      return w.call("Sigmoid", {x});
    case unary_function::tanh:
      return w.call("Tanh", {x});
    case unary_function::silu:
      return w.call("Mul", {x, w.call("Sigmoid", {x})});
    case unary_function::erf:
      return w.call("Erf", {x});
    case unary_function::gelu: {
      const std::string scaled = w.call("Mul", {x, w.number(1 / std::numbers::sqrt2)});
      const std::string twice = w.call("Add", {w.call("Erf", {scaled}), w.number(1)});
      return w.call("Mul", {w.call("Mul", {x, w.number(0.5)}), twice});
    }
  }
  throw value_error(
      text("onnx: the function ", name_of(map.function), " has no counterpart in ONNX"));
}

[[nodiscard]] inline std::string to_real(writer& w, const std::string& x) {
  return w.call("Cast", {x}, [](::onnx::NodeProto& node) {
    writer::set(node, "to", std::int64_t{::onnx::TensorProto::FLOAT});
  });
}

/// Returns the common order of axes in which operands are combined. It is the order of the first
/// computed operand that has the rank of the result.
[[nodiscard]] inline axis_order common_order(const lowering& l) {
  const std::size_t rank = l.results[0].size();
  for (const value& x : l.x) {
    if (x.known == nullptr && x.rank() == rank) {
      const bool alone = std::all_of(l.x.begin(), l.x.end(), [&](const value& other) {
        return other.known != nullptr || other.rank() == rank;
      });
      return alone ? x.order : plain_order(rank);
    }
  }
  return plain_order(rank);
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::unary& k) {
  return {l.result(apply(l.out, k.map, l.out.use(l.x[0])), l.x[0].order)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::binary& k) {
  constexpr std::array operations{"Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "Equal"};
  const axis_order order = common_order(l);
  const std::string result =
      l.out.call(operations[static_cast<std::size_t>(k.function)],
                 {l.out.broadcastable(l.x[0], order), l.out.broadcastable(l.x[1], order)});
  const bool is_true =
      k.function == binary_function::greater || k.function == binary_function::equal;
  return {l.result(is_true ? to_real(l.out, result) : result, order)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::select&) {
  const axis_order order = common_order(l);
  const std::string no = l.out.call("Equal", {l.out.broadcastable(l.x[0], order), l.out.number(0)});
  return {l.result(l.out.call("Where", {no, l.out.broadcastable(l.x[2], order),
                                        l.out.broadcastable(l.x[1], order)}),
                   order)};
}

}  // namespace glia::onnx
