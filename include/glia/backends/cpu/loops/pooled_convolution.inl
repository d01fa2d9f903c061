// Members of vector_loops (see vector_loops.inl): convolution and 2 x 2 max
// pooling in registers; see pooled_convolution.hpp.

// Lists first the windows that read a nonzero element, then the blank windows. Returns the number
// of windows with a nonzero. Windows too wide for the check count as nonzero.
template <class T>
static std::size_t list_windows(const T* x, const pooled_window_grid& grid,
                                pooled_window* windows) {
  constexpr std::size_t max_width = 64;
  element_integer<T> nonzero[max_width];  // in any of the rows of the windows
  const bool looks = grid.seen_columns <= max_width;
  const std::size_t group =
      looks ? (max_width - grid.seen_columns) / grid.column_step + 1 : grid.columns;
  std::size_t first = 0;
  std::size_t last = grid.count();
  std::size_t output = 0;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t column = 0; column < grid.columns; column += group) {
      const std::size_t remaining = grid.columns - column;
      const std::size_t count = remaining < group ? remaining : group;
      std::size_t input = row * grid.row_step + column * grid.column_step;
      if (looks) {
        find_nonzeros(x + input, grid, (count - 1) * grid.column_step + grid.seen_columns, nonzero);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const bool blank = looks && all_zero(nonzero + i * grid.column_step, grid.seen_columns);
        last -= blank ? 1 : 0;
        windows[blank ? last : first] = {static_cast<std::uint32_t>(input),
                                         static_cast<std::uint32_t>(output)};
        first += blank ? 0 : 1;
        input += grid.column_step;
        output += grid.channels;
      }
    }
  }
  return first;
}
template <class T>
static void find_nonzeros(const T* x, const pooled_window_grid& grid, std::size_t columns,
                          element_integer<T>* nonzero) {
  for (std::size_t row = 0; row < grid.seen_rows; ++row) {
    const T* source = x + row * grid.seen_row_step;
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < columns; ++i) {
      nonzero[i] = (row == 0 ? 0 : nonzero[i]) | (source[i] != 0 ? 1 : 0);
    }
  }
}
template <class Integer>
static bool all_zero(const Integer* x, std::size_t n) {
  Integer bits = 0;
  for (std::size_t i = 0; i < n; ++i) {
    bits |= x[i];
  }
  return bits == 0;
}

// Copies the outputs of the first window to the outputs of the other windows.
template <class T>
static void repeat_output(T* y, const pooled_window* windows, std::size_t count,
                          std::size_t channels) {
  const T* source = y + windows[0].output;
  for (std::size_t i = 1; i < count; ++i) {
    T* target = y + windows[i].output;
    GLIA_INDEPENDENT
    for (std::size_t c = 0; c < channels; ++c) {
      target[c] = source[c];
    }
  }
}

// Stores the largest of four outputs, clamped, and its position, as in max_of_window.
template <class T>
static void store_pooled(const typename simd_of<T>::vector (&output)[4],
                         const clamp_range<T>& clamp, T* y, std::uint8_t* position) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  using mask = decltype(vector{} > vector{});
  const vector lowest = clamp.low - vector{};
  const vector highest = clamp.high - vector{};
  if (position == nullptr) {
    const vector top = output[0] < output[1] ? output[1] : output[0];
    const vector bottom = output[2] < output[3] ? output[3] : output[2];
    const vector number = top < bottom ? bottom : top;
    const mask has_nan =
        is_nan(output[0]) | is_nan(output[1]) | is_nan(output[2]) | is_nan(output[3]);
    const vector largest = has_nan ? output[0] + output[1] + output[2] + output[3] : number;
    const vector raised = largest < lowest ? lowest : largest;
    simd::store(raised > highest ? highest : raised, y);
    return;
  }
  vector best = output[0];
  mask winner{};
#pragma GCC unroll 4
  for (std::size_t p = 1; p < 4; ++p) {
    const mask wins = (output[p] > best) | is_nan(output[p]);
    best = wins ? output[p] : best;
    winner = wins ? static_cast<element_integer<T>>(p) - mask{} : winner;
  }
  const mask cut = (best <= clamp.cut_low - vector{}) | (best >= clamp.cut_high - vector{});
  winner = cut ? static_cast<element_integer<T>>(clamp.cut) - mask{} : winner;
  best = best < lowest ? lowest : best;
  best = best > highest ? highest : best;
  simd::store(best, y);
  store_positions(winner, position);
}

// For each listed window, multiplies its four patches, `patch` apart, by a panel, as in
// multiply_patches. Then it stores the largest product, clamped, and its position, as in
// max_of_window. position may be null.
template <class T>
static void multiply_and_pool(const T* x, const pooled_window* windows, std::size_t count,
                              const std::uint32_t* patch, const std::uint32_t* offset,
                              std::size_t depth, const T* panel, std::size_t outputs,
                              const clamp_range<T>& clamp, T* y, std::uint8_t* position) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t output = windows[i].output;
    multiply_and_pool_one(x + windows[i].input, patch, offset, depth, panel, outputs, clamp,
                          y + output, position == nullptr ? nullptr : position + output);
  }
}
template <class T>
[[gnu::always_inline]] static inline void multiply_and_pool_one(
    const T* x, const std::uint32_t* patch, const std::uint32_t* offset, std::size_t depth,
    const T* panel, std::size_t outputs, const clamp_range<T>& clamp, T* y,
    std::uint8_t* position) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t width = panel_width<T>;
  const T* source[4];
  vector sum[4][2];
#pragma GCC unroll 4
  for (std::size_t p = 0; p < 4; ++p) {
    source[p] = x + patch[p];
    sum[p][0] = simd::load(panel);
    sum[p][1] = simd::load(panel + simd::count);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    panel += width;
    const vector weight[2] = {simd::load(panel), simd::load(panel + simd::count)};
    const std::size_t element = offset[k];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < 4; ++p) {
      const vector value = source[p][element] - vector{};
      sum[p][0] += value * weight[0];
      sum[p][1] += value * weight[1];
    }
  }
  T buffer[width];
  std::uint8_t position_buffer[width];
  const bool whole = outputs == width;
  T* const target = whole ? y : buffer;
  std::uint8_t* const to_position = whole ? position : position_buffer;
#pragma GCC unroll 2
  for (std::size_t v = 0; v < 2; ++v) {
    const vector output[4] = {sum[0][v], sum[1][v], sum[2][v], sum[3][v]};
    store_pooled<T>(output, clamp, target + v * simd::count,
                    position == nullptr ? nullptr : to_position + v * simd::count);
  }
  if (!whole) {
    for (std::size_t j = 0; j < outputs; ++j) {
      y[j] = buffer[j];
      if (position != nullptr) {
        position[j] = position_buffer[j];
      }
    }
  }
}

// Computes dw[d][c] += sum over the listed windows of dy[c] times element offset[d] of a patch.
// position[c] is the index of this patch in the window. The patches of a window are `patch` apart.
template <class T, std::size_t Depths = 6>
static void add_pooled_kernel_gradient(const T* x, const pooled_window* windows, std::size_t count,
                                       const std::uint32_t* patch, std::size_t patches,
                                       const std::uint32_t* offset, std::size_t depths, const T* dy,
                                       const std::uint8_t* position, std::size_t channels, T* dw) {
  if constexpr (Depths > 1) {
    if (depths < Depths) {
      return add_pooled_kernel_gradient<T, Depths - 1>(x, windows, count, patch, patches, offset,
                                                       depths, dy, position, channels, dw);
    }
  }
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  using mask = decltype(vector{} > vector{});
  std::size_t c = 0;
  for (; c + simd::count <= channels; c += simd::count) {
    vector sum[Depths];
#pragma GCC unroll 6
    for (std::size_t d = 0; d < Depths; ++d) {
      sum[d] = vector{};
    }
    for (std::size_t i = 0; i < count; ++i) {
      const vector gradient = simd::load(dy + windows[i].output + c);
      const mask winner = load_positions(position + windows[i].output + c, mask{});
      const T* first = x + windows[i].input;
      for (std::size_t p = 0; p < patches; ++p) {
        const vector part =
            winner == static_cast<element_integer<T>>(p) - mask{} ? gradient : vector{};
        const T* source = first + patch[p];
#pragma GCC unroll 6
        for (std::size_t d = 0; d < Depths; ++d) {
          sum[d] += part * source[offset[d]];
        }
      }
    }
#pragma GCC unroll 6
    for (std::size_t d = 0; d < Depths; ++d) {
      T* const target = dw + d * channels + c;
      simd::store(simd::load(target) + sum[d], target);
    }
  }
  for (; c < channels; ++c) {
    T sum[Depths] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t winner = position[windows[i].output + c];
      for (std::size_t p = 0; p < patches; ++p) {
        const T part = winner == p ? dy[windows[i].output + c] : T(0);
        for (std::size_t d = 0; d < Depths; ++d) {
          sum[d] += part * x[windows[i].input + patch[p] + offset[d]];
        }
      }
    }
    for (std::size_t d = 0; d < Depths; ++d) {
      dw[d * channels + c] += sum[d];
    }
  }
}
