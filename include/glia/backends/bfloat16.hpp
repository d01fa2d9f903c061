#pragma once

#include <concepts>

#include "glia/backends/cpu_products.hpp"

namespace glia::cpu_loops {

/// Returns the loops for products in bfloat16. T is float.
template <class T>
[[nodiscard]] const rounded_loops<T>* find_bfloat16_loops(isa level);
/// Returns the same with matrix products in tile registers, or with their bits.
template <class T>
[[nodiscard]] const rounded_loops<T>* find_bfloat16_tile_loops(isa level);

}  // namespace glia::cpu_loops

namespace glia {

/// Products in bfloat16: `cpu({.products = bfloat16})`. The factors of matrix products,
/// convolutions, recurrent layers and attention are rounded to 8 significant bits, to the nearest
/// number, ties to even. Everything else, such as sums and stored numbers, stays in single
/// precision, and so do convolutions with one input or output channel in each group, such as
/// depthwise ones. Processors with AVX512-BF16 compute large products of this kind up to twice as
/// fast. Others compute the same bits, but more slowly than products in single precision. Products
/// below 1.2e-38 and above 3.4e38 are exceptions on processors without fused multiply-adds.
struct bfloat16_products {
  /// A template, so that only programs that use it contain the loops.
  template <std::same_as<cpu_products> Products>
  constexpr operator Products() const {
    return {&cpu_loops::find_bfloat16_loops<float>};
  }
};
inline constexpr bfloat16_products bfloat16;

/// Products in bfloat16 for processors with tile registers (Intel's AMX, from Sapphire Rapids on):
/// `cpu({.products = bfloat16_tiles})`. Tile registers add products in another order than
/// AVX512-BF16: 32 at a time, with separate sums for even and odd positions. So the results are
/// those of `bfloat16` up to rounding. Convolutions in several groups have the bits of `bfloat16`.
/// All processors compute the same bits, but those without tile registers compute them slowly.
struct bfloat16_tile_products {
  /// A template, so that only programs that use it contain the loops.
  template <std::same_as<cpu_products> Products>
  constexpr operator Products() const {
    return {&cpu_loops::find_bfloat16_tile_loops<float>};
  }
};
inline constexpr bfloat16_tile_products bfloat16_tiles;

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/bfloat16_impl.hpp"
#endif
