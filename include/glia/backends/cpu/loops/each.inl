// Members of vector_loops (see vector_loops.inl): the loop patterns that the
// kernels share.

// A strip of this length stays in the first-level cache.
static constexpr std::size_t strip = 256;

template <class Body>
static void in_strips(std::size_t n, const Body& body) {
  for (std::size_t first = 0; first < n; first += strip) {
    body(first, n - first < strip ? n - first : strip);
  }
}

template <class T, class F>
static void transform(const T* x, T* y, std::size_t n, const F& f) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = f(x[i]);
  }
}
template <class T, class F>
static void transform(const T* a, const T* b, T* y, std::size_t n, const F& f) {
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = f(a[i], b[i]);
  }
}
template <class T, class F>
static void stepped(const T* a, std::size_t step_a, const T* b, std::size_t step_b, T* y,
                    std::size_t n, const F& f) {
  if (step_a != 0 && step_b != 0) {
    transform(a, b, y, n, f);
  } else if (step_a != 0) {
    const T v = *b;
    transform(a, y, n, [=](T u) { return f(u, v); });
  } else {
    const T u = *a;
    if (step_b != 0) {
      transform(b, y, n, [=](T v) { return f(u, v); });
    } else {
      const T value = f(u, *b);
      for (std::size_t i = 0; i < n; ++i) {
        y[i] = value;
      }
    }
  }
}
