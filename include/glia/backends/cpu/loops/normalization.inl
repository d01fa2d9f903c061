// Members of vector_loops (see vector_loops.inl): normalization of columns
// and of rows.

// These functions add rows of x, which are `step` apart, to sums for each column. They add four
// rows together, one from each quarter of the rows. The terms are x - shift; x - mean and its
// square; or dy (x - mean), dy and x - mean.
template <class T>
static void add_shifted(const T* x, std::size_t step, std::size_t rows, const T* shift, T* sums,
                        std::size_t n) {
  const std::size_t quarter = rows / 4;
  const std::size_t far = quarter * step;
  for (std::size_t r = 0; r < quarter; ++r, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T k = shift[i];
      sums[i] += ((x[i] - k) + (x[far + i] - k)) + ((x[2 * far + i] - k) + (x[3 * far + i] - k));
    }
  }
  x += 3 * far;
  for (rows %= 4; rows > 0; --rows, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] += x[i] - shift[i];
    }
  }
}
template <class T>
static void add_moments(const T* x, std::size_t step, std::size_t rows, const T* mean,
                        T* offset_sums, T* squares, std::size_t n) {
  const std::size_t quarter = rows / 4;
  const std::size_t far = quarter * step;
  for (std::size_t r = 0; r < quarter; ++r, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      const T b = x[far + i] - mean[i];
      const T c = x[2 * far + i] - mean[i];
      const T d = x[3 * far + i] - mean[i];
      offset_sums[i] += (a + b) + (c + d);
      squares[i] += (a * a + b * b) + (c * c + d * d);
    }
  }
  x += 3 * far;
  for (rows %= 4; rows > 0; --rows, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      offset_sums[i] += a;
      squares[i] += a * a;
    }
  }
}
template <class T>
static void add_gradient_moments(const T* dy, const T* x, std::size_t step, std::size_t rows,
                                 const T* mean, T* products, T* sums, T* offset_sums,
                                 std::size_t n) {
  const std::size_t quarter = rows / 4;
  const std::size_t far = quarter * step;
  for (std::size_t r = 0; r < quarter; ++r, dy += step, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      const T b = x[far + i] - mean[i];
      const T c = x[2 * far + i] - mean[i];
      const T d = x[3 * far + i] - mean[i];
      offset_sums[i] += (a + b) + (c + d);
      products[i] += (dy[i] * a + dy[far + i] * b) + (dy[2 * far + i] * c + dy[3 * far + i] * d);
      sums[i] += (dy[i] + dy[far + i]) + (dy[2 * far + i] + dy[3 * far + i]);
    }
  }
  dy += 3 * far;
  x += 3 * far;
  for (rows %= 4; rows > 0; --rows, dy += step, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      offset_sums[i] += a;
      products[i] += dy[i] * a;
      sums[i] += dy[i];
    }
  }
}

// end_means converts sums of x - shift over `count` rows to means. end_moments converts sums of
// x - mean and of its square to the mean's error and the sum of squares around the corrected mean.
template <class T>
static void end_means(const T* shift, T count, T* mean, std::size_t n) {
  transform(mean, shift, mean, n, [=](T sum, T start) { return start + sum / count; });
}
template <class T>
static void end_moments(const T* offset_sums, const T* squares, T count, T* mean_offset, T* spread,
                        std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T apart = offset_sums[i] / count;
    const T squared = squares[i] - count * (apart * apart);
    mean_offset[i] = apart;
    spread[i] = squared < 0 ? T(0) : squared;
  }
}
// These functions convert the statistics of a chunk of `count` rows. distances computes the sum of
// x - shift from the chunk's mean and the mean's error. spreads computes the sum of squares around
// the mean of all rows from the sum of squares around the chunk's own mean.
template <class T>
static void distances(const T* mean, const T* mean_offset, const T* shift, T count, T* y,
                      std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = count * ((mean[i] - shift[i]) + mean_offset[i]);
  }
}
template <class T>
static void spreads(const T* distance, const T* of_all, const T* squares, T count, T* y,
                    std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T apart = distance[i] / count - of_all[i];
    y[i] = squares[i] + count * (apart * apart);
  }
}

// For columns with their own statistics, computes three values from sums of x - shift: the mean's
// distance to shift, the mean rounded to T, and its rounding error.
template <class T>
static void means_of(const T* sum, const T* shift, T length, T* apart, T* mean, T* rest,
                     std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T source = sum[i] / length;
    const T rounded = shift[i] + source;
    apart[i] = source;
    mean[i] = rounded;
    rest[i] = source - (rounded - shift[i]);
  }
}
template <class T>
static void quotients(const T* x, T divisor, T* y, std::size_t n) {
  transform(x, y, n, [=](T v) { return v / divisor; });
}
// Returns the mean's rounding error times a factor. Returns 0 if the product is not finite, so that
// it creates no NaN.
template <class T>
static T part_of(T rest, T factor) {
  const T part = rest * factor;
  return part - part == 0 ? part : T(0);  // NOLINT(misc-redundant-expression)
}
// Writes sqrt(variance + epsilon). Returns whether is_usual_variance holds for all columns.
template <class T>
static bool deviations(const T* variance, T epsilon, T* y, std::size_t n) {
  constexpr T lowest = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  int usual = 1;
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T widened = variance[i] + epsilon;
    usual &= static_cast<int>(widened > lowest) & static_cast<int>(widened < 1 / lowest);
    y[i] = widened;
  }
  square_roots(y, n);
  return usual != 0;
}
// Computes factors so that (x - mean) scale + shift is the normalized x. Returns false if a column
// must be handled separately.
template <class T>
static bool normalizing_factors(const T* mean, const T* rest, const T* variance, T epsilon,
                                const T* gamma, const T* beta, T* scale, T* shift, std::size_t n) {
  if (!deviations(variance, epsilon, scale, n)) {
    return false;
  }
  int finite = 1;
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    finite &= static_cast<int>(mean[i] - mean[i] == 0);  // NOLINT(misc-redundant-expression)
    const T factor = gamma[i] * (T(1) / scale[i]);
    scale[i] = factor;
    shift[i] = beta[i] - part_of(rest[i], factor);
  }
  return finite != 0;
}
// Computes factors for dx = scale (dy - constant - (x - mean) slope). On entry, dgamma is the sum
// of dy (x - mean), and `offset_sums` is the sum of x - mean. Returns false if a column must be
// handled separately.
template <class T>
static bool gradient_factors(const T* mean, const T* offset_sums, const T* variance, T epsilon,
                             T length, const T* gamma, const T* dbeta, T* dgamma, T* scale,
                             T* constant, T* slope, std::size_t n) {
  if (!deviations(variance, epsilon, scale, n)) {
    return false;
  }
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T inverse = T(1) / scale[i];
    const T apart = offset_sums[i] / length;
    const T rounding = std::numeric_limits<T>::epsilon() * (mean[i] < 0 ? -mean[i] : mean[i]);
    const T rest = (apart < 0 ? -apart : apart) <= rounding ? apart : T(0);
    const T of_gamma = inverse * (dgamma[i] - part_of(rest, dbeta[i]));
    const T steep = inverse * (of_gamma / length);
    dgamma[i] = of_gamma;
    scale[i] = inverse * gamma[i];
    slope[i] = steep;
    constant[i] = dbeta[i] / length - part_of(rest, steep);
  }
  return true;
}

// Computes for each element y = (x - mean) scale + shift, or dx = scale (dy - mean_dy - (x - mean)
// slope).
template <class T>
static void center_and_scale(const T* x, const T* mean, const T* scale, const T* shift, T* y,
                             std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
  }
}
template <class T>
static void normalized_gradient(const T* dy, const T* x, const T* mean, const T* mean_dy,
                                const T* slope, const T* scale, T* dx, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    dx[i] = scale[i] * (dy[i] - mean_dy[i] - (x[i] - mean[i]) * slope[i]);
  }
}
// Computes dx = scale dy - constant - (x - mean) slope.
template <class T>
static void grouped_gradient(const T* dy, const T* x, const T* mean, const T* constant,
                             const T* slope, const T* scale, T* dx, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    dx[i] = scale[i] * dy[i] - constant[i] - (x[i] - mean[i]) * slope[i];
  }
}

// Functions for layer and RMS normalization, where each row has one mean and one variance.
// sum_apart returns the sum of x - shift.
template <class T>
static T sum_apart(const T* x, T shift, std::size_t n) {
  return reduce<T>(n, [=](auto load) { return load(x) - shift; });
}
// Computes the sums of x - mean and of its square, or of x and of x y.
template <class T>
static void sum_moments(const T* x, T mean, std::size_t n, T (&sums)[2]) {
  reduce_each(
      n, sums, [=](auto load) { return load(x) - mean; },
      [=](auto load) { return (load(x) - mean) * (load(x) - mean); });
}
template <class T>
static void sum_and_dot(const T* x, const T* y, std::size_t n, T (&sums)[2]) {
  reduce_each(
      n, sums, [=](auto load) { return load(x); }, [=](auto load) { return load(x) * load(y); });
}
template <class T>
static void normalize_row(const T* x, T mean, T rest, T inverse, const T* gamma, const T* beta,
                          T* y, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = ((x[i] - mean) - rest) * inverse * gamma[i] + beta[i];
  }
}
// Computes h = (x - mean - rest) inverse, dgamma += dy h, dbeta += dy, and q = gamma dy.
template <class T>
static void start_row_gradient(const T* dy, const T* x, T mean, T rest, T inverse, const T* gamma,
                               T* h, T* dgamma, T* dbeta, T* q, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T normal = ((x[i] - mean) - rest) * inverse;
    h[i] = normal;
    dgamma[i] += dy[i] * normal;
    dbeta[i] += dy[i];
    q[i] = dy[i] * gamma[i];
  }
}
// Computes q = inverse (q - mean_q - h mean_qh).
template <class T>
static void end_row_gradient(const T* h, T inverse, T mean_q, T mean_qh, T* q, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    q[i] = inverse * ((q[i] - mean_q) - h[i] * mean_qh);
  }
}
