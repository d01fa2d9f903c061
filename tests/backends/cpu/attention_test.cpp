#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <span>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::message_of;

namespace {

struct attention_case {
  std::size_t samples, queries, keys, heads, channels, value_channels;
  bool causal;
};

const std::vector<attention_case> cases{
    {1, 1, 1, 1, 1, 1, true},       {2, 3, 5, 2, 4, 3, false},     {3, 7, 7, 1, 5, 5, true},
    {1, 50, 50, 3, 8, 20, true},    {2, 13, 70, 2, 17, 33, false}, {1, 97, 97, 2, 32, 32, true},
    {1, 130, 130, 1, 64, 16, true}, {1, 5, 1100, 1, 3, 2, false},  {1, 600, 600, 1, 3, 2, true},
    {0, 3, 3, 1, 2, 2, true},       {2, 0, 4, 1, 2, 2, false}};

glia::shape query_shape(const attention_case& c) {
  return {c.samples, c.queries, c.heads * c.channels};
}
glia::shape key_shape(const attention_case& c) { return {c.samples, c.keys, c.heads * c.channels}; }
glia::shape value_shape(const attention_case& c) {
  return {c.samples, c.keys, c.heads * c.value_channels};
}
glia::shape result_shape(const attention_case& c) {
  return {c.samples, c.queries, c.heads * c.value_channels};
}

std::vector<double> drawn(const glia::shape& s, std::uint64_t seed) {
  glia::random_stream random({.seed = seed});
  std::vector<double> values(s.size());
  std::generate(values.begin(), values.end(), [&] { return random.normal(); });
  return values;
}

glia::tensor tensor_of(const glia::device& device, const glia::shape& s,
                       const std::vector<double>& values) {
  return device.from_host(std::span<const double>(values), s);
}
std::vector<double> values_of(const glia::device& device, const glia::tensor& x) {
  std::vector<double> values(x.size());
  device.to_host(x, std::span<double>(values));
  return values;
}

/// The weights of one query, by their definition.
std::vector<double> weights_of(const attention_case& c, const std::vector<double>& queries,
                               const std::vector<double>& keys, std::size_t n, std::size_t t,
                               std::size_t h) {
  std::vector<double> weights(c.keys, 0);
  double highest = -INFINITY;
  const std::size_t end = c.causal ? t + 1 : c.keys;
  for (std::size_t s = 0; s < end; ++s) {
    for (std::size_t i = 0; i < c.channels; ++i) {
      weights[s] += queries[((n * c.queries + t) * c.heads + h) * c.channels + i] *
                    keys[((n * c.keys + s) * c.heads + h) * c.channels + i];
    }
    weights[s] /= std::sqrt(static_cast<double>(c.channels));
    highest = std::max(highest, weights[s]);
  }
  double sum = 0;
  for (std::size_t s = 0; s < end; ++s) {
    weights[s] = std::exp(weights[s] - highest);
    sum += weights[s];
  }
  for (std::size_t s = 0; s < end; ++s) {
    weights[s] /= sum;
  }
  return weights;
}

/// The second result by its definition: for each row of Q K^T, its maximum and the factor of the
/// exponentials.
std::vector<double> statistics_of(const attention_case& c, const std::vector<double>& queries,
                                  const std::vector<double>& keys) {
  std::vector<double> statistics;
  for (std::size_t n = 0; n < c.samples; ++n) {
    for (std::size_t h = 0; h < c.heads; ++h) {
      std::vector<double> factors;
      for (std::size_t t = 0; t < c.queries; ++t) {
        const std::vector<double> weights = weights_of(c, queries, keys, n, t, h);
        // The key with the highest score has the weight exp(0) times the factor.
        const auto highest = std::max_element(weights.begin(), weights.end());
        factors.push_back(*highest);
        const auto s = static_cast<std::size_t>(highest - weights.begin());
        double product = 0;
        for (std::size_t i = 0; i < c.channels; ++i) {
          product += queries[((n * c.queries + t) * c.heads + h) * c.channels + i] *
                     keys[((n * c.keys + s) * c.heads + h) * c.channels + i];
        }
        statistics.push_back(product);
      }
      statistics.insert(statistics.end(), factors.begin(), factors.end());
    }
  }
  return statistics;
}

std::vector<double> attended(const attention_case& c, const std::vector<double>& queries,
                             const std::vector<double>& keys, const std::vector<double>& values) {
  std::vector<double> y(result_shape(c).size(), 0);
  for (std::size_t n = 0; n < c.samples; ++n) {
    for (std::size_t h = 0; h < c.heads; ++h) {
      for (std::size_t t = 0; t < c.queries; ++t) {
        const std::vector<double> weights = weights_of(c, queries, keys, n, t, h);
        for (std::size_t s = 0; s < c.keys; ++s) {
          for (std::size_t i = 0; i < c.value_channels; ++i) {
            y[((n * c.queries + t) * c.heads + h) * c.value_channels + i] +=
                weights[s] * values[((n * c.keys + s) * c.heads + h) * c.value_channels + i];
          }
        }
      }
    }
  }
  return y;
}

/// The results of both kernels: y, saved, dq, dk, dv.
template <class T>
std::vector<std::vector<double>> results_on(const glia::cpu<T>& device, const attention_case& c) {
  const auto of = [&](const glia::shape& s, std::uint64_t seed) {
    return tensor_of(device, s, drawn(s, seed));
  };
  const auto q = of(query_shape(c), 1);
  const auto k = of(key_shape(c), 2);
  const auto v = of(value_shape(c), 3);
  const auto [y, saved] = device.run(kernels::attention{.num_heads = c.heads, .causal = c.causal},
                                     q, k, v, glia::tensor{});
  const auto gradients =
      device.run(kernels::attention_gradient{.num_heads = c.heads, .causal = c.causal},
                 of(result_shape(c), 4), q, k, v, saved);
  std::vector<std::vector<double>> results;
  for (const glia::tensor& x : {y, saved, gradients[0], gradients[1], gradients[2]}) {
    results.push_back(values_of(device, x));
  }
  return results;
}

/// The largest difference, relative to numbers above 1.
double relative_distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]) / (1 + std::abs(b[i])));
  }
  return largest;
}

template <class Layers, class B>
auto trained(const Layers& layers, const B& device) {
  const glia::shape sample{19, 12};
  glia::model net{layers, sample, device, {.seed = 3}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.5}};
  glia::batch b;
  b.size = 5;
  b.input_shape = b.target_shape = glia::batch_of(b.size, sample);
  const std::vector<double> inputs = drawn(b.input_shape, 4);
  const std::vector<double> targets = drawn(b.target_shape, 5);
  b.inputs.assign(inputs.begin(), inputs.end());
  b.targets.assign(targets.begin(), targets.end());
  for (int step = 0; step < 3; ++step) {
    trainer.step(b);
  }
  return test::parameters_of(net);
}

}  // namespace

TEST_CASE("attention in one kernel is its definition") {
  for (const attention_case& c : cases) {
    INFO(glia::text(query_shape(c), " ", value_shape(c), " ", c.heads, " ", c.causal));
    const std::vector<double> q = drawn(query_shape(c), 1);
    const std::vector<double> k = drawn(key_shape(c), 2);
    const std::vector<double> v = drawn(value_shape(c), 3);
    const std::vector<double> dy = drawn(result_shape(c), 4);
    const auto results = results_on(glia::cpu<double>({.threads = 2}), c);
    CHECK(relative_distance(results[0], attended(c, q, k, v)) < tolerance::double_kernel);
    CHECK(relative_distance(results[1], statistics_of(c, q, k)) < tolerance::double_kernel);
    // Each gradient in a drawn direction is the slope of the loss sum(y dy) along it.
    const auto loss = [&](const auto& queries, const auto& keys, const auto& values) {
      const std::vector<double> y = attended(c, queries, keys, values);
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        sum += y[i] * dy[i];
      }
      return sum;
    };
    const auto slope = [&](const std::vector<double>& x, const auto& loss_at,
                           const std::vector<double>& gradient) {
      const std::vector<double> direction = drawn({x.size()}, 6);
      constexpr double step = 1e-5;
      std::vector<double> ahead = x;
      std::vector<double> behind = x;
      double expected = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        ahead[i] += step * direction[i];
        behind[i] -= step * direction[i];
        expected += gradient[i] * direction[i];
      }
      const double actual = (loss_at(ahead) - loss_at(behind)) / (2 * step);
      CHECK(std::abs(actual - expected) < 1e-6 * (1 + std::abs(expected)));
    };
    slope(
        q, [&](const auto& x) { return loss(x, k, v); }, results[2]);
    slope(
        k, [&](const auto& x) { return loss(q, x, v); }, results[3]);
    slope(
        v, [&](const auto& x) { return loss(q, k, x); }, results[4]);
  }
}

TEST_CASE("attention has the same results with all instruction sets and threads") {
  for (const attention_case& c : cases) {
    INFO(glia::text(query_shape(c), " ", value_shape(c), " ", c.heads, " ", c.causal));
    const auto expected = results_on(glia::cpu<double>({.threads = 1}), c);
    CHECK(results_on(glia::cpu<double>({.threads = 3}), c) == expected);
    using glia::cpu_loops::isa;
    for (const isa wanted : {isa::baseline, isa::avx2, isa::avx512}) {
      const isa level = std::min(wanted, glia::cpu_loops::best_isa());
      const auto serial = results_on(glia::cpu<float>({.threads = 1, .isa = level}), c);
      CHECK(results_on(glia::cpu<float>({.threads = 2, .isa = level}), c) == serial);
      const auto in_double = results_on(glia::cpu<double>({.threads = 2, .isa = level}), c);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(relative_distance(serial[i], expected[i]) < tolerance::golden);
        CHECK(relative_distance(in_double[i], expected[i]) < tolerance::double_kernel);
      }
    }
  }
}

TEST_CASE("attention layers in one kernel train as those that are composed of others") {
  const auto check = [](const auto& layers) {
    INFO(glia::text(layers));
    const auto expected = trained(layers, glia::reference<double>());
    CHECK(test::distance(trained(layers, glia::cpu<double>({.threads = 2})), expected) <
          tolerance::double_kernel);
    CHECK(test::distance(trained(layers, glia::cpu<float>({.threads = 2})), expected) <
          tolerance::golden);
  };
  glia::multi_head_attention layer{.num_heads = 2, .key_dim = 6, .value_dim = 5};
  check(glia::sequential{layer});
  layer.use_causal_mask = true;
  check(glia::sequential{layer});
  layer.use_rotary_embedding = true;
  check(glia::sequential{layer});
}

TEST_CASE("attention treats the samples of a batch apart") {
  const glia::cpu<float> device({.threads = 2});
  const auto q = tensor_of(device, {4, 20, 6}, drawn({4, 20, 6}, 1));
  const auto k = tensor_of(device, {4, 20, 6}, drawn({4, 20, 6}, 2));
  const auto v = tensor_of(device, {4, 20, 6}, drawn({4, 20, 6}, 3));
  const kernels::attention whole{.num_heads = 2, .causal = true};
  const auto y = device.run(whole, q, k, v, glia::tensor{})[0];
  for (const std::size_t first : {0U, 3U}) {
    const auto rows = [&](const glia::tensor& x) {
      return test::host_of(device).copy(x.rows(first, 1));
    };
    CHECK(values_of(device, device.run(whole, rows(q), rows(k), rows(v), glia::tensor{})[0]) ==
          values_of(device, y.rows(first, 1)));
  }
}

TEST_CASE("a block of queries attends like the same queries of the whole sequence") {
  const glia::cpu<float> device({.threads = 2});
  const std::size_t steps = 150;
  std::vector<double> numbers(steps * 6);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(static_cast<double>(i * i));
  }
  const auto x = tensor_of(device, {1, steps, 6}, numbers);
  const kernels::attention kernel{.num_heads = 2, .causal = true, .keeps = false};
  const auto whole = values_of(device, device.run(kernel, x, x, x, glia::tensor{})[0]);
  for (const std::size_t count : {1U, 7U, 64U}) {
    for (const std::size_t first : {0U, 1U, 40U, 86U}) {
      const auto queries =
          device.run(kernels::slice{.axis = 1, .begin = first, .extent = count}, x);
      const auto position = tensor_of(device, {}, std::vector<double>{static_cast<double>(first)});
      const auto block = values_of(device, device.run(kernel, queries, x, x, position)[0]);
      CHECK(std::equal(block.begin(), block.end(), &whole[first * 6]));
    }
  }
  const auto position = tensor_of(device, {}, std::vector<double>{0});
  CHECK_THROWS_AS(device.run(kernels::attention{.num_heads = 2}, x, x, x, position),
                  glia::shape_error);
}

TEST_CASE("large scores do not overflow in attention") {
  const glia::cpu<float> device;
  const auto q = tensor_of(device, {1, 2, 2}, std::vector<double>{1e18, 0, -1e18, 0});
  const auto k = tensor_of(device, {1, 3, 2}, std::vector<double>{1e18, 0, 1, 0, -1e18, 0});
  const auto v = tensor_of(device, {1, 3, 1}, std::vector<double>{1, 2, 3});
  CHECK(values_of(device, device.run(kernels::attention{}, q, k, v, glia::tensor{})[0]) ==
        std::vector<double>{1, 3});
}

TEST_CASE("attention without gradients has no second result") {
  const glia::cpu<float> device;
  const auto x = tensor_of(device, {2, 5, 6}, drawn({2, 5, 6}, 1));
  const auto both = device.run(kernels::attention{.num_heads = 2}, x, x, x, glia::tensor{});
  const auto first =
      device.run(kernels::attention{.num_heads = 2, .keeps = false}, x, x, x, glia::tensor{});
  CHECK(values_of(device, first[0]) == values_of(device, both[0]));
  CHECK_FALSE(first[1]);
}

TEST_CASE("the op of attention runs on every device") {
  const auto gradient_on = [](const glia::device& device, bool causal) {
    glia::tape tape(device);
    const glia::variable q = tape.leaf(tensor_of(device, {2, 5, 6}, drawn({2, 5, 6}, 1)));
    const glia::variable k = tape.leaf(tensor_of(device, {2, 5, 6}, drawn({2, 5, 6}, 2)));
    const glia::variable v = tape.leaf(tensor_of(device, {2, 5, 4}, drawn({2, 5, 4}, 3)));
    tape.backward(glia::ops::sum(
        glia::ops::square(glia::ops::attention(q, k, v, {.num_heads = 2, .causal = causal}))));
    std::vector<double> gradients;
    for (const glia::variable& x : {q, k, v}) {
      const std::vector<double> part = values_of(device, tape.take_gradient(x.slot()));
      gradients.insert(gradients.end(), part.begin(), part.end());
    }
    return gradients;
  };
  for (const bool causal : {false, true}) {
    CHECK(relative_distance(gradient_on(glia::cpu<double>(), causal),
                            gradient_on(glia::reference<double>(), causal)) <
          tolerance::double_kernel);
  }
  const glia::reference<float> device;
  glia::tape tape(device);
  const glia::variable x = tape.constant(tensor_of(device, {2, 5, 6}, drawn({2, 5, 6}, 1)));
  CHECK(test::contains(
      message_of<glia::shape_error>([&] { (void)glia::ops::attention(x, x, x, {.num_heads = 4}); }),
      "for H = 4 heads"));
}

TEST_CASE("the kernel of attention says what it does not take") {
  const glia::cpu<float> device;
  const auto full = [&](const glia::shape& s) { return device.run(kernels::full{s, 1}); };
  const auto message = [&](const kernels::attention& k, const glia::shape& q,
                           const glia::shape& keys, const glia::shape& v) {
    return message_of<glia::shape_error>(
        [&] { (void)device.run(k, full(q), full(keys), full(v), glia::tensor{}); });
  };
  CHECK(message({.num_heads = 2}, {2, 3, 5}, {2, 4, 5}, {2, 4, 6}) ==
        "attention: expected queries (N, T, H D), keys (N, S, H D) and values (N, S, H E) for H = "
        "2 heads, with at least one head and one key, got (2, 3, 5), (2, 4, 5) and (2, 4, 6)");
  CHECK(message({.causal = true}, {2, 3, 4}, {2, 4, 4}, {2, 4, 4}) ==
        "attention: expected queries (N, S, H D), keys (N, S, H D) and values (N, S, H E) for H = "
        "1 heads, with at least one head and one key, got (2, 3, 4), (2, 4, 4) and (2, 4, 4)");
  CHECK_FALSE(message({}, {2, 3, 4}, {2, 4, 4}, {2, 5, 4}).empty());
  CHECK_FALSE(message({}, {2, 3, 4}, {1, 4, 4}, {1, 4, 4}).empty());
  CHECK_FALSE(message({.num_heads = 0}, {2, 3, 4}, {2, 3, 4}, {2, 3, 4}).empty());
  CHECK_FALSE(message({}, {2, 3, 4}, {2, 0, 4}, {2, 0, 4}).empty());
}
