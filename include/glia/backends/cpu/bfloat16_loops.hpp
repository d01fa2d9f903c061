#pragma once

#include <array>
#include <cstddef>

#include "glia/backends/cpu/convolution/rounded_convolution.hpp"
#include "glia/backends/cpu/convolution/tile_convolution.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/patch_tiles.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/products/rounded_product.hpp"

namespace glia::cpu_loops {

/// Products in bfloat16 with the loops of one instruction set. `Loops` multiplies matrices, and
/// `Patches` convolves; both store the same words.
template <class Loops, class Patches = Loops>
class bfloat16_loops final : public rounded_loops<float> {
 public:
  using product = rounded_product<Loops>;

  void multiply(const workers& team, const memory_pool& memory, const matrix<float>& a,
                const matrix<float>& b, float* c, const sizes& s, const epilogue<float>& last,
                const float* packed) const override {
    product::multiply(loops, team, memory, a, b, c, s, last, packed);
  }

  void multiply_here(const matrix<float>& a, const matrix<float>& b, float* c, std::size_t c_row,
                     const sizes& s, float* scratch, bool add) const override {
    product::multiply_here(loops, a, b, c, c_row, s, scratch, add);
  }
  [[nodiscard]] std::size_t scratch_size(const sizes& s) const override {
    return product::scratch_size(s);
  }

  void pack(const matrix<float>& b, std::size_t k, std::size_t n, float* target,
            std::size_t panel_step) const override {
    product::pack(loops, b, k, n, target, panel_step);
  }
  void multiply_packed(const matrix<float>& a, const float* panels, std::size_t panel_step,
                       float* c, std::size_t c_row, const sizes& s, float* scratch,
                       bool add) const override {
    product::multiply_packed(loops, a, panels, panel_step, c, c_row, s, scratch, add);
  }
  void pack_panels(const float* w, std::size_t step, const float* bias, std::size_t depth,
                   std::size_t outputs, float* target) const override {
    product::pack_panels(loops, w, step, bias, depth, outputs, target);
  }

  void convolve(const workers& team, const memory_pool& memory, const kernels::window_sizes& s,
                const float* x, const float* w, const float* bias, const unary_map& map, float* y,
                std::size_t most_rows) const override {
    with_convolution(team, memory, s,
                     [&](const auto& c) { c.forward(x, w, bias, map, y, most_rows); });
  }
  void input_gradient(const workers& team, const memory_pool& memory,
                      const kernels::window_sizes& s, const float* dy, const float* w,
                      float* dx) const override {
    with_convolution(team, memory, s, [&](const auto& c) { c.input_gradient(dy, w, dx); });
  }
  void kernel_gradient(const workers& team, const memory_pool& memory,
                       const kernels::window_sizes& s, const float* x, const float* dy,
                       float* dw) const override {
    with_convolution(team, memory, s, [&](const auto& c) { c.kernel_gradient(x, dy, dw); });
  }

  [[nodiscard]] std::size_t words(std::size_t n) const override { return product::words(n); }
  void round_row(const float* x, std::size_t n, float* target) const override {
    loops.round_row(x, n, target);
  }
  void multiply_patches(const patch_products<float>& products, const float* words,
                        std::size_t patches, float* const* out,
                        const unary_map& map) const override {
    if constexpr (Loops::in_tiles) {
      tile_convolution<Loops>::multiply_patches(loops, products, words, patches, out, map);
    } else {
      const patch_tiles<Patches::tile_patches> tiles(patches);
      for (std::size_t i = 0; i < tiles.count(); ++i) {
        std::array<const float*, Patches::tile_patches> patch;
        for (std::size_t p = 0; p < tiles.size(i); ++p) {
          patch[p] = words + (tiles.start(i) + p) * products.depth;
        }
        Patches::multiply_patches(products, patch.data(), tiles.size(i), out + tiles.start(i),
                                  clamp_range<float>(map));
      }
    }
  }

 private:
  static constexpr Loops loops{};

  /// Calls body(convolution). Tiles multiply convolutions in one group.
  template <class Body>
  static void with_convolution(const workers& team, const memory_pool& memory,
                               const kernels::window_sizes& s, const Body& body) {
    if constexpr (Loops::in_tiles) {
      if (s.groups == 1) {
        body(tile_convolution<Loops>(loops, team, memory, s));
        return;
      }
    }
    body(rounded_convolution<Patches>(Patches{}, team, memory, s));
  }
};

template <class Loops, class Patches = Loops>
inline constexpr bfloat16_loops<Loops, Patches> bfloat16_loops_of;

}  // namespace glia::cpu_loops
