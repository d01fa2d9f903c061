#pragma once

#include <map>
#include <string_view>

#include "glia/onnx/reading/fold_arrangement.hpp"
#include "glia/onnx/reading/fold_elements.hpp"

// Values that do not depend on samples are computed when the file is read: the shapes, axes and
// factors that exporters write as long chains of small operations.
namespace glia::onnx::reading::folding {

/// Returns the function that computes an operator on known numbers, or null for other operators.
[[nodiscard]] inline void (*function_of(std::string_view operator_name))(operation&) {
  static const std::map<std::string_view, void (*)(operation&)> functions{
      {"Add", add},
      {"Sum", add},
      {"Sub", subtract},
      {"Mul", multiply},
      {"Div", divide},
      {"Mod", modulo},
      {"Pow", power},
      {"Max", largest},
      {"Min", smallest},
      {"Equal", equal},
      {"Greater", greater},
      {"Less", less},
      {"GreaterOrEqual", greater_or_equal},
      {"LessOrEqual", less_or_equal},
      {"And", both},
      {"Or", either},
      {"Xor", one_of},
      {"Not", negation},
      {"Neg", negate},
      {"Abs", absolute},
      {"Sign", sign},
      {"Floor", floor},
      {"Ceil", ceil},
      {"Round", round},
      {"Sqrt", square_root},
      {"Exp", exponential},
      {"Log", logarithm},
      {"Reciprocal", reciprocal},
      {"Sin", sine},
      {"Cos", cosine},
      {"Cast", cast},
      {"CastLike", cast},
      {"Where", where},
      {"Gather", gather},
      {"Slice", slice},
      {"Concat", concat},
      {"Split", split},
      {"Expand", expand},
      {"Tile", tile},
      {"Range", range},
      {"ConstantOfShape", constant_of_shape},
      {"ReduceSum", reduce_sum},
      {"ReduceProd", reduce_product},
      {"ReduceMax", reduce_largest},
      {"ReduceMin", reduce_smallest},
      {"NonZero", non_zero},
  };
  const auto found = functions.find(operator_name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace glia::onnx::reading::folding
