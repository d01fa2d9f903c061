// Members of vector_loops (see vector_loops.inl): element-wise functions. y
// may be x.

// Computes y = sin(x + turns pi / 2). It is not inlined, because several functions call it.
template <class T>
[[gnu::noinline]] static void sines(const T* x, T* y, std::size_t n, int turns) {
  constexpr std::size_t block = 64;
  T arguments[block];
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t count = n - begin < block ? n - begin : block;
    std::memcpy(arguments, x + begin, count * sizeof(T));  // y may be x
    T* const result = y + begin;
    transform(arguments, result, count, [=](T v) { return sine_of(v, turns); });
    for (std::size_t i = 0; i < count; ++i) {
      if (!(absolute_of(arguments[i]) <= sine_limit<T>)) {
        result[i] = turned_sine(arguments[i], turns);
      }
    }
  }
}

// Computes y = x^exponent. It is not inlined, because several functions call it.
template <class T>
[[gnu::noinline]] static void powers(const T* x, T* y, std::size_t n, double exponent) {
  transform(x, y, n, power_function<T>(exponent));
}

// Computes dx = scale dy f(x). compute(x, y, n) computes y = f(x).
template <class T, class Function>
static void multiply_by(const T* dy, const T* x, T* dx, std::size_t n, T scale,
                        const Function& compute) {
  constexpr std::size_t block = 64;
  T factors[block];
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t count = n - begin < block ? n - begin : block;
    compute(x + begin, factors, count);
    transform(dy + begin, factors, dx + begin, count,
              [=](T g, T factor) { return g * (scale * factor); });
  }
}

template <class T>
static void unary(const unary_map& map, const T* x, T* y, std::size_t n) {
  const T a = static_cast<T>(map.a);
  const T b = static_cast<T>(map.b);
  switch (map.function) {
    case unary_function::affine:
      return transform(x, y, n, [=](T v) { return a * v + b; });
    case unary_function::clamp:
      return transform(x, y, n, [=](T v) {
        v = v < a ? a : v;
        return v > b ? b : v;
      });
    case unary_function::abs:
      return transform(x, y, n, [](T v) { return absolute_of(v); });
    case unary_function::square:
      return transform(x, y, n, [](T v) { return v * v; });
    case unary_function::sqrt:
      if (x != y) {
        std::memcpy(y, x, n * sizeof(T));
      }
      return square_roots(y, n);
    case unary_function::exp:
      return transform(x, y, n, [](T v) { return exp_of(v); });
    case unary_function::log:
      return transform(x, y, n, [](T v) { return log_of(v); });
    case unary_function::reciprocal:
      return transform(x, y, n, [](T v) { return T(1) / v; });
    case unary_function::softplus:
      return transform(x, y, n, [](T v) { return softplus_of(v); });
    case unary_function::floor:
      return transform(x, y, n, [](T v) { return floor_of(v); });
    case unary_function::sin:
      return sines(x, y, n, 0);
    case unary_function::cos:
      return sines(x, y, n, 1);
    case unary_function::pow:
      return powers(x, y, n, map.a);
    case unary_function::relu:
      return transform(x, y, n, [](T v) { return v < 0 ? T(0) : v; });
    case unary_function::relu6:
      return transform(x, y, n, [](T v) {
        v = v < 0 ? T(0) : v;
        return v > 6 ? T(6) : v;
      });
    case unary_function::leaky_relu:
      return transform(x, y, n, [=](T v) { return v > 0 ? v : a * v; });
    case unary_function::elu:
      return transform(x, y, n, [=](T v) {
        const T e = a * expm1_of(v);
        return v > 0 ? v : e;
      });
    case unary_function::sigmoid:
      return transform(x, y, n, [](T v) { return sigmoid_of(v); });
    case unary_function::tanh:
      return transform(x, y, n, [](T v) { return tanh_of(v); });
    case unary_function::silu:
      return transform(x, y, n, [](T v) { return v * sigmoid_of(v); });
    case unary_function::erf:
      return transform(x, y, n, [](T v) { return erf_of(v); });
    case unary_function::gelu:  // too long for compilers to inline it themselves
      return transform(
          x, y, n, [](T v) __attribute__((always_inline)) { return v * normal_cdf_of(v); });
  }
}

template <class T>
static void unary_gradient(const unary_map& map, const T* dy, const T* saved, T* dx,
                           std::size_t n) {
  const T a = static_cast<T>(map.a);
  const T b = static_cast<T>(map.b);
  switch (map.function) {
    case unary_function::affine:
      return transform(dy, dx, n, [=](T g) { return a * g; });
    case unary_function::clamp:
      return transform(dy, saved, dx, n, [=](T g, T s) { return s < a || s > b ? T(0) : g; });
    case unary_function::abs:
      return transform(dy, saved, dx, n, [](T g, T s) {
        const T signed_g = s < 0 ? -g : g;
        return s == 0 ? T(0) : signed_g;
      });
    case unary_function::square:
      return transform(dy, saved, dx, n, [](T g, T s) { return 2 * g * s; });
    case unary_function::sqrt:
      return transform(dy, saved, dx, n, [](T g, T s) { return T(0.5) * g / s; });
    case unary_function::exp:
      return transform(dy, saved, dx, n, [](T g, T s) { return g * s; });
    case unary_function::log:
      return transform(dy, saved, dx, n, [](T g, T s) { return g / s; });
    case unary_function::reciprocal:
      return transform(dy, saved, dx, n, [](T g, T s) { return -g * s * s; });
    case unary_function::softplus:
      return transform(dy, saved, dx, n, [](T g, T s) { return g * sigmoid_of(s); });
    case unary_function::floor:
      return transform(dy, dx, n, [](T) { return T(0); });
    case unary_function::sin:
    case unary_function::cos:
      return multiply_by(dy, saved, dx, n, T(1), [&](const T* x, T* y, std::size_t count) {
        sines(x, y, count, map.function == unary_function::sin ? 1 : 2);
      });
    case unary_function::pow:
      if (map.a == 0) {
        return transform(dy, dx, n, [](T) { return T(0); });
      }
      return multiply_by(dy, saved, dx, n, a, [&](const T* x, T* y, std::size_t count) {
        powers(x, y, count, map.a - 1);
      });
    case unary_function::relu:
      return transform(dy, saved, dx, n, [](T g, T s) { return s <= 0 ? T(0) : g; });
    case unary_function::relu6:
      return transform(dy, saved, dx, n, [](T g, T s) { return s <= 0 || s >= 6 ? T(0) : g; });
    case unary_function::leaky_relu:
      return transform(dy, saved, dx, n, [=](T g, T s) { return s > 0 ? g : a * g; });
    case unary_function::elu:
      return transform(dy, saved, dx, n, [=](T g, T s) { return g * (s > 0 ? T(1) : s + a); });
    case unary_function::sigmoid:
      return transform(dy, saved, dx, n, [](T g, T s) { return g * s * (T(1) - s); });
    case unary_function::tanh:
      return transform(dy, saved, dx, n, [](T g, T s) { return g * ((T(1) - s) * (T(1) + s)); });
    case unary_function::silu:
      return transform(dy, saved, dx, n, [](T g, T s) {
        const T sigmoid = sigmoid_of(s);
        return g * sigmoid * (T(1) + s * (T(1) - sigmoid));
      });
    case unary_function::erf:
      return transform(dy, saved, dx, n,
                       [](T g, T s) { return g * (T(1.12837916709551257390) * exp_of(-s * s)); });
    case unary_function::gelu:
      return transform(
          dy, saved, dx, n, [](T g, T s) __attribute__((always_inline)) {
            const T density = T(0.39894228040143267794) * bell_of(s);
            return g * (normal_cdf_of(s) + s * density);
          });
  }
}

// Computes one row of a broadcast operation. Each operand advances by a step of 0 or 1.
template <class T>
static void binary(binary_function function, const T* a, std::size_t step_a, const T* b,
                   std::size_t step_b, T* y, std::size_t n) {
  switch (function) {
    case binary_function::add:
      return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u + v; });
    case binary_function::subtract:
      return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u - v; });
    case binary_function::multiply:
      return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u * v; });
    case binary_function::divide:
      return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u / v; });
    case binary_function::maximum:
      return stepped(a, step_a, b, step_b, y, n,
                     [](T u, T v) { return u < v || is_nan(v) ? v : u; });
    case binary_function::minimum:
      return stepped(a, step_a, b, step_b, y, n,
                     [](T u, T v) { return v < u || is_nan(v) ? v : u; });
    case binary_function::greater:
      return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u > v ? T(1) : T(0); });
    case binary_function::equal:
      return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u == v ? T(1) : T(0); });
  }
}

// Computes one row of a broadcast selection: a where c is not 0, else b.
template <class T>
static void select(const T* c, std::size_t step_c, const T* a, std::size_t step_a, const T* b,
                   std::size_t step_b, T* y, std::size_t n) {
  if (step_c == 0) {
    const bool holds = *c != 0;
    stepped(holds ? a : b, holds ? step_a : step_b, c, 0, y, n, [](T u, T) { return u; });
  } else if (step_a == 0) {
    stepped(c, 1, b, step_b, y, n, [u = *a](T w, T v) { return w != 0 ? u : v; });
  } else if (step_b == 0) {
    stepped(c, 1, a, step_a, y, n, [v = *b](T w, T u) { return w != 0 ? u : v; });
  } else {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = c[i] != 0 ? a[i] : b[i];
    }
  }
}

// Computes y += x.
template <class T>
static void add(const T* x, T* y, std::size_t n) {
  transform(x, y, y, n, [](T u, T v) { return u + v; });
}
// Computes y += a x, where a is an array too.
template <class T>
static void add_product(const T* a, const T* x, T* y, std::size_t n) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] += a[i] * x[i];
  }
}
