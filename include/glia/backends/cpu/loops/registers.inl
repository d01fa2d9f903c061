// Included in the namespace of one instruction set, after the definition of bytes_per_register: the
// registers of that instruction set, and plain versions of the functions for which some instruction
// sets have their own version.

// Valid up to end.inl.
#if !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

struct registers {
  static constexpr std::size_t register_bytes = bytes_per_register;
  // 6 x 2 sums, 2 factors and a broadcast take 15 of the 16 registers of SSE and AVX2. AVX-512 has
  // 32 registers: 12 x 2 sums and 2 factors take 26, and broadcasts are memory operands.
  static constexpr std::size_t tile_patches = register_bytes == 64 ? 12 : 6;

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
    static vector load(const T* source) { return *reinterpret_cast<const in_memory*>(source); }
    static void store(const vector& v, T* target) { *reinterpret_cast<in_memory*>(target) = v; }
    // Returns a register whose elements are all x.
    static vector spread(const T& x) { return x - vector{}; }
    // Returns sum + a b.
    static vector add_product(const vector& sum, const vector& a, const vector& b) {
      return sum + a * b;
    }
  };

  // Returns whether a number, or each element of a vector, is NaN. Only NaN differs from itself.
  template <class V>
  [[gnu::always_inline]] static auto is_nan(const V& v) {
    return v != v;  // NOLINT(misc-redundant-expression)
  }

  // The number of factors in one element of a product in bfloat16; see rounding.inl.
  static constexpr std::size_t factors_per_word = 1;

  // The number of outputs in a panel of weights: two registers.
  template <class T>
  static constexpr std::size_t panel_width = 2 * register_bytes / sizeof(T);

  // The result of a comparison of two registers of floats.
  using float_mask = decltype(typename simd_of<float>::vector{} >
                              typename simd_of<float>::vector{});

  // Stores positions from vectors to memory.
  template <class Lanes, class Position>
  static void store_positions(const Lanes& source, Position* target) {
    if constexpr (sizeof(source[0]) == sizeof(Position)) {
      __builtin_memcpy(target, &source, sizeof(source));
    } else {
      for (std::size_t i = 0; i < sizeof(Lanes) / sizeof(source[0]); ++i) {
        target[i] = static_cast<Position>(source[i]);
      }
    }
  }
  template <class Lanes>
  static Lanes load_positions(const std::uint8_t* source, const Lanes& /*type*/) {
    Lanes result;
    for (std::size_t i = 0; i < sizeof(Lanes) / sizeof(result[0]); ++i) {
      result[i] = source[i];
    }
    return result;
  }

  // Computes square roots in place. std::sqrt may set errno, which prevents compilers from
  // vectorizing it.
  static void square_roots(double* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = __builtin_sqrt(x[i]);
    }
  }

  // Copies fewer elements than a register has, and fills the register with zeros.
  template <class T>
  static void copy_some(const T* source, std::size_t count, T* target) {
    simd_of<T>::store(typename simd_of<T>::vector{}, target);
    std::memcpy(target, source, count * sizeof(T));
  }

  // Stores the first elements of a register, fewer than it has.
  template <class T>
  static void store_some(const typename simd_of<T>::vector& v, std::size_t count, T* target) {
    std::memcpy(target, &v, count * sizeof(T));
  }

  // Appends the nonzeros among 8 values, without branches. All 8 elements are written. The
  // caller advances by the number returned.
  template <class T>
  static std::size_t append_nonzeros(const T* x, std::size_t first, nonzero<T>* entries) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      entries[count] = {x[i], static_cast<std::uint32_t>(first + i)};
      count += x[i] != 0 ? 1U : 0U;
    }
    return count;
  }

  // Transposes an 8 x 8 tile.
  template <class T>
  static void transpose_tile(const T* x, std::size_t x_step, T* y, std::size_t y_step) {
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        y[j * y_step + i] = x[i * x_step + j];
      }
    }
  }
};
