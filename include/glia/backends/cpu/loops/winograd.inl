// Members of vector_loops (see vector_loops.inl): Winograd's transforms for 2 x 2 kernels and 2
// x 2 outputs; see winograd_pooling.hpp. Channels come in whole registers.

// Computes transformed[3 i + j] (step apart) = B^T d B of a tile of 3 x 3 pixels.
template <class T>
static void transform_tile(const T* const* pixel, std::size_t channels, T* transformed,
                           std::size_t step) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  for (std::size_t c = 0; c < channels; c += simd::count) {
    vector row[3][3];
#pragma GCC unroll 3
    for (std::size_t j = 0; j < 3; ++j) {
      const vector middle = simd::load(pixel[3 + j] + c);
      row[0][j] = simd::load(pixel[j] + c) - middle;
      row[1][j] = middle;
      row[2][j] = middle - simd::load(pixel[6 + j] + c);
    }
    T* target = transformed + c;
#pragma GCC unroll 3
    for (const vector(&of_row)[3] : row) {
      simd::store(of_row[0] - of_row[1], target);
      simd::store(of_row[1], target + step);
      simd::store(of_row[1] - of_row[2], target + 2 * step);
      target += 3 * step;
    }
  }
}

// Packs G w G^T of a kernel w (2, 2, inputs, outputs) as nine matrices, which are `step` apart.
// Each matrix is cut into panels with zero biases.
template <class T>
static void pack_transformed_kernel(const T* w, std::size_t inputs, std::size_t outputs, T* packed,
                                    std::size_t step) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  const std::size_t next = inputs * outputs;
  for (std::size_t panel = 0; panel < outputs; panel += panel_width<T>) {
    for (std::size_t v = 0; v < panel_width<T>; v += simd::count) {
      store_products<T>({}, packed + v, step);
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      packed += panel_width<T>;
      for (std::size_t v = 0; v < panel_width<T>; v += simd::count) {
        const std::size_t index = i * outputs + panel + v;
        if (panel + v >= outputs) {
          store_products<T>({}, packed + v, step);
          continue;
        }
        const vector a = simd::load(w + index);
        const vector b = simd::load(w + next + index);
        const vector c = simd::load(w + 2 * next + index);
        const vector d = simd::load(w + 3 * next + index);
        store_products<T>({a, a + b, b, a + c, (a + b) + (c + d), b + d, c, c + d, d}, packed + v,
                          step);
      }
    }
    packed += panel_width<T>;
  }
}
template <class T>
static void store_products(const typename simd_of<T>::vector (&product)[9], T* target,
                           std::size_t step) {
#pragma GCC unroll 9
  for (std::size_t i = 0; i < 9; ++i) {
    simd_of<T>::store(product[i], target + i * step);
  }
}

// Computes sums (count, panels * panel_width) = tiles (count, inputs) times the packed panels.
template <class T>
static void multiply_tiles(const T* tiles, std::size_t count, std::size_t inputs, const T* panel,
                           std::size_t panels, T* sums) {
  constexpr std::size_t width = panel_width<T>;
  for (std::size_t p = 0; p < panels; ++p, panel += (1 + inputs) * width) {
    for (std::size_t i = 0; i < count; i += tile_patches) {
      const std::size_t n = count - i < tile_patches ? count - i : tile_patches;
      const T* source[tile_patches];
      T* target[tile_patches];
      for (std::size_t j = 0; j < n; ++j) {
        source[j] = tiles + (i + j) * inputs;
        target[j] = sums + ((i + j) * panels + p) * width;
      }
      multiply_patches(patch_products<T>{&single_run, inputs, inputs, panel, width, width}, source,
                       n, target, store_sums{});
    }
  }
}

// Stores the largest of the four outputs A^T m A + bias of a tile, clamped, and its position, as in
// max_of_window. The nine products in m are `step` apart. It also adds 0 times the outputs to
// `zeros`, one register: a value in x or in the kernel that is not finite makes an output of its
// tile not finite. A bias does not spread to neighbors.
template <class T>
static void pool_tile(const T* m, std::size_t step, const T* bias, std::size_t outputs,
                      const clamp_range<T>& clamp, T* y, std::uint8_t* position, T* zeros) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector zero = simd::load(zeros);
  for (std::size_t o = 0; o < outputs; o += simd::count) {
    vector column[2][3];
#pragma GCC unroll 3
    for (std::size_t j = 0; j < 3; ++j) {
      const vector middle = simd::load(m + (3 + j) * step + o);
      column[0][j] = simd::load(m + j * step + o) + middle;
      column[1][j] = middle - simd::load(m + (6 + j) * step + o);
    }
    const vector shift = bias == nullptr ? vector{} : simd::load(bias + o);
    vector output[4] = {column[0][0] + column[0][1], column[0][1] - column[0][2],
                        column[1][0] + column[1][1], column[1][1] - column[1][2]};
#pragma GCC unroll 4
    for (vector& v : output) {
      zero += v * T(0);
      v += shift;
    }
    store_pooled<T>(output, clamp, y + o, position == nullptr ? nullptr : position + o);
  }
  simd::store(zero, zeros);
}
