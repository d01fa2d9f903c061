// Members of vector_loops (see vector_loops.inl): convolution as products of
// patches with panels of weights. patch_grid.hpp explains the terms. The loops for bfloat16 include
// this file with another version of simd_of; their elements are words.

// The number of elements of a patch whose products one sum adds.
static constexpr std::size_t longest_patch = detail::blas_chain / factors_per_word;

// Returns each element limited to low ... high. NaN stays NaN.
template <class T>
static typename simd_of<T>::vector clamped(const typename simd_of<T>::vector& v,
                                           const clamp_range<T>& range) {
  using vector = typename simd_of<T>::vector;
  const vector lowest = range.low - vector{};
  const vector highest = range.high - vector{};
  const vector raised = v < lowest ? lowest : v;
  return highest < raised ? highest : raised;
}

// Computes out[p][j] = bias[j] + sum over k of patch[p][k] * panel[k][j] for all patches and all
// outputs of `products`, whose runs tell where element k of a patch is. `ending` is store_sums,
// add_sums or a clamp_range: the result is stored, added to out[p][j] without bias[j], or stored
// clamped. A panel is a row of biases and then `depth` rows, each with panel_width elements. The
// outputs of consecutive panels are out_step apart.
template <std::size_t Patches = tile_patches, class T, class Ending>
static void multiply_patches(const patch_products<T>& products, const T* const* patch,
                             std::size_t patches, T* const* out, const Ending& ending) {
  // To keep programs small, loops are compiled for few numbers of patches: from min_full to
  // tile_patches, short_size and its halves. All but the halves have a loop for panels whose second
  // half is only padding.
  using sizes = patch_tiles<tile_patches>;
  constexpr bool has_half_panel = Patches >= sizes::short_size;
  if constexpr (Patches == tile_patches) {
    if (products.depth > longest_patch) {
      return multiply_deep_patches(products, patch, patches, out, ending);
    }
  }
  const std::size_t panel_rows =
      1 + (products.panel_depth == 0 ? products.depth : products.panel_depth);
  for (; patches >= Patches; patches -= Patches, patch += Patches, out += Patches) {
    const T* panel = products.panels;
    std::size_t position = 0;
    for (std::size_t remaining = products.outputs; remaining > 0;) {
      const std::size_t outputs = remaining < panel_width<T> ? remaining : panel_width<T>;
      if (has_half_panel && outputs <= simd_of<T>::count) {
        multiply_panel<Patches, has_half_panel ? 1 : 2>(products, patch, panel, out, position,
                                                        outputs, ending);
      } else {
        multiply_panel<Patches, 2>(products, patch, panel, out, position, outputs, ending);
      }
      panel += panel_rows * panel_width<T>;
      position += products.out_step;
      remaining -= outputs;
    }
  }
  if constexpr (Patches > 1) {
    if (patches > 0) {
      constexpr std::size_t fewer = Patches > sizes::min_full     ? Patches - 1
                                    : Patches > sizes::short_size ? sizes::short_size
                                                                  : (Patches + 1) / 2;
      if constexpr (fewer == sizes::short_size && Patches > fewer + 1) {
        // 8 patches are 4 + 4 and not 7 + 1: the loop for one patch takes as long as that for four.
        if (patches == fewer + 1) {
          return multiply_patches<sizes::half_size>(products, patch, patches, out, ending);
        }
      }
      multiply_patches<fewer>(products, patch, patches, out, ending);
    }
  }
}

// Computes the same as multiply_patches for long sums, in parts. A part is whole runs or, if runs
// are long, a piece of one run. A separate function lets the usual loops keep their registers.
template <class T, class Ending>
[[gnu::noinline]] static void multiply_deep_patches(const patch_products<T>& products,
                                                    const T* const* patch, std::size_t patches,
                                                    T* const* out, const Ending& ending) {
  const std::size_t runs =
      products.run_length < longest_patch ? longest_patch / products.run_length : 1;
  patch_products<T> part = products;
  part.panel_depth = products.panel_depth == 0 ? products.depth : products.panel_depth;
  std::uint32_t begin = 0;
  for (std::size_t first = 0; first < products.depth; first += part.depth) {
    const std::size_t run = first / products.run_length;
    const std::size_t within = first - run * products.run_length;
    const std::size_t rest = products.run_length < longest_patch ? runs * products.run_length
                                                                 : products.run_length - within;
    part.depth = products.depth - first < rest ? products.depth - first : rest;
    part.depth = part.depth < longest_patch ? part.depth : longest_patch;
    part.panels = products.panels + first * panel_width<T>;
    part.run = products.run + run;
    if (within > 0) {
      begin = products.run[run] + static_cast<std::uint32_t>(within);
      part.run = &begin;
    }
    if (first > 0 || std::is_same_v<Ending, add_sums>) {
      multiply_patches(part, patch, patches, out, add_sums{});
    } else {
      multiply_patches(part, patch, patches, out, store_sums{});
    }
  }
  if constexpr (std::is_same_v<Ending, clamp_range<T>>) {
    for (std::size_t p = 0; p < patches; ++p) {
      for (std::size_t o = 0; o < products.outputs; ++o) {
        T& y = out[p][o / panel_width<T> * products.out_step + o % panel_width<T>];
        y = y < ending.low ? ending.low : y;
        y = ending.high < y ? ending.high : y;
      }
    }
  }
}

// Computes the same as multiply_patches for one panel, or for the first register of its outputs.
// The outputs begin at out[p] + position.
template <std::size_t Patches, std::size_t Registers, class T, class Ending>
static void multiply_panel(const patch_products<T>& products, const T* const* patch, const T* panel,
                           T* const* out, std::size_t position, std::size_t outputs,
                           const Ending& ending) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t width = panel_width<T>;
  constexpr std::size_t per_register = simd::count;
  const T* source[Patches];
  vector sum[Patches][Registers];
#pragma GCC unroll 12
  for (std::size_t p = 0; p < Patches; ++p) {
    source[p] = patch[p];
#pragma GCC unroll 2
    for (std::size_t r = 0; r < Registers; ++r) {
      sum[p][r] =
          std::is_same_v<Ending, add_sums> ? vector{} : simd::load(panel + r * per_register);
    }
  }
  panel += width;
  const std::uint32_t* run = products.run;
  for (std::size_t remaining = products.depth; remaining > 0; ++run) {
    const std::size_t length = remaining < products.run_length ? remaining : products.run_length;
    remaining -= length;
#pragma GCC unroll 2
    for (std::size_t k = *run, end = k + length; k < end; ++k, panel += width) {
      vector weight[Registers];
#pragma GCC unroll 2
      for (std::size_t r = 0; r < Registers; ++r) {
        weight[r] = simd::load(panel + r * per_register);
      }
#pragma GCC unroll 12
      for (std::size_t p = 0; p < Patches; ++p) {
        const vector x = simd::spread(source[p][k]);
#pragma GCC unroll 2
        for (std::size_t r = 0; r < Registers; ++r) {
          sum[p][r] = simd::add_product(sum[p][r], x, weight[r]);
        }
      }
    }
  }
  if constexpr (std::is_same_v<Ending, clamp_range<T>>) {
#pragma GCC unroll 12
    for (std::size_t p = 0; p < Patches; ++p) {
#pragma GCC unroll 2
      for (std::size_t r = 0; r < Registers; ++r) {
        sum[p][r] = clamped<T>(sum[p][r], ending);
      }
    }
  }
  if (outputs == Registers * per_register) {
#pragma GCC unroll 12
    for (std::size_t p = 0; p < Patches; ++p) {
#pragma GCC unroll 2
      for (std::size_t r = 0; r < Registers; ++r) {
        T* const target = out[p] + position + r * per_register;
        if constexpr (std::is_same_v<Ending, add_sums>) {
          sum[p][r] += simd::load(target);
        }
        simd::store(sum[p][r], target);
      }
    }
    return;
  }
  // Fewer outputs are copied. All sums are stored before, because the compiler would save and
  // restore them around each copy.
  vector rows[Patches][Registers];
#pragma GCC unroll 12
  for (std::size_t p = 0; p < Patches; ++p) {
#pragma GCC unroll 2
    for (std::size_t r = 0; r < Registers; ++r) {
      rows[p][r] = sum[p][r];
    }
  }
  for (std::size_t p = 0; p < Patches; ++p) {
    T* target = out[p] + position;
    std::size_t remaining = outputs;
    for (std::size_t r = 0; remaining > 0; ++r) {
      const std::size_t n = remaining < per_register ? remaining : per_register;
      if constexpr (std::is_same_v<Ending, add_sums>) {
        for (std::size_t j = 0; j < n; ++j) {
          target[j] += rows[p][r][j];
        }
      } else if (n == per_register) {
        simd::store(rows[p][r], target);
      } else {
        store_some(rows[p][r], n, target);
      }
      target += n;
      remaining -= n;
    }
  }
}

// Computes dw[d][j] += sum over a grid's patches of patch[offset[d]] * dy[patch][j] for d < depths
// and j < outputs, at most panel_width. Rows of dy are whole registers: one if `outputs` fit in it,
// otherwise two.
template <class T>
static void multiply_transposed_patches(const T* x, const patch_grid& grid,
                                        const std::uint32_t* offset, std::size_t depths,
                                        const T* dy, std::size_t dy_step, T* dw,
                                        std::size_t dw_step, std::size_t outputs) {
  const transposed_products<T> products{x, grid, dy, dy_step, dw_step, outputs};
  if (outputs <= simd_of<T>::count) {
    multiply_transposed_tiles<tile_patches, 1>(products, offset, depths, dw);
  } else {
    multiply_transposed_tiles<tile_patches, 2>(products, offset, depths, dw);
  }
}

template <class T>
struct transposed_products {
  const T* x;
  const patch_grid& grid;
  const T* dy;
  std::size_t dy_step;
  std::size_t dw_step;
  std::size_t outputs;
};

// Processes `Depths` rows of dw at a time, and the rest in smaller tiles. A tile of one register
// takes little time, so that few sizes are enough.
template <std::size_t Depths, std::size_t Registers, class T>
static void multiply_transposed_tiles(const transposed_products<T>& products,
                                      const std::uint32_t* offset, std::size_t depths, T* dw) {
  for (; depths >= Depths; depths -= Depths) {
    multiply_transposed_tile<Depths, Registers>(products, offset, dw);
    offset += Depths;
    dw += Depths * products.dw_step;
  }
  if constexpr (Depths > 1) {
    if (depths > 0) {
      multiply_transposed_tiles<Registers == 1 ? Depths / 2 : Depths - 1, Registers>(
          products, offset, depths, dw);
    }
  }
}
template <std::size_t Depths, std::size_t Registers, class T>
static void multiply_transposed_tile(const transposed_products<T>& products,
                                     const std::uint32_t* offset, T* dw) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  const patch_grid& grid = products.grid;
  const T* source[Depths];
  vector sum[Depths][Registers];
#pragma GCC unroll 12
  for (std::size_t d = 0; d < Depths; ++d) {
#pragma GCC unroll 2
    for (std::size_t r = 0; r < Registers; ++r) {
      sum[d][r] = vector{};
    }
  }
  const T* dy = products.dy;
  for (std::size_t row = 0; row < grid.rows; ++row) {
#pragma GCC unroll 12
    for (std::size_t d = 0; d < Depths; ++d) {
      source[d] = products.x + row * grid.row_step + offset[d];
    }
    std::size_t position = 0;
    for (std::size_t column = 0; column < grid.columns; ++column) {
      vector gradient[Registers];
#pragma GCC unroll 2
      for (std::size_t r = 0; r < Registers; ++r) {
        gradient[r] = simd::load(dy + r * simd::count);
      }
#pragma GCC unroll 12
      for (std::size_t d = 0; d < Depths; ++d) {
        const vector value = simd::spread(source[d][position]);
#pragma GCC unroll 2
        for (std::size_t r = 0; r < Registers; ++r) {
          sum[d][r] = simd::add_product(sum[d][r], value, gradient[r]);
        }
      }
      dy += products.dy_step;
      position += grid.column_step;
    }
  }
#pragma GCC unroll 12
  for (std::size_t d = 0; d < Depths; ++d) {
    T buffer[Registers * simd::count];
#pragma GCC unroll 2
    for (std::size_t r = 0; r < Registers; ++r) {
      simd::store(sum[d][r], buffer + r * simd::count);
    }
    for (std::size_t j = 0; j < products.outputs; ++j) {
      dw[d * products.dw_step + j] += buffer[j];
    }
  }
}
