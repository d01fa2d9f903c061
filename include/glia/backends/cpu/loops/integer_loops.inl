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
  void multiply_to_bytes(const integer_products& panel, const std::uint8_t* const* source,
                         std::size_t pixels, std::uint8_t* const* target) const {
    to_bytes<1>(panel, source, pixels, target);
  }
  /// Multiplies four patches by a panel for each output and writes the largest result as a byte.
  /// The sums are compared, because the conversion to bytes keeps their order.
  void multiply_to_largest_bytes(const integer_products& panel, const std::uint8_t* const* source,
                                 std::size_t outputs, std::uint8_t* const* target) const {
    to_bytes<4>(panel, source, 4 * outputs, target);
  }

  /// Multiplies each of `pixels` patches by a panel and writes the results as numbers.
  void multiply_to_numbers(const integer_products& panel, const std::uint8_t* const* source,
                           std::size_t pixels, float* const* target) const {
    constexpr std::size_t lanes = wide::size / 4;
    const numbers_of store{panel, target};
    switch ((panel.outputs + lanes - 1) / lanes) {
      case 1:
        return by_pixels<wide, 1>(panel, source, pixels, store);
      case 2:
        return by_pixels<wide, 2>(panel, source, pixels, store);
      case 3:
        return by_pixels<wide, 3>(panel, source, pixels, store);
      default:
        return by_pixels<wide, 4>(panel, source, pixels, store);
    }
  }

  /// Computes a row of a depthwise convolution for one panel, as bytes or numbers; see
  /// integer_window.
  void convolve_channels(const integer_window& k, std::uint8_t* target) const {
    if (are_few(k.channels)) {
      convolve_row<narrow>(k, bytes_to<narrow>{k, target});
    } else {
      convolve_row<wide>(k, bytes_to<wide>{k, target});
    }
  }
  void convolve_channels(const integer_window& k, float* target) const {
    if (are_few(k.channels)) {
      convolve_row<narrow>(k, numbers_to<narrow>{k, target});
    } else {
      convolve_row<wide>(k, numbers_to<wide>{k, target});
    }
  }

  /// Computes a row of window maxima for one panel, as bytes; see integer_window.
  void pool_channels(const integer_window& k, std::uint8_t* target) const {
    if (are_few(k.channels)) {
      pool_row<narrow>(k, target);
    } else {
      pool_row<wide>(k, target);
    }
  }

  /// Converts bytes to the numbers that they stand for: (byte - zero) * scale.
  void dequantize(const std::uint8_t* x, std::size_t count, std::int32_t zero, float scale,
                  float* target) const {
    for (std::size_t i = 0; i < count; ++i) {
      target[i] = static_cast<float>(static_cast<std::int32_t>(x[i]) - zero) * scale;
    }
  }

  /// Converts x to bytes: min(max(round(x / scale) + zero, least), most). NaN becomes least.
  void quantize(const float* x, std::size_t count, const kernels::byte_range& range,
                float per_scale, std::uint8_t* target) const {
    std::size_t i = 0;
    for (; i + wide::size <= count; i += wide::size) {
      wide::quantize(x + i, range, per_scale, target + i);
    }
    if (i < count) {
      std::array<float, wide::size> rest{};
      std::array<std::uint8_t, wide::size> bytes;
      std::copy(x + i, x + count, rest.begin());
      wide::quantize(rest.data(), range, per_scale, bytes.data());
      std::copy_n(bytes.begin(), count - i, target + i);
    }
  }

 private:
  template <class Set>
  struct bytes_to {
    const integer_window& k;
    std::uint8_t* target;
    void operator()(const typename Set::sums* sums, std::size_t column) const {
      Set::store_bytes(sums, k.panel, target + column * k.out_step);
    }
  };

  struct numbers_of {
    const integer_products& panel;
    float* const* target;
    template <std::size_t Vectors>
    void operator()(const typename wide::sums (&sums)[Vectors], std::size_t p) const {
      constexpr std::size_t lanes = wide::size / 4;
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        wide::store_numbers(sums[v], panel, v * lanes,
                            v + 1 < Vectors ? lanes : panel.outputs - v * lanes, target[p]);
      }
    }
  };

  template <class Set>
  struct numbers_to {
    const integer_window& k;
    float* target;
    void operator()(const typename Set::sums* sums, std::size_t column) const {
      constexpr std::size_t lanes = Set::size / 4;
      std::array<float, Set::size> results;
      for (std::size_t v = 0; v < 4; ++v) {
        Set::store_numbers(sums[v], k.panel, v * lanes, lanes, results.data());
      }
      for (std::size_t channel = 0; channel < k.channels; channel += 4) {
        std::copy_n(results.data() + packed_lane(channel, 4, lanes),
                    std::min<std::size_t>(4, k.channels - channel),
                    target + column * k.out_step + channel);
      }
    }
  };

  template <std::size_t Together>
  static void to_bytes(const integer_products& panel, const std::uint8_t* const* source,
                       std::size_t pixels, std::uint8_t* const* target) {
    if (are_few(panel.outputs)) {
      by_pixels<wide, 2, Together>(panel, source, pixels,
                                   [&](const auto* sums, std::size_t output) {
                                     wide::store_few_bytes(sums, panel, target[output]);
                                   });
    } else {
      by_pixels<wide, 4, Together>(panel, source, pixels,
                                   [&](const auto* sums, std::size_t output) {
                                     wide::store_bytes(sums, panel, target[output]);
                                   });
    }
  }

  template <class Set, std::size_t Vectors, std::size_t Together = 1, class Store>
  static void by_pixels(const integer_products& panel, const std::uint8_t* const* source,
                        std::size_t pixels, const Store& store) {
    // With few vectors of sums for each pixel, the registers have room for more pixels.
    constexpr std::size_t pixels_in_registers = Set::tile_pixels * (Vectors <= 2 ? 2 : 1);
    constexpr std::size_t max_pixels =
        Together == 1 ? pixels_in_registers
                      : std::max(Together, pixels_in_registers / Together * Together);
    constexpr std::size_t few_pixels = Together == 1 ? 2 : Together;
    std::size_t p = 0;
    for (; p + max_pixels <= pixels; p += max_pixels) {
      tile<Set, Vectors, max_pixels, Together>(panel, source + p, p, store);
    }
    for (; p + few_pixels <= pixels; p += few_pixels) {
      tile<Set, Vectors, few_pixels, Together>(panel, source + p, p, store);
    }
    if (p < pixels) {
      single<Set, Vectors>(panel, source[p], p, store);
    }
  }

  /// Multiplies one pixel. Steps alternate between two sets of sums, because consecutive additions
  /// to one set would wait for each other.
  template <class Set, std::size_t Vectors, class Store>
  static void single(const integer_products& panel, const std::uint8_t* x, std::size_t pixel,
                     const Store& store) {
    typename Set::sums sums[Vectors];
    typename Set::sums odd_sums[Vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) {
      sums[v] = odd_sums[v] = Set::no_sums();
    }
    const std::int8_t* w = panel.weights;
    const auto add = [&](typename Set::sums* target, std::size_t step) {
      const typename Set::bytes four = Set::broadcast(x + panel.offsets[step]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        target[v] = Set::add_products(target[v], four, Set::weights(w + v * Set::size));
      }
      w += Vectors * Set::size;
    };
    std::size_t step = 0;
    for (; step + 2 <= panel.steps; step += 2) {
      add(sums, step);
      add(odd_sums, step + 1);
    }
    if (step < panel.steps) {
      add(sums, step);
    }
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) {
      sums[v] = Set::add(sums[v], odd_sums[v]);
    }
    store(sums, pixel);
  }

  // These are plain arrays and loops that the compiler unrolls before other optimizations. Sums in
  // other types do not stay in registers.
  template <class Set, std::size_t Vectors, std::size_t Pixels, std::size_t Together, class Store>
  static void tile(const integer_products& panel, const std::uint8_t* const* source,
                   std::size_t first, const Store& store) {
    typename Set::sums sums[Pixels][Vectors];
    const std::uint8_t* x[Pixels];
#pragma GCC unroll 12
    for (std::size_t p = 0; p < Pixels; ++p) {
      x[p] = source[p];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        sums[p][v] = Set::no_sums();
      }
    }
    const std::int8_t* w = panel.weights;
    const std::uint32_t* offset = panel.offsets;
    const std::uint32_t* const end = offset + panel.steps;
    do {  // there is at least one step
      const std::size_t group = *offset;
      typename Set::bytes weights[Vectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        weights[v] = Set::weights(w + v * Set::size);
      }
#pragma GCC unroll 12
      for (std::size_t p = 0; p < Pixels; ++p) {
        const typename Set::bytes four = Set::broadcast(x[p] + group);
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

#include "glia/backends/cpu/loops/integer_channels.inl"
};
