// Included inside the struct of one instruction set: Winograd's transforms for 2 x 2 kernels and
// 2 x 2 outputs; see winograd_pooling.hpp. Channels come in whole registers.

// transformed[3 i + j] (step apart) = B^T d B of a tile of 3 x 3 pixels
template <class T>
static void transform_tile(const T* const* pixel, std::size_t channels, T* transformed,
                           std::size_t step) {
  using simd = lanes_of<T>;
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
    T* to = transformed + c;
#pragma GCC unroll 3
    for (const vector(&of_row)[3] : row) {
      simd::store(of_row[0] - of_row[1], to);
      simd::store(of_row[1], to + step);
      simd::store(of_row[1] - of_row[2], to + 2 * step);
      to += 3 * step;
    }
  }
}

// transformed (9, inputs, outputs) = G w G^T of a kernel w (2, 2, inputs, outputs), size = inputs *
// outputs
template <class T>
static void transform_kernel(const T* w, std::size_t size, T* transformed) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < size; ++i) {
    const T a = w[i];
    const T b = w[size + i];
    const T c = w[2 * size + i];
    const T d = w[3 * size + i];
    transformed[i] = a;
    transformed[size + i] = a + b;
    transformed[2 * size + i] = b;
    transformed[3 * size + i] = a + c;
    transformed[4 * size + i] = (a + b) + (c + d);
    transformed[5 * size + i] = b + d;
    transformed[6 * size + i] = c;
    transformed[7 * size + i] = c + d;
    transformed[8 * size + i] = d;
  }
}

// The largest of the four outputs A^T m A + bias of a tile, clamped, and its position, as in
// max_of_window; m's nine products are `step` apart.
template <class T>
static void pool_tile(const T* m, std::size_t step, const T* bias, std::size_t outputs, T low,
                      T high, std::uint8_t cut, T* y, std::uint8_t* position) {
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  for (std::size_t o = 0; o < outputs; o += simd::count) {
    vector column[2][3];
#pragma GCC unroll 3
    for (std::size_t j = 0; j < 3; ++j) {
      const vector middle = simd::load(m + (3 + j) * step + o);
      column[0][j] = simd::load(m + j * step + o) + middle;
      column[1][j] = middle - simd::load(m + (6 + j) * step + o);
    }
    const vector shift = bias == nullptr ? vector{} : simd::load(bias + o);
    const vector output[4] = {
        column[0][0] + column[0][1] + shift, column[0][1] - column[0][2] + shift,
        column[1][0] + column[1][1] + shift, column[1][1] - column[1][2] + shift};
    store_pooled<T>(output, low, high, cut, y + o, position == nullptr ? nullptr : position + o);
  }
}
