// Members of vector_loops (see vector_loops.inl): Winograd's transforms for 2 x 2 outputs and
// square kernels with 2 or 3 rows; see winograd_convolution.hpp. Channels come in whole registers.

// The transforms of one line (Side = 3 for kernels with 2 rows, 4 for kernels with 3 rows): B^T d
// of pixels, G w of weights, and A^T m of products. For gradients (Side = 4): A y of outputs, and
// G^T u of transformed weights.
template <class Vector>
static void transform_pixels(const Vector (&d)[3], Vector (&result)[3]) {
  result[0] = d[0] - d[1];
  result[1] = d[1];
  result[2] = d[1] - d[2];
}
template <class Vector>
static void transform_pixels(const Vector (&d)[4], Vector (&result)[4]) {
  result[0] = d[0] - d[2];
  result[1] = d[1] + d[2];
  result[2] = d[2] - d[1];
  result[3] = d[1] - d[3];
}
template <class Vector>
static void transform_weights(const Vector (&w)[2], Vector (&result)[3]) {
  result[0] = w[0];
  result[1] = w[0] + w[1];
  result[2] = w[1];
}
template <class Vector>
static void transform_weights(const Vector (&w)[3], Vector (&result)[4]) {
  const Vector outer = w[0] + w[2];
  result[0] = w[0];
  result[1] = (outer + w[1]) / 2;
  result[2] = (outer - w[1]) / 2;
  result[3] = w[2];
}
template <class Vector>
static void transform_products(const Vector (&m)[3], Vector (&result)[2]) {
  result[0] = m[0] + m[1];
  result[1] = m[1] - m[2];
}
template <class Vector>
static void transform_products(const Vector (&m)[4], Vector (&result)[2]) {
  result[0] = m[0] + m[1] + m[2];
  result[1] = m[1] - m[2] - m[3];
}

template <class Vector>
static void transform_outputs(const Vector (&y)[2], Vector (&result)[4]) {
  result[0] = y[0];
  result[1] = y[0] + y[1];
  result[2] = y[0] - y[1];
  result[3] = -y[1];
}
template <class Vector>
static void restore_weights(const Vector (&u)[4], Vector (&result)[3]) {
  const Vector sum = (u[1] + u[2]) / 2;
  result[0] = u[0] + sum;
  result[1] = (u[1] - u[2]) / 2;
  result[2] = sum + u[3];
}

// Computes transformed[Side i + j] (step apart) = B^T d B of a tile of Side x Side pixels.
template <std::size_t Side, class T>
static void transform_tile(const T* const* pixel, std::size_t channels, T* transformed,
                           std::size_t step) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  for (std::size_t c = 0; c < channels; c += simd::count) {
    vector column[Side][Side];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < Side; ++j) {
      vector d[Side];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < Side; ++i) {
        d[i] = simd::load(pixel[Side * i + j] + c);
      }
      transform_pixels(d, column[j]);
    }
    T* target = transformed + c;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Side; ++i) {
      vector row[Side];
      vector result[Side];
#pragma GCC unroll 4
      for (std::size_t j = 0; j < Side; ++j) {
        row[j] = column[j][i];
      }
      transform_pixels(row, result);
#pragma GCC unroll 4
      for (std::size_t j = 0; j < Side; ++j, target += step) {
        simd::store(result[j], target);
      }
    }
  }
}

// Packs G w G^T of one panel of a kernel (Side - 1, Side - 1, inputs, outputs) in Side x Side
// panels, which are `step` apart, with zero biases. `count` outputs, from w on, are in this panel.
template <std::size_t Side, class T>
static void pack_transformed_panel(const T* w, std::size_t inputs, std::size_t outputs,
                                   std::size_t count, T* packed, std::size_t step) {
  using simd = simd_of<T>;
  for (std::size_t v = 0; v < panel_width<T>; v += simd::count) {
    store_products<Side, T>({}, packed + v, step);
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    packed += panel_width<T>;
    for (std::size_t v = 0; v < panel_width<T>; v += simd::count) {
      typename simd::vector product[Side * Side] = {};
      if (v < count) {
        transform_kernel<Side>(w + i * outputs + v, inputs * outputs, product);
      }
      store_products<Side, T>(product, packed + v, step);
    }
  }
}
// Computes G w G^T of one register of a kernel whose weights are `next` apart.
template <std::size_t Side, class T, class Vector>
static void transform_kernel(const T* w, std::size_t next, Vector (&product)[Side * Side]) {
  constexpr std::size_t size = Side - 1;
  Vector row[size][Side];
#pragma GCC unroll 3
  for (std::size_t i = 0; i < size; ++i) {
    Vector weight[size];
#pragma GCC unroll 3
    for (std::size_t j = 0; j < size; ++j) {
      weight[j] = simd_of<T>::load(w + (i * size + j) * next);
    }
    transform_weights(weight, row[i]);
  }
#pragma GCC unroll 4
  for (std::size_t j = 0; j < Side; ++j) {
    Vector column[size];
    Vector result[Side];
#pragma GCC unroll 3
    for (std::size_t i = 0; i < size; ++i) {
      column[i] = row[i][j];
    }
    transform_weights(column, result);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Side; ++i) {
      product[Side * i + j] = result[i];
    }
  }
}
template <std::size_t Side, class T>
static void store_products(const typename simd_of<T>::vector (&product)[Side * Side], T* target,
                           std::size_t step) {
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Side * Side; ++i) {
    simd_of<T>::store(product[i], target + i * step);
  }
}

// Computes sums (count, panels * panel_width) = tiles (count, inputs) times the packed panels.
template <class T>
static void multiply_tiles(const T* tiles, std::size_t count, std::size_t inputs, const T* panel,
                           std::size_t panels, T* sums) {
  constexpr std::size_t width = panel_width<T>;
  const patch_tiles<tile_patches> parts(count);
  for (std::size_t p = 0; p < panels; ++p, panel += (1 + inputs) * width) {
    for (std::size_t part = 0; part < parts.count(); ++part) {
      const std::size_t first = parts.start(part);
      const std::size_t n = parts.size(part);
      const T* source[tile_patches];
      T* target[tile_patches];
      for (std::size_t i = 0; i < n; ++i) {
        source[i] = tiles + (first + i) * inputs;
        target[i] = sums + ((first + i) * panels + p) * width;
      }
      multiply_patches(patch_products<T>{&single_run, inputs, inputs, panel, width, width}, source,
                       n, target, store_sums{});
    }
  }
}

// Computes the four outputs A^T m A of one register of a tile, whose products are `step` apart, and
// adds 0 times the outputs to `zero`. A value in x or in the kernel that is not finite makes an
// output of its tile not finite.
template <std::size_t Side, class T>
static void outputs_of_tile(const T* m, std::size_t step, typename simd_of<T>::vector (&output)[4],
                            typename simd_of<T>::vector& zero) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector column[Side][2];
#pragma GCC unroll 4
  for (std::size_t j = 0; j < Side; ++j) {
    vector product[Side];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Side; ++i) {
      product[i] = simd::load(m + (Side * i + j) * step);
    }
    transform_products(product, column[j]);
  }
#pragma GCC unroll 2
  for (std::size_t i = 0; i < 2; ++i) {
    vector row[Side];
    vector result[2];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < Side; ++j) {
      row[j] = column[j][i];
    }
    transform_products(row, result);
    output[2 * i] = result[0];
    output[2 * i + 1] = result[1];
    zero += result[0] * T(0);
    zero += result[1] * T(0);
  }
}

// Stores the largest of the four outputs A^T m A + bias of a tile of 3 x 3 products, clamped, and
// its position, as in max_of_window. `zeros`, one register, is as in outputs_of_tile: a bias does
// not spread to neighbors.
template <class T>
static void pool_tile(const T* m, std::size_t step, const T* bias, std::size_t outputs,
                      const clamp_range<T>& clamp, T* y, std::uint8_t* position, T* zeros) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector zero = simd::load(zeros);
  for (std::size_t o = 0; o < outputs; o += simd::count) {
    vector output[4];
    outputs_of_tile<3>(m + o, step, output, zero);
    const vector shift = bias == nullptr ? vector{} : simd::load(bias + o);
#pragma GCC unroll 4
    for (vector& v : output) {
      v += shift;
    }
    store_pooled<T>(output, clamp, y + o, position == nullptr ? nullptr : position + o);
  }
  simd::store(zero, zeros);
}

// Stores the four outputs A^T m A + bias of a tile of 4 x 4 products, clamped, at y[i] + position,
// where y[i] is not null. `zeros` is as in pool_tile.
template <class T>
static void store_tile(const T* m, std::size_t step, const T* bias, std::size_t outputs,
                       const clamp_range<T>& clamp, T* const* y, std::size_t position, T* zeros) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector zero = simd::load(zeros);
  for (std::size_t o = 0; o < outputs; o += simd::count) {
    vector output[4];
    outputs_of_tile<4>(m + o, step, output, zero);
    const vector shift = bias == nullptr ? vector{} : simd::load(bias + o);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      if (y[i] != nullptr) {
        simd::store(clamped<T>(output[i] + shift, clamp), y[i] + position + o);
      }
    }
  }
  simd::store(zero, zeros);
}

// Computes transformed[4 i + j] (step apart) = A y A^T of 2 x 2 outputs, the gradient with respect
// to the products.
template <class T>
static void transform_output_gradient(const T* const* output, std::size_t channels, T* transformed,
                                      std::size_t step) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  for (std::size_t o = 0; o < channels; o += simd::count) {
    vector column[2][4];
#pragma GCC unroll 2
    for (std::size_t j = 0; j < 2; ++j) {
      const vector y[2] = {simd::load(output[j] + o), simd::load(output[2 + j] + o)};
      transform_outputs(y, column[j]);
    }
    T* target = transformed + o;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const vector row[2] = {column[0][i], column[1][i]};
      vector result[4];
      transform_outputs(row, result);
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j, target += step) {
        simd::store(result[j], target);
      }
    }
  }
}

// Computes the gradient G^T u G of one row of a 3 x 3 kernel, whose weights are `next` apart, from
// that of the transformed weights u, `step` apart, and adds 0 times the gradient to `zeros`, one
// register.
template <class T>
static void restore_kernel_gradient(const T* u, std::size_t step, std::size_t outputs, T* dw,
                                    std::size_t next, T* zeros) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector zero = simd::load(zeros);
  for (std::size_t o = 0; o < outputs; o += simd::count) {
    vector column[4][3];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      vector product[4];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        product[i] = simd::load(u + (4 * i + j) * step + o);
      }
      restore_weights(product, column[j]);
    }
    T* target = dw + o;
#pragma GCC unroll 3
    for (std::size_t i = 0; i < 3; ++i) {
      const vector row[4] = {column[0][i], column[1][i], column[2][i], column[3][i]};
      vector result[3];
      restore_weights(row, result);
#pragma GCC unroll 3
      for (std::size_t j = 0; j < 3; ++j, target += next) {
        zero += result[j] * T(0);
        simd::store(result[j], target);
      }
    }
  }
  simd::store(zero, zeros);
}
