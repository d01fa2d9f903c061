// The vectorised loops of the cpu backend, written as plain loops. vector_kernels.hpp includes this
// file once per instruction set, each time as another struct and under that set's compiler options.
// Standard-library functions are avoided where the compiler could not inline them across options.

struct GLIA_ISA {
#include "glia/backends/cpu/vector_math.inl"

  // --- element by element; y may be x ---

  template <class T>
  static void unary(const unary_map& map, const T* x, T* y, std::size_t n) {
    const T a = static_cast<T>(map.a);
    const T b = static_cast<T>(map.b);
    switch (map.function) {
      case unary_function::affine:
        return each(x, y, n, [=](T v) { return a * v + b; });
      case unary_function::clamp:
        return each(x, y, n, [=](T v) {
          v = v < a ? a : v;
          return v > b ? b : v;
        });
      case unary_function::absolute:
        return each(x, y, n, [](T v) { return v < 0 ? -v : v; });
      case unary_function::square:
        return each(x, y, n, [](T v) { return v * v; });
      case unary_function::square_root:
        if (x != y) {
          std::memcpy(y, x, n * sizeof(T));
        }
        return square_roots(y, n);
      case unary_function::exponential:
        return each(x, y, n, [](T v) { return exp_of(v); });
      case unary_function::logarithm:
        return each(x, y, n, [](T v) { return log_of(v); });
      case unary_function::reciprocal:
        return each(x, y, n, [](T v) { return T(1) / v; });
      case unary_function::softplus:
        return each(x, y, n, [](T v) { return softplus_of(v); });
      case unary_function::relu:
        return each(x, y, n, [](T v) { return v > 0 ? v : T(0); });
      case unary_function::relu6:
        return each(x, y, n, [](T v) {
          v = v > 0 ? v : T(0);
          return v < 6 ? v : T(6);
        });
      case unary_function::leaky_relu:
        return each(x, y, n, [=](T v) { return v > 0 ? v : a * v; });
      case unary_function::elu:
        return each(x, y, n, [=](T v) {
          const T e = a * expm1_of(v);
          return v > 0 ? v : e;
        });
      case unary_function::sigmoid:
        return each(x, y, n, [](T v) { return sigmoid_of(v); });
      case unary_function::tanh:
        return each(x, y, n, [](T v) { return tanh_of(v); });
      case unary_function::swish:
        return each(x, y, n, [](T v) { return v * sigmoid_of(v); });
      case unary_function::gelu:
        return each(x, y, n, [](T v) { return v * normal_cdf_of(v); });
    }
  }

  template <class T>
  static void unary_gradient(const unary_map& map, const T* dy, const T* saved, T* dx,
                             std::size_t n) {
    const T a = static_cast<T>(map.a);
    const T b = static_cast<T>(map.b);
    switch (map.function) {
      case unary_function::affine:
        return each(dy, dx, n, [=](T g) { return a * g; });
      case unary_function::clamp:
        return each(dy, saved, dx, n, [=](T g, T s) { return s >= a && s <= b ? g : T(0); });
      case unary_function::absolute:
        return each(dy, saved, dx, n, [](T g, T s) {
          const T negative = s < 0 ? -g : T(0);
          return s > 0 ? g : negative;
        });
      case unary_function::square:
        return each(dy, saved, dx, n, [](T g, T s) { return 2 * g * s; });
      case unary_function::square_root:
        return each(dy, saved, dx, n, [](T g, T s) { return T(0.5) * g / s; });
      case unary_function::exponential:
        return each(dy, saved, dx, n, [](T g, T s) { return g * s; });
      case unary_function::logarithm:
        return each(dy, saved, dx, n, [](T g, T s) { return g / s; });
      case unary_function::reciprocal:
        return each(dy, saved, dx, n, [](T g, T s) { return -g * s * s; });
      case unary_function::softplus:
        return each(dy, saved, dx, n, [](T g, T s) { return g * sigmoid_of(s); });
      case unary_function::relu:
        return each(dy, saved, dx, n, [](T g, T s) { return s > 0 ? g : T(0); });
      case unary_function::relu6:
        return each(dy, saved, dx, n, [](T g, T s) { return s > 0 && s < 6 ? g : T(0); });
      case unary_function::leaky_relu:
        return each(dy, saved, dx, n, [=](T g, T s) { return s > 0 ? g : a * g; });
      case unary_function::elu:
        return each(dy, saved, dx, n, [=](T g, T s) { return g * (s > 0 ? T(1) : s + a); });
      case unary_function::sigmoid:
        return each(dy, saved, dx, n, [](T g, T s) { return g * s * (T(1) - s); });
      case unary_function::tanh:
        return each(dy, saved, dx, n, [](T g, T s) { return g * (T(1) - s * s); });
      case unary_function::swish:
        return each(dy, saved, dx, n, [](T g, T s) {
          const T sigmoid = sigmoid_of(s);
          return g * sigmoid * (T(1) + s * (T(1) - sigmoid));
        });
      case unary_function::gelu:
        return each(dy, saved, dx, n, [](T g, T s) {
          const T density = T(0.39894228040143267794) * exp_of(T(-0.5) * s * s);
          return g * (normal_cdf_of(s) + s * density);
        });
    }
  }

  // One row of a broadcast operation: each operand advances by a step of 0 or 1.
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
        return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u < v ? v : u; });
      case binary_function::minimum:
        return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return v < u ? v : u; });
      case binary_function::greater:
        return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u > v ? T(1) : T(0); });
      case binary_function::equal:
        return stepped(a, step_a, b, step_b, y, n, [](T u, T v) { return u == v ? T(1) : T(0); });
    }
  }

  // y += x, y += a x
  template <class T>
  static void add(const T* x, T* y, std::size_t n) {
    each(x, y, y, n, [](T u, T v) { return u + v; });
  }
  template <class T>
  static void add_scaled(T a, const T* x, T* y, std::size_t n) {
    each(x, y, y, n, [=](T u, T v) { return a * u + v; });
  }
  // y += a x, element by element in a as well
  template <class T>
  static void add_product(const T* a, const T* x, T* y, std::size_t n) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] += a[i] * x[i];
    }
  }

  // --- reductions: a fixed number of partial sums, added in a fixed order ---

  template <class T>
  static T sum(const T* x, std::size_t n) {
    return reduce<T>(n, [=](std::size_t i) { return x[i]; });
  }
  template <class T>
  static T dot(const T* x, const T* y, std::size_t n) {
    return reduce<T>(n, [=](std::size_t i) { return x[i] * y[i]; });
  }

  // --- rows of matrices ---

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
      each(bias, y, y, n, [](T u, T v) { return u + v > 0 ? u + v : T(0); });
    } else {
      add(bias, y, n);
      unary(map, y, y, n);
    }
  }

  // y = softmax(x), y may be x; returns ln(sum(exp(x)))
  template <class T>
  static T softmax(const T* x, T* y, std::size_t n) {
    T highest = x[0];
    for (std::size_t i = 1; i < n; ++i) {
      highest = x[i] > highest ? x[i] : highest;
    }
    each(x, y, n, [=](T v) { return exp_of(v - highest); });
    const T total = sum(y, n);
    const T scale = T(1) / total;
    each(y, y, n, [=](T v) { return v * scale; });
    return highest + log_of(total);
  }

  // --- products with a factor that has many zeros; see sparse_product.hpp ---

  template <class T>
  static std::size_t count_nonzeros(const T* x, std::size_t n) {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      count += x[i] != 0 ? 1U : 0U;
    }
    return count;
  }

  // Lists the nonzeros of x[0] ... x[n - 1] with their indices; returns their number. `entries` has
  // room for n.
  template <class T>
  static std::size_t list_nonzeros(const T* x, std::size_t n, nonzero<T>* entries) {
    std::size_t count = 0;
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      count += append_nonzeros(x + i, i, entries + count);
    }
    for (; i < n; ++i) {
      entries[count] = {x[i], static_cast<std::uint32_t>(i)};
      count += x[i] != 0 ? 1U : 0U;
    }
    return count;
  }

  // The same for 8 columns of a matrix of n rows; column j's list begins at entries + j *
  // list_step.
  template <class T>
  static void list_nonzeros_of_columns(const T* x, std::size_t x_step, std::size_t n,
                                       nonzero<T>* entries, std::size_t list_step,
                                       std::size_t* counts) {
    for (std::size_t j = 0; j < 8; ++j) {
      counts[j] = 0;
    }
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      T tile[64];
      transpose_tile(x + i * x_step, x_step, tile, 8);
      for (std::size_t j = 0; j < 8; ++j) {
        counts[j] += append_nonzeros(tile + 8 * j, i, entries + j * list_step + counts[j]);
      }
    }
    for (; i < n; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        const T value = x[i * x_step + j];
        entries[j * list_step + counts[j]] = {value, static_cast<std::uint32_t>(i)};
        counts[j] += value != 0 ? 1U : 0U;
      }
    }
  }

  // Each row of c (rows, vectors * lanes) = or += the sum over its list's entries of value * row of
  // b; the sums stay in registers. 1 <= vectors <= max_accumulators.
  template <class T, std::size_t Vectors = max_accumulators>
  static void multiply_nonzeros(const nonzero_lists<T>& lists, const T* b, std::size_t b_step, T* c,
                                std::size_t c_step, std::size_t vectors, bool add) {
    if constexpr (Vectors > 1) {
      if (vectors < Vectors) {
        return multiply_nonzeros<T, Vectors - 1>(lists, b, b_step, c, c_step, vectors, add);
      }
    }
    constexpr std::size_t lanes = vector_bytes / sizeof(T);
    using vector [[gnu::vector_size(vector_bytes)]] = T;
    for (std::size_t r = 0; r < lists.rows; ++r, c += c_step) {
      vector sum[Vectors];
      if (add) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          __builtin_memcpy(&sum[v], c + v * lanes, sizeof(vector));
        }
      } else {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          sum[v] = vector{};
        }
      }
      const nonzero<T>* const first = lists.entries + r * lists.list_step;
      const nonzero<T>* const last = first + lists.counts[r];
      for (const nonzero<T>* entry = first; entry != last; ++entry) {
        const vector value = entry->value - vector{};
        const T* row = b + entry->index * b_step;
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          vector factor;
          __builtin_memcpy(&factor, row + v * lanes, sizeof(vector));
          sum[v] += value * factor;
        }
      }
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        __builtin_memcpy(c + v * lanes, &sum[v], sizeof(vector));
      }
    }
  }

  // y (columns, rows) = x (rows, columns) transposed
  template <class T>
  static void transpose_matrix(const T* x, std::size_t x_step, T* y, std::size_t y_step,
                               std::size_t rows, std::size_t columns) {
    std::size_t i = 0;
    for (; i + 8 <= rows; i += 8) {
      std::size_t j = 0;
      for (; j + 8 <= columns; j += 8) {
        transpose_tile(x + i * x_step + j, x_step, y + j * y_step + i, y_step);
      }
      for (; j < columns; ++j) {
        for (std::size_t k = 0; k < 8; ++k) {
          y[j * y_step + i + k] = x[(i + k) * x_step + j];
        }
      }
    }
    for (; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        y[j * y_step + i] = x[i * x_step + j];
      }
    }
  }

  // --- normalisation ---

  // y += (x - mean)^2 and y = scale x + shift, element by element
  template <class T>
  static void add_squared_difference(const T* x, const T* mean, T* y, std::size_t n) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] += (x[i] - mean[i]) * (x[i] - mean[i]);
    }
  }
  template <class T>
  static void scale_and_shift(const T* x, const T* scale, const T* shift, T* y, std::size_t n) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = x[i] * scale[i] + shift[i];
    }
  }

  // --- random ---

  template <class T>
  static void dropout(const T* x, T* y, std::size_t n, double rate, const random_key& key,
                      std::uint64_t offset) {
    constexpr std::size_t width = 16;
    const T scale = static_cast<T>(1 / (1 - rate));
    // word * 2^-32 >= rate, as integers
    const double bound = __builtin_ceil(rate * 0x1p32);
    const auto threshold = static_cast<std::uint64_t>(bound);
    std::size_t done = 0;
    while (done < n) {
      const std::uint64_t first = offset + done;
      std::uint32_t words[4 * width];
      philox_blocks<width>(key, first / 4, words);
      const std::size_t skip = first % 4;
      const std::size_t count = n - done < 4 * width - skip ? n - done : 4 * width - skip;
      const T* from = x + done;
      T* to = y + done;
      const std::uint32_t* word = words + skip;
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        const T kept = from[i] * scale;
        to[i] = word[i] >= threshold ? kept : T(0);
      }
      done += count;
    }
  }

  // --- optimizer steps; the formulas stand with the rules in kernel_arguments.hpp ---

  template <class T>
  static void update(const sgd_rule& rule, T* p, const T* g, T* v, std::size_t n) {
    const T rate = static_cast<T>(rule.rate);
    const T decay = static_cast<T>(rule.decay);
    const T momentum = static_cast<T>(rule.momentum);
    if (v == nullptr) {
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < n; ++i) {
        p[i] -= rate * (g[i] + decay * p[i]);
      }
      return;
    }
    const T from_gradient = rule.nesterov ? T(1) : T(0);
    const T from_velocity = rule.nesterov ? momentum : T(1);
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const T gradient = g[i] + decay * p[i];
      v[i] = momentum * v[i] + gradient;
      p[i] -= rate * (from_gradient * gradient + from_velocity * v[i]);
    }
  }

  template <class T>
  static void update(const adam_rule& rule, T* p, const T* g, T* m, T* v, std::size_t n) {
    const T rate = static_cast<T>(rule.rate);
    const T keep_m = static_cast<T>(1 - rule.beta1);
    const T keep_v = static_cast<T>(1 - rule.beta2);
    const T epsilon = static_cast<T>(rule.epsilon);
    const T coupled = static_cast<T>(rule.coupled_decay);
    const T remaining = static_cast<T>(1 - rule.decoupled_decay);
    in_strips(n, [=](std::size_t first, std::size_t count) {
      T root[strip];
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        const T gradient = g[first + i] + coupled * p[first + i];
        m[first + i] += keep_m * (gradient - m[first + i]);
        v[first + i] += keep_v * (gradient * gradient - v[first + i]);
        root[i] = v[first + i];
      }
      square_roots(root, count);
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        p[first + i] = remaining * p[first + i] - rate * m[first + i] / (root[i] + epsilon);
      }
    });
  }

  template <class T>
  static void update(const rmsprop_rule& rule, T* p, const T* g, T* v, T* u, std::size_t n) {
    const T rate = static_cast<T>(rule.rate);
    const T keep = static_cast<T>(1 - rule.rho);
    const T momentum = static_cast<T>(rule.momentum);
    const T epsilon = static_cast<T>(rule.epsilon);
    const T decay = static_cast<T>(rule.decay);
    in_strips(n, [=](std::size_t first, std::size_t count) {
      T change[strip];
      T root[strip];
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        change[i] = g[first + i] + decay * p[first + i];
        v[first + i] += keep * (change[i] * change[i] - v[first + i]);
        root[i] = v[first + i] + epsilon;
      }
      square_roots(root, count);
      for (std::size_t i = 0; i < count; ++i) {
        change[i] = rate * change[i] / root[i];
      }
      if (u != nullptr) {
        GLIA_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
          change[i] += momentum * u[first + i];
          u[first + i] = change[i];
        }
      }
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        p[first + i] -= change[i];
      }
    });
  }

  template <class T>
  static void update(const adagrad_rule& rule, T* p, const T* g, T* v, std::size_t n) {
    const T rate = static_cast<T>(rule.rate);
    const T epsilon = static_cast<T>(rule.epsilon);
    const T decay = static_cast<T>(rule.decay);
    in_strips(n, [=](std::size_t first, std::size_t count) {
      T root[strip];
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        const T gradient = g[first + i] + decay * p[first + i];
        v[first + i] += gradient * gradient;
        root[i] = v[first + i] + epsilon;
      }
      square_roots(root, count);
      GLIA_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) {
        p[first + i] -= rate * (g[first + i] + decay * p[first + i]) / root[i];
      }
    });
  }

 private:
  // Stays in the first-level cache.
  static constexpr std::size_t strip = 256;

  template <class Body>
  static void in_strips(std::size_t n, const Body& body) {
    for (std::size_t first = 0; first < n; first += strip) {
      body(first, n - first < strip ? n - first : strip);
    }
  }

  template <class T, class F>
  static void each(const T* x, T* y, std::size_t n, const F& f) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = f(x[i]);
    }
  }
  template <class T, class F>
  static void each(const T* a, const T* b, T* y, std::size_t n, const F& f) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = f(a[i], b[i]);
    }
  }
  template <class T, class F>
  static void stepped(const T* a, std::size_t step_a, const T* b, std::size_t step_b, T* y,
                      std::size_t n, const F& f) {
    if (step_a != 0 && step_b != 0) {
      each(a, b, y, n, f);
    } else if (step_a != 0) {
      const T v = *b;
      each(a, y, n, [=](T u) { return f(u, v); });
    } else {
      const T u = *a;
      if (step_b != 0) {
        each(b, y, n, [=](T v) { return f(u, v); });
      } else {
        const T value = f(u, *b);
        for (std::size_t i = 0; i < n; ++i) {
          y[i] = value;
        }
      }
    }
  }

  template <class T, class Term>
  static T reduce(std::size_t n, const Term& term) {
    constexpr std::size_t lanes = 32;
    T partial[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        partial[lane] += term(i + lane);
      }
    }
    for (std::size_t lane = 0; i < n; ++i, ++lane) {
      partial[lane] += term(i);
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        partial[lane] += partial[lane + half];
      }
    }
    return partial[0];
  }

  // Philox for `Width` consecutive blocks at once; see core/random.hpp for the algorithm.
  template <std::size_t Width>
  static void philox_blocks(const random_key& key, std::uint64_t first, std::uint32_t* words) {
    std::uint32_t c0[Width];
    std::uint32_t c1[Width];
    std::uint32_t c2[Width];
    std::uint32_t c3[Width];
    for (std::size_t i = 0; i < Width; ++i) {
      c0[i] = static_cast<std::uint32_t>(first + i);
      c1[i] = static_cast<std::uint32_t>((first + i) >> 32);
      c2[i] = key.stream;
      c3[i] = key.step;
    }
    auto k0 = static_cast<std::uint32_t>(key.seed);
    auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < Width; ++i) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0[i];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = static_cast<std::uint32_t>(p1);
        c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = static_cast<std::uint32_t>(p0);
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (std::size_t i = 0; i < Width; ++i) {
      words[4 * i] = c0[i];
      words[4 * i + 1] = c1[i];
      words[4 * i + 2] = c2[i];
      words[4 * i + 3] = c3[i];
    }
  }

  // Appends those of 8 values that are not zero, without branches: what a mask keeps is moved to
  // the front, all 8 places are written, and the caller advances by the number returned.
  static std::size_t append_nonzeros(const float* x, std::size_t first, nonzero<float>* entries) {
#if defined(GLIA_ISA_IS_AVX2)
    const __m256 values = _mm256_loadu_ps(x);
    const auto mask = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_cmp_ps(values, _mm256_setzero_ps(), _CMP_NEQ_UQ)));
    // One byte per kept position, packed: the indices of the set bits.
    const std::uint64_t bytes = _pdep_u64(mask, 0x0101010101010101) * 0xFF;
    const std::uint64_t kept = _pext_u64(0x0706050403020100, bytes);
    const __m256i positions = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kept)));
    const __m256i packed = _mm256_castps_si256(_mm256_permutevar8x32_ps(values, positions));
    const __m256i indices = _mm256_add_epi32(positions, _mm256_set1_epi32(static_cast<int>(first)));
    const __m256i low = _mm256_unpacklo_epi32(packed, indices);
    const __m256i high = _mm256_unpackhi_epi32(packed, indices);
    auto* to = reinterpret_cast<__m256i*>(entries);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
    return static_cast<std::size_t>(__builtin_popcount(mask));
#else
    return append_nonzeros<float>(x, first, entries);
#endif
  }
  template <class T>
  static std::size_t append_nonzeros(const T* x, std::size_t first, nonzero<T>* entries) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      entries[count] = {x[i], static_cast<std::uint32_t>(first + i)};
      count += x[i] != 0 ? 1U : 0U;
    }
    return count;
  }

  // An 8 x 8 tile transposed: pairs, then quadruples, then halves of rows change places.
  static void transpose_tile(const float* x, std::size_t x_step, float* y, std::size_t y_step) {
#if defined(GLIA_ISA_IS_AVX2)
    __m256 r[8];
    __m256 t[8];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
      r[i] = _mm256_loadu_ps(x + i * x_step);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < 8; i += 4) {
      r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
      r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      _mm256_storeu_ps(y + i * y_step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
      _mm256_storeu_ps(y + (i + 4) * y_step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
#else
    transpose_tile<float>(x, x_step, y, y_step);
#endif
  }
  template <class T>
  static void transpose_tile(const T* x, std::size_t x_step, T* y, std::size_t y_step) {
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        y[j * y_step + i] = x[i * x_step + j];
      }
    }
  }

  // Square roots in place. std::sqrt may set errno, which keeps compilers from vectorising it.
  static void square_roots(float* x, std::size_t n) {
    std::size_t i = 0;
#if defined(GLIA_ISA_IS_AVX2)
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(x + i, _mm256_sqrt_ps(_mm256_loadu_ps(x + i)));
    }
#elif defined(__SSE2__)
    for (; i + 4 <= n; i += 4) {
      _mm_storeu_ps(x + i, _mm_sqrt_ps(_mm_loadu_ps(x + i)));
    }
#endif
    for (; i < n; ++i) {
      x[i] = __builtin_sqrtf(x[i]);
    }
  }
  static void square_roots(double* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = __builtin_sqrt(x[i]);
    }
  }
};
