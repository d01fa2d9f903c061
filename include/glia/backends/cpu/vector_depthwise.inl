// Included by vector_kernels.inl inside the struct of one instruction set: convolutions that treat
// every channel on its own, channels being the lanes.

// out[i][j][c] = clamped(bias[c] + sum over y, x of seen[i * height + y][j + x][c] * w[y, x][c]),
// with the steps that `r` gives: `seen` has the rows of every output row's windows.
template <class T>
static void convolve_channels(const depthwise_rows& r, const T* const* seen, const T* w,
                              const T* bias, T* out, const clamp_range<T>& range) {
  constexpr std::size_t lanes = lanes_of<T>::count;
  if (r.channels < lanes) {
    convolve_few_channels(r, seen, w, bias, out, range);
    return;
  }
  for (std::size_t c = 0; c < r.channels; c += lanes) {
    // The last register overlaps the one before it and computes the same once more.
    const std::size_t at = c + lanes <= r.channels ? c : r.channels - lanes;
    if (r.height == 3 && r.width == 3) {
      convolve_lanes_3x3(r, seen, w, bias, out, range, at);
    } else {
      convolve_lanes(r, seen, w, bias, out, range, at);
    }
  }
}

// One register of channels for all rows: the weights are loaded once, and the rows that two output
// rows share are still in the first-level cache.
template <class T>
static void convolve_lanes_3x3(const depthwise_rows& r, const T* const* seen, const T* w,
                               const T* bias, T* out, const clamp_range<T>& range, std::size_t c) {
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t tile = 4;  // with nine weights, so many sums stay in registers
  vector weight[9];
#pragma GCC unroll 9
  for (std::size_t k = 0; k < 9; ++k) {
    weight[k] = simd::load(w + k * r.w_step + c);
  }
  const vector start = bias == nullptr ? vector{} : simd::load(bias + c);
  for (std::size_t row = 0; row < r.rows; ++row, seen += 3) {
    const T* from[3] = {seen[0] + c, seen[1] + c, seen[2] + c};
    T* to = out + row * r.out_row_step + c;
    std::size_t column = 0;
    for (; column + tile <= r.columns; column += tile) {
      vector sum[tile] = {start, start, start, start};
#pragma GCC unroll 9
      for (std::size_t k = 0; k < 9; ++k) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < tile; ++j) {
          sum[j] += simd::load(from[k / 3] + j * r.column_step + k % 3 * r.tap_step) * weight[k];
        }
      }
#pragma GCC unroll 4
      for (std::size_t j = 0; j < tile; ++j) {
        simd::store(clamped<T>(sum[j], range), to + j * r.out_step);
      }
      from[0] += tile * r.column_step;
      from[1] += tile * r.column_step;
      from[2] += tile * r.column_step;
      to += tile * r.out_step;
    }
    for (; column < r.columns; ++column) {
      vector sum = start;
#pragma GCC unroll 9
      for (std::size_t k = 0; k < 9; ++k) {
        sum += simd::load(from[k / 3] + k % 3 * r.tap_step) * weight[k];
      }
      simd::store(clamped<T>(sum, range), to);
      from[0] += r.column_step;
      from[1] += r.column_step;
      from[2] += r.column_step;
      to += r.out_step;
    }
  }
}

template <class T>
static void convolve_lanes(const depthwise_rows& r, const T* const* seen, const T* w, const T* bias,
                           T* out, const clamp_range<T>& range, std::size_t c) {
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  const vector start = bias == nullptr ? vector{} : simd::load(bias + c);
  for (std::size_t row = 0; row < r.rows; ++row, seen += r.height) {
    T* const to = out + row * r.out_row_step + c;
    for (std::size_t column = 0; column < r.columns; column += max_accumulators) {
      const std::size_t left = r.columns - column;
      const std::size_t count = left < max_accumulators ? left : max_accumulators;
      vector sum[max_accumulators];
      for (std::size_t j = 0; j < count; ++j) {
        sum[j] = start;
      }
      for (std::size_t y = 0; y < r.height; ++y) {
        for (std::size_t x = 0; x < r.width; ++x) {
          const vector weight = simd::load(w + (y * r.width + x) * r.w_step + c);
          const T* from = seen[y] + column * r.column_step + x * r.tap_step + c;
          for (std::size_t j = 0; j < count; ++j) {
            sum[j] += simd::load(from + j * r.column_step) * weight;
          }
        }
      }
      for (std::size_t j = 0; j < count; ++j) {
        simd::store(clamped<T>(sum[j], range), to + (column + j) * r.out_step);
      }
    }
  }
}

template <class T>
static void convolve_few_channels(const depthwise_rows& r, const T* const* seen, const T* w,
                                  const T* bias, T* out, const clamp_range<T>& range) {
  for (std::size_t row = 0; row < r.rows; ++row, seen += r.height) {
    for (std::size_t column = 0; column < r.columns; ++column) {
      for (std::size_t c = 0; c < r.channels; ++c) {
        T sum = bias == nullptr ? T(0) : bias[c];
        for (std::size_t y = 0; y < r.height; ++y) {
          for (std::size_t x = 0; x < r.width; ++x) {
            sum += seen[y][column * r.column_step + x * r.tap_step + c] *
                   w[(y * r.width + x) * r.w_step + c];
          }
        }
        sum = sum < range.low ? range.low : sum;
        out[row * r.out_row_step + column * r.out_step + c] = range.high < sum ? range.high : sum;
      }
    }
  }
}

// One output for all channels, whose window's pixels lie anywhere:
// out[c] = clamped(bias[c] + sum over k of pixel[k][c] * w[k * channels + c]).
template <class T>
static void convolve_pixels(const T* const* pixel, std::size_t count, std::size_t channels,
                            const T* w, const T* bias, T* out, const clamp_range<T>& range) {
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t lanes = simd::count;
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    vector sum = bias == nullptr ? vector{} : simd::load(bias + c);
    for (std::size_t k = 0; k < count; ++k) {
      sum += simd::load(pixel[k] + c) * simd::load(w + k * channels + c);
    }
    simd::store(clamped<T>(sum, range), out + c);
  }
  for (; c < channels; ++c) {
    T sum = bias == nullptr ? T(0) : bias[c];
    for (std::size_t k = 0; k < count; ++k) {
      sum += pixel[k][c] * w[k * channels + c];
    }
    sum = sum < range.low ? range.low : sum;
    out[c] = range.high < sum ? range.high : sum;
  }
}

// Its adjoint to the kernel: dw[k][c] += sum over a grid's patches of patch[offset[k] + c] *
// dy[patch][c], for as many k at once as there are sums.
template <class T, std::size_t Depths = max_accumulators>
static void add_channel_kernel_gradient(const T* x, const patch_grid& grid,
                                        const std::uint32_t* offset, std::size_t depths,
                                        const T* dy, std::size_t channels, T* dw) {
  if constexpr (Depths > 1) {
    if (depths < Depths) {
      return add_channel_kernel_gradient<T, Depths - 1>(x, grid, offset, depths, dy, channels, dw);
    }
  }
  using simd = lanes_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t lanes = simd::count;
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    vector sum[Depths];
#pragma GCC unroll 8
    for (std::size_t d = 0; d < Depths; ++d) {
      sum[d] = simd::load(dw + d * channels + c);
    }
    const T* gradient = dy + c;
    for (std::size_t row = 0; row < grid.rows; ++row) {
      const T* from = x + row * grid.row_step + c;
      for (std::size_t column = 0; column < grid.columns; ++column) {
        const vector g = simd::load(gradient);
#pragma GCC unroll 8
        for (std::size_t d = 0; d < Depths; ++d) {
          sum[d] += simd::load(from + offset[d]) * g;
        }
        gradient += channels;
        from += grid.column_step;
      }
    }
#pragma GCC unroll 8
    for (std::size_t d = 0; d < Depths; ++d) {
      simd::store(sum[d], dw + d * channels + c);
    }
  }
  for (; c < channels; ++c) {
    for (std::size_t d = 0; d < Depths; ++d) {
      T sum = dw[d * channels + c];
      for (std::size_t row = 0; row < grid.rows; ++row) {
        for (std::size_t column = 0; column < grid.columns; ++column) {
          sum += x[row * grid.row_step + column * grid.column_step + offset[d] + c] *
                 dy[(row * grid.columns + column) * channels + c];
        }
      }
      dw[d * channels + c] = sum;
    }
  }
}
