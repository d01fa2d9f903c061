// Members of vector_loops (see vector_loops.inl): the factors of products in bfloat16; see
// rounded_product.hpp. Here, a factor is a number in single precision that bfloat16 can represent.
// The product of two such numbers is exact in single precision, so that products and sums give the
// bits of instructions for bfloat16, in the order of these loops. Loops that have such instructions
// store two factors in one word; see factors_per_word.

// Rounds x to the nearest number in bfloat16, ties to even. A denormal number becomes 0, as in
// instructions for bfloat16, and a NaN stays a NaN.
[[gnu::always_inline]] static float rounded_to_bfloat16(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  constexpr std::uint32_t infinity = 0x7F800000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  const std::uint32_t is_nan = 0U - static_cast<std::uint32_t>(size > infinity);
  const std::uint32_t is_normal = 0U - static_cast<std::uint32_t>(size >= 0x00800000U);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  const std::uint32_t number = (rounded & ~is_nan) | ((bits | 0x400000U) & is_nan);
  return __builtin_bit_cast(float, number & 0xFFFF0000U & (is_normal | 0x80000000U));
}

// Writes the n factors of a row, word by word.
static void round_row(const float* x, std::size_t n, float* words) {
  transform(x, words, n, [](float v) { return rounded_to_bfloat16(v); });
}

// Writes `depth` rows of factors as rows of words: each word has consecutive factors of one column.
// Rows of words are whole registers, padded with zeros.
static void round_rows(const float* x, std::size_t x_step, std::size_t depth, std::size_t columns,
                       float* words, std::size_t words_step) {
  using simd = simd_of<float>;
  for (std::size_t k = 0; k < depth; ++k) {
    float* const target = words + k * words_step;
    if (columns % simd::count != 0) {
      simd::store(typename simd::vector{}, target + columns / simd::count * simd::count);
    }
    round_row(x + k * x_step, columns, target);
  }
}

// Whether products are computed in tiles, as by tile registers: each row of the first factor is
// consecutive words, and a single row is a tile, too. A thread has a tile_state while it
// multiplies.
static constexpr bool in_tiles = false;
// The number of words that one instruction for tiles multiplies.
static constexpr std::size_t step_words = 1;
struct tile_state {};

// Computes the same as multiply_tile in the order of tile registers: for 32 factors at a time, the
// products of even and of odd factors are added apart, from 0 on, then both sums, and then their
// sum is added to that of the factors before, or to c.
template <class T>
static void multiply_tile_by_chains(const T* a, std::size_t a_row, std::size_t a_step, const T* b,
                                    std::size_t b_row, std::size_t depth, T* c, std::size_t c_row,
                                    std::size_t rows, std::size_t registers, bool add) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t chunk = 32;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t r = 0; r < registers; ++r) {
      const auto product = [&](const vector& sum, std::size_t k) {
        return simd::add_product(sum, simd::spread(a[i * a_row + k * a_step]),
                                 simd::load(b + k * b_row + r * simd::count));
      };
      T* const target = c + i * c_row + r * simd::count;
      vector total = add ? simd::load(target) : vector{};
      for (std::size_t first = 0; first < depth; first += chunk) {
        const std::size_t end = depth - first < chunk ? depth : first + chunk;
        vector even{};
        vector odd{};
        for (std::size_t k = first; k < end; k += 2) {
          even = product(even, k);
          if (k + 1 < end) {
            odd = product(odd, k + 1);
          }
        }
        total += even + odd;
      }
      simd::store(total, target);
    }
  }
}
