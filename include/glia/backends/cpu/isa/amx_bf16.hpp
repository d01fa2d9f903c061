#pragma once

#include "glia/backends/cpu/isa/avx512_bf16.hpp"

#if defined(__x86_64__)
#include "glia/backends/cpu/isa/begin.inl"
#if defined(__clang__)
#pragma clang attribute push(                                                        \
    __attribute__((target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl," \
                          "avx512bf16,amx-tile,amx-bf16"))),                         \
    apply_to = function)
#else
#pragma GCC target( \
    "avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
// As registers.inl. GCC inlines functions only into functions with the same options.
#pragma GCC optimize("no-trapping-math")
#endif

namespace glia::cpu_loops::amx_bf16 {

/// The loops of AVX512-BF16 with matrix products in tile registers (AMX). A tile register has 16
/// rows of 16 words or sums. An instruction adds 32 products to each of 256 sums, in the order that
/// multiply_tile_by_chains in loops/rounding.inl describes.
struct vector_loops : avx512_bf16::vector_loops {
  static constexpr std::size_t tile_patches = 32;
  static constexpr bool in_tiles = true;
  static constexpr std::size_t step_words = 16;

  /// Tile registers of whole size while this object lives. A thread must have one to multiply.
  class tile_state {
   public:
    tile_state() { configure(); }
    tile_state(const tile_state&) = delete;
    tile_state& operator=(const tile_state&) = delete;
    ~tile_state() { _tile_release(); }
  };

  // Reads tile_patches rows of A, also if `rows` is less.
  template <class T>
  static void multiply_tile(const T* a, std::size_t a_row, std::size_t /*a_step*/, const T* b,
                            std::size_t b_row, std::size_t depth, T* c, std::size_t c_row,
                            std::size_t rows, std::size_t registers, bool add) {
    const factors<T> product{a, a_row, b, b_row, depth};
    if (rows % side == 0) {
      multiply_halves(product, c, c_row, rows, registers, add);
      return;
    }
    alignas(64) T sums[tile_patches * 2 * side];
    const auto copy_sums = [&](const T* source, std::size_t source_row, T* target,
                               std::size_t target_row) {
      using simd = simd_of<T>;
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t r = 0; r < registers; ++r) {
          simd::store(simd::load(source + i * source_row + r * side),
                      target + i * target_row + r * side);
        }
      }
    };
    if (add) {
      copy_sums(c, c_row, sums, 2 * side);
    }
    multiply_halves(product, sums, 2 * side, rows, registers, add);
    copy_sums(sums, 2 * side, c, c_row);
  }

 private:
  static constexpr std::size_t side = 16;

  template <class T>
  struct factors {
    const T* a;
    std::size_t a_row;
    const T* b;
    std::size_t b_row;
    std::size_t depth;
  };

  /// Registers 0 to 3 have sums, 4 and 5 rows of A, 6 and 7 rows of B.
  static void configure() {
    struct alignas(64) {
      std::uint8_t palette = 1;
      std::uint8_t start_row = 0;
      std::uint8_t reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } shapes;
    for (std::size_t i = 0; i < 8; ++i) {
      shapes.row_bytes[i] = 64;
      shapes.rows[i] = side;
    }
    write_memory(&shapes);
    _tile_loadconfig(&shapes);
  }

  /// Makes the compiler complete pending stores. g++ 12 does not know that instructions for tiles
  /// read memory.
  static void write_memory(const void* address) { asm volatile("" : : "r"(address) : "memory"); }

  template <class T>
  static void multiply_halves(const factors<T>& f, T* c, std::size_t c_row, std::size_t rows,
                              std::size_t registers, bool add) {
    if (rows > side) {
      registers == 2 ? multiply<true, true>(f, c, c_row, add)
                     : multiply<true, false>(f, c, c_row, add);
    } else {
      registers == 2 ? multiply<false, true>(f, c, c_row, add)
                     : multiply<false, false>(f, c, c_row, add);
    }
  }
  template <bool Bottom, bool Right, class T>
  static void multiply(const factors<T>& f, T* c, std::size_t c_row, bool add) {
    const std::size_t step = c_row * sizeof(T);
    T* const lower_half = c + side * c_row;
    write_memory(c);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (add) {
      _tile_loadd(0, c, step);
      if constexpr (Right) {
        _tile_loadd(1, c + side, step);
      }
      if constexpr (Bottom) {
        _tile_loadd(2, lower_half, step);
      }
      if constexpr (Bottom && Right) {
        _tile_loadd(3, lower_half + side, step);
      }
    }
    std::size_t k = 0;
    for (; k + side <= f.depth; k += side) {
      add_products<Bottom, Right>(f.a + k, f.a_row, f.b + k * f.b_row, f.b_row);
    }
    if (k < f.depth) {
      alignas(64) T a[tile_patches * side] = {};
      alignas(64) T b[side * 2 * side] = {};
      const std::size_t rest = f.depth - k;
      for (std::size_t i = 0; i < (Bottom ? 2 : 1) * side; ++i) {
        __builtin_memcpy(a + i * side, f.a + i * f.a_row + k, rest * sizeof(T));
      }
      for (std::size_t i = 0; i < rest; ++i) {
        __builtin_memcpy(b + i * 2 * side, f.b + (k + i) * f.b_row,
                         (Right ? 2 : 1) * side * sizeof(T));
      }
      write_memory(a);
      write_memory(b);
      add_products<Bottom, Right>(a, side, b, 2 * side);
    }
    _tile_stored(0, c, step);
    if constexpr (Right) {
      _tile_stored(1, c + side, step);
    }
    if constexpr (Bottom) {
      _tile_stored(2, lower_half, step);
    }
    if constexpr (Bottom && Right) {
      _tile_stored(3, lower_half + side, step);
    }
    write_memory(c);
  }
  template <bool Bottom, bool Right, class T>
  [[gnu::always_inline]] static void add_products(const T* a, std::size_t a_row, const T* b,
                                                  std::size_t b_row) {
    _tile_loadd(4, a, a_row * sizeof(T));
    _tile_loadd(6, b, b_row * sizeof(T));
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Right) {
      _tile_loadd(7, b + side, b_row * sizeof(T));
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Bottom) {
      _tile_loadd(5, a + side * a_row, a_row * sizeof(T));
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (Bottom && Right) {
      _tile_dpbf16ps(3, 5, 7);
    }
  }
};

}  // namespace glia::cpu_loops::amx_bf16

#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "glia/backends/cpu/isa/end.inl"
#endif
