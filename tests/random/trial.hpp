#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "random/networks.hpp"

// What a random network gives in double on the reference, each kernel of which runs at once: no
// graph, no pass, no plan of memory; and the same on other backends.
namespace test::random {

using oracle = glia::reference<double>;
using numbers = std::vector<double>;

/// Values in [-1, 1], and zeros where masked steps are looked for.
inline std::vector<float> random_values(network_source& source, std::size_t samples,
                                        const glia::shape& sample, std::size_t integers = 0) {
  std::vector<float> values(samples * sample.size());
  for (float& value : values) {
    value = integers > 0 ? static_cast<float>(source.integer(integers)) : source.number();
  }
  if (sample.rank() >= 2) {
    const std::size_t step = sample.size() / sample[0];
    for (std::size_t i = 0; i < samples; i += 2) {  // a step or two of every second sample
      std::fill_n(values.end() - static_cast<std::ptrdiff_t>(i * sample.size() + step), step, 0.0F);
    }
  }
  return values;
}

inline numbers values_of(const glia::device& device, const glia::tensor& t) {
  numbers result(t.shape().size());
  device.to_host(t, std::span<double>(result));
  return result;
}

/// Parameters that say more than initial ones: biases other than 0, running statistics too. They
/// are then changed by a share of themselves of up to `disturbance`.
template <class Model>
void vary_parameters(Model& net, std::uint64_t seed, double disturbance) {
  glia::random_stream random({.seed = seed, .stream = 78});
  for (const auto& p : net.parameters()) {
    xt::xarray<double> values = net.template get<double>(p.spec.name);
    const bool positive = p.spec.name.find("variance") != std::string::npos;
    for (double& value : values) {
      const double noise = 2 * random.uniform() - 1;
      value = positive ? value + 0.5 * std::abs(noise) : value + 0.3 * noise;
      value *= 1 + disturbance * (2 * random.uniform() - 1);
    }
    net.set(p.spec.name, values);
  }
}

/// Predictions of the reference at once.
template <class Model>
numbers predicted_at_once(const Model& net, const std::vector<float>& values, std::size_t samples) {
  const auto& device = net.device();
  glia::tape tape(device);
  auto copy = net;
  std::vector<glia::gradient_slot> slots;
  const auto x = tape.constant(device.from_host(std::span<const float>(values),
                                                glia::batch_of(samples, net.sample_shape())));
  return values_of(device, copy.forward(x, slots, glia::run_mode::inference, {}).value());
}

inline constexpr double rate = 0.1;
inline constexpr std::uint64_t training_seed = 3;

/// A training step by hand on a backend at once: mean squared error, gradients of a joint norm of
/// at most 1, and sgd. Returns that norm as it was.
template <class Model>
double step_at_once(Model& net, const glia::batch& b, std::uint32_t step) {
  const glia::device& device = net.device();
  glia::tape tape(device);
  std::vector<glia::gradient_slot> slots;
  const auto x = tape.constant(device.from_host(std::span<const float>(b.inputs), b.input_shape));
  const auto y =
      net.forward(x, slots, glia::run_mode::training, {.seed = training_seed, .step = step});
  const auto t = tape.constant(device.from_host(std::span<const float>(b.targets), b.target_shape));
  tape.backward(glia::ops::mean(glia::ops::square(y - t)));
  std::vector<numbers> gradients(slots.size());
  double squares = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i]) {
      gradients[i] = values_of(device, tape.take_gradient(slots[i]));
      for (const double value : gradients[i]) {
        squares += value * value;
      }
    }
  }
  const double scale = rate / std::max(1.0, std::sqrt(squares));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i]) {
      auto& p = net.parameters()[i];
      numbers values = values_of(device, p.value);
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] -= scale * gradients[i][k];
      }
      p.value = device.from_host(std::span<const double>(values), p.spec.shape);
    }
  }
  return std::sqrt(squares);
}

inline double largest(const numbers& values) {
  double maximum = 0;
  for (const double value : values) {
    maximum = std::max(maximum, std::abs(value));
  }
  return maximum;
}

/// The largest difference between two lists as a share of the largest element; NaN in one alone is
/// infinite.
inline double relative_distance(const numbers& actual, const numbers& expected) {
  if (actual.size() != expected.size()) {
    return INFINITY;
  }
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) != std::isnan(expected[i])) {
      return INFINITY;
    }
    if (actual[i] != expected[i] && !std::isnan(actual[i])) {
      worst = std::max(worst, std::abs(actual[i] - expected[i]));
    }
  }
  return worst / std::max(1e-3, largest(expected));
}

template <class T>
numbers as_numbers(const std::vector<T>& values) {
  return numbers(values.begin(), values.end());
}

/// What a network gives: predictions, and parameters after a few steps of training.
struct results {
  numbers predictions;
  numbers trained;
  double steepest = 0;  ///< the largest joint norm of the gradients of a step
};

/// A network with the data that it is looked at with.
struct trial {
  std::uint64_t seed = 0;
  drawn subject;
  std::vector<float> values;
  std::size_t samples = 0;
  std::vector<glia::batch> batches;
};

inline glia::model<network> exact_model(const trial& t, double disturbance,
                                        const glia::device& device = oracle()) {
  glia::model net{t.subject.net, t.subject.sample, device, {.seed = t.seed}};
  vary_parameters(net, t.seed, disturbance);
  return net;
}

/// The numbers of the reference at once, with parameters changed by a share of themselves.
inline results exact_results(const trial& t, double disturbance = 0,
                             const glia::device& device = oracle()) {
  auto net = exact_model(t, disturbance, device);
  results found{predicted_at_once(net, t.values, t.samples), {}, 0};
  for (std::uint32_t step = 0; step < t.batches.size(); ++step) {
    found.steepest = std::max(found.steepest, step_at_once(net, t.batches[step], step));
  }
  found.trained = test::parameters_of<double>(net);
  return found;
}

/// Checks that numbers are right but for rounding to numbers of type T. Where they are further
/// away, a network may be one that magnifies: its own numbers move as far when its parameters are
/// changed in their last digits, by 64 of them at most, the root of the roundings that
/// product_error allows. Or the reference in T is as far away: what is 0 but for rounding may be
/// divided by the root of an epsilon again and again, which no change of parameters shows.
template <class T>
void check_near(const trial& t, const results& exact, numbers results::*member,
                const numbers& actual) {
  constexpr double digits = std::numeric_limits<T>::epsilon();
  const double apart = relative_distance(actual, exact.*member);
  double allowed = 1e4 * digits;
  const auto allow = [&](const results& other) {
    allowed = std::max(allowed, 30 * relative_distance(other.*member, exact.*member));
  };
  for (const double change : {digits, -3 * digits, 10 * digits, -64 * digits}) {
    if (apart > allowed) {
      allow(exact_results(t, change));
    }
  }
  if (apart > allowed && !std::is_same_v<T, double>) {
    allow(exact_results(t, 0, glia::reference<T>()));
  }
  CHECK(apart <= allowed);
}

/// What one network gives on the cpu in numbers of type T, in all ways that must give the same
/// bits.
template <class T>
class network_on {
 public:
  network_on(const drawn& d, const glia::model<network>& like, const glia::device& device,
             const glia::model_options& options = {})
      : net_(d.net, d.sample, device, options) {
    for (const auto& p : like.parameters()) {
      net_.set(p.spec.name, like.template get<double>(p.spec.name));
    }
  }

  /// Predictions, whole, in chunks, once more, prepared, and of a copy. Ways that differ are named.
  std::vector<T> predict(const std::vector<float>& values, std::size_t samples) {
    const std::vector<T> inputs(values.begin(), values.end());
    const std::size_t out = net_.output_shape().size();
    std::vector<T> whole(samples * out);
    net_.predict_batch(std::span<const T>(inputs), std::span<T>(whole));
    typename xt::xarray<T>::shape_type extents{samples};
    for (const std::size_t extent : net_.sample_shape()) {
      extents.push_back(extent);
    }
    xt::xarray<T> x(extents);
    std::copy(inputs.begin(), inputs.end(), x.begin());
    const auto same = [&](const char* way, const auto& actual) {
      INFO(way);
      bool alike = actual.size() == whole.size();
      auto expected = whole.begin();
      for (const T value : actual) {
        alike = alike && (value == *expected || (std::isnan(value) && std::isnan(*expected)));
        ++expected;
      }
      CHECK(alike);
    };
    same("again", net_.template predict<T>(x));
    const auto copy = net_;
    same("a copy", copy.template predict<T>(x));
    same("prepared", net_.prepare({.batch_size = samples}).template operator()<T>(x));
    return whole;
  }

  /// Parameters after steps on batches.
  std::vector<T> train(const std::vector<glia::batch>& batches) {
    auto net = net_;
    glia::trainer trainer{
        net,
        glia::mean_squared_error{},
        glia::sgd{rate},
        {.seed = training_seed, .gradient_transforms = {glia::clip_by_global_norm(1)}}};
    for (const glia::batch& b : batches) {
      trainer.step(b);
    }
    return test::parameters_of<T>(net);
  }

 private:
  glia::model<network> net_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](T x, T y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

inline trial draw_trial(std::uint64_t seed, const draw_options& options, std::size_t most_samples) {
  network_source source(seed, options);
  trial t{seed, source.draw(), {}, 0, {}};
  const glia::shape output =
      glia::sample_of(glia::plan_model(t.subject.net, t.subject.sample).output);
  const auto inputs = [&](std::size_t samples) {
    return random_values(source, samples, t.subject.sample, t.subject.integers);
  };
  t.samples = 1 + source.integer(most_samples);
  t.values = inputs(t.samples);
  for (int step = 0; step < 3; ++step) {
    const std::size_t size = 1 + source.integer(most_samples);
    glia::batch b;
    b.size = size;
    b.input_shape = glia::batch_of(size, t.subject.sample);
    b.inputs = inputs(size);
    b.target_shape = glia::batch_of(size, output);
    b.targets = random_values(source, size, output);
    t.batches.push_back(std::move(b));
  }
  return t;
}

}  // namespace test::random
