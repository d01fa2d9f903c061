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
    constexpr std::size_t max_results = 4 * numbers::max_size;
    constexpr std::size_t max_operands = 64 * max_results;
    for (const tensor& t : n.results) {
      results_ += t.known != nullptr ? t.size() + 1 : 1;
    }
    for (const tensor& t : n.x) {
      operands_ += t.known != nullptr ? t.size() + 1 : 1;
    }
    require<data_error>(results_ <= max_results && operands_ <= max_operands,
                        "exceeds the limit for numbers that do not depend on the samples: ",
                        max_results, " results or ", max_operands, " operands");
  }

 private:
  std::size_t results_ = 0;
  std::size_t operands_ = 0;
};

}  // namespace glia::onnx
