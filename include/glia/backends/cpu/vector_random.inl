// Included by vector_kernels.inl inside the struct of one instruction set: random numbers and
// dropout.

template <class T>
static void dropout(const T* x, T* y, std::size_t n, double rate, const random_key& key,
                    std::uint64_t offset) {
  constexpr std::size_t width = 16;
  const T scale = static_cast<T>(1 / (1 - rate));
  // word * 2^-32 >= rate, as integers
  const double bound = __builtin_ceil(rate * 0x1p32);
  const auto threshold = static_cast<std::uint64_t>(bound);
  std::size_t done = 0;
  while (done < n) {
    const std::uint64_t first = offset + done;
    std::uint32_t words[4 * width];
    philox_blocks<width>(key, first / 4, words);
    const std::size_t skip = first % 4;
    const std::size_t count = n - done < 4 * width - skip ? n - done : 4 * width - skip;
    const T* from = x + done;
    T* to = y + done;
    const std::uint32_t* word = words + skip;
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
      const T kept = from[i] * scale;
      to[i] = word[i] >= threshold ? kept : T(0);
    }
    done += count;
  }
}

// Philox for `Width` consecutive blocks at once; see core/random.hpp for the algorithm.
template <std::size_t Width>
static void philox_blocks(const random_key& key, std::uint64_t first, std::uint32_t* words) {
  std::uint32_t c0[Width];
  std::uint32_t c1[Width];
  std::uint32_t c2[Width];
  std::uint32_t c3[Width];
  for (std::size_t i = 0; i < Width; ++i) {
    c0[i] = static_cast<std::uint32_t>(first + i);
    c1[i] = static_cast<std::uint32_t>((first + i) >> 32);
    c2[i] = key.stream;
    c3[i] = key.step;
  }
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < Width; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (std::size_t i = 0; i < Width; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}
