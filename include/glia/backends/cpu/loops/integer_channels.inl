// Members of integer_loops (see integer_loops.inl): depthwise convolutions and pooling, which
// process each channel separately.

template <class Set>
static void pool_row(const integer_window& k, std::uint8_t* target) {
  for (std::size_t c = 0; c < k.columns; ++c, target += k.out_step) {
    const std::size_t pixel = c * k.stride * k.pixel_step;
    typename Set::bytes largest = Set::load(k.rows[0] + pixel);
    for (std::size_t row = 0; row < k.height; ++row) {
      const std::uint8_t* source = k.rows[row] + pixel;
      for (std::size_t x = 0; x < k.width; ++x, source += k.dilation * k.pixel_step) {
        largest = Set::larger(largest, Set::load(source));
      }
    }
    Set::store(largest, target);
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
                   std::size_t pixel, typename Set::bytes* target) {
  const std::uint8_t* const* row = k.rows + first_row;
  pixel *= k.pixel_step;
  Set::interleave(Set::load(row[0] + pixel), rows > 1 ? Set::load(row[1] + pixel) : Set::no_bytes(),
                  rows > 2 ? Set::load(row[2] + pixel) : Set::no_bytes(),
                  rows > 3 ? Set::load(row[3] + pixel) : Set::no_bytes(), target);
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
static void copy(const typename Set::sums* source, typename Set::sums* target) {
#pragma GCC unroll 4
  for (std::size_t v = 0; v < 4; ++v) {
    target[v] = source[v];
  }
}

/// Loads the weights of three columns. They stay in registers if there are enough registers.
template <class Set>
static void load_window(const integer_window& k, typename Set::bytes* w) {
#pragma GCC unroll 12
  for (std::size_t v = 0; v < 12; ++v) {
    w[v] = Set::weights(k.panel.weights + v * Set::size);
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
    const std::int8_t* w = k.panel.weights;
    for (std::size_t row = 0; row < k.height; row += 4) {
      for (std::size_t x = 0; x < k.width; ++x, w += 4 * Set::size) {
        column<Set>(k, k.height - row, row, c * k.stride + x * k.dilation, columns);
        add_column<Set>(sums, columns, w);
      }
    }
    store(sums, c);
  }
}
