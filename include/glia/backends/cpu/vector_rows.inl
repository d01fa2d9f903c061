// Included by vector_loops.inl inside the struct of one instruction set: sums, and work on rows
// of matrices.

// A fixed number of partial sums, added in a fixed order.
template <class T>
static T sum(const T* x, std::size_t n) {
  return reduce<T>(n, [=](std::size_t i) { return x[i]; });
}
template <class T>
static T dot(const T* x, const T* y, std::size_t n) {
  return reduce<T>(n, [=](std::size_t i) { return x[i] * y[i]; });
}

// y = scale (weight a - b)
template <class T>
static void scaled_difference(T scale, T weight, const T* a, const T* b, T* y, std::size_t n) {
  each(a, b, y, n, [=](T u, T v) { return scale * (weight * u - v); });
}

// sum((x - highest) t), where t is not 0: a class that cannot be, whose logit is -infinity, has no
// part in it.
template <class T>
static T dot_below(const T* x, const T* t, T highest, std::size_t n) {
  return reduce<T>(n, [=](std::size_t i) { return t[i] == 0 ? T(0) : (x[i] - highest) * t[i]; });
}

// y = map(y + bias); bias may be null
template <class T>
static void bias_unary(const unary_map& map, const T* bias, T* y, std::size_t n) {
  if (bias == nullptr) {
    if (!(map == identity_map)) {
      unary(map, y, y, n);
    }
  } else if (map == identity_map) {
    add(bias, y, n);
  } else if (map.function == unary_function::relu) {
    each(bias, y, y, n, [](T u, T v) { return u + v < 0 ? T(0) : u + v; });
  } else {
    add(bias, y, n);
    unary(map, y, y, n);
  }
}

template <class T>
static T largest_of(const T* x, std::size_t n) {
  T highest = x[0];
  for (std::size_t i = 1; i < n; ++i) {
    highest = x[i] > highest ? x[i] : highest;
  }
  return highest;
}

// y = softmax(x), y may be x; returns ln(sum(exp(x - largest x)))
template <class T>
static T softmax(const T* x, T* y, std::size_t n) {
  const T highest = largest_of(x, n);
  each(x, y, n, [=](T v) { return exp_of(v - highest); });
  const T total = sum(y, n);
  const T scale = T(1) / total;
  each(y, y, n, [=](T v) { return v * scale; });
  return log_of(total);
}

// Normalisation. Of several rows of x, `step` apart, what is added up for each column, four rows at
// a time as in add_rows: x - shift; x - mean and its square; dy (x - mean), dy and x - mean.
template <class T>
static void add_shifted(const T* x, std::size_t step, std::size_t rows, const T* shift, T* sums,
                        std::size_t n) {
  for (; rows >= 4; rows -= 4, x += 4 * step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T k = shift[i];
      sums[i] += ((x[i] - k) + (x[step + i] - k)) + ((x[2 * step + i] - k) + (x[3 * step + i] - k));
    }
  }
  for (; rows > 0; --rows, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] += x[i] - shift[i];
    }
  }
}
template <class T>
static void add_moments(const T* x, std::size_t step, std::size_t rows, const T* mean, T* off,
                        T* squares, std::size_t n) {
  for (; rows >= 4; rows -= 4, x += 4 * step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      const T b = x[step + i] - mean[i];
      const T c = x[2 * step + i] - mean[i];
      const T d = x[3 * step + i] - mean[i];
      off[i] += (a + b) + (c + d);
      squares[i] += (a * a + b * b) + (c * c + d * d);
    }
  }
  for (; rows > 0; --rows, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      off[i] += a;
      squares[i] += a * a;
    }
  }
}
template <class T>
static void add_gradient_moments(const T* dy, const T* x, std::size_t step, std::size_t rows,
                                 const T* mean, T* products, T* sums, T* off, std::size_t n) {
  for (; rows >= 4; rows -= 4, dy += 4 * step, x += 4 * step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      const T b = x[step + i] - mean[i];
      const T c = x[2 * step + i] - mean[i];
      const T d = x[3 * step + i] - mean[i];
      off[i] += (a + b) + (c + d);
      products[i] += (dy[i] * a + dy[step + i] * b) + (dy[2 * step + i] * c + dy[3 * step + i] * d);
      sums[i] += (dy[i] + dy[step + i]) + (dy[2 * step + i] + dy[3 * step + i]);
    }
  }
  for (; rows > 0; --rows, dy += step, x += step) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[i] - mean[i];
      off[i] += a;
      products[i] += dy[i] * a;
      sums[i] += dy[i];
    }
  }
}

// Element by element: of some of the rows the sum of distances to `shift`, from their mean and how
// far that is off, and of squares of those to the mean of all; y = (x - mean) scale + shift;
// dx = scale (dy - mean_dy - (x - mean) slope).
template <class T>
static void distances(const T* mean, const T* off, const T* shift, T count, T* y, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = count * ((mean[i] - shift[i]) + off[i]);
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
// dx = scale dy - constant - (x - mean) slope
template <class T>
static void grouped_gradient(const T* dy, const T* x, const T* mean, const T* constant,
                             const T* slope, const T* scale, T* dx, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    dx[i] = scale[i] * dy[i] - constant[i] - (x[i] - mean[i]) * slope[i];
  }
}

// The same for a row that shares its statistics.
template <class T>
static T sum_apart(const T* x, T shift, std::size_t n) {
  return reduce<T>(n, [=](std::size_t i) { return x[i] - shift; });
}
// The sums of x - mean and of its square; of x and of x y
template <class T>
static void sum_moments(const T* x, T mean, std::size_t n, T& off, T& squares) {
  reduce_two(
      n, [=](std::size_t i) { return x[i] - mean; },
      [=](std::size_t i) { return (x[i] - mean) * (x[i] - mean); }, off, squares);
}
template <class T>
static void sum_and_dot(const T* x, const T* y, std::size_t n, T& sum_of_x, T& product) {
  reduce_two(
      n, [=](std::size_t i) { return x[i]; }, [=](std::size_t i) { return x[i] * y[i]; }, sum_of_x,
      product);
}
template <class T>
static void normalize_row(const T* x, T mean, T rest, T inverse, const T* gamma, const T* beta,
                          T* y, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = ((x[i] - mean) - rest) * inverse * gamma[i] + beta[i];
  }
}
// h = (x - mean - rest) inverse, dgamma += dy h, dbeta += dy, q = gamma dy
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
// q = inverse (q - mean_q - h mean_qh)
template <class T>
static void end_row_gradient(const T* h, T inverse, T mean_q, T mean_qh, T* q, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    q[i] = inverse * ((q[i] - mean_q) - h[i] * mean_qh);
  }
}
