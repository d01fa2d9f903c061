// Members of vector_loops (see vector_loops.inl): a step of one sample in a
// recurrent layer of U units. The step adds x to the products a of the previous state. It
// overwrites the state h and c. `keep` holds the values that the gradient needs from the step.

template <class T>
static void simple_step(const T* x, const T* a, T* h, std::size_t units) {
  transform(x, a, h, units, [](T u, T v) { return tanh_of(u + v); });
}

// `keep` holds z, r, the candidate c, and the products that r multiplies.
template <class T>
static void gru_step(const T* x, const T* a, T* keep, T* h, std::size_t units) {
  transform(x, a, keep, 2 * units, [](T u, T v) { return sigmoid_of(u + v); });
  const T* const z = keep;
  const T* const r = keep + units;
  T* const c = keep + 2 * units;
  T* const of_state = keep + 3 * units;
  x += 2 * units;
  a += 2 * units;
  GLIA_INDEPENDENT
  for (std::size_t j = 0; j < units; ++j) {
    of_state[j] = a[j];
    c[j] = tanh_of(x[j] + r[j] * a[j]);
    h[j] = c[j] + z[j] * (h[j] - c[j]);
  }
}

// `keep` holds i, f, g and o, followed by memory for c.
template <class T>
static void lstm_step(const T* x, const T* a, T* keep, T* c, T* h, std::size_t units) {
  transform(x, a, keep, 2 * units, [](T u, T v) { return sigmoid_of(u + v); });
  const T* const i = keep;
  const T* const f = keep + units;
  T* const g = keep + 2 * units;
  T* const o = keep + 3 * units;
  transform(x + 2 * units, a + 2 * units, g, units, [](T u, T v) { return tanh_of(u + v); });
  transform(x + 3 * units, a + 3 * units, o, units, [](T u, T v) { return sigmoid_of(u + v); });
  GLIA_INDEPENDENT
  for (std::size_t j = 0; j < units; ++j) {
    c[j] = f[j] * c[j] + i[j] * g[j];
    h[j] = o[j] * tanh_of(c[j]);
  }
}

// The gradients of a step. On entry, dh is the gradient of the state after the step. The functions
// replace it with the part that reaches the previous state without a product. dx is the gradient of
// x. da is the gradient of a, if it differs from dx.

template <class T>
static void simple_step_gradient(const T* h, T* dh, T* dx, std::size_t units) {
  GLIA_INDEPENDENT
  for (std::size_t j = 0; j < units; ++j) {
    dx[j] = dh[j] * (1 - h[j] * h[j]);
    dh[j] = 0;
  }
}

template <class T>
static void gru_step_gradient(const T* keep, const T* previous, T* dh, T* dx, T* da,
                              std::size_t units) {
  const T* const z = keep;
  const T* const r = keep + units;
  const T* const c = keep + 2 * units;
  const T* const of_state = keep + 3 * units;
  GLIA_INDEPENDENT
  for (std::size_t j = 0; j < units; ++j) {
    const T dc = dh[j] * (1 - z[j]) * (1 - c[j] * c[j]);
    const T dz = dh[j] * (previous[j] - c[j]) * z[j] * (1 - z[j]);
    const T dr = dc * of_state[j] * r[j] * (1 - r[j]);
    dx[j] = dz;
    dx[units + j] = dr;
    dx[2 * units + j] = dc;
    da[j] = dz;
    da[units + j] = dr;
    da[2 * units + j] = dc * r[j];
    dh[j] *= z[j];
  }
}

// Replaces dc with the gradient of the previous c.
template <class T>
static void lstm_step_gradient(const T* keep, const T* c_before, T* dh, T* dc, T* dx,
                               std::size_t units) {
  const T* const i = keep;
  const T* const f = keep + units;
  const T* const g = keep + 2 * units;
  const T* const o = keep + 3 * units;
  const T* const c = keep + 4 * units;
  GLIA_INDEPENDENT
  for (std::size_t j = 0; j < units; ++j) {
    const T squashed = tanh_of(c[j]);
    const T total = dc[j] + dh[j] * o[j] * (1 - squashed * squashed);
    dx[j] = total * g[j] * i[j] * (1 - i[j]);
    dx[units + j] = total * c_before[j] * f[j] * (1 - f[j]);
    dx[2 * units + j] = total * i[j] * (1 - g[j] * g[j]);
    dx[3 * units + j] = dh[j] * squashed * o[j] * (1 - o[j]);
    dc[j] = total * f[j];
    dh[j] = 0;
  }
}
