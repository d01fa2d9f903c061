// Members of vector_loops (see vector_loops.inl): elementary functions
// without branches or calls, so that loops over them vectorize. The loops vectorize only if these
// functions are inlined.

// Returns condition ? a : b, computed with a mask. For a conditional, compilers move unneeded work
// behind a branch, and the branch prevents vectorization.
[[gnu::always_inline]] static float select_of(bool condition, float a, float b) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  const auto bits = (__builtin_bit_cast(std::uint32_t, a) & mask) |
                    (__builtin_bit_cast(std::uint32_t, b) & ~mask);
  return __builtin_bit_cast(float, bits);
}

[[gnu::always_inline]] static float absolute_of(float x) { return __builtin_fabsf(x); }
[[gnu::always_inline]] static double absolute_of(double x) { return __builtin_fabs(x); }
[[gnu::always_inline]] static float floor_of(float x) { return __builtin_floorf(x); }
[[gnu::always_inline]] static double floor_of(double x) { return __builtin_floor(x); }

[[gnu::always_inline]] static float exp_of(float x) {
  // exp(x) = 2^n exp(r), |r| <= ln(2) / 2, with the polynomial of Cephes' expf (S. Moshier). The
  // relative error is about 1e-7, and 1e-6 near the largest number, because n is at most 127. A
  // result beyond the range is infinite, because the product with 2^127 overflows. A denormal
  // result is 0, because n = -127 has the bits of 0, and denormals are flushed to 0.
  constexpr float lowest = -88.0F;
  x = select_of(x < lowest, lowest, x);
  // The last bits of the sum with this number are those of n.
  constexpr float to_whole = 12582912.0F;  // 1.5 * 2^23
  constexpr float highest = to_whole + 127.0F;
  float shifted = x * 1.44269504F + to_whole;
  shifted = select_of(shifted > highest, highest, shifted);
  const float whole = shifted - to_whole;
  const float r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const auto bits = __builtin_bit_cast(std::uint32_t, shifted) << 23U;
  return p * __builtin_bit_cast(float, bits + (127U << 23U));
}
[[gnu::always_inline]] static double exp_of(double x) { return __builtin_exp(x); }

[[gnu::always_inline]] static float tanh_of(float x) {
  // Near zero, the quotient loses digits by cancellation. Cephes' polynomial for tanhf is used
  // there instead.
  const float size = __builtin_fabsf(x);
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float near = p * z * x + x;
  const float far = 1.0F - 2.0F / (exp_of(2.0F * size) + 1.0F);
  return select_of(size < 0.625F, near, __builtin_copysignf(far, x));
}
[[gnu::always_inline]] static double tanh_of(double x) { return __builtin_tanh(x); }

// Returns exp(x^2) (1 - erf(x)) for x >= 0. The relative error is about 1e-7 up to x = 9.6; from
// there on, exp(-x^2) is denormal.
[[gnu::always_inline]] static float scaled_erfc_of(float x) {
  const float t = 1.0F / (1.0F + 0.4F * x);
  float p = 4.0475428e-2F;
  p = p * t - 1.36496425e-1F;
  p = p * t + 7.5993665e-2F;
  p = p * t + 9.722653e-2F;
  p = p * t + 7.326959e-2F;
  p = p * t + 1.9619748e-1F;
  p = p * t + 2.0115881e-1F;
  p = p * t + 2.26546973e-1F;
  p = p * t + 2.25628033e-1F;
  return p * t;
}

[[gnu::always_inline]] static float erf_of(float x) {
  // Near zero, an odd polynomial is used, because 1 minus the complement would lose digits by
  // cancellation.
  const float size = __builtin_fabsf(x);
  const float z = x * x;
  float p = 7.8538577e-5F;
  p = p * z - 8.0101925e-4F;
  p = p * z + 5.1883276e-3F;
  p = p * z - 2.6853812e-2F;
  p = p * z + 1.12835851e-1F;
  p = p * z - 3.76126258e-1F;
  p = p * z + 1.12837917F;
  const float far = 1.0F - exp_of(-z) * scaled_erfc_of(size);
  const float bounded = select_of(size > 4.0F, 1.0F, far);
  return select_of(size < 1.0F, p * x, __builtin_copysignf(bounded, x));
}
[[gnu::always_inline]] static double erf_of(double x) { return __builtin_erf(x); }

// Returns exp(-x^2 / 2). The square of a number's upper half is exact. The remainder is small, and
// a short series computes its exponential. Rounded squares would cost two digits for large x.
[[gnu::always_inline]] static float bell_of(float x) {
  const float size = select_of(__builtin_fabsf(x) > 14.0F, 14.0F, __builtin_fabsf(x));
  const float upper =
      __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, size) & 0xFFFFF000U);
  const float rest = 0.5F * (size - upper) * (size + upper);
  float p = 1.0F / 24.0F;
  p = p * rest - 1.0F / 6.0F;
  p = p * rest + 0.5F;
  p = p * rest - 1.0F;
  return exp_of(-0.5F * upper * upper) * (p * rest + 1.0F);
}
[[gnu::always_inline]] static double bell_of(double x) { return __builtin_exp(-0.5 * x * x); }

// Returns ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...) for |s| <= 1/3, with a relative
// error of about 1e-7.
[[gnu::always_inline]] static float log_of_quotient(float s) {
  const float z = s * s;
  float p = 1.0F / 15.0F;
  p = p * z + 1.0F / 13.0F;
  p = p * z + 1.0F / 11.0F;
  p = p * z + 1.0F / 9.0F;
  p = p * z + 1.0F / 7.0F;
  p = p * z + 1.0F / 5.0F;
  p = p * z + 1.0F / 3.0F;
  return 2.0F * s + 2.0F * s * z * p;
}

[[gnu::always_inline]] static float log_of(float x) {
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)): ln(x) = n ln(2) + ln(m), with a relative error of
  // about 1e-7.
  const bool tiny = x < 1.17549435e-38F;  // a denormal times 2^23 is normal
  const float normal = select_of(tiny, x * 8388608.0F, x);
  const auto bits = __builtin_bit_cast(std::uint32_t, normal);
  const std::int32_t n = static_cast<std::int32_t>(bits - 0x3F3504F3U) >> 23;  // from sqrt(1/2)
  const float m = __builtin_bit_cast(float, bits - (static_cast<std::uint32_t>(n) << 23));
  const float whole = static_cast<float>(n) - select_of(tiny, 23.0F, 0.0F);
  const float logarithm =
      log_of_quotient((m - 1.0F) / (m + 1.0F)) + whole * -2.12194440e-4F + whole * 0.693359375F;
  const float infinity = __builtin_inff();
  const float of_zero = select_of(x == 0.0F, -infinity, __builtin_nanf(""));
  const float bounded = select_of(x > 0.0F, logarithm, of_zero);
  return select_of(x == infinity, infinity, bounded);
}
[[gnu::always_inline]] static double log_of(double x) { return __builtin_log(x); }

// Returns ln(1 + x) for x in [0, 1], with a small relative error even for small x. It is the
// logarithm of (1 + s) / (1 - s) with s = x / (2 + x).
[[gnu::always_inline]] static float log1p_of_fraction(float x) {
  return log_of_quotient(x / (2.0F + x));
}
[[gnu::always_inline]] static double log1p_of_fraction(double x) { return __builtin_log1p(x); }

// Returns ln(1 + x) for any x >= 0.
template <class T>
[[gnu::always_inline]] static T log1p_of(T x) {
  return x > 1 ? log_of(1 + x) : log1p_of_fraction(x);
}

[[gnu::always_inline]] static float softplus_of(float x) {
  return select_of(x > 0.0F, x, 0.0F) + log1p_of_fraction(exp_of(-__builtin_fabsf(x)));
}
[[gnu::always_inline]] static double softplus_of(double x) {
  return (x > 0.0 ? x : 0.0) + log1p_of_fraction(exp_of(-__builtin_fabs(x)));
}
[[gnu::always_inline]] static float expm1_of(float x) {
  // Near zero, exp(x) - 1 loses digits by cancellation. The series up to the sixth power is used
  // there.
  float p = 1.0F / 720.0F;
  p = p * x + 1.0F / 120.0F;
  p = p * x + 1.0F / 24.0F;
  p = p * x + 1.0F / 6.0F;
  p = p * x + 0.5F;
  p = p * x * x + x;
  return select_of(__builtin_fabsf(x) < 0.25F, p, exp_of(x) - 1.0F);
}
[[gnu::always_inline]] static double expm1_of(double x) { return __builtin_expm1(x); }

template <class T>
[[gnu::always_inline]] static T sigmoid_of(T x) {
  return T(1) / (T(1) + exp_of(-x));
}

// Returns the normal distribution function, with a small relative error also for negative x.
[[gnu::always_inline]] static float normal_cdf_of(float x) {
  const float size = __builtin_fabsf(x);
  const float tail = 0.5F * bell_of(x) * scaled_erfc_of(0.70710678F * size);
  return select_of(x > 0.0F, 1.0F - tail, tail);
}
[[gnu::always_inline]] static double normal_cdf_of(double x) {
  return 0.5 * __builtin_erfc(x * -0.70710678118654752440);
}

// The largest |x| for which sine_of is accurate.
template <class T>
static constexpr T sine_limit = T(1e6);

// Returns sin(x + turns pi / 2) for any x, and turns from 0 to 2.
static float turned_sine(float x, int turns) {
  return turns == 0 ? __builtin_sinf(x) : turns == 1 ? __builtin_cosf(x) : -__builtin_sinf(x);
}
static double turned_sine(double x, int turns) {
  return turns == 0 ? __builtin_sin(x) : turns == 1 ? __builtin_cos(x) : -__builtin_sin(x);
}

// Returns sin(x + turns pi / 2) for |x| of at most sine_limit, with a relative error of about 1e-7.
[[gnu::always_inline]] static float sine_of(float x, int turns) {
  // x = k pi / 2 + r with |r| <= pi / 4. The first part of pi / 2 has 33 bits, so that its product
  // with k is exact. The polynomials are those of Cephes' sinf and cosf (S. Moshier).
  const double wide = select_of(__builtin_fabsf(x) <= sine_limit<float>, x, 0.0F);
  const double scaled = wide * 0.63661977236758134308;
  const int k = static_cast<int>(scaled + __builtin_copysign(0.5, scaled));
  const auto whole = static_cast<double>(k);
  const auto r = static_cast<float>((wide - whole * 1.57079632673412561417) -
                                    whole * 6.07710050650619224932e-11);
  const float z = r * r;
  float sine = -1.9515295891e-4F;
  sine = sine * z + 8.3321608736e-3F;
  sine = sine * z - 1.6666654611e-1F;
  sine = sine * z * r + r;
  float cosine = 2.443315711809948e-5F;
  cosine = cosine * z - 1.388731625493765e-3F;
  cosine = cosine * z + 4.166664568298827e-2F;
  cosine = cosine * z * z - 0.5F * z + 1.0F;
  const auto quadrant = static_cast<std::uint32_t>(k + turns);
  const float size = select_of((quadrant & 1U) != 0, cosine, sine);
  return select_of((quadrant & 2U) != 0, -size, size);
}
[[gnu::always_inline]] static double sine_of(double x, int turns) { return turned_sine(x, turns); }

// The function x^a, with a relative error of about 6e-8 in float. The logarithm and the exponential
// are computed in double, because an error of the logarithm is multiplied by a.
template <class T>
struct power_function {
  explicit power_function(double a)
      : exponent(a),
        of_zero(a > 0   ? T(0)
                : a < 0 ? T(__builtin_inf())
                        : T(1)),
        of_infinity(a > 0   ? T(__builtin_inf())
                    : a < 0 ? T(0)
                            : T(1)),
        whole(a == __builtin_floor(a)),
        odd(whole && a / 2 != __builtin_floor(a / 2)) {}

  [[gnu::always_inline]] double operator()(double x) const { return __builtin_pow(x, exponent); }

  [[gnu::always_inline]] float operator()(float x) const {
    const float size = __builtin_fabsf(x);
    // |x| = 2^n m with m in [sqrt(1/2), sqrt(2)), and ln(m) is a series in (m - 1) / (m + 1).
    const auto bits = __builtin_bit_cast(std::uint64_t, static_cast<double>(size));
    const auto n = static_cast<std::int64_t>(bits - 0x3FE6A09E667F3BCDULL) >> 52;
    const auto m = __builtin_bit_cast(double, bits - (static_cast<std::uint64_t>(n) << 52));
    const double s = (m - 1) / (m + 1);
    const double z = s * s;
    double p = 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    const double logarithm =
        static_cast<double>(static_cast<int>(n)) * 0.69314718055994530942 + 2 * (s + s * z * p);
    double y = exponent * logarithm;
    y = y < -110 ? -110.0 : y;
    y = y < 90 ? y : 90.0;
    const double scaled = y * 1.44269504088896340736;
    const int k = static_cast<int>(scaled + __builtin_copysign(0.5, scaled));
    const double r = y - static_cast<double>(k) * 0.69314718055994530942;
    double q = 1.0 / 3628800;
    q = q * r + 1.0 / 362880;
    q = q * r + 1.0 / 40320;
    q = q * r + 1.0 / 5040;
    q = q * r + 1.0 / 720;
    q = q * r + 1.0 / 120;
    q = q * r + 1.0 / 24;
    q = q * r + 1.0 / 6;
    q = q * r + 0.5;
    q = q * r + 1;
    q = q * r + 1;
    const auto power_of_two = __builtin_bit_cast(
        double, static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
    auto result = static_cast<float>(q * power_of_two);
    result = select_of(size == 0.0F, of_zero, result);
    result = select_of(size == __builtin_inff(), of_infinity, result);
    const float signed_result = odd ? __builtin_copysignf(result, x) : result;
    const bool invalid = x < 0.0F && !whole && size != __builtin_inff();
    result = select_of(invalid, __builtin_nanf(""), signed_result);
    return select_of(x != x && exponent != 0, x, result);
  }

  double exponent;
  T of_zero;
  T of_infinity;
  bool whole;
  bool odd;
};
