// Members of vector_loops (see vector_loops.inl): products with a factor that has many zeros;
// see sparse_product.hpp.

// The number of vectors of sums that stay in registers.
static constexpr std::size_t max_sums = 8;

template <class T>
static std::size_t count_nonzeros(const T* x, std::size_t n) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    count += x[i] != 0 ? 1U : 0U;
  }
  return count;
}

// Lists the nonzeros of x[0] ... x[n - 1] with their indices, and returns their number. `entries`
// must have n elements.
template <class T>
static std::size_t list_nonzeros(const T* x, std::size_t n, nonzero<T>* entries) {
  std::size_t count = 0;
  std::size_t i = 0;
  if constexpr (requires { append_sixteen(x, i, entries); }) {
    for (; i + 16 <= n; i += 16) {
      count += append_sixteen(x + i, i, entries + count);
    }
  }
  for (; i + 8 <= n; i += 8) {
    count += append_nonzeros(x + i, i, entries + count);
  }
  for (; i < n; ++i) {
    entries[count] = {x[i], static_cast<std::uint32_t>(i)};
    count += x[i] != 0 ? 1U : 0U;
  }
  return count;
}

// Lists the nonzeros of 8 columns of a matrix of n rows. The list of column j begins at entries + j
// * list_step.
template <class T>
static void list_nonzeros_of_columns(const T* x, std::size_t x_step, std::size_t n,
                                     nonzero<T>* entries, std::size_t list_step,
                                     std::size_t* counts) {
  for (std::size_t j = 0; j < 8; ++j) {
    counts[j] = 0;
  }
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    T tile[64];
    transpose_tile(x + i * x_step, x_step, tile, 8);
    for (std::size_t j = 0; j < 8; ++j) {
      counts[j] += append_nonzeros(tile + 8 * j, i, entries + j * list_step + counts[j]);
    }
  }
  for (; i < n; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      const T value = x[i * x_step + j];
      entries[j * list_step + counts[j]] = {value, static_cast<std::uint32_t>(i)};
      counts[j] += value != 0 ? 1U : 0U;
    }
  }
}

// Computes each row of c (rows, vectors * per_register) = or += the sum over its list's entries of
// value * row of b. The sums stay in registers. 1 <= vectors <= max_sums.
template <class T, std::size_t Vectors = max_sums>
static void multiply_nonzeros(const nonzero_lists<T>& lists, const T* b, std::size_t b_step, T* c,
                              std::size_t c_step, std::size_t vectors, bool add) {
  if constexpr (Vectors > 1) {
    if (vectors < Vectors) {
      return multiply_nonzeros<T, Vectors - 1>(lists, b, b_step, c, c_step, vectors, add);
    }
  }
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t per_register = simd::count;
  for (std::size_t r = 0; r < lists.rows; ++r, c += c_step) {
    const nonzero<T>* entry = lists.entries + r * lists.list_step;
    std::size_t remaining = lists.counts[r];
    bool onto = add;
    do {
      const std::size_t count =
          remaining < detail::product_chain ? remaining : detail::product_chain;
      remaining -= count;
      vector sum[Vectors];
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[v] = vector{};
      }
      for (const nonzero<T>* const last = entry + count; entry != last; ++entry) {
        const vector value = entry->value - vector{};
        const T* row = b + entry->index * b_step;
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          sum[v] += value * simd::load(row + v * per_register);
        }
      }
      if (onto) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          sum[v] += simd::load(c + v * per_register);
        }
      }
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        simd::store(sum[v], c + v * per_register);
      }
      onto = true;
    } while (remaining > 0);
  }
}

// Returns whether all elements in `rows` rows of `vectors` vectors are finite. For a finite
// element, the product with 0 is 0. 1 <= vectors <= max_sums.
template <class T, std::size_t Vectors = max_sums>
static bool all_finite_rows(const T* x, std::size_t x_step, std::size_t rows, std::size_t vectors) {
  if constexpr (Vectors > 1) {
    if (vectors < Vectors) {
      return all_finite_rows<T, Vectors - 1>(x, x_step, rows, vectors);
    }
  }
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector zero[Vectors] = {};
  for (std::size_t i = 0; i < rows; ++i, x += x_step) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      zero[v] += simd::load(x + v * simd::count) * T(0);
    }
  }
  vector sum_of_registers{};
#pragma GCC unroll 8
  for (std::size_t v = 0; v < Vectors; ++v) {
    sum_of_registers += zero[v];
  }
  T sum{};
  for (std::size_t i = 0; i < simd::count; ++i) {
    sum += sum_of_registers[i];
  }
  return sum == 0;
}
template <class T>
static bool all_finite(const T* x, std::size_t n) {
  constexpr std::size_t step = max_sums * simd_of<T>::count;
  T zero{};
  for (std::size_t i = n / step * step; i < n; ++i) {
    zero += x[i] * T(0);
  }
  return zero == 0 && all_finite_rows(x, step, n / step, max_sums);
}
// Returns whether the products of `scale` and x[0] ... x[n - 1] are finite.
template <class T>
static bool all_products_finite(const T* x, std::size_t n, T scale) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    count += x[i] * scale * T(0) == 0 ? 1U : 0U;
  }
  return count == static_cast<std::uint32_t>(n);
}

// Computes y (columns, rows), the transpose of x (rows, columns).
template <class T>
static void transpose_matrix(const T* x, std::size_t x_step, T* y, std::size_t y_step,
                             std::size_t rows, std::size_t columns) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    std::size_t j = 0;
    for (; j + 8 <= columns; j += 8) {
      transpose_tile(x + i * x_step + j, x_step, y + j * y_step + i, y_step);
    }
    for (; j < columns; ++j) {
      for (std::size_t k = 0; k < 8; ++k) {
        y[j * y_step + i + k] = x[(i + k) * x_step + j];
      }
    }
  }
  for (; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      y[j * y_step + i] = x[i * x_step + j];
    }
  }
}
