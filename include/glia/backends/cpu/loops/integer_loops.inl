// The loops of quantized convolutions for one instruction set. They use its integer_registers, or
// narrow_integer_registers for a few channels if narrower registers exist.

struct integer_loops {
  using wide = integer_registers;
  using narrow = narrow_integer_registers;

  /// Number of channels in a panel.
  static constexpr std::size_t panel_width = wide::size;
  /// Number of channels in the narrower registers.
  static constexpr std::size_t narrow_width = narrow::size;
  /// Returns whether the last panel, with `channels` channels, can use fewer vectors or narrower
  /// registers.
  [[nodiscard]] static constexpr bool are_few(std::size_t channels) {
    return narrow_width < panel_width && channels <= narrow_width;
  }

  /// Multiplies each of `pixels` patches by a panel and writes the results as bytes. A byte stands
  /// for x = (byte - zero) * scale.
  void multiply_to_bytes(const integer_products& by, const std::uint8_t* const* from,
                         std::size_t pixels, std::uint8_t* const* to) const {
    to_bytes<1>(by, from, pixels, to);
  }
  /// Multiplies four patches by a panel for each output and writes the largest result as a byte.
  /// The sums are compared, because the conversion to bytes keeps their order.
  void multiply_to_largest_bytes(const integer_products& by, const std::uint8_t* const* from,
                                 std::size_t outputs, std::uint8_t* const* to) const {
    to_bytes<4>(by, from, 4 * outputs, to);
  }

  /// Multiplies each of `pixels` patches by a panel and writes the results as numbers.
  void multiply_to_numbers(const integer_products& by, const std::uint8_t* const* from,
                           std::size_t pixels, float* const* to) const {
    constexpr std::size_t each = wide::size / 4;
    const numbers_of store{by, to};
    switch ((by.outputs + each - 1) / each) {
      case 1:
        return by_pixels<wide, 1>(by, from, pixels, store);
      case 2:
        return by_pixels<wide, 2>(by, from, pixels, store);
      case 3:
        return by_pixels<wide, 3>(by, from, pixels, store);
      default:
        return by_pixels<wide, 4>(by, from, pixels, store);
    }
  }

  /// Computes a row of a depthwise convolution for one panel, as bytes or numbers; see
  /// integer_window.
  void convolve_channels(const integer_window& k, std::uint8_t* to) const {
    if (are_few(k.channels)) {
      convolve_row<narrow>(k, bytes_to<narrow>{k, to});
    } else {
      convolve_row<wide>(k, bytes_to<wide>{k, to});
    }
  }
  void convolve_channels(const integer_window& k, float* to) const {
    if (are_few(k.channels)) {
      convolve_row<narrow>(k, numbers_to<narrow>{k, to});
    } else {
      convolve_row<wide>(k, numbers_to<wide>{k, to});
    }
  }

  /// Computes a row of window maxima for one panel, as bytes; see integer_window.
  void pool_channels(const integer_window& k, std::uint8_t* to) const {
    if (are_few(k.channels)) {
      pool_row<narrow>(k, to);
    } else {
      pool_row<wide>(k, to);
    }
  }

  /// Converts bytes to the numbers that they stand for: (byte - zero) * scale.
  void dequantize(const std::uint8_t* x, std::size_t count, std::int32_t zero, float scale,
                  float* to) const {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<float>(static_cast<std::int32_t>(x[i]) - zero) * scale;
    }
  }

  /// Converts x to bytes: min(max(round(x / scale) + zero, least), most). NaN becomes least.
  void quantize(const float* x, std::size_t count, const byte_range& range, float per_scale,
                std::uint8_t* to) const {
    std::size_t i = 0;
    for (; i + wide::size <= count; i += wide::size) {
      wide::quantize(x + i, range, per_scale, to + i);
    }
    if (i < count) {
      std::array<float, wide::size> rest{};
      std::array<std::uint8_t, wide::size> bytes;
      std::copy(x + i, x + count, rest.begin());
      wide::quantize(rest.data(), range, per_scale, bytes.data());
      std::copy_n(bytes.begin(), count - i, to + i);
    }
  }

 private:
  template <class Set>
  struct bytes_to {
    const integer_window& k;
    std::uint8_t* to;
    void operator()(const typename Set::sums* sums, std::size_t column) const {
      Set::store_bytes(sums, k.by, to + column * k.out_step);
    }
  };

  struct numbers_of {
    const integer_products& by;
    float* const* to;
    template <std::size_t Vectors>
    void operator()(const typename wide::sums (&sums)[Vectors], std::size_t p) const {
      constexpr std::size_t each = wide::size / 4;
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        wide::store_numbers(sums[v], by, v * each, v + 1 < Vectors ? each : by.outputs - v * each,
                            to[p]);
      }
    }
  };

  template <class Set>
  struct numbers_to {
    const integer_window& k;
    float* to;
    void operator()(const typename Set::sums* sums, std::size_t column) const {
      constexpr std::size_t lanes = Set::size / 4;
      std::array<float, Set::size> all;
      for (std::size_t v = 0; v < 4; ++v) {
        Set::store_numbers(sums[v], k.by, v * lanes, lanes, all.data());
      }
      for (std::size_t channel = 0; channel < k.channels; channel += 4) {
        std::copy_n(all.data() + packed_lane(channel, 4, lanes),
                    std::min<std::size_t>(4, k.channels - channel),
                    to + column * k.out_step + channel);
      }
    }
  };

  template <std::size_t Together>
  static void to_bytes(const integer_products& by, const std::uint8_t* const* from,
                       std::size_t pixels, std::uint8_t* const* to) {
    if (are_few(by.outputs)) {
      by_pixels<wide, 2, Together>(by, from, pixels, [&](const auto* sums, std::size_t output) {
        wide::store_few_bytes(sums, by, to[output]);
      });
    } else {
      by_pixels<wide, 4, Together>(by, from, pixels, [&](const auto* sums, std::size_t output) {
        wide::store_bytes(sums, by, to[output]);
      });
    }
  }

  template <class Set, std::size_t Vectors, std::size_t Together = 1, class Store>
  static void by_pixels(const integer_products& by, const std::uint8_t* const* from,
                        std::size_t pixels, const Store& store) {
    // With few vectors of sums for each pixel, the registers have room for more pixels.
    constexpr std::size_t room = Set::tile_pixels * (Vectors <= 2 ? 2 : 1);
    constexpr std::size_t most =
        Together == 1 ? room : std::max(Together, room / Together * Together);
    constexpr std::size_t some = Together == 1 ? 2 : Together;
    std::size_t p = 0;
    for (; p + most <= pixels; p += most) {
      tile<Set, Vectors, most, Together>(by, from + p, p, store);
    }
    for (; p + some <= pixels; p += some) {
      tile<Set, Vectors, some, Together>(by, from + p, p, store);
    }
    if (p < pixels) {
      single<Set, Vectors>(by, from[p], p, store);
    }
  }

  /// Multiplies one pixel. Steps alternate between two sets of sums, because consecutive additions
  /// to one set would wait for each other.
  template <class Set, std::size_t Vectors, class Store>
  static void single(const integer_products& by, const std::uint8_t* x, std::size_t pixel,
                     const Store& store) {
    typename Set::sums sums[Vectors];
    typename Set::sums others[Vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) {
      sums[v] = others[v] = Set::no_sums();
    }
    const std::int8_t* w = by.weights;
    const auto add = [&](typename Set::sums* to, std::size_t step) {
      const typename Set::bytes four = Set::broadcast(x + by.offsets[step]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        to[v] = Set::add_products(to[v], four, Set::weights(w + v * Set::size));
      }
      w += Vectors * Set::size;
    };
    std::size_t step = 0;
    for (; step + 2 <= by.steps; step += 2) {
      add(sums, step);
      add(others, step + 1);
    }
    if (step < by.steps) {
      add(sums, step);
    }
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) {
      sums[v] = Set::add(sums[v], others[v]);
    }
    store(sums, pixel);
  }

  // These are plain arrays and loops that the compiler unrolls before other optimizations. Sums in
  // other types do not stay in registers.
  template <class Set, std::size_t Vectors, std::size_t Pixels, std::size_t Together, class Store>
  static void tile(const integer_products& by, const std::uint8_t* const* from, std::size_t first,
                   const Store& store) {
    typename Set::sums sums[Pixels][Vectors];
    const std::uint8_t* x[Pixels];
#pragma GCC unroll 12
    for (std::size_t p = 0; p < Pixels; ++p) {
      x[p] = from[p];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        sums[p][v] = Set::no_sums();
      }
    }
    const std::int8_t* w = by.weights;
    const std::uint32_t* offset = by.offsets;
    const std::uint32_t* const end = offset + by.steps;
    do {  // there is at least one step
      const std::size_t at = *offset;
      typename Set::bytes weights[Vectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        weights[v] = Set::weights(w + v * Set::size);
      }
#pragma GCC unroll 12
      for (std::size_t p = 0; p < Pixels; ++p) {
        const typename Set::bytes four = Set::broadcast(x[p] + at);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Vectors; ++v) {
          sums[p][v] = Set::add_products(sums[p][v], four, weights[v]);
        }
      }
      w += Vectors * Set::size;
    } while (++offset != end);
#pragma GCC unroll 12
    for (std::size_t p = 0; p < Pixels; p += Together) {
      typename Set::sums of_output[Vectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        of_output[v] = sums[p][v];
#pragma GCC unroll 4
        for (std::size_t other = 1; other < Together; ++other) {
          of_output[v] = Set::larger_sums(of_output[v], sums[p + other][v]);
        }
      }
      store(of_output, (first + p) / Together);
    }
  }

  template <class Set>
  static void pool_row(const integer_window& k, std::uint8_t* to) {
    for (std::size_t c = 0; c < k.columns; ++c, to += k.out_step) {
      const std::size_t at = c * k.stride * k.pixel_step;
      typename Set::bytes most = Set::load(k.rows[0] + at);
      for (std::size_t row = 0; row < k.height; ++row) {
        const std::uint8_t* from = k.rows[row] + at;
        for (std::size_t x = 0; x < k.width; ++x, from += k.dilation * k.pixel_step) {
          most = Set::larger(most, Set::load(from));
        }
      }
      Set::store(most, to);
    }
  }

  template <class Set, class Store>
  static void convolve_row(const integer_window& k, const Store& store) {
    if (k.width == 3 && k.height == 3 && k.dilation == 1 && k.stride == 1) {
      convolve_each_column<Set, 3>(k, store);
    } else if (k.width == 3 && k.height == 3 && k.dilation == 1 && k.stride == 2) {
      convolve_every_other_column<Set, 3>(k, store);
    } else {
      convolve_any<Set>(k, store);
    }
  }

  /// Loads the bytes of four rows of a column, with the bytes of each channel side by side: four
  /// vectors.
  template <class Set>
  static void column(const integer_window& k, std::size_t rows, std::size_t first_row,
                     std::size_t at, typename Set::bytes* to) {
    const std::uint8_t* const* row = k.rows + first_row;
    at *= k.pixel_step;
    Set::interleave(Set::load(row[0] + at), rows > 1 ? Set::load(row[1] + at) : Set::no_bytes(),
                    rows > 2 ? Set::load(row[2] + at) : Set::no_bytes(),
                    rows > 3 ? Set::load(row[3] + at) : Set::no_bytes(), to);
  }

  template <class Set>
  static void add_column(typename Set::sums* sums, const typename Set::bytes* columns,
                         const std::int8_t* w) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) {
      sums[v] = Set::add_products(sums[v], columns[v], Set::weights(w + v * Set::size));
    }
  }
  template <class Set>
  static void add_column(typename Set::sums* sums, const typename Set::bytes* columns,
                         const typename Set::bytes* w) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) {
      sums[v] = Set::add_products(sums[v], columns[v], w[v]);
    }
  }
  template <class Set>
  static void clear(typename Set::sums* sums) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) {
      sums[v] = Set::no_sums();
    }
  }
  template <class Set>
  static void copy(const typename Set::sums* from, typename Set::sums* to) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) {
      to[v] = from[v];
    }
  }

  /// Loads the weights of three columns. They stay in registers if there are enough registers.
  template <class Set>
  static void load_window(const integer_window& k, typename Set::bytes* w) {
#pragma GCC unroll 12
    for (std::size_t v = 0; v < 12; ++v) {
      w[v] = Set::weights(k.by.weights + v * Set::size);
    }
  }

  /// Computes windows of three adjacent columns. Each column is assembled once for all three
  /// windows.
  template <class Set, std::size_t Rows, class Store>
  static void convolve_each_column(const integer_window& k, const Store& store) {
    typename Set::sums newest[4];
    typename Set::sums middle[4];
    typename Set::sums oldest[4];
    typename Set::bytes columns[4];
    typename Set::bytes w[12];
    load_window<Set>(k, w);
    clear<Set>(newest);
    clear<Set>(middle);
    for (std::size_t c = 0; c < k.columns + 2; ++c) {
      column<Set>(k, Rows, 0, c, columns);
      copy<Set>(middle, oldest);
      copy<Set>(newest, middle);
      clear<Set>(newest);
      add_column<Set>(newest, columns, w);
      add_column<Set>(middle, columns, w + 4);
      add_column<Set>(oldest, columns, w + 8);
      if (c >= 2) {
        store(oldest, c - 2);
      }
    }
  }

  template <class Set, std::size_t Rows, class Store>
  static void convolve_every_other_column(const integer_window& k, const Store& store) {
    typename Set::bytes w[12];
    load_window<Set>(k, w);
    typename Set::bytes columns[4];
    typename Set::sums sums[4];
    column<Set>(k, Rows, 0, 0, columns);
    for (std::size_t c = 0; c < k.columns; ++c) {
      clear<Set>(sums);
      add_column<Set>(sums, columns, w);
      column<Set>(k, Rows, 0, 2 * c + 1, columns);
      add_column<Set>(sums, columns, w + 4);
      column<Set>(k, Rows, 0, 2 * c + 2, columns);
      add_column<Set>(sums, columns, w + 8);
      store(sums, c);
    }
  }

  template <class Set, class Store>
  static void convolve_any(const integer_window& k, const Store& store) {
    typename Set::bytes columns[4];
    typename Set::sums sums[4];
    for (std::size_t c = 0; c < k.columns; ++c) {
      clear<Set>(sums);
      const std::int8_t* w = k.by.weights;
      for (std::size_t row = 0; row < k.height; row += 4) {
        for (std::size_t x = 0; x < k.width; ++x, w += 4 * Set::size) {
          column<Set>(k, k.height - row, row, c * k.stride + x * k.dilation, columns);
          add_column<Set>(sums, columns, w);
        }
      }
      store(sums, c);
    }
  }
};
