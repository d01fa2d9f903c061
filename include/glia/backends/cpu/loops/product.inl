// Members of vector_loops (see vector_loops.inl): tiles of a matrix product; see
// dense_product.hpp. The loops for bfloat16 include this file with another version of simd_of.

// Copies columns of a matrix. The rows of `target` are whole registers, padded with zeros.
template <class T>
static void copy_columns(const T* source, std::size_t source_row, std::size_t rows,
                         std::size_t columns, T* target, std::size_t target_row) {
  using simd = simd_of<T>;
  for (std::size_t i = 0; i < rows; ++i, source += source_row, target += target_row) {
    std::size_t j = 0;
    for (; j + simd::count <= columns; j += simd::count) {
      simd::store(simd::load(source + j), target + j);
    }
    if (j < columns) {
      copy_some(source + j, columns - j, target + j);
    }
  }
}

// Computes c = or += a b for one row a (depth), whose elements are a_step apart, and `panels`
// panels of b, which are panel_step apart. It processes several panels together, because the sums
// of a single panel wait for each other.
template <class T>
static void multiply_row(const T* a, std::size_t a_step, const T* b, std::size_t panel_step,
                         std::size_t depth, std::size_t most_depth, std::size_t panels, T* c,
                         bool add = false) {
  constexpr std::size_t width = panel_width<T>;
  for (; panels >= 4; panels -= 4, b += 4 * panel_step, c += 4 * width) {
    multiply_row_panels<4>(a, a_step, b, panel_step, depth, most_depth, c, add);
  }
  for (; panels > 0; --panels, b += panel_step, c += width) {
    multiply_row_panels<1>(a, a_step, b, panel_step, depth, most_depth, c, add);
  }
}
template <std::size_t Panels, class T>
static void multiply_row_panels(const T* a, std::size_t a_step, const T* b, std::size_t panel_step,
                                std::size_t depth, std::size_t most_depth, T* c, bool add) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  const std::size_t parts = depth > most_depth ? (depth + most_depth - 1) / most_depth : 1;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t end = (part + 1) * depth / parts;
    vector sum[Panels][2] = {};
    for (std::size_t k = part * depth / parts; k < end; ++k, a += a_step, b += 2 * simd::count) {
      const vector value = simd::spread(*a);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 2
        for (std::size_t r = 0; r < 2; ++r) {
          sum[p][r] =
              simd::add_product(sum[p][r], value, simd::load(b + p * panel_step + r * simd::count));
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 2
      for (std::size_t r = 0; r < 2; ++r) {
        T* const target = c + (2 * p + r) * simd::count;
        simd::store(add || part > 0 ? sum[p][r] + simd::load(target) : sum[p][r], target);
      }
    }
  }
}

// The width of a piece of a row of b, and the number of rows of a whose sums with it stay in
// registers.
template <class T>
static constexpr std::size_t piece_width = 4 * simd_of<T>::count;
static constexpr std::size_t piece_rows = tile_patches / 3;

// Computes c (rows, columns) = or += a b for a few rows of a, piece by piece. Columns after the
// last whole piece are left out. Other parameters are those of multiply_tile.
template <class T, std::size_t Rows = piece_rows>
static void multiply_pieces(const T* a, std::size_t a_row, std::size_t a_step, const T* b,
                            std::size_t b_row, std::size_t depth, T* c, std::size_t c_row,
                            std::size_t rows, std::size_t columns, bool add) {
  for (; rows >= Rows; rows -= Rows, a += Rows * a_row, c += Rows * c_row) {
    for (std::size_t column = 0; column + piece_width<T> <= columns; column += piece_width<T>) {
      multiply_whole_tile<Rows, 4>(a, a_row, a_step, b + column, b_row, depth, c + column, c_row,
                                   add);
    }
  }
  if constexpr (Rows > 1) {
    if (rows > 0) {
      multiply_pieces<T, Rows - 1>(a, a_row, a_step, b, b_row, depth, c, c_row, rows, columns, add);
    }
  }
}

// Computes c (rows, columns) = or += a b for up to tile_patches rows and up to panel_width columns.
// It writes whole registers. Row i of a begins at a + i * a_row, and its elements are a_step apart.
// b has `depth` rows of whole registers, which are b_row apart.
template <class T, std::size_t Rows = tile_patches>
static void multiply_tile(const T* a, std::size_t a_row, std::size_t a_step, const T* b,
                          std::size_t b_row, std::size_t depth, T* c, std::size_t c_row,
                          std::size_t rows, std::size_t registers, bool add) {
  // A tile that is at least half full is processed by this function, and a smaller tile in pieces.
  constexpr bool half_full = 2 * Rows > tile_patches;
  if (rows >= Rows) {
    if (registers == 2) {
      multiply_whole_tile<Rows, 2>(a, a_row, a_step, b, b_row, depth, c, c_row, add);
    } else {
      multiply_whole_tile<Rows, 1>(a, a_row, a_step, b, b_row, depth, c, c_row, add);
    }
    rows -= Rows;
    a += Rows * a_row;
    c += Rows * c_row;
  }
  if constexpr (Rows > 1) {
    if (rows > 0) {
      constexpr std::size_t fewer = half_full ? Rows - 1 : (Rows + 1) / 2;
      multiply_tile<T, fewer>(a, a_row, a_step, b, b_row, depth, c, c_row, rows, registers, add);
    }
  }
}
template <std::size_t Rows, std::size_t Registers, class T>
static void multiply_whole_tile(const T* a, std::size_t a_row, std::size_t a_step, const T* b,
                                std::size_t b_row, std::size_t depth, T* c, std::size_t c_row,
                                bool add) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  // On x86, one pointer reaches three rows, at 0, 1 and 2 steps.
  constexpr std::size_t pointers = (Rows + 2) / 3;
  const T* source[pointers];
  vector sum[Rows][Registers];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < pointers; ++i) {
    source[i] = a + 3 * i * a_row;
  }
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Registers; ++r) {
      sum[i][r] = vector{};
    }
  }
  for (std::size_t k = 0; k < depth; ++k, b += b_row) {
    vector factor[Registers];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Registers; ++r) {
      factor[r] = simd::load(b + r * simd::count);
    }
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i) {
      const vector value = simd::spread(source[i / 3][i % 3 * a_row]);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < Registers; ++r) {
        sum[i][r] = simd::add_product(sum[i][r], value, factor[r]);
      }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < pointers; ++i) {
      source[i] += a_step;
    }
  }
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Registers; ++r) {
      T* const target = c + i * c_row + r * simd::count;
      simd::store(add ? sum[i][r] + simd::load(target) : sum[i][r], target);
    }
  }
}
