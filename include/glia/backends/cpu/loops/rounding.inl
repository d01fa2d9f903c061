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
