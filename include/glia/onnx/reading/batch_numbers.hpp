#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/fold.hpp"
#include "glia/onnx/reading/number_limits.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/operators.hpp"
#include "glia/onnx/reading/sample_rules.hpp"

// Tracks known numbers that depend on the batch size. A graph with such numbers can be converted to
// another batch size only if they are extents of axes that contain samples.
namespace glia::onnx::reading {

/// `beyond` are the numbers that t would have for a batch with one more sample. Stores them if they
/// differ from t.known.
inline void note_beyond(tensor& t, const numbers& beyond) {
  if (t.known->extents != beyond.extents || t.known->elements != beyond.elements) {
    t.beyond = std::make_shared<const numbers>(beyond);
  }
}

/// Computes the known numbers of an operation again, for a batch with one more sample, to find the
/// numbers that depend on the batch size. `operands` are the operands before the operation was
/// read.
inline void look_beyond(operation& n, std::vector<tensor> operands, number_limits& limits) {
  for (tensor& t : operands) {
    if (t.beyond != nullptr) {
      t = known_tensor(*t.beyond);
    }
  }
  graph_builder scratch;
  const operation::numbers_function no_numbers = [](const std::string&) {
    return std::optional<numbers>();
  };
  operation next(n.node, std::move(operands), scratch, n.opset, false, {}, no_numbers);
  const auto function = folding::function_of(n.node.op_type());
  try {
    function != nullptr ? function(next) : reader_of(n.node.op_type())(next);
  } catch (const error&) {
    return n.out.samples.refuse("is only possible for this number of samples");
  }
  limits.count(next);
  for (std::size_t i = 0; i < n.results.size(); ++i) {
    if (n.results[i].known != nullptr && next.results[i].known != nullptr) {
      note_beyond(n.results[i], *next.results[i].known);
    } else if (n.results[i]) {
      n.out.samples.refuse("uses a number that depends on the batch size");
    }
  }
}

/// Checks that numbers that depend on the batch size are used only as extents of axes that contain
/// samples. `operands` are the operands before the operation was read.
inline void require_same_beyond(const operation& n, const std::vector<tensor>& operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].beyond != nullptr &&
        !says_extents(n.out, n.node.op_type(), i, operands, n.results[0])) {
      return n.out.samples.refuse("uses a number that depends on the batch size");
    }
  }
}

}  // namespace glia::onnx::reading
