// Members of vector_loops (see vector_loops.inl): random numbers and
// dropout.

template <class T>
static void dropout(const T* x, T* y, std::size_t n, double rate, const random_key& key,
                    std::uint64_t offset) {
  constexpr std::size_t blocks = 8;
  constexpr std::size_t halves_per_block = 8;
  const T scale = static_cast<T>(1 / (1 - rate));
  // half word * 2^-16 >= rate, in integers
  const double bound = __builtin_ceil(rate * 0x1p16);
  const auto threshold = static_cast<std::uint32_t>(bound);
  std::size_t done = 0;
  while (done < n) {
    const std::uint64_t first = offset + done;
    std::uint32_t words[4 * blocks];
    std::uint16_t halves[blocks * halves_per_block];
    philox_blocks(key, first / halves_per_block, words);
    if constexpr (std::endian::native == std::endian::big) {  // the low half is first
      for (std::uint32_t& word : words) {
        word = std::rotl(word, 16);
      }
    }
    __builtin_memcpy(halves, words, sizeof(halves));
    const std::size_t skip = first % halves_per_block;
    const std::size_t available = blocks * halves_per_block - skip;
    const std::size_t count = n - done < available ? n - done : available;
    const T* source = x + done;
    T* target = y + done;
    const std::uint16_t* half = halves + skip;
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
      const T scaled = source[i] * scale;
      target[i] = half[i] >= threshold ? scaled : T(0);
    }
    done += count;
  }
}

// Computes noise[i] from words[i] for the first n elements; see normal_of in core/random.hpp.
template <class T, std::size_t N>
static void normal_of(const std::uint32_t (&words)[N], T (&noise)[N], std::size_t n) {
  namespace coefficients = inverse_error_function;
  T uniform[N];
  T w[N];
  T roots[N];
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t odd = 2 * static_cast<std::int32_t>(words[i] >> 8) + 1 - (1 << 24);
    uniform[i] = static_cast<T>(odd) * T(0x1p-24);
    w[i] = -log_of((1 - uniform[i]) * (1 + uniform[i]));
    roots[i] = w[i];
  }
  square_roots(roots, n);
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    T near = 0;
    T far = 0;
    for (std::size_t c = 0; c < coefficients::near.size(); ++c) {
      near = near * (w[i] - T(2.5)) + static_cast<T>(coefficients::near[c]);
      far = far * (roots[i] - 3) + static_cast<T>(coefficients::far[c]);
    }
    noise[i] = static_cast<T>(std::numbers::sqrt2) * (w[i] < 5 ? near : far) * uniform[i];
  }
}

template <class T>
static void gaussian_noise(const T* x, T* y, std::size_t n, double deviation, const random_key& key,
                           std::uint64_t offset) {
  constexpr std::size_t blocks = 8;
  constexpr std::size_t words_per_block = 4;
  const auto factor = static_cast<T>(deviation);
  std::size_t done = 0;
  while (done < n) {
    const std::uint64_t first = offset + done;
    std::uint32_t words[words_per_block * blocks];
    philox_blocks(key, first / words_per_block, words);
    const std::size_t skip = first % words_per_block;
    const std::size_t available = words_per_block * blocks - skip;
    const std::size_t count = n - done < available ? n - done : available;
    T noise[words_per_block * blocks];
    normal_of(words, noise, skip + count);
    const T* source = x + done;
    T* target = y + done;
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
      target[i] = source[i] + factor * noise[skip + i];
    }
    done += count;
  }
}
