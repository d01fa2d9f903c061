#pragma once

#include <cstddef>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/operation.hpp"

namespace glia::onnx {

/// Limits the memory and time for numbers that do not depend on samples.
class number_limits {
 public:
  /// Counts the operands and results of an operation. Throws `data_error` if the numbers of all
  /// counted operations exceed a limit.
  void count(const operation& n) {
    constexpr std::size_t max_result_numbers = 4 * numbers::max_size;
    constexpr std::size_t max_operand_numbers = 64 * max_result_numbers;
    for (const tensor& t : n.results) {
      results_ += t.known != nullptr ? t.size() + 1 : 1;
    }
    for (const tensor& t : n.x) {
      operands_ += t.known != nullptr ? t.size() + 1 : 1;
    }
    require<data_error>(results_ <= max_result_numbers && operands_ <= max_operand_numbers,
                        "exceeds the limit for numbers that do not depend on the samples: ",
                        max_result_numbers, " results or ", max_operand_numbers, " operands");
  }

 private:
  std::size_t results_ = 0;
  std::size_t operands_ = 0;
};

}  // namespace glia::onnx
