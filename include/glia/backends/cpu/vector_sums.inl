// Included by vector_loops.inl inside the struct of one instruction set: sums of many numbers; how
// far they may be off is in long_sum.hpp.

// Adds x to a total with compensation, element by element, as compensated_sum does.
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

// The sum of term(0) ... term(n - 1): a fixed number of partial sums, joined in a fixed order. Long
// sums have more of them, so that they do not wait for each other.
static constexpr std::size_t partial_sums = 32;
template <std::size_t Sums, class T, class Term>
[[gnu::always_inline]] static inline void add_terms(std::size_t first, std::size_t n,
                                                    const Term& term, T* partial) {
  std::size_t i = 0;
  for (; i + Sums <= n; i += Sums) {
    for (std::size_t s = 0; s < Sums; ++s) {
      partial[s] += term(first + i + s);
    }
  }
  for (std::size_t s = 0; i < n; ++i, ++s) {
    partial[s] += term(first + i);
  }
}
template <std::size_t Sums, class T>
[[gnu::always_inline]] static inline T joined(T* partial) {
  for (std::size_t half = Sums / 2; half > 0; half /= 2) {
    for (std::size_t s = 0; s < half; ++s) {
      partial[s] += partial[s + half];
    }
  }
  return partial[0];
}
template <class T, class Term>
[[gnu::always_inline]] static inline T reduce(std::size_t n, const Term& term) {
  if (n > sum_chain * partial_sums) {
    return reduce_long<T>(n, term);
  }
  T partial[partial_sums] = {};
  std::size_t i = 0;
  for (; i + partial_sums <= n; i += partial_sums) {
    for (std::size_t s = 0; s < partial_sums; ++s) {
      partial[s] += term(i + s);
    }
  }
  for (std::size_t s = 0; i < n; ++i, ++s) {
    partial[s] += term(i);
  }
  for (std::size_t half = partial_sums / 2; half > 0; half /= 2) {
    for (std::size_t s = 0; s < half; ++s) {
      partial[s] += partial[s + half];
    }
  }
  return partial[0];
}
template <class T, class Term>
[[gnu::noinline]] static T reduce_long(std::size_t n, const Term& term) {
  constexpr std::size_t sums = register_bytes == 64 ? 2 * partial_sums : partial_sums;
  constexpr std::size_t block = sum_chain * sums;
  T total = 0;
  T lost = 0;
  for (std::size_t first = 0; first < n;) {
    T blocks[sums] = {};
    for (std::size_t i = 0; i < chains_in_total && first < n; ++i) {
      const std::size_t count = n - first < block ? n - first : block;
      T partial[sums] = {};
      add_terms<sums>(first, count, term, partial);
      for (std::size_t s = 0; s < sums; ++s) {
        blocks[s] += partial[s];
      }
      first += count;
    }
    const T sum = joined<sums>(blocks);
    add_compensated(&sum, &total, &lost, 1);
  }
  end_compensated(&total, &lost, 1);
  return total;
}
// Two sums in one pass, where that is not long.
template <class T, class First, class Second>
static void reduce_two(std::size_t n, const First& first, const Second& second, T& sum_of_first,
                       T& sum_of_second) {
  if (n > sum_chain * partial_sums) {
    sum_of_first = reduce_long<T>(n, first);
    sum_of_second = reduce_long<T>(n, second);
    return;
  }
  T a[partial_sums] = {};
  T b[partial_sums] = {};
  std::size_t i = 0;
  for (; i + partial_sums <= n; i += partial_sums) {
    for (std::size_t s = 0; s < partial_sums; ++s) {
      a[s] += first(i + s);
      b[s] += second(i + s);
    }
  }
  for (std::size_t s = 0; i < n; ++i, ++s) {
    a[s] += first(i);
    b[s] += second(i);
  }
  sum_of_first = joined<partial_sums>(a);
  sum_of_second = joined<partial_sums>(b);
}

// y[c] += the sum over rows of x[row * step + c], c < n: four rows at a time, so that an
// accumulator takes a quarter of the terms.
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

// Sums of columns, into y: rows may come in several parts.
template <class T>
struct column_sums {
  static constexpr std::size_t most_columns = 1024;

  column_sums(T* to, std::size_t columns) : y_(to), n_(columns) {
    for (std::size_t i = 0; i < n_; ++i) {
      y_[i] = 0;
    }
  }
  // Rows that lie `step` apart.
  void add(const T* x, std::size_t step, std::size_t rows) {
    while (rows > 0) {
      if (chain_ >= sum_chain) {
        end_chain();
      }
      const std::size_t room = 4 * (sum_chain - chain_);
      const std::size_t count = rows < room ? rows : room;
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
  T block_[most_columns];  // of which n are used, once there are totals
  T lost_[most_columns];
};

// y[c] = the sum over rows of x[row * step + c], c < n
template <class T>
static void sum_rows(const T* x, std::size_t step, std::size_t rows, T* y, std::size_t n) {
  for (std::size_t c = 0; c < n; c += column_sums<T>::most_columns) {
    const std::size_t left = n - c;
    column_sums<T> sums(y + c, left < sums.most_columns ? left : sums.most_columns);
    sums.add(x + c, step, rows);
    sums.end();
  }
}
