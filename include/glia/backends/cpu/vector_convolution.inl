// Included by vector_kernels.inl inside the struct of one instruction set: convolution as products
// of patches with panels of weights; see patch_grid.hpp for the words.

// Each lane within low ... high; what is not a number stays so.
template <class T>
static typename lanes_of<T>::vector clamped(const typename lanes_of<T>::vector& v,
                                            const clamp_range<T>& range) {
  using vector = typename lanes_of<T>::vector;
  const vector least = range.low - vector{};
  const vector most = range.high - vector{};
  const vector raised = v < least ? least : v;
  return most < raised ? most : raised;
}

// out[p][j] (=, += or = clamped) bias[j] + sum over k of patch[p][offset[k]] * panel[k][j],
// j < outputs, for 1 <= patches <= Patches. A panel is a row of biases and then `depth` rows,
// panel_width each. `ending` is store_sums, add_sums or a clamp_range.
template <std::size_t Patches = tile_patches, class T, class Ending>
static void multiply_patches(const T* const* patch, std::size_t patches,
                             const std::uint32_t* offset, std::size_t depth, const T* panel,
                             T* const* out, std::size_t outputs, const Ending& ending) {
  if constexpr (Patches > 1) {
    if (patches < Patches) {
      return multiply_patches<Patches - 1>(patch, patches, offset, depth, panel, out, outputs,
                                           ending);
    }
  }
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t width = panel_width<T>;
  const T* from[Patches];
  vector sum[Patches][2];
#pragma GCC unroll 12
  for (std::size_t p = 0; p < Patches; ++p) {
    from[p] = patch[p];
    sum[p][0] = simd::load(panel);
    sum[p][1] = simd::load(panel + simd::count);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    panel += width;
    const vector weight[2] = {simd::load(panel), simd::load(panel + simd::count)};
    const std::size_t at = offset[k];
#pragma GCC unroll 12
    for (std::size_t p = 0; p < Patches; ++p) {
      const vector x = from[p][at] - vector{};
      sum[p][0] += x * weight[0];
      sum[p][1] += x * weight[1];
    }
  }
#pragma GCC unroll 12
  for (std::size_t p = 0; p < Patches; ++p) {
    if constexpr (std::is_same_v<Ending, clamp_range<T>>) {
      sum[p][0] = clamped<T>(sum[p][0], ending);
      sum[p][1] = clamped<T>(sum[p][1], ending);
    }
    if (outputs == width) {
      if constexpr (std::is_same_v<Ending, add_sums>) {
        sum[p][0] += simd::load(out[p]);
        sum[p][1] += simd::load(out[p] + simd::count);
      }
      simd::store(sum[p][0], out[p]);
      simd::store(sum[p][1], out[p] + simd::count);
    } else {
      T some[width];
      simd::store(sum[p][0], some);
      simd::store(sum[p][1], some + simd::count);
      for (std::size_t j = 0; j < outputs; ++j) {
        out[p][j] = std::is_same_v<Ending, add_sums> ? out[p][j] + some[j] : some[j];
      }
    }
  }
}

// dw[d][j] += sum over a grid's patches of patch[offset[d]] * dy[patch][j] for 1 <= depths <=
// Depths and j < outputs; dy has panel_width readable elements in every row.
template <class T, std::size_t Depths = tile_patches>
static void multiply_transposed_patches(const T* x, const patch_grid& grid,
                                        const std::uint32_t* offset, std::size_t depths,
                                        const T* dy, std::size_t dy_step, T* dw,
                                        std::size_t dw_step, std::size_t outputs) {
  if constexpr (Depths > 1) {
    if (depths < Depths) {
      return multiply_transposed_patches<T, Depths - 1>(x, grid, offset, depths, dy, dy_step, dw,
                                                        dw_step, outputs);
    }
  }
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t width = panel_width<T>;
  const T* from[Depths];
  vector sum[Depths][2];
#pragma GCC unroll 12
  for (std::size_t d = 0; d < Depths; ++d) {
    sum[d][0] = vector{};
    sum[d][1] = vector{};
  }
  for (std::size_t row = 0; row < grid.rows; ++row) {
#pragma GCC unroll 12
    for (std::size_t d = 0; d < Depths; ++d) {
      from[d] = x + row * grid.row_step + offset[d];
    }
    std::size_t at = 0;
    for (std::size_t column = 0; column < grid.columns; ++column) {
      const vector gradient[2] = {simd::load(dy), simd::load(dy + simd::count)};
#pragma GCC unroll 12
      for (std::size_t d = 0; d < Depths; ++d) {
        const vector value = from[d][at] - vector{};
        sum[d][0] += value * gradient[0];
        sum[d][1] += value * gradient[1];
      }
      dy += dy_step;
      at += grid.column_step;
    }
  }
#pragma GCC unroll 12
  for (std::size_t d = 0; d < Depths; ++d) {
    T some[width];
    simd::store(sum[d][0], some);
    simd::store(sum[d][1], some + simd::count);
    for (std::size_t j = 0; j < outputs; ++j) {
      dw[d * dw_step + j] += some[j];
    }
  }
}
