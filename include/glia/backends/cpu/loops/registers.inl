// Included inside the struct of one instruction set, after the definitions of register_bytes and
// tile_patches: the registers of that instruction set.

// The element type of the result of a comparison of two vectors of T.
template <class T>
using element_integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// The elements of one register. Registers are loaded and stored one by one, with their own type.
// Sums that are copied as an array, or on ARM by memcpy, do not stay in registers.
template <class T>
struct simd_of {
  using vector [[gnu::vector_size(register_bytes)]] = T;
  using in_memory [[gnu::vector_size(register_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] =
      T;
  static constexpr std::size_t count = register_bytes / sizeof(T);
  static vector load(const T* from) { return *reinterpret_cast<const in_memory*>(from); }
  static void store(const vector& v, T* to) { *reinterpret_cast<in_memory*>(to) = v; }
};

// Returns whether a number, or each element of a vector, is NaN. Only NaN differs from itself.
template <class V>
[[gnu::always_inline]] static auto is_nan(const V& v) {
  return v != v;  // NOLINT(misc-redundant-expression)
}

// The number of outputs in a panel of weights: two registers.
template <class T>
static constexpr std::size_t panel_width = 2 * register_bytes / sizeof(T);

// Stores positions from vectors to memory. If elements become bytes, the code names the
// instructions, because g++ 12 moves one element after the other. (The masks that keep every
// element silence false warnings of g++ 12.)
template <class Lanes, class Position>
static void store_positions(const Lanes& from, Position* to) {
  constexpr std::size_t count = sizeof(Lanes) / sizeof(from[0]);
  if constexpr (sizeof(from[0]) == sizeof(Position)) {
    __builtin_memcpy(to, &from, sizeof(from));
#if defined(GLIA_ISA_IS_AVX512)
  } else if constexpr (sizeof(from[0]) == 4 && sizeof(Position) == 1) {
    __m512i elements;
    __builtin_memcpy(&elements, &from, sizeof(elements));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xFFFF, elements));
#elif defined(GLIA_ISA_IS_AVX2)
  } else if constexpr (sizeof(from[0]) == 4 && sizeof(Position) == 1) {
    __m256i elements;
    __builtin_memcpy(&elements, &from, sizeof(elements));
    elements = _mm256_shuffle_epi8(elements, _mm256_set1_epi32(0x0C080400));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                     _mm_unpacklo_epi32(_mm256_castsi256_si128(elements),
                                        _mm256_extracti128_si256(elements, 1)));
#endif
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<Position>(from[i]);
    }
  }
}
template <class Lanes>
static Lanes load_positions(const std::uint8_t* from) {
  Lanes result;
  constexpr std::size_t count = sizeof(Lanes) / sizeof(result[0]);
#if defined(GLIA_ISA_IS_AVX512)
  if constexpr (count == 16) {
    const __m512i elements =
        _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    __builtin_memcpy(&result, &elements, sizeof(result));
    return result;
  }
#elif defined(GLIA_ISA_IS_AVX2)
  if constexpr (count == 8) {
    const __m256i elements =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    __builtin_memcpy(&result, &elements, sizeof(result));
    return result;
  }
#endif
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = from[i];
  }
  return result;
}
