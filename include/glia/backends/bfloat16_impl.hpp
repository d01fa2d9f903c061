#pragma once

#include "glia/backends/bfloat16.hpp"
#include "glia/backends/cpu/bfloat16_loops.hpp"
#include "glia/backends/cpu/isa/amx_bf16.hpp"
#include "glia/backends/cpu/isa/avx512_bf16.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/products/emulated_tiles.hpp"
#include "glia/core/platform/tile_registers.hpp"

namespace glia::cpu_loops {

template <class T>
const rounded_loops<T>* find_bfloat16_loops(isa level) {
#if defined(__x86_64__)
  if (level >= isa::avx512 && __builtin_cpu_supports("avx512bf16") != 0) {
    return &bfloat16_loops_of<avx512_bf16::vector_loops>;
  }
#endif
  return with_isa(level, [](auto loops) -> const rounded_loops<T>* {
    return &bfloat16_loops_of<decltype(loops)>;
  });
}

template <class T>
const rounded_loops<T>* find_bfloat16_tile_loops(isa level) {
#if defined(__x86_64__)
  if (level >= isa::avx512 && __builtin_cpu_supports("avx512bf16") != 0 &&
      platform::request_tile_registers()) {
    return &bfloat16_loops_of<amx_bf16::vector_loops, avx512_bf16::vector_loops>;
  }
#endif
  return with_isa(level, [](auto loops) -> const rounded_loops<T>* {
    return &bfloat16_loops_of<emulated_tiles<decltype(loops)>, decltype(loops)>;
  });
}

}  // namespace glia::cpu_loops
