// Members of vector_loops (see vector_loops.inl): sums of many numbers.
// long_sum.hpp gives their error bounds.

// Adds x to a total with compensation, element by element, as in compensated_sum.
template <class T>
static void add_compensated(const T* x, T* total, T* lost, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T sum = total[i] + x[i];
    const T added = sum - total[i];
    lost[i] += (total[i] - (sum - added)) + (x[i] - added);
    total[i] = sum;
  }
}
template <class T>
static void end_compensated(T* total, const T* lost, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const bool finite = total[i] - total[i] == 0;  // NOLINT(misc-redundant-expression)
    total[i] = finite ? total[i] + lost[i] : total[i];
  }
}

// Returns the sum of a term over i. A fixed number of partial sums is joined in a fixed order. A
// term is a function of `load`, where load(x) is x[i], or a vector of elements that begins at x[i]:
//
//   reduce<T>(n, [=](auto load) { return load(x) * load(y); })
template <class T>
struct load_one {
  std::size_t i;
  template <class From>
  T operator()(const From* x) const {
    return x[i];
  }
};
template <class T, std::size_t Count>
struct load_several {
  using vector [[gnu::vector_size(Count * sizeof(T))]] = T;
  std::size_t i;
  template <class From>
  [[gnu::always_inline]] vector operator()(const From* x) const {
    using in_memory
        [[gnu::vector_size(Count * sizeof(From)), gnu::aligned(alignof(From)), gnu::may_alias]] =
            From;
    return __builtin_convertvector(*reinterpret_cast<const in_memory*>(x + i), vector);
  }
};

template <class Vector, std::size_t... I>
[[gnu::always_inline]] static inline auto sum_of_halves(const Vector& v,
                                                        std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + sizeof...(I))...);
}
// Returns the sum of a vector's elements and of the last terms, which are fewer than the vector's
// elements.
template <class T, std::size_t Count, class Vector, class Term>
[[gnu::always_inline]] static inline T joined(const Vector& sums, std::size_t i, std::size_t n,
                                              const Term& term) {
  constexpr std::size_t half = Count / 2;
  auto halves = sum_of_halves(sums, std::make_index_sequence<half>{});
  if constexpr (half * sizeof(T) >= 16) {
    if (n - i >= half) {
      halves += term(load_several<T, half>{i});
      i += half;
    }
    return joined<T, half>(halves, i, n, term);
  } else {
    T sum = halves[0];
    for (std::size_t k = 1; k < half; ++k) {
      sum += halves[k];
    }
    for (; i < n; ++i) {
      sum += term(load_one<T>{i});
    }
    return sum;
  }
}

static constexpr std::size_t partial_sums = 32;
template <class T, std::size_t Registers>
struct partial {
  using simd = simd_of<T>;
  static constexpr std::size_t count = Registers * simd::count;

  typename simd::vector sums[Registers] = {};

  template <class Term>
  [[gnu::always_inline]] void add(std::size_t i, const Term& term) {
    for (std::size_t r = 0; r < Registers; ++r) {
      sums[r] += term(load_several<T, simd::count>{i + r * simd::count});
    }
  }
  // Returns the sum of the partial sums and of the last terms, fewer than `count`.
  template <class Term>
  [[gnu::always_inline]] T end(std::size_t i, std::size_t n, const Term& term) {
    for (; i + simd::count <= n; i += simd::count) {
      sums[0] += term(load_several<T, simd::count>{i});
    }
    for (std::size_t half = Registers / 2; half > 0; half /= 2) {
      for (std::size_t r = 0; r < half; ++r) {
        sums[r] += sums[r + half];
      }
    }
    return joined<T, simd::count>(sums[0], i, n, term);
  }
};

// Long sums have more partial sums, so that the additions do not wait for each other.
template <class T, class Term>
[[gnu::noinline]] static T reduce_long(std::size_t n, const Term& term) {
  constexpr std::size_t sum_count = register_bytes == 64 ? 2 * partial_sums : partial_sums;
  using chains = partial<T, sum_count / simd_of<T>::count>;
  constexpr std::size_t block = detail::sum_chain * chains::count;
  T total = 0;
  T lost = 0;
  for (std::size_t first = 0; first < n;) {
    chains blocks;
    T last = 0;
    for (std::size_t k = 0; k < detail::chains_in_total && first < n; ++k) {
      const std::size_t end = n - first < block ? n : first + block;
      chains chain;
      for (; first + chains::count <= end; first += chains::count) {
        chain.add(first, term);
      }
      if (end == n) {
        last = chain.end(first, n, term);
      } else {
        for (std::size_t r = 0; r < sum_count / simd_of<T>::count; ++r) {
          blocks.sums[r] += chain.sums[r];
        }
      }
      first = end;
    }
    const T sum = blocks.end(n, n, term) + last;
    add_compensated(&sum, &total, &lost, 1);
  }
  end_compensated(&total, &lost, 1);
  return total;
}
// Computes one sum for each term. Short sums are computed in one pass.
template <class T, class... Terms>
[[gnu::always_inline]] static inline void reduce_each(std::size_t n, T* sums,
                                                      const Terms&... terms) {
  using sums_of_term = partial<T, partial_sums / simd_of<T>::count>;
  if (n > detail::sum_chain * partial_sums) {
    ((*sums++ = reduce_long<T>(n, terms)), ...);
    return;
  }
  sums_of_term sums_of_terms[sizeof...(Terms)];
  std::size_t i = 0;
  for (; i + partial_sums <= n; i += partial_sums) {
    auto* of_term = sums_of_terms;
    ((of_term++)->add(i, terms), ...);
  }
  auto* of_term = sums_of_terms;
  ((*sums++ = (of_term++)->end(i, n, terms)), ...);
}
template <class T, class Term>
[[gnu::always_inline]] static inline T reduce(std::size_t n, const Term& term) {
  T sum = 0;
  reduce_each(n, &sum, term);
  return sum;
}

// Computes y[c] += the sum over rows of x[row * step + c], c < n. It adds four rows at a time, so
// that an accumulator takes a quarter of the terms.
template <class T>
static void add_rows(const T* x, std::size_t step, std::size_t rows, T* y, std::size_t n) {
  for (; rows >= 4; rows -= 4, x += 4 * step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] += (x[i] + x[step + i]) + (x[2 * step + i] + x[3 * step + i]);
    }
  }
  for (; rows > 0; --rows, x += step) {
    add(x, y, n);
  }
}

// Sums columns into y. The rows may arrive in several parts.
template <class T>
struct column_sums {
  static constexpr std::size_t most_columns = 1024;

  column_sums(T* target, std::size_t columns) : y_(target), n_(columns) {
    for (std::size_t i = 0; i < n_; ++i) {
      y_[i] = 0;
    }
  }
  // Adds rows that are `step` apart.
  void add(const T* x, std::size_t step, std::size_t rows) {
    while (rows > 0) {
      if (chain_ >= detail::sum_chain) {
        end_chain();
      }
      const std::size_t available = 4 * (detail::sum_chain - chain_);
      const std::size_t count = rows < available ? rows : available;
      add_rows(x, step, count, totals_ ? block_ : y_, n_);
      chain_ += count / 4 + count % 4;
      rows -= count;
      x += count * step;
    }
  }
  void end() {
    if (totals_) {
      add_compensated(block_, y_, lost_, n_);
      end_compensated(y_, lost_, n_);
    }
  }

 private:
  void end_chain() {
    chain_ = 0;
    if (totals_) {
      add_compensated(block_, y_, lost_, n_);
    }
    for (std::size_t i = 0; i < n_; ++i) {
      block_[i] = 0;
      lost_[i] = totals_ ? lost_[i] : 0;
    }
    totals_ = true;
  }

  T* y_;
  std::size_t n_;
  std::size_t chain_ = 0;
  bool totals_ = false;
  T block_[most_columns];  // the first n are used, once there are totals
  T lost_[most_columns];
};

// Computes y[c] = the sum over rows of x[row * step + c], c < n.
template <class T>
static void sum_rows(const T* x, std::size_t step, std::size_t rows, T* y, std::size_t n) {
  for (std::size_t c = 0; c < n; c += column_sums<T>::most_columns) {
    const std::size_t remaining = n - c;
    column_sums<T> sums(y + c, remaining < sums.most_columns ? remaining : sums.most_columns);
    sums.add(x + c, step, rows);
    sums.end();
  }
}
