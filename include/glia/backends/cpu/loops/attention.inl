// Members of vector_loops (see vector_loops.inl): the weights of one query in attention; see
// backends/cpu/attention/attention.hpp.

// Replaces n scores x with exp(scale (x - highest)), where highest is their maximum, which it
// returns. `scale` is positive.
template <class T>
static T shifted_exponentials(T* x, std::size_t n, T scale) {
  const T highest = largest_of(x, n);
  transform(x, x, n, [=](T v) { return exp_of(scale * (v - highest)); });
  return highest;
}

// Replaces n scores x with factor exp(scale (x - highest)), their softmax.
template <class T>
static void softmax_weights(T* x, std::size_t n, T scale, T highest, T factor) {
  transform(x, x, n, [=](T v) { return factor * exp_of(scale * (v - highest)); });
}

// Computes dp = p (dp - mean), the gradients of scores with the weights p.
template <class T>
static void score_gradients(const T* p, T mean, T* dp, std::size_t n) {
  transform(p, dp, dp, n, [=](T weight, T gradient) { return weight * (gradient - mean); });
}

// Computes y = factor x.
template <class T>
static void scale_to(const T* x, T factor, T* y, std::size_t n) {
  transform(x, y, n, [=](T v) { return factor * v; });
}
