#include <cmath>
#include <cstddef>
#include <glia/backends/cpu.hpp>
#include <glia/backends/program.hpp>
#include <glia/backends/recorder.hpp>
#include <glia/ops/call.hpp>
#include <glia/ops/differentiate.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::message_of;
using test::tensor_of;
using test::values_of;

namespace {

/// tanh(x w) * x, with x (2, 2) and w (2, 2).
template <class Variable>
Variable function_of(const Variable& x, const Variable& w) {
  return glia::ops::tanh(glia::ops::matmul(x, w)) * x;
}

struct recorded_function {
  glia::graph calls;
  glia::value_id x;
  glia::value_id w;
  glia::value_id unused;
  glia::value_id y;
};

recorded_function record() {
  const glia::recorder device;
  glia::tape tape(device);
  const auto x = device.input("x", glia::real_of({2, 2}));
  const auto w = device.input("w", glia::real_of({2, 2}));
  const auto unused = device.input("unused", glia::real_of({3}));
  const auto y = function_of(tape.constant(x), tape.constant(w));
  return {device.recorded(), x.number(), w.number(), unused.number(), y.value().number()};
}

}  // namespace

TEST_CASE("the gradients that are added to a graph are those of a tape") {
  const glia::cpu<float> device;
  auto x = tensor_of(device, {2, 2}, {1, -2, 3, 0.5F});
  auto w = tensor_of(device, {2, 2}, {0.1F, 0.2F, -0.3F, 0.4F});

  glia::tape tape(device);
  const auto leaf_x = tape.leaf(x);
  const auto leaf_w = tape.leaf(w);
  tape.backward(glia::ops::sum(function_of(leaf_x, leaf_w)));

  recorded_function f = record();
  const std::vector<glia::value_id> requested{f.w, f.unused, f.x};
  const std::vector<glia::value_id> gradients = glia::differentiate(f.calls, f.y, requested);
  REQUIRE(gradients.size() == 3);
  CHECK(gradients[1] == glia::no_value);
  f.calls.add_output("dw", gradients[0]);
  f.calls.add_output("dx", gradients[2]);
  const glia::program compiled(f.calls, device);
  auto unused = tensor_of(device, {3}, {0, 0, 0});
  std::vector<glia::tensor> results(2);
  compiled.run(std::vector<glia::tensor*>{&x, &w, &unused}, results);
  CHECK(values_of(device, results[0]) == values_of(device, tape.take_gradient(leaf_w.slot())));
  CHECK(values_of(device, results[1]) == values_of(device, tape.take_gradient(leaf_x.slot())));
}

TEST_CASE("nodes of gradients belong to the layer of the node that they differentiate") {
  const glia::recorder device;
  glia::tape tape(device);
  device.set_place("head");
  const auto x = tape.constant(device.input("x", glia::real_of({2})));
  const auto y = glia::ops::square(x);
  device.set_place("tail");
  glia::graph calls = device.recorded();
  const std::uint32_t tail = calls.place();
  const std::size_t node_count = calls.nodes().size();
  (void)glia::differentiate(calls, y.value().number(),
                            std::vector<glia::value_id>{x.value().number()});
  REQUIRE(calls.nodes().size() > node_count);
  CHECK(calls.place() == tail);
  const glia::graph_place& place = calls.place_of(calls.nodes().back());
  CHECK(place.name == "head");
  CHECK(place.phase == glia::step_phase::backward);
}

TEST_CASE("a graph stays as it was if it cannot be differentiated") {
  recorded_function f = record();
  const std::size_t node_count = f.calls.nodes().size();
  CHECK(test::contains(message_of<glia::value_error>([&] {
                         (void)glia::differentiate(f.calls, f.y,
                                                   std::vector<glia::value_id>{f.unused});
                       }),
                       "expected a result that depends on a trainable parameter"));
  CHECK(f.calls.nodes().size() == node_count);
}

namespace {

/// The graph of the sum of `function(x)`, or of a gradient of it, for x of a shape.
struct recorded_sum {
  glia::recorder device;
  glia::graph calls;
  glia::value_id x = glia::no_value;
  glia::value_id value = glia::no_value;

  template <class Function>
  recorded_sum(const glia::shape& s, const Function& function,
               const glia::fused_kernel_set& fused = {})
      : device(fused) {
    glia::tape tape(device);
    const auto input = device.input("x", glia::real_of(s));
    // Weights of the elements, so that gradients differ.
    std::vector<double> numbers(function(tape.constant(input)).shape().size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = 0.3 + 0.2 * static_cast<double>(i % 7);
    }
    const glia::variable y = function(tape.constant(input));
    const auto weights = device.from_host(std::span<const double>(numbers), y.shape());
    value = glia::ops::sum(y * weights).value().number();
    x = input.number();
    calls = device.recorded();
  }

  void differentiate() {
    value = glia::differentiate(calls, value, std::vector<glia::value_id>{x})[0];
  }
  /// Replaces a value (...) by the sum of its elements times 1, 1.5, 2, ...
  void weigh() {
    glia::recorder extended(calls);
    const glia::tensor g = extended.value(value);
    std::vector<double> numbers(g.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = 1 + 0.5 * static_cast<double>(i);
    }
    const auto weights = extended.from_host(std::span<const double>(numbers), g.shape());
    const glia::tensor product =
        extended.run(glia::kernels::binary{glia::binary_function::multiply}, g, weights);
    value = extended.run(glia::kernels::sum_to{{}}, product).number();
    calls = extended.recorded();
  }

  [[nodiscard]] std::vector<double> run(
      const std::vector<double>& numbers,
      const glia::device& runner = glia::reference<double>()) const {
    glia::graph g = calls;
    g.add_output("value", value);
    const glia::program compiled(g, runner);
    auto input = runner.from_host(std::span<const double>(numbers), calls.spec(x).shape);
    glia::tensor* const inputs[] = {&input};
    glia::tensor result;
    compiled.run(inputs, std::span(&result, 1));
    std::vector<double> values(result.size());
    runner.to_host(result, std::span<double>(values));
    return values;
  }
};

/// The largest difference between second derivatives and central differences of first ones.
template <class Function>
double second_derivative_error(const glia::shape& s, const Function& function,
                               double offset = 0.15) {
  recorded_sum f(s, function);
  f.differentiate();
  f.weigh();
  const recorded_sum first = f;
  f.differentiate();
  std::vector<double> x(s.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = offset + 0.137 * static_cast<double>(i % 11) - 0.4 * static_cast<double>(i % 3);
  }
  const std::vector<double> second = f.run(x);
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    constexpr double step = 1e-5;
    std::vector<double> shifted = x;
    shifted[i] = x[i] + step;
    const double after = first.run(shifted)[0];
    shifted[i] = x[i] - step;
    const double before = first.run(shifted)[0];
    worst = std::max(worst, std::abs((after - before) / (2 * step) - second[i]));
    largest = std::max(largest, std::abs(second[i]));
  }
  CHECK(largest > 1e-3);
  return worst;
}

}  // namespace

TEST_CASE("second derivatives of functions agree with differences of first ones") {
  namespace ops = glia::ops;
  const auto error = [](const auto& function, double offset = 0.15) {
    return second_derivative_error({2, 3}, function, offset);
  };
  CHECK(error([](auto x) { return ops::square(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::exp(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::sqrt(x); }, 1.5) < 1e-7);
  CHECK(error([](auto x) { return ops::log(x); }, 1.5) < 1e-7);
  CHECK(error([](auto x) { return 1.0 / x; }, 1.5) < 1e-7);
  CHECK(error([](auto x) { return ops::tanh(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::sigmoid(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::sin(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::cos(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::pow(x, 2.5); }, 1.5) < 1e-7);
  CHECK(error([](auto x) { return ops::softplus(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::silu(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::elu(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::erf(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::gelu(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::softmax(x); }) < 1e-7);
  CHECK(error([](auto x) { return x / (x * x + 1.0); }) < 1e-7);
  // Of functions with kinks, only the other factor contributes.
  CHECK(error([](auto x) { return ops::relu(x) * ops::tanh(x); }) < 1e-7);
  CHECK(error([](auto x) { return ops::abs(x) * x * x; }) < 1e-7);
}

TEST_CASE("second derivatives of products, convolutions and pools") {
  namespace ops = glia::ops;
  CHECK(second_derivative_error({3, 3}, [](auto x) { return ops::tanh(ops::matmul(x, x)); }) <
        1e-6);
  const glia::window2d window{.height = 2, .width = 2};
  CHECK(second_derivative_error({1, 3, 4, 2}, [&](auto x) {
          const auto kernel =
              ops::reshape(ops::slice(x, {.axis = 1, .begin = 0, .extent = 2}), {2, 2, 2, 2});
          return ops::conv2d(ops::tanh(x), kernel, std::nullopt, window);
        }) < 1e-6);
  CHECK(second_derivative_error({1, 4, 4, 1}, [](auto x) {
          return ops::square(ops::avg_pool2d(ops::square(x), {.height = 2, .width = 2}));
        }) < 1e-6);
}

TEST_CASE("second derivatives of quotients, choices, rows and convolutions with strides") {
  namespace ops = glia::ops;
  CHECK(second_derivative_error(
            {2, 3}, [](auto x) { return ops::exp(x) / (ops::square(x) + 1.5); }) < 1e-6);
  CHECK(second_derivative_error({2, 3}, [](auto x) {
          return ops::maximum(ops::square(x), ops::tanh(x) + 0.5);
        }) < 1e-6);
  CHECK(second_derivative_error({2, 3}, [](auto x) {
          return ops::where(ops::greater(x, 0.1), ops::square(x), ops::exp(x));
        }) < 1e-6);
  CHECK(second_derivative_error({2, 2, 3}, [](auto x) {
          return ops::tanh(ops::batched_matmul(x, x, glia::transpose::second));
        }) < 1e-6);
  CHECK(second_derivative_error({4, 3}, [](auto x) {
          const std::vector<std::int32_t> rows{3, 0, 3};
          const auto indices = x.owner().device().from_host(std::span(rows), {3});
          return ops::square(ops::segment_sum(ops::square(ops::gather(x, indices)), indices, 4));
        }) < 1e-6);
  const glia::window2d window{.height = 2, .width = 2, .stride_height = 2, .stride_width = 1};
  CHECK(second_derivative_error({1, 4, 4, 2}, [&](auto x) {
          const auto kernel =
              ops::reshape(ops::slice(ops::slice(x, {.axis = 1, .begin = 0, .extent = 2}),
                                      {.axis = 2, .begin = 1, .extent = 2}),
                           {2, 2, 1, 2});
          return ops::conv2d(ops::square(x), kernel, std::nullopt, window, 2);
        }) < 1e-6);
}

TEST_CASE("a value that is not in the graph cannot be differentiated") {
  recorded_function f = record();
  const std::vector<glia::value_id> sources{f.x};
  CHECK(test::contains(message_of<glia::value_error>(
                           [&] { (void)glia::differentiate(f.calls, glia::no_value, sources); }),
                       "expected a value of the graph, got no_value"));
  const std::vector<glia::value_id> unknown{glia::value_id{1000}};
  CHECK(test::contains(
      message_of<glia::value_error>([&] { (void)glia::differentiate(f.calls, f.y, unknown); }),
      "got the number 1000"));
}

TEST_CASE("second derivatives that do not exist are refused, not wrong") {
  namespace ops = glia::ops;
  const auto refusal = [](const glia::shape& s, const auto& function) {
    recorded_sum f(s, function);
    f.differentiate();
    f.weigh();
    return message_of<glia::value_error>([&] { f.differentiate(); });
  };
  CHECK(test::contains(
      refusal({1, 4, 4, 1},
              [](auto x) { return ops::square(ops::max_pool2d(x, {.height = 2, .width = 2})); }),
      "the kernel 'max_pool2d_gradient' has no derivative; there are no second"));
  CHECK(test::contains(
      refusal({2, 3},
              [](auto x) {
                const std::vector<double> classes{0, 1, 0, 1, 0, 0};
                const auto targets =
                    x.owner().device().from_host(std::span<const double>(classes), {2, 3});
                return glia::ops::call(x.owner(), kernels::softmax_cross_entropy{}, x * x, targets);
              }),
      "'softmax_cross_entropy_gradient' reads a result of 'softmax_cross_entropy' that has no "
      "derivative"));
  CHECK(test::contains(
      refusal({4, 3},
              [](auto x) {
                const auto ones = x.owner().constant(x.owner().device().run(kernels::full{{3}, 1}));
                return ops::square(
                    ops::normalize(glia::normalization::layer, x, ones, ones, 1e-3).output);
              }),
      "there are no second derivatives of normalization"));
  // A kernel without a derivative is not a constant.
  CHECK(test::contains(message_of<glia::value_error>([] {
                         const glia::recorder device;
                         const glia::tensor x = device.input("x", glia::real_of({3}));
                         const glia::tensor y = device.run(
                             kernels::binary{glia::binary_function::add},
                             device.run(kernels::norm{}, x), device.run(kernels::sum_to{{}}, x));
                         glia::graph calls = device.recorded();
                         (void)glia::differentiate(calls, y.number(),
                                                   std::vector<glia::value_id>{x.number()});
                       }),
                       "the kernel 'norm' has no derivative"));
}

TEST_CASE("attention and recurrent layers in one kernel have derivatives, but no second ones") {
  namespace ops = glia::ops;
  const glia::cpu<double> cpu;
  const glia::shape s{2, 5, 12};
  std::vector<double> numbers(s.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(static_cast<double>(i * i));
  }
  const auto attention = [](auto x) {
    return ops::attention(x, x * x, x + 1.0, {.num_heads = 2, .causal = true});
  };
  const auto recurrent = [](glia::recurrent_cell cell) {
    return [cell](auto x) {
      const std::size_t units = x.shape()[2] / kernels::products_of(cell);
      std::vector<double> weights(units * x.shape()[2]);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = std::cos(static_cast<double>(3 * i));
      }
      const auto w = x.owner().constant(
          x.device().from_host(std::span<const double>(weights), {units, x.shape()[2]}));
      return ops::recurrence(cell, false, x, w, {}, {}, {});
    };
  };
  const auto check = [&](const auto& function, const std::string& kernel) {
    INFO(kernel);
    // The graph is recorded without a gradient in view, as for inference.
    recorded_sum f(s, function, cpu.fused());
    const recorded_sum unchanged = f;
    f.differentiate();
    const std::vector<double> gradient = f.run(numbers, cpu);
    for (const std::size_t i : {0U, 17U, 59U}) {
      constexpr double step = 1e-5;
      std::vector<double> near = numbers;
      near[i] += step;
      const double ahead = unchanged.run(near, cpu)[0];
      near[i] -= 2 * step;
      CHECK(gradient[i] == Approx((ahead - unchanged.run(near, cpu)[0]) / (2 * step)).margin(1e-7));
    }
    f.weigh();
    const std::string refusal = message_of<glia::value_error>([&] { f.differentiate(); });
    CHECK(test::contains(refusal, kernel));
    CHECK(test::contains(refusal, "on a recorder without fused kernels"));
  };
  check(attention, "'attention");
  check(recurrent(glia::recurrent_cell::simple), "'recurrence");
  check(recurrent(glia::recurrent_cell::gru), "'recurrence");
  check(recurrent(glia::recurrent_cell::lstm), "'recurrence");

  // Composed of other kernels, attention has second derivatives.
  recorded_sum composed(s, attention);
  composed.differentiate();
  recorded_sum at_once(s, attention, cpu.fused());
  at_once.differentiate();
  CHECK(test::distance(at_once.run(numbers, cpu), composed.run(numbers)) <
        tolerance::double_kernel);
  composed.weigh();
  const recorded_sum first = composed;
  composed.differentiate();
  constexpr double step = 1e-5;
  std::vector<double> near = numbers;
  near[7] += step;
  const double ahead = first.run(near)[0];
  near[7] -= 2 * step;
  CHECK(composed.run(numbers)[7] == Approx((ahead - first.run(near)[0]) / (2 * step)).margin(1e-6));
}
