#pragma once

#include <string>

#include "glia/ops/tape.hpp"

namespace glia {

/// A sequence that later layers read by name; see `context`.
struct context_sequence {
  std::string name;  ///< Name of the sequence.
  variable steps;    ///< The sequence (N, T, C).
  tensor mask;       ///< Its mask (N, T), or an empty tensor.
};

}  // namespace glia
