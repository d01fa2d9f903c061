// Members of vector_loops (see vector_loops.inl): sums, and operations on
// rows of matrices.

// Returns the sum of x. A fixed number of partial sums is added in a fixed order.
template <class T>
static T sum(const T* x, std::size_t n) {
  return reduce<T>(n, [=](auto load) { return load(x); });
}
template <class T>
static T dot(const T* x, const T* y, std::size_t n) {
  return reduce<T>(n, [=](auto load) { return load(x) * load(y); });
}

// Returns sum((scale x)^2), in double.
template <class T>
static double sum_of_squares(const T* x, T scale, std::size_t n) {
  const double factor = scale;
  return reduce<double>(n, [=](auto load) { return (load(x) * factor) * (load(x) * factor); });
}

template <class T>
static void bias_unary(const unary_map& map, const T* bias, T* y, std::size_t n) {
  if (bias == nullptr) {
    if (!(map == kernels::identity_map)) {
      unary(map, y, y, n);
    }
  } else if (map == kernels::identity_map) {
    add(bias, y, n);
  } else if (map.function == unary_function::relu) {
    transform(bias, y, y, n, [](T u, T v) { return u + v < 0 ? T(0) : u + v; });
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
    T maxima[lanes];
    std::memcpy(maxima, x, sizeof maxima);
    for (i = lanes; i + lanes <= n; i += lanes) {
      GLIA_INDEPENDENT
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        maxima[lane] = x[i + lane] > maxima[lane] ? x[i + lane] : maxima[lane];
      }
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        maxima[lane] = maxima[lane + half] > maxima[lane] ? maxima[lane + half] : maxima[lane];
      }
    }
    highest = maxima[0];
  }
  for (; i < n; ++i) {
    highest = x[i] > highest ? x[i] : highest;
  }
  return highest;
}

// Returns the index of the first element equal to `value`, or n - 1 if no element is equal.
template <class T>
static std::size_t first_of(const T* x, T value, std::size_t n) {
  constexpr std::size_t lanes = 16;
  std::size_t index = 0;
  for (; index + lanes < n; index += lanes) {
    unsigned matches = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      matches |= x[index + lane] == value ? 1U : 0U;
    }
    if (matches != 0) {
      break;
    }
  }
  while (index + 1 < n && !(x[index] == value)) {
    ++index;
  }
  return index;
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

// Computes y = softmax(x). y may be x.
template <class T>
static void softmax(const T* x, T* y, std::size_t n) {
  const T highest = largest_of(x, n);
  transform(x, y, n, [=](T v) { return exp_of(v - highest); });
  const T total = sum(y, n);
  const T scale = T(1) / total;
  transform(y, y, n, [=](T v) { return v * scale; });
}

// Computes p = softmax(x) and returns -sum t ln p. p may be x. No term of the sum is negative, so
// that no digits are lost if p is near 1: the sum over the other classes excludes the highest
// class. If one logit is infinite, its class has the probability 1, which is the limit. If several
// are, the result is NaN. If all targets of a row are 0, its loss is 0 for any logits.
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
  // An impossible class, with the logit -infinity, costs nothing if its target is 0.
  T sums[2];
  reduce_each(
      n, sums, [=](auto load) { return load(t); },
      [=](auto load) {
        return load(t) == decltype(load(t)){} ? load(t) : (load(x) - highest) * load(t);
      });
  const T weight = sums[0];
  const T dot = sums[1];
  transform(x, p, n, [=](T v) { return exp_of(v - highest); });
  const T of_highest = p[first];  // 1, or NaN
  p[first] = 0;
  const T rest = sum(p, n);
  p[first] = of_highest;
  const T scale = T(1) / (of_highest + rest);
  transform(p, p, n, [=](T v) { return v * scale; });
  return weight == 0 && no_weight(t, n) ? T(0) : weight * log1p_of(rest + (of_highest - 1)) - dot;
}

// Returns x where p is at most 1/2, else 0.
template <class V>
[[gnu::always_inline]] static inline V unless_likely(const V& p, const V& x) {
  return p > 0.5F ? V{} : x;
}

// Computes y = scale (weight p - t), where weight is the sum of t. For p above 1/2, 1 - p is
// computed as the sum of the other probabilities, which loses no digits.
template <class T>
static void softmax_cross_entropy_gradient(T scale, const T* p, const T* t, T* y, std::size_t n) {
  T sums[3];
  reduce_each(
      n, sums, [=](auto load) { return load(t); },
      [=](auto load) { return unless_likely(load(p), load(p)); },
      [=](auto load) { return unless_likely(load(p), load(t)); });
  const T weight = sums[0];
  if (weight == 0 && no_weight(t, n)) {
    std::memset(y, 0, n * sizeof(T));
    return;
  }
  const T of_likely = scale * (sums[2] - weight * sums[1]);
  transform(p, t, y, n,
            [=](T u, T v) { return u > T(0.5) ? of_likely : scale * (weight * u - v); });
}
