#include <array>
#include <cmath>
#include <glia/backends/reference.hpp>
#include <glia/optimizers/gradient_transforms.hpp>
#include <glia/testing/gradient_check.hpp>
#include <limits>

#include "catch.hpp"
#include "helpers.hpp"

// Losses, their gradients and what they are made of, against values in higher precision over the
// whole range of their arguments.

namespace {

using wide = long double;

/// Sizes over 38 decades of both signs, and 0.
std::vector<double> arguments(double maximum = 1e38) {
  std::vector<double> result{0};
  for (double size = 1e-37; size <= maximum; size *= 1.7) {
    result.push_back(static_cast<float>(size));
    result.push_back(static_cast<float>(-size));
  }
  for (double x = -110; x <= 110; x += 0.73) {
    result.push_back(static_cast<float>(x));
  }
  return result;
}

/// The largest relative error; what is a sum of so many numbers below those of full precision may
/// be 0.
template <class T>
class errors {
 public:
  explicit errors(std::size_t terms = 1)
      : minimum_(4 * static_cast<double>(terms) *
                 static_cast<double>(std::numeric_limits<T>::min())) {}
  void add(double actual, wide expected, double argument) {
    const auto right = static_cast<double>(expected);
    const bool same = actual == right || (std::isnan(actual) && std::isnan(right));
    const double error =
        same || (std::abs(right) < minimum_ && std::abs(actual) < 2 * minimum_)
            ? 0
            : std::abs(static_cast<double>((static_cast<wide>(actual) - expected) / expected));
    if (!(error <= worst)) {
      worst = error;
      worst_argument = argument;
    }
  }
  double worst = 0;
  double worst_argument = 0;

 private:
  double minimum_;
};

template <class T>
constexpr double few_roundings = 12 * std::numeric_limits<T>::epsilon();

/// body(device) for all backends in host memory and instruction sets.
template <class Body>
void on_all_backends(const Body& body) {
  using glia::cpu_loops::isa;
  for (const isa level : {isa::baseline, isa::avx2, isa::avx512}) {
    INFO("instruction set " << static_cast<int>(level));
    const auto known = std::min(level, glia::cpu_loops::best_isa());
    body(glia::cpu<float>({.threads = 1, .isa = known}));
  }
  body(glia::cpu<double>({.threads = 1}));
  body(glia::reference<float>());
  body(glia::reference<double>());
}

glia::tensor tensor_of(const glia::device& device, const glia::shape& s,
                       const std::vector<double>& values) {
  return device.from_host(std::span<const double>(values), s);
}
std::vector<double> read(const glia::device& device, const glia::tensor& x) {
  std::vector<double> values(x.shape().size());
  device.to_host(x, std::span<double>(values));
  return values;
}

/// A loss of each sample of outputs (N, K), and its gradients.
struct evaluated {
  template <class Loss>
  evaluated(const glia::device& device, const Loss& loss, const glia::shape& s,
            const std::vector<double>& y, const std::vector<double>& t) {
    glia::tape tape(device);
    const auto outputs = tape.leaf(tensor_of(device, s, y));
    const auto result = loss(outputs, glia::targets{{}, tensor_of(device, s, t)});
    losses = read(device, result.value());
    tape.backward(glia::ops::sum(result));
    gradients = read(device, tape.take_gradient(outputs.slot()));
  }
  std::vector<double> losses;
  std::vector<double> gradients;
};

wide softplus(wide x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
wide sigmoid(wide x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

}  // namespace

TEST_CASE("functions of one number keep their digits over 38 decades") {
  using glia::unary_function;
  struct example {
    unary_function function;
    wide (*right)(wide);
    double widened = 1;  // what is allowed, relative to the others
  };
  const std::array examples{
      example{unary_function::softplus, softplus},
      example{unary_function::sigmoid, sigmoid},
      example{unary_function::tanh, [](wide x) { return std::tanh(x); }},
      example{unary_function::erf, [](wide x) { return std::erf(x); }},
      example{unary_function::gelu,
              [](wide x) { return x * std::erfc(-x / std::sqrt(wide(2))) / 2; }},
      example{unary_function::elu, [](wide x) { return x > 0 ? x : std::expm1(x); }},
      example{unary_function::sin, [](wide x) { return std::sin(x); }},
      example{unary_function::cos, [](wide x) { return std::cos(x); }},
      example{unary_function::exp, [](wide x) { return std::exp(x); }},
      example{unary_function::log, [](wide x) { return std::log(x); }}};
  const std::array slopes{
      example{unary_function::softplus, sigmoid},
      example{unary_function::erf,
              [](wide x) { return 2 / std::sqrt(std::acos(wide(-1))) * std::exp(-x * x); }, 6}};
  const std::vector<double> x = arguments();
  on_all_backends([&]<class B>(const B& device) {
    using T = typename B::value_type;
    const auto operand = tensor_of(device, {x.size()}, x);
    const auto check = [&](const example& entry, const std::vector<double>& y) {
      errors<T> found;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const wide right = entry.right(static_cast<wide>(x[i]));
        if (std::abs(right) <= std::numeric_limits<T>::max()) {
          found.add(y[i], right, x[i]);
        }
      }
      INFO(glia::name_of(entry.function) << " at " << found.worst_argument);
      // Far out a rounded argument of an exponential is what remains.
      const double limit = entry.function == unary_function::gelu && sizeof(T) == sizeof(double)
                               ? 3e-13
                               : entry.widened * few_roundings<T>;
      CHECK(found.worst < limit);
    };
    for (const example& entry : examples) {
      check(entry, read(device, device.run(kernels::unary{{entry.function}}, operand)));
    }
    for (const example& entry : slopes) {
      const auto ones = device.run(kernels::full{{x.size()}, 1});
      check(entry,
            read(device, device.run(kernels::unary_gradient{{entry.function}}, ones, operand)));
    }
  });
}

TEST_CASE("powers keep their digits over 38 decades, and so do their derivatives") {
  const std::vector<double> x = arguments();
  on_all_backends([&]<class B>(const B& device) {
    using T = typename B::value_type;
    const auto operand = tensor_of(device, {x.size()}, x);
    const auto ones = device.run(kernels::full{{x.size()}, 1});
    for (const double exponent : {0.7, 1.5, -0.3, 0.5, 3.0, -3.0, -1.0, 7.5, 33.25, 1e-3, 0.0}) {
      const glia::unary_map power{glia::unary_function::pow, exponent};
      const auto y = read(device, device.run(kernels::unary{power}, operand));
      const auto slope = read(device, device.run(kernels::unary_gradient{power}, ones, operand));
      errors<T> values;
      errors<T> slopes;
      const auto add = [&](errors<T>& found, double actual, wide right, double argument) {
        if (!(std::abs(right) > std::numeric_limits<T>::max() / 2) || std::isinf(right)) {
          found.add(actual, right, argument);
        }
      };
      // The exponent of the derivative is rounded to double.
      const auto a = static_cast<wide>(exponent);
      for (std::size_t i = 0; i < x.size(); ++i) {
        add(values, y[i], std::pow(static_cast<wide>(x[i]), a), x[i]);
        add(slopes, slope[i],
            exponent == 0 ? 0
                          : a * std::pow(static_cast<wide>(x[i]), static_cast<wide>(exponent - 1)),
            x[i]);
      }
      INFO("x^" << exponent << " at " << values.worst_argument << ", derivative at "
                << slopes.worst_argument);
      CHECK(values.worst < few_roundings<T>);
      CHECK(slopes.worst < few_roundings<T>);
    }
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> special{infinity, -infinity, 0, -0.0, NAN};
    for (const double exponent : {0.5, 3.0, 2.0, -3.0, -1.5, 0.0}) {
      const auto y = read(device, device.run(kernels::unary{{glia::unary_function::pow, exponent}},
                                             tensor_of(device, {5}, special)));
      for (std::size_t i = 0; i < special.size(); ++i) {
        const double right = std::pow(special[i], exponent);
        INFO(special[i] << "^" << exponent);
        CHECK((y[i] == right || (std::isnan(y[i]) && std::isnan(right))));
        CHECK((right != 0 || std::signbit(y[i]) == std::signbit(right)));
      }
    }
  });
}

TEST_CASE("binary cross-entropy keeps its digits over 38 decades, and its gradient") {
  const std::vector<double> logits = arguments();
  on_all_backends([&]<class B>(const B& device) {
    for (const double t : {0.0, 1.0, 0.25}) {
      const evaluated actual(device, glia::sigmoid_cross_entropy{}, {logits.size(), 1}, logits,
                             std::vector<double>(logits.size(), t));
      errors<typename B::value_type> losses;
      errors<typename B::value_type> gradients;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const auto y = static_cast<wide>(logits[i]);
        losses.add(actual.losses[i], t * softplus(-y) + (1 - t) * softplus(y), logits[i]);
        if (t != 0.25) {  // which has a zero of its own
          gradients.add(actual.gradients[i], (1 - t) * sigmoid(y) - t * sigmoid(-y), logits[i]);
        }
      }
      INFO("target " << t << ", at " << losses.worst_argument << ", gradient at "
                     << gradients.worst_argument);
      CHECK(losses.worst < few_roundings<typename B::value_type>);
      CHECK(gradients.worst < few_roundings<typename B::value_type>);
    }
  });
}

TEST_CASE("softmax cross-entropy keeps its digits over 38 decades, and its gradient") {
  const std::vector<double> logits = arguments(1e38);
  // Rows of one logit beside others, few and many.
  on_all_backends([&]<class B>(const B& device) {
    using T = typename B::value_type;
    for (const std::size_t classes : {std::size_t{2}, std::size_t{10}, std::size_t{100}}) {
      for (const std::size_t target : {std::size_t{0}, std::size_t{1}}) {
        std::vector<double> y;
        std::vector<double> t;
        for (const double logit : logits) {
          for (std::size_t k = 0; k < classes; ++k) {
            y.push_back(k == 0 ? logit : 0.125 * static_cast<double>(k % 3));
            t.push_back(k == target ? 1 : 0);
          }
        }
        const evaluated actual(device, glia::softmax_cross_entropy{}, {logits.size(), classes}, y,
                               t);
        errors<T> losses(classes);
        errors<T> gradients(classes);
        for (std::size_t n = 0; n < logits.size(); ++n) {
          const double* row = y.data() + n * classes;
          wide odds = 0;  // against the target
          for (std::size_t k = 0; k < classes; ++k) {
            odds += k == target ? 0 : std::exp(static_cast<wide>(row[k]) - row[target]);
          }
          losses.add(actual.losses[n], std::log1p(odds), row[0]);
          for (std::size_t k = 0; k < classes; ++k) {
            const wide expected =
                k == target ? (std::isinf(odds) ? wide(-1) : -odds / (1 + odds)) : [&] {
                  wide relative = 0;
                  for (std::size_t j = 0; j < classes; ++j) {
                    relative += std::exp(static_cast<wide>(row[j]) - row[k]);
                  }
                  return 1 / relative;
                }();
            gradients.add(actual.gradients[n * classes + k], expected, row[0]);
          }
        }
        INFO(classes << " classes, target " << target << ", at " << losses.worst_argument
                     << ", gradient at " << gradients.worst_argument);
        CHECK(losses.worst < few_roundings<T>);
        CHECK(gradients.worst < few_roundings<T>);
      }
    }
  });
}

TEST_CASE("cross-entropies of infinite logits are their limits, where there are such") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  on_all_backends([&]<class B>(const B& device) {
    const auto same = [](const std::vector<double>& actual, const std::vector<double>& expected) {
      return std::equal(actual.begin(), actual.end(), expected.begin(), expected.end(),
                        [](double a, double b) { return a == b || (a != a && b != b); });
    };
    const std::vector<double> y{inf, 0,    1,    inf,  0,   1, -inf, 0,   0,   inf, inf,
                                0,   -inf, -inf, -inf, nan, 0, inf,  nan, inf, 0};
    const std::vector<double> t{1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
    const evaluated rows(device, glia::softmax_cross_entropy{}, {7, 3}, y, t);
    CHECK(same({rows.losses.begin(), rows.losses.begin() + 2}, {0, inf}));
    CHECK(std::abs(rows.losses[2] - std::log(2.0)) < 1e-6);
    CHECK(same({rows.losses.begin() + 3, rows.losses.end()}, {nan, nan, nan, 0}));
    CHECK(same({rows.gradients.begin(), rows.gradients.begin() + 6}, {0, 0, 0, 1, -1, 0}));
    CHECK(same({rows.gradients.end() - 3, rows.gradients.end()}, {0, 0, 0}));

    const evaluated binary(device, glia::sigmoid_cross_entropy{}, {6, 1},
                           {inf, inf, -inf, -inf, inf, nan}, {1, 0, 1, 0, 0.5, 1});
    CHECK(same(binary.losses, {0, inf, inf, 0, inf, nan}));
    CHECK(same({binary.gradients.begin(), binary.gradients.end() - 1}, {0, 1, -1, 0, 0.5}));
    const evaluated margins(device, glia::hinge{}, {4, 1}, {inf, -inf, inf, nan}, {1, 1, -1, 1});
    CHECK(same(margins.losses, {0, inf, inf, nan}));
  });
}

TEST_CASE("losses of values keep their digits over 38 decades") {
  const std::vector<double> outputs = arguments();
  on_all_backends([&]<class B>(const B& device) {
    using T = typename B::value_type;
    const auto check = [&](const auto& loss, double t, const auto& right, const auto& slope) {
      const evaluated actual(device, loss, {outputs.size(), 1}, outputs,
                             std::vector<double>(outputs.size(), t));
      errors<T> losses;
      errors<T> gradients;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto y = static_cast<wide>(outputs[i]);
        if (right(y) < static_cast<wide>(std::numeric_limits<T>::max())) {
          losses.add(actual.losses[i], right(y), outputs[i]);
        }
        gradients.add(actual.gradients[i], slope(y), outputs[i]);
      }
      INFO(loss.description() << " at " << losses.worst_argument << ", gradient at "
                              << gradients.worst_argument);
      CHECK(losses.worst < few_roundings<T>);
      CHECK(gradients.worst < few_roundings<T>);
    };
    for (const double delta : {1.0, 1e-6, 1e6}) {
      const wide d = delta;
      check(
          glia::huber{delta}, 0,
          [&](wide y) { return std::abs(y) < d ? y * y / 2 : d * (std::abs(y) - d / 2); },
          [&](wide y) { return std::clamp(y, -d, d); });
    }
    check(
        glia::hinge{}, -1, [](wide y) { return std::max(1 + y, wide(0)); },
        [](wide y) { return wide(y > -1 ? 1 : 0); });
    check(
        glia::mean_absolute_error{}, 0, [](wide y) { return std::abs(y); },
        [](wide y) {
          return wide(y > 0 ? 1 : y < 0 ? -1 : 0);
        });
    check(
        glia::mean_squared_error{}, 0, [](wide y) { return y * y; }, [](wide y) { return 2 * y; });
  });
}

TEST_CASE("norms of gradients neither overflow nor underflow before they do") {
  on_all_backends([&]<class B>(const B& device) {
    using T = typename B::value_type;
    for (double size = 1e-37; size < 1e38; size *= 31) {
      INFO("gradients of " << size);
      // Those of several parameters, one of which is not trained.
      std::vector<glia::tensor> gradients{tensor_of(device, {2}, {static_cast<T>(size), 0}),
                                          {},
                                          tensor_of(device, {1, 2}, {0, static_cast<T>(-size)})};
      for (int i = 0; i < 9; ++i) {
        gradients.push_back(tensor_of(device, {1}, {0}));
      }
      const double root = std::sqrt(2.0);
      const auto clipped = [&](double bound) {
        auto result = gradients;
        glia::detail::transform_gradients({glia::clip_by_global_norm(bound)}, device, result);
        return read(device, result[2])[1];
      };
      const double unclipped = clipped(1.5 * size);
      CHECK(unclipped == static_cast<T>(-size));
      CHECK(std::abs(clipped(size / 2) / (-size / 2 / root) - 1) < few_roundings<T>);
      const double reduced = clipped(1e-3);
      const double expected = size * root > 1e-3 ? -1e-3 / root : -size;
      CHECK(std::abs(reduced / expected - 1) < few_roundings<T>);
    }
  });
  const glia::cpu<double> device;
  for (const double size : {1e-300, 1e-200, 1e200, 1e300}) {
    const auto length = device.run(kernels::norm{}, tensor_of(device, {2}, {3 * size, 4 * size}));
    CHECK(std::abs(read(device, length)[0] / (5 * size) - 1) < 1e-15);
  }
}
