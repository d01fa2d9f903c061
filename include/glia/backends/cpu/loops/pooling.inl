// Members of vector_loops (see vector_loops.inl): operations on the channels
// of one pooling window.

// Computes y[c], the largest x[c] in the window, and position[c], its position. Of equal values,
// the first is selected; NaN counts as larger than every number. With Clamp, y is clamped, and the
// position is `cut` if the clamp blocks the gradient.
template <bool Clamp, class T, class Position>
static void max_of_window(const T* x, const pool_window& window, std::size_t channels, T* y,
                          Position* position, const clamp_range<T>& range) {
  using vector [[gnu::vector_size(register_bytes)]] = T;
  using mask = decltype(vector{} > vector{});
  constexpr std::size_t per_register = register_bytes / sizeof(T);
  std::size_t c = 0;
  for (; c + per_register <= channels; c += per_register) {
    vector best;
    __builtin_memcpy(&best, x + c, sizeof(best));
    mask winner = static_cast<element_integer<T>>(window.first) - mask{};
    for (std::size_t row = 0; row < window.rows; ++row) {
      const T* source = x + row * window.row_step + c;
      auto index = static_cast<element_integer<T>>(window.first + row * window.positions_per_row);
      for (std::size_t column = 0; column < window.columns; ++column) {
        vector value;
        __builtin_memcpy(&value, source, sizeof(value));
        const mask wins = (value > best) | is_nan(value);
        best = wins ? value : best;
        winner = wins ? index - mask{} : winner;
        source += window.column_step;
        ++index;
      }
    }
    if constexpr (Clamp) {
      const vector lowest = range.low - vector{};
      const vector highest = range.high - vector{};
      const mask cut = (best <= range.cut_low - vector{}) | (best >= range.cut_high - vector{});
      winner = cut ? static_cast<element_integer<T>>(range.cut) - mask{} : winner;
      best = best < lowest ? lowest : best;
      best = best > highest ? highest : best;
    }
    __builtin_memcpy(y + c, &best, sizeof(best));
    if (position != nullptr) {
      store_positions(winner, position + c);
    }
  }
  for (; c < channels; ++c) {
    T best = x[c];
    std::size_t winner = window.first;
    for (std::size_t row = 0; row < window.rows; ++row) {
      for (std::size_t column = 0; column < window.columns; ++column) {
        const T value = x[row * window.row_step + column * window.column_step + c];
        if (value > best || is_nan(value)) {
          best = value;
          winner = window.first + row * window.positions_per_row + column;
        }
      }
    }
    if constexpr (Clamp) {
      winner = best <= range.cut_low || best >= range.cut_high ? std::size_t{range.cut} : winner;
      best = best < range.low ? range.low : best;
      best = best > range.high ? range.high : best;
    }
    y[c] = best;
    if (position != nullptr) {
      position[c] = static_cast<Position>(winner);
    }
  }
}

// Computes the gradient of max_of_window: dx[c] (= or +=) dy[c] at the window's `position[c]` and 0
// elsewhere.
template <bool Add, class T, class Position>
static void spread_max(const T* dy, const Position* position, const pool_window& window,
                       std::size_t channels, T* dx) {
  for (std::size_t row = 0; row < window.rows; ++row) {
    for (std::size_t column = 0; column < window.columns; ++column) {
      T* target = dx + row * window.row_step + column * window.column_step;
      const auto index =
          static_cast<Position>(window.first + row * window.positions_per_row + column);
      GLIA_INDEPENDENT
      for (std::size_t c = 0; c < channels; ++c) {
        const T value = position[c] == index ? dy[c] : T(0);
        target[c] = Add ? target[c] + value : value;
      }
    }
  }
}

// Computes y[c] = scale times the sum of x[c] in the window.
template <class T>
static void scaled_sum_of_window(const T* x, const pool_window& window, std::size_t channels,
                                 T scale, T* y) {
  if (window.rows * window.columns > detail::sum_chain) {
    for (std::size_t c = 0; c < channels; c += column_sums<T>::most_columns) {
      const std::size_t remaining = channels - c;
      column_sums<T> sums(y + c, remaining < sums.most_columns ? remaining : sums.most_columns);
      for (std::size_t row = 0; row < window.rows; ++row) {
        sums.add(x + row * window.row_step + c, window.column_step, window.columns);
      }
      sums.end();
    }
  } else {
    for (std::size_t c = 0; c < channels; ++c) {
      y[c] = T(0);
    }
    for (std::size_t row = 0; row < window.rows; ++row) {
      for (std::size_t column = 0; column < window.columns; ++column) {
        const T* source = x + row * window.row_step + column * window.column_step;
        GLIA_INDEPENDENT
        for (std::size_t c = 0; c < channels; ++c) {
          y[c] += source[c];
        }
      }
    }
  }
  for (std::size_t c = 0; c < channels; ++c) {
    y[c] *= scale;
  }
}

// Computes the gradient of scaled_sum_of_window: dx[c] += scale * dy[c] in the whole window.
template <class T>
static void spread_scaled(const T* dy, const pool_window& window, std::size_t channels, T scale,
                          T* dx) {
  for (std::size_t row = 0; row < window.rows; ++row) {
    for (std::size_t column = 0; column < window.columns; ++column) {
      T* target = dx + row * window.row_step + column * window.column_step;
      GLIA_INDEPENDENT
      for (std::size_t c = 0; c < channels; ++c) {
        target[c] += dy[c] * scale;
      }
    }
  }
}

// Computes sum[c] += dy[i][c] over the rows i with position[i][c] != cut.
template <class T, class Position>
static void add_kept(const T* dy, const Position* position, Position cut, std::size_t rows,
                     std::size_t channels, T* sum) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  using mask = decltype(vector{} > vector{});
  std::size_t c = 0;
  for (; c + simd::count <= channels; c += simd::count) {
    vector total{};
    for (std::size_t element = c; element < rows * channels; element += channels) {
      const mask winner = load_positions(position + element, mask{});
      total += winner == static_cast<element_integer<T>>(cut) - mask{} ? vector{}
                                                                       : simd::load(dy + element);
    }
    simd::store(simd::load(sum + c) + total, sum + c);
  }
  for (; c < channels; ++c) {
    T total = 0;
    for (std::size_t element = c; element < rows * channels; element += channels) {
      total += position[element] != cut ? dy[element] : T(0);
    }
    sum[c] += total;
  }
}
