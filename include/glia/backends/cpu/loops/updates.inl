// Members of vector_loops (see vector_loops.inl): optimizer steps. The
// kernels' comments contain the formulas.

template <class T>
static void update(const kernels::sgd& rule, const T* numbers, T* p, const T* g, T* v,
                   std::size_t n) {
  const T rate = numbers[0];
  const T decay = static_cast<T>(rule.decay);
  const T momentum = static_cast<T>(rule.momentum);
  if (v == nullptr) {
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      p[i] -= rate * (g[i] + decay * p[i]);
    }
    return;
  }
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    v[i] = momentum * v[i] + gradient;
    p[i] -= rate * (rule.nesterov ? gradient + momentum * v[i] : v[i]);
  }
}

template <class T>
static void update(const kernels::adam& rule, const T* numbers, T* p, const T* g, T* m, T* v,
                   std::size_t n) {
  const T rate = numbers[0];
  const T epsilon = numbers[1];
  const T shrinkage = numbers[2];
  const T keep_m = static_cast<T>(1 - rule.beta1);
  const T keep_v = static_cast<T>(1 - rule.beta2);
  const T coupled = static_cast<T>(rule.coupled_decay);
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
      p[first + i] = shrinkage * p[first + i] - rate * m[first + i] / (root[i] + epsilon);
    }
  });
}

template <class T>
static void update(const kernels::rmsprop& rule, const T* numbers, T* p, const T* g, T* v, T* u,
                   std::size_t n) {
  const T rate = numbers[0];
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
static void update(const kernels::adagrad& rule, const T* numbers, T* p, const T* g, T* v,
                   std::size_t n) {
  const T rate = numbers[0];
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
