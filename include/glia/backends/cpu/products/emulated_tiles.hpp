#pragma once

#include <cstddef>

namespace glia::cpu_loops {

/// The loops of an instruction set without tile registers, with matrix products that have the bits
/// of tile registers.
template <class Loops>
struct emulated_tiles : Loops {
  static constexpr bool in_tiles = true;

  template <class T>
  static void multiply_tile(const T* a, std::size_t a_row, std::size_t a_step, const T* b,
                            std::size_t b_row, std::size_t depth, T* c, std::size_t c_row,
                            std::size_t rows, std::size_t registers, bool add) {
    Loops::multiply_tile_by_chains(a, a_row, a_step, b, b_row, depth, c, c_row, rows, registers,
                                   add);
  }
};

}  // namespace glia::cpu_loops
