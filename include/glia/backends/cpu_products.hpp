#pragma once

#include "glia/backends/cpu/isa/isa.hpp"

namespace glia::cpu_loops {

template <class T>
class rounded_loops;

}  // namespace glia::cpu_loops

namespace glia {

/// The precision of the factors of matrix products, convolutions, recurrent layers and attention on
/// the `cpu` device: the numbers of the tensors or, from `bfloat16`, rounded numbers.
struct cpu_products {
  /// Returns the loops for an instruction set, or is null if factors are not rounded.
  const cpu_loops::rounded_loops<float>* (*rounded)(cpu_loops::isa level) = nullptr;
};

}  // namespace glia
