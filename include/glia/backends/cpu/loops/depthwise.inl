// Members of vector_loops (see vector_loops.inl): convolutions that process
// each channel separately. The elements of a vector are channels.

// Computes out[i][j][c] = clamped(bias[c] + sum over y, x of
// row_pointers[i * height + y][j * stride + x * dilation][c] * w[y, x][c]). `row_pointers` holds
// the rows of each output row's windows, whose pixels are panel_width apart. `r` holds the
// distances in w and out.
template <class T>
static void convolve_channels(const depthwise_rows& r, const T* const* row_pointers, const T* w,
                              const T* bias, T* out, const clamp_range<T>& range) {
  constexpr std::size_t per_register = simd_of<T>::count;
  if (r.channels < per_register) {
    convolve_few_channels(r, row_pointers, w, bias, out, range);
    return;
  }
  // Registers share cache lines. One register processes only as many rows as stay in the
  // first-level cache for the next register.
  constexpr std::size_t cached_pixels = (16 << 10) / 64;
  const std::size_t row_pixels = r.columns * r.stride;
  const std::size_t block = row_pixels < cached_pixels ? cached_pixels / row_pixels : 1;
  depthwise_rows part = r;
  for (std::size_t row = 0; row < r.rows; row += block) {
    part.rows = r.rows - row < block ? r.rows - row : block;
    for (std::size_t c = 0; c < r.channels; c += per_register) {
      // The last register overlaps the one before it and computes some channels again.
      const std::size_t channel = c + per_register <= r.channels ? c : r.channels - per_register;
      convolve_vector(part, row_pointers + row * r.height, w, bias, out + row * r.out_row_step,
                      range, channel);
    }
  }
}

// Computes one register of channels for all rows.
template <class T>
static void convolve_vector(const depthwise_rows& r, const T* const* row_pointers, const T* w,
                            const T* bias, T* out, const clamp_range<T>& range, std::size_t c) {
  const bool has_tile_kernel = r.height == 3 && r.width == 3 && r.dilation == 1 && r.columns > 2;
  if (has_tile_kernel && r.stride == 1) {
    convolve_3x3<1>(r, row_pointers, w, bias, out, range, c);
  } else if (has_tile_kernel && r.stride == 2) {
    convolve_3x3<2>(r, row_pointers, w, bias, out, range, c);
  } else {
    convolve_any_window(r, row_pointers, w, bias, out, range, c);
  }
}

// Handles windows that are Stride pixels apart, at least three of them in a row. The weights are
// loaded once. Each pixel of a row is loaded once for all windows of a tile that read it.
template <std::size_t Stride, class T>
static void convolve_3x3(const depthwise_rows& r, const T* const* row_pointers, const T* w,
                         const T* bias, T* out, const clamp_range<T>& range, std::size_t c) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  const clamp_range<T> limits = range;  // a local copy that no store can change
  constexpr std::size_t step = panel_width<T>;
  const std::size_t out_step = r.out_step;
  vector weight[9];
#pragma GCC unroll 9
  for (std::size_t k = 0; k < 9; ++k) {
    weight[k] = simd::load(w + k * r.w_step + c);
  }
  const vector start = bias == nullptr ? vector{} : simd::load(bias + c);
  const auto tile = [&]<std::size_t Columns>(std::integral_constant<std::size_t, Columns>,
                                             const T* const(&source)[3], std::size_t column,
                                             T* target) {
    vector sum[Columns];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < Columns; ++j) {
      sum[j] = start;
    }
#pragma GCC unroll 9
    for (std::size_t pixel = 0; pixel < (Columns - 1) * Stride + 3; ++pixel, column += step) {
#pragma GCC unroll 3
      for (std::size_t y = 0; y < 3; ++y) {
        const vector value = simd::load(source[y] + column);
#pragma GCC unroll 4
        for (std::size_t j = 0; j < Columns; ++j) {
          if (pixel >= j * Stride && pixel - j * Stride < 3) {
            sum[j] += value * weight[3 * y + pixel - j * Stride];
          }
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t j = 0; j < Columns; ++j) {
      simd::store(clamped<T>(sum[j], limits), target + j * out_step);
    }
  };
  // Beside nine weights, four sums stay in registers. Tiles of three outputs cover a remainder; for
  // five columns they overlap. A tile of one output would wait for its own sum.
  const std::size_t tiles = (r.columns + 3) / 4;
  const std::size_t threes = r.columns == 5 ? 2 : 4 * tiles - r.columns;
  const std::size_t apart = r.columns == 5 ? 2 : 3;
  for (std::size_t row = 0; row < r.rows; ++row, row_pointers += 3) {
    const T* const source[3] = {row_pointers[0] + c, row_pointers[1] + c, row_pointers[2] + c};
    T* target = out + row * r.out_row_step + c;
    std::size_t column = 0;
    for (std::size_t i = threes; i < tiles;
         ++i, column += 4 * Stride * step, target += 4 * out_step) {
      tile(std::integral_constant<std::size_t, 4>{}, source, column, target);
    }
    for (std::size_t i = 0; i < threes;
         ++i, column += apart * Stride * step, target += apart * out_step) {
      tile(std::integral_constant<std::size_t, 3>{}, source, column, target);
    }
  }
}

template <class T>
static void convolve_any_window(const depthwise_rows& r, const T* const* row_pointers, const T* w,
                                const T* bias, T* out, const clamp_range<T>& range, std::size_t c) {
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  const vector start = bias == nullptr ? vector{} : simd::load(bias + c);
  for (std::size_t row = 0; row < r.rows; ++row, row_pointers += r.height) {
    T* const target = out + row * r.out_row_step + c;
    for (std::size_t column = 0; column < r.columns; column += max_accumulators) {
      const std::size_t remaining = r.columns - column;
      const std::size_t count = remaining < max_accumulators ? remaining : max_accumulators;
      vector sum[max_accumulators];
      for (std::size_t j = 0; j < count; ++j) {
        sum[j] = start;
      }
      for (std::size_t y = 0; y < r.height; ++y) {
        for (std::size_t x = 0; x < r.width; ++x) {
          const vector weight = simd::load(w + (y * r.width + x) * r.w_step + c);
          const T* source =
              row_pointers[y] + (column * r.stride + x * r.dilation) * panel_width<T> + c;
          for (std::size_t j = 0; j < count; ++j) {
            sum[j] += simd::load(source + j * r.stride * panel_width<T>) * weight;
          }
        }
      }
      for (std::size_t j = 0; j < count; ++j) {
        simd::store(clamped<T>(sum[j], range), target + (column + j) * r.out_step);
      }
    }
  }
}

template <class T>
static void convolve_few_channels(const depthwise_rows& r, const T* const* row_pointers, const T* w,
                                  const T* bias, T* out, const clamp_range<T>& range) {
  for (std::size_t row = 0; row < r.rows; ++row, row_pointers += r.height) {
    for (std::size_t column = 0; column < r.columns; ++column) {
      for (std::size_t c = 0; c < r.channels; ++c) {
        T sum = bias == nullptr ? T(0) : bias[c];
        for (std::size_t y = 0; y < r.height; ++y) {
          for (std::size_t x = 0; x < r.width; ++x) {
            sum += row_pointers[y][(column * r.stride + x * r.dilation) * panel_width<T> + c] *
                   w[(y * r.width + x) * r.w_step + c];
          }
        }
        sum = sum < range.low ? range.low : sum;
        out[row * r.out_row_step + column * r.out_step + c] = range.high < sum ? range.high : sum;
      }
    }
  }
}

// Copies a panel's channels of pixels that are `step` elements apart, so that they are contiguous.
template <class T>
static void gather_panel(const T* source, std::size_t pixels, std::size_t step, T* target) {
  using simd = simd_of<T>;
  for (std::size_t i = 0; i < pixels; ++i, source += step, target += panel_width<T>) {
    simd::store(simd::load(source), target);
    simd::store(simd::load(source + simd::count), target + simd::count);
  }
}

// Computes the gradient of the kernel: dw[k][c] += sum over a grid's patches of patch[offset[k] +
// c] * dy[patch][c], for at most max_kernel_sums values of k.
template <class T, std::size_t Depths = max_kernel_sums>
static void add_channel_kernel_gradient(const T* x, const patch_grid& grid,
                                        const std::uint32_t* offset, std::size_t depths,
                                        const T* dy, std::size_t channels, T* dw) {
  if constexpr (Depths > 1) {
    if (depths < Depths) {
      return add_channel_kernel_gradient<T, Depths - 1>(x, grid, offset, depths, dy, channels, dw);
    }
  }
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t per_register = simd::count;
  std::size_t c = 0;
  for (; c + per_register <= channels; c += per_register) {
    vector sum[Depths];
#pragma GCC unroll 9
    for (std::size_t d = 0; d < Depths; ++d) {
      sum[d] = simd::load(dw + d * channels + c);
    }
    const T* gradient = dy + c;
    for (std::size_t row = 0; row < grid.rows; ++row) {
      const T* source = x + row * grid.row_step + c;
      for (std::size_t column = 0; column < grid.columns; ++column) {
        const vector g = simd::load(gradient);
#pragma GCC unroll 9
        for (std::size_t d = 0; d < Depths; ++d) {
          sum[d] += simd::load(source + offset[d]) * g;
        }
        gradient += channels;
        source += grid.column_step;
      }
    }
#pragma GCC unroll 9
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
