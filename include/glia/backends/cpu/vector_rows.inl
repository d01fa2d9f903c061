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

// sum((scale x)^2), in double
template <class T>
static double sum_of_squares(const T* x, T scale, std::size_t n) {
  return reduce<double>(n, [=](std::size_t i) {
    const double v = x[i] * scale;
    return v * v;
  });
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
  constexpr std::size_t lanes = 32;
  T highest = x[0];
  std::size_t i = 1;
  if (n >= 2 * lanes) {
    T each[lanes];
    std::memcpy(each, x, sizeof each);
    for (i = lanes; i + lanes <= n; i += lanes) {
      GLIA_INDEPENDENT
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        each[lane] = x[i + lane] > each[lane] ? x[i + lane] : each[lane];
      }
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        each[lane] = each[lane + half] > each[lane] ? each[lane + half] : each[lane];
      }
    }
    highest = each[0];
  }
  for (; i < n; ++i) {
    highest = x[i] > highest ? x[i] : highest;
  }
  return highest;
}

// Where the first of some numbers that are equal to one is; the last, if there is none.
template <class T>
static std::size_t first_of(const T* x, T value, std::size_t n) {
  constexpr std::size_t lanes = 16;
  std::size_t at = 0;
  for (; at + lanes < n; at += lanes) {
    unsigned found = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      found |= x[at + lane] == value ? 1U : 0U;
    }
    if (found != 0) {
      break;
    }
  }
  while (at + 1 < n && !(x[at] == value)) {
    ++at;
  }
  return at;
}

template <class T>
static bool no_weight(const T* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (!(x[i] == 0)) {
      return false;
    }
  }
  return true;
}

// y = softmax(x), y may be x
template <class T>
static void softmax(const T* x, T* y, std::size_t n) {
  const T highest = largest_of(x, n);
  each(x, y, n, [=](T v) { return exp_of(v - highest); });
  const T total = sum(y, n);
  const T scale = T(1) / total;
  each(y, y, n, [=](T v) { return v * scale; });
}

// Rows of few classes are worked on as if they had as many as `Padded`, with zeros for the others:
// loops of constant lengths become vectors.
template <std::size_t Padded, class T>
static void pad_row(const T* x, std::size_t n, T (&y)[Padded]) {
  for (std::size_t i = 0; i < Padded; ++i) {
    y[i] = 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = x[i];
  }
}
template <std::size_t Padded, class T>
static T sum_of_padded(T (&x)[Padded]) {  // of which x is scratch memory
  for (std::size_t half = Padded / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      x[i] += x[i + half];
    }
  }
  return x[0];
}

// Of a row: the sum of its targets, the sum of (x - highest) t, and that of exp(x - highest)
// without the first of the highest, all of which it writes to p, which may be x.
template <class T>
struct exponentials {
  T weight;
  T below;
  T others;
};
template <std::size_t Padded, class T>
static exponentials<T> exponentials_of_short(const T* x, const T* t, T* p, std::size_t n, T highest,
                                             std::size_t first) {
  T e[Padded];
  T weights[Padded];
  T products[Padded];
  pad_row(x, n, e);
  pad_row(t, n, weights);
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < Padded; ++i) {
    const T d = e[i] - highest;
    products[i] = weights[i] == 0 ? T(0) : d * weights[i];
    e[i] = exp_of(d);
  }
  for (std::size_t i = 0; i < n; ++i) {
    p[i] = e[i];
  }
  for (std::size_t i = n; i < Padded; ++i) {
    e[i] = 0;
  }
  e[first] = 0;
  return {sum_of_padded(weights), sum_of_padded(products), sum_of_padded(e)};
}
template <class T>
static exponentials<T> exponentials_of(const T* x, const T* t, T* p, std::size_t n, T highest,
                                       std::size_t first) {
  if constexpr (std::is_same_v<T, float>) {  // double has no exponential in vectors
    if (n <= 16) {
      return exponentials_of_short<16>(x, t, p, n, highest, first);
    }
    if (n <= 32) {
      return exponentials_of_short<32>(x, t, p, n, highest, first);
    }
  }
  const T weight = sum(t, n);
  const T below = dot_below(x, t, highest, n);
  each(x, p, n, [=](T v) { return exp_of(v - highest); });
  const T of_highest = p[first];
  p[first] = 0;
  const T others = sum(p, n);
  p[first] = of_highest;
  return {weight, below, others};
}

// p = softmax(x), p may be x; returns -sum t ln p. Of terms that are not negative alone, so that
// digits are kept where p is near 1: what the other classes have is summed without the highest.
// One infinite logit makes its class certain, as in the limit; several have none. A row whose
// targets are all 0 has no loss, whatever its logits are.
template <class T>
static T softmax_cross_entropy(const T* x, const T* t, T* p, std::size_t n) {
  T highest = largest_of(x, n);
  if (__builtin_isinf(highest)) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_highest = x[i] == highest;
      count += is_highest ? 1 : 0;
      p[i] = is_highest ? T(0) : is_nan(x[i]) ? x[i] : -T(__builtin_inf());
    }
    x = p;
    highest = count == 1 ? T(0) : T(__builtin_nan(""));
  }
  const std::size_t first = first_of(x, highest, n);
  const exponentials<T> of = exponentials_of(x, t, p, n, highest, first);
  const T of_highest = p[first];  // 1, or not a number
  const T scale = T(1) / (of_highest + of.others);
  each(p, p, n, [=](T v) { return v * scale; });
  return of.weight == 0 && no_weight(t, n)
             ? T(0)
             : of.weight * log1p_of(of.others + (of_highest - 1)) - of.below;
}

// Of a row: the sum of its targets, and of classes whose probability is not above 1/2 the sums of
// these and of the targets.
template <class T>
struct unlikely_classes {
  T weight;
  T others;
  T wanted;
};
template <std::size_t Padded, class T>
static unlikely_classes<T> unlikely_of_short(const T* p, const T* t, std::size_t n) {
  T others[Padded];
  T weights[Padded];
  T wanted[Padded];
  pad_row(p, n, others);
  pad_row(t, n, weights);
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < Padded; ++i) {
    wanted[i] = others[i] > T(0.5) ? T(0) : weights[i];
    others[i] = others[i] > T(0.5) ? T(0) : others[i];
  }
  return {sum_of_padded(weights), sum_of_padded(others), sum_of_padded(wanted)};
}
template <class T>
static unlikely_classes<T> unlikely_of(const T* p, const T* t, std::size_t n) {
  if (n <= 16) {
    return unlikely_of_short<16>(p, t, n);
  }
  if (n <= 32) {
    return unlikely_of_short<32>(p, t, n);
  }
  return {sum(t, n), reduce<T>(n, [=](std::size_t i) { return p[i] > T(0.5) ? T(0) : p[i]; }),
          reduce<T>(n, [=](std::size_t i) { return p[i] > T(0.5) ? T(0) : t[i]; })};
}

// y = scale (weight p - t), weight being the sum of t. Above 1/2 what is left of p is taken from
// the others, of which digits are not lost to 1.
template <class T>
static void softmax_cross_entropy_gradient(T scale, const T* p, const T* t, T* y, std::size_t n) {
  const unlikely_classes<T> of = unlikely_of(p, t, n);
  if (of.weight == 0 && no_weight(t, n)) {
    std::memset(y, 0, n * sizeof(T));
    return;
  }
  const T weight = of.weight;
  const T of_likely = scale * (of.wanted - weight * of.others);
  each(p, t, y, n, [=](T u, T v) { return u > T(0.5) ? of_likely : scale * (weight * u - v); });
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
