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

// Normalisation.

// Element by element: y += (x - mean)^2; products += dy (x - mean) and sums += dy;
// y = (x - mean) scale + shift; dx = scale (dy - mean_dy - (x - mean) slope); y = scale x + shift
template <class T>
static void add_squared_difference(const T* x, const T* mean, T* y, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] += (x[i] - mean[i]) * (x[i] - mean[i]);
  }
}
template <class T>
static void add_centered_product(const T* dy, const T* x, const T* mean, T* products, T* sums,
                                 std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    products[i] += dy[i] * (x[i] - mean[i]);
    sums[i] += dy[i];
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
template <class T>
static void scale_and_shift(const T* x, const T* scale, const T* shift, T* y, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = x[i] * scale[i] + shift[i];
  }
}
