// Included by vector_kernels.inl inside the struct of one instruction set: convolution and 2 x 2
// max-pooling in registers; see pooled_convolution.hpp.

// Whether a rectangle of elements is all zero.
template <class T>
static bool all_zero(const T* x, std::size_t rows, std::size_t row_step, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < columns; ++i) {
      if (x[row * row_step + i] != 0) {
        return false;
      }
    }
  }
  return true;
}

// The largest of four outputs, clamped, and its position, as in max_of_window.
template <class T>
static void store_pooled(const typename lanes_of<T>::vector (&output)[4], T low, T high,
                         std::uint8_t cut, T* y, std::uint8_t* position) {
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  using mask = decltype(vector{} > vector{});
  vector best = output[0];
  mask at{};
#pragma GCC unroll 4
  for (std::size_t p = 1; p < 4; ++p) {
    const mask wins = output[p] > best;
    best = wins ? output[p] : best;
    at = wins ? static_cast<lane_integer<T>>(p) - mask{} : at;
  }
  const vector least = low - vector{};
  const vector most = high - vector{};
  at = ((best > least) & (best < most)) ? at : static_cast<lane_integer<T>>(cut) - mask{};
  best = best > least ? best : least;
  best = best < most ? best : most;
  simd::store(best, y);
  if (position != nullptr) {
    store_positions(at, position);
  }
}

// The products of four patches, `patch` apart, with a panel, as in multiply_patches, and of these
// the largest, clamped, with its position, as in max_of_window.
template <class T>
static void multiply_and_pool(const T* x, const std::uint32_t* patch, const std::uint32_t* offset,
                              std::size_t depth, const T* panel, std::size_t outputs, T low, T high,
                              std::uint8_t cut, T* y, std::uint8_t* position) {
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t width = panel_width<T>;
  const T* from[4];
  vector sum[4][2];
#pragma GCC unroll 4
  for (std::size_t p = 0; p < 4; ++p) {
    from[p] = x + patch[p];
    sum[p][0] = simd::load(panel);
    sum[p][1] = simd::load(panel + simd::count);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    panel += width;
    const vector weight[2] = {simd::load(panel), simd::load(panel + simd::count)};
    const std::size_t at = offset[k];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < 4; ++p) {
      const vector value = from[p][at] - vector{};
      sum[p][0] += value * weight[0];
      sum[p][1] += value * weight[1];
    }
  }
  T some[width];
  std::uint8_t some_positions[width];
  const bool whole = outputs == width;
  T* const to = whole ? y : some;
  std::uint8_t* const to_position = whole ? position : some_positions;
#pragma GCC unroll 2
  for (std::size_t v = 0; v < 2; ++v) {
    const vector output[4] = {sum[0][v], sum[1][v], sum[2][v], sum[3][v]};
    store_pooled<T>(output, low, high, cut, to + v * simd::count,
                    position == nullptr ? nullptr : to_position + v * simd::count);
  }
  if (!whole) {
    for (std::size_t j = 0; j < outputs; ++j) {
      y[j] = some[j];
      if (position != nullptr) {
        position[j] = some_positions[j];
      }
    }
  }
}

// dw[d][c] += sum over the listed windows of dy[c] times element offset[d] of that patch of the
// window which `position` names for c, the window's patches being `patch` apart from its first.
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
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  using mask = decltype(vector{} > vector{});
  std::size_t c = 0;
  for (; c + simd::count <= channels; c += simd::count) {
    vector sum[Depths];
#pragma GCC unroll 6
    for (std::size_t d = 0; d < Depths; ++d) {
      sum[d] = simd::load(dw + d * channels + c);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const vector gradient = simd::load(dy + windows[i].output + c);
      const mask winner = load_positions<mask>(position + windows[i].output + c);
      const T* first = x + windows[i].input;
      for (std::size_t p = 0; p < patches; ++p) {
        const vector part =
            winner == static_cast<lane_integer<T>>(p) - mask{} ? gradient : vector{};
        const T* from = first + patch[p];
#pragma GCC unroll 6
        for (std::size_t d = 0; d < Depths; ++d) {
          sum[d] += part * from[offset[d]];
        }
      }
    }
#pragma GCC unroll 6
    for (std::size_t d = 0; d < Depths; ++d) {
      simd::store(sum[d], dw + d * channels + c);
    }
  }
  for (; c < channels; ++c) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t winner = position[windows[i].output + c];
      if (winner < patches) {
        for (std::size_t d = 0; d < Depths; ++d) {
          dw[d * channels + c] +=
              dy[windows[i].output + c] * x[windows[i].input + patch[winner] + offset[d]];
        }
      }
    }
  }
}
