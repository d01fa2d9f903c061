#include <functional>
#include <glia/ops/call.hpp>
#include <glia/testing/gradient_check.hpp>
#include <optional>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

using glia::testing::check_input;
using glia::testing::gradient_error;
namespace ops = glia::ops;

/// Checks one op on the reference and on the cpu backend, both in double.
template <class Function>
void check_op(const std::string& name, const std::vector<check_input>& inputs,
              const Function& function) {
  INFO(name);
  CHECK(gradient_error(glia::reference<double>(), function, inputs) < tolerance::gradient);
  CHECK(gradient_error(glia::cpu<double>(), function, inputs) < tolerance::gradient);
}

/// Values at least 0.01 away from the kinks at 0, 6 and +-0.5.
check_input away_from_kinks(const glia::shape& s, std::uint32_t stream, double scale) {
  check_input input(s, stream, scale);
  for (double& value : input.values) {
    for (double kink : {0.0, 6.0, 0.5, -0.5}) {
      if (std::abs(value - kink) < 0.01) {
        value = kink + 0.02;
      }
    }
  }
  return input;
}

}  // namespace

TEST_CASE("unary ops have the right adjoint") {
  for (int f = 0; f <= static_cast<int>(glia::unary_function::gelu); ++f) {
    const auto function = static_cast<glia::unary_function>(f);
    const bool positive =
        function == glia::unary_function::sqrt || function == glia::unary_function::log ||
        function == glia::unary_function::reciprocal || function == glia::unary_function::pow;
    const glia::unary_map map{function, function == glia::unary_function::clamp ? -0.5 : 0.75, 0.5};
    const check_input x = positive ? check_input({4, 5}, 1, 1, 2) : away_from_kinks({4, 5}, 1, 7);
    check_op(std::string(glia::name_of(function)), {x},
             [&](const auto& operands) { return ops::unary(map, operands[0]); });
  }
}

TEST_CASE("numbers may stand on either side of an operator") {
  const std::vector<check_input> x{{{2, 3}, 1, 1, 2}};
  check_op("x + 2", x, [](const auto& operands) { return operands[0] + 2.0; });
  check_op("2 + x", x, [](const auto& operands) { return 2.0 + operands[0]; });
  check_op("x - 2", x, [](const auto& operands) { return operands[0] - 2.0; });
  check_op("2 - x", x, [](const auto& operands) { return 2.0 - operands[0]; });
  check_op("x * 2", x, [](const auto& operands) { return operands[0] * 2.0; });
  check_op("2 * x", x, [](const auto& operands) { return 2.0 * operands[0]; });
  check_op("x / 2", x, [](const auto& operands) { return operands[0] / 2.0; });
  check_op("2 / x", x, [](const auto& operands) { return 2.0 / operands[0]; });

  const glia::reference<double> device;
  glia::tape tape(device);
  const double three = 3;
  const auto variable = tape.constant(device.from_host(std::span(&three, 1), {1}));
  const auto number = [&](const auto& y) {
    double result = 0;
    device.to_host(y.value(), std::span(&result, 1));
    return result;
  };
  CHECK(number(2.0 + variable) == 5);
  CHECK(number(2.0 - variable) == -1);
  CHECK(number(2.0 / variable) == Approx(2.0 / 3));
  CHECK(number(variable / 2.0) == 1.5);
}

TEST_CASE("binary ops have the right adjoint, with broadcasting") {
  const std::vector<std::pair<glia::shape, glia::shape>> pairs{
      {{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{3, 1}, {1, 4}}, {{}, {2, 3}}, {{2, 3, 4}, {3, 1}}};
  for (const auto& [a, b] : pairs) {
    const std::vector<check_input> inputs{{a, 1}, {b, 2, 0.5, 2}};
    check_op("add", inputs, [](const auto& operands) { return operands[0] + operands[1]; });
    check_op("subtract", inputs, [](const auto& operands) { return operands[0] - operands[1]; });
    check_op("multiply", inputs, [](const auto& operands) { return operands[0] * operands[1]; });
    check_op("divide", inputs, [](const auto& operands) { return operands[0] / operands[1]; });
    check_op("quotient", inputs,
             [](const auto& operands) { return ops::true_divide(operands[0], operands[1]); });
    const std::vector<check_input> crossing{{a, 1}, {b, 3}};
    check_op("maximum", crossing,
             [](const auto& operands) { return ops::maximum(operands[0], operands[1]); });
    check_op("minimum", crossing,
             [](const auto& operands) { return ops::minimum(operands[0], operands[1]); });
  }
}

TEST_CASE("arithmetic with numbers has the right adjoint") {
  check_op("numbers", {{{3, 4}, 1}},
           [](const auto& operands) { return -(2.0 * operands[0] + 1.0) * 0.5 - 3.0; });
  check_op("one variable used twice", {{{3, 4}, 1}},
           [](const auto& operands) { return operands[0] * operands[0] + operands[0]; });
}

TEST_CASE("reductions and reshapes have the right adjoint") {
  const std::vector<check_input> x{{{3, 4, 5}, 1}};
  check_op("sum", x, [](const auto& operands) { return ops::sum(operands[0]); });
  check_op("mean", x, [](const auto& operands) { return ops::mean(operands[0]); });
  check_op("mean over axes", x, [](const auto& operands) {
    return ops::mean(operands[0], {0, 2});
  });
  check_op("mean per sample", x,
           [](const auto& operands) { return ops::mean_per_sample(operands[0]); });
  check_op("sum_to", x, [](const auto& operands) { return ops::sum_to(operands[0], {4, 1}); });
  check_op("broadcast_to", {{{4, 1}, 1}}, [](const auto& operands) {
    return ops::broadcast_to(operands[0], {3, 4, 5});
  });
  check_op("reshape", x, [](const auto& operands) { return ops::reshape(operands[0], {6, 10}); });
  check_op("max", x, [](const auto& operands) { return ops::max(operands[0], {0, 2}); });
  check_op("min", x, [](const auto& operands) { return ops::min(operands[0], {1}); });
  check_op("cumsum", x, [](const auto& operands) { return ops::cumsum(operands[0], 1); });
}

TEST_CASE("axes of reductions, concat and split can be counted from the last one") {
  using B = glia::reference<double>;
  const B device;
  glia::tape tape(device);
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  const auto x = tape.constant(device.from_host(std::span(numbers), {2, 3}));
  const auto values = [&](const glia::variable& y) {
    std::vector<double> result(y.shape().size());
    device.to_host(y.value(), std::span(result));
    return result;
  };
  CHECK(values(ops::sum(x, {-1})) == std::vector<double>{6, 15});
  CHECK(values(ops::mean(x, {-2})) == std::vector<double>{2.5, 3.5, 4.5});
  CHECK(values(ops::sum(x, {0, -1})) == std::vector<double>{21});
  CHECK(values(ops::mean(x, {1, -1})) == std::vector<double>{2, 5});  // the same axis twice
  const std::size_t last = 1;
  CHECK(values(ops::sum(x, {last})) == std::vector<double>{6, 15});
  CHECK(values(ops::concat({x, x}, -1)) == std::vector<double>{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(values(ops::split(x, -1, {1, 2})[0]) == std::vector<double>{1, 4});
  CHECK(test::message_of<glia::shape_error>([&] {
          (void)ops::concat({x, x}, -3);
        }) ==
        "concat: got axis -3 for a tensor of shape (2, 3); axes are counted from 0, or back from "
        "-1");
  CHECK_THROWS_AS(ops::split(x, 2, {3}), glia::shape_error);
  CHECK_THROWS_AS(ops::sum(x, {2}), glia::shape_error);
  CHECK_THROWS_AS(ops::mean(x, {-3}), glia::shape_error);
}

TEST_CASE("what arranges elements has the right adjoint") {
  const std::vector<check_input> x{{{3, 4, 5}, 1}};
  for (const std::size_t axis : {0U, 1U, 2U}) {
    check_op("slice", x, [&](const auto& operands) {
      return ops::slice(operands[0], {.axis = axis, .begin = 1, .extent = 2});
    });
    check_op("pad", x, [&](const auto& operands) {
      return ops::pad(operands[0], {.axis = axis, .before = 2, .after = 1, .value = 3});
    });
    check_op("concat", x, [&](const auto& operands) {
      const auto part = ops::slice(operands[0], {.axis = axis, .begin = 0, .extent = 1});
      const auto fixed = part.owner().constant(part.device().run(kernels::full{part.shape(), 2}));
      return ops::concat({operands[0] * 2.0, fixed, operands[0] * part},
                         static_cast<std::ptrdiff_t>(axis));
    });
  }
  check_op("concat of one", x, [](const auto& operands) { return ops::concat({operands[0]}, 1); });
  check_op("concat of many", {{{2, 3}, 1}, {{2, 1}, 2}}, [](const auto& operands) {
    std::vector parts{operands[0]};
    for (int i = 1; i < 70; ++i) {
      parts.push_back(operands[1] * static_cast<double>(i));
    }
    return ops::concat(parts, 1);
  });
  for (const glia::kernels::axis_list& order :
       {glia::kernels::axis_list{0, 1, 2}, glia::kernels::axis_list{2, 0, 1},
        glia::kernels::axis_list{1, 0, 2}}) {
    check_op("permute_axes", x,
             [&](const auto& operands) { return ops::permute(operands[0], order); });
  }
}

TEST_CASE("rows by index have the right adjoint") {
  // Twice, never and of no row.
  const auto indices_of = [](const auto& x) {
    constexpr std::int32_t values[] = {2, 0, 2, -1, 3, 4};
    return x.device().from_host(std::span<const std::int32_t>(values), {2, 3});
  };
  check_op("gather", {{{4, 2}, 1}},
           [&](const auto& operands) { return ops::gather(operands[0], indices_of(operands[0])); });
  check_op("scatter_add", {{{2, 3, 2}, 1}}, [&](const auto& operands) {
    return ops::segment_sum(operands[0], indices_of(operands[0]), 4);
  });
}

TEST_CASE("a choice has the right adjoint, with broadcasting") {
  const std::vector<std::array<glia::shape, 3>> choices{
      {{{3, 4}, {3, 4}, {3, 4}}}, {{{4}, {3, 4}, {}}}, {{{3, 1}, {4}, {2, 1, 4}}}};
  for (const auto& [condition, a, b] : choices) {
    check_op("select", {{a, 1}, {b, 2}}, [&, s = condition](const auto& operands) {
      std::vector<float> holds(s.size());
      for (std::size_t i = 0; i < holds.size(); ++i) {
        holds[i] = i % 3 == 1 ? -2.0F : 0.0F;
      }
      return ops::where(test::tensor_of(operands[0].device(), s, holds), operands[0], operands[1]);
    });
  }
}

TEST_CASE("products have the right adjoint") {
  using glia::transpose;
  for (const transpose transposed : {transpose::none, transpose::first, transpose::second}) {
    const glia::shape a = transposed == transpose::first ? glia::shape{4, 3} : glia::shape{3, 4};
    const glia::shape b = transposed == transpose::second ? glia::shape{5, 4} : glia::shape{4, 5};
    check_op("matmul", {{a, 1}, {b, 2}}, [&](const auto& operands) {
      return ops::matmul(operands[0], operands[1], transposed);
    });
    check_op("batched_matmul", {{glia::batch_of(2, a), 1}, {glia::batch_of(2, b), 2}},
             [&](const auto& operands) {
               return ops::batched_matmul(operands[0], operands[1], transposed);
             });
  }
  for (const glia::activation& act : {glia::linear, glia::tanh, glia::gelu, glia::relu}) {
    check_op("dense " + act.description(), {{{3, 4}, 1}, {{4, 5}, 2}, {{5}, 3}},
             [&](const auto& operands) {
               return act(ops::dense(operands[0], operands[1], {operands[2]}));
             });
    check_op("dense without bias " + act.description(), {{{3, 4}, 1}, {{4, 5}, 2}},
             [&](const auto& operands) { return act(ops::dense(operands[0], operands[1])); });
  }
}

TEST_CASE("convolutions have the right adjoint") {
  struct geometry {
    glia::shape x;
    glia::shape w;
    glia::window2d window;
    std::size_t groups;
  };
  const std::vector<geometry> cases{
      {{2, 5, 4, 1}, {3, 2, 1, 2}, {3, 2}, 1},
      {{2, 5, 4, 2}, {1, 1, 2, 3}, {1, 1}, 1},
      {{1, 6, 5, 2}, {3, 3, 2, 2}, {3, 3, 2, 3, 1, 1, 1, 2, 0, 1}, 1},
      {{1, 6, 7, 2}, {2, 3, 2, 2}, {2, 3, 1, 1, 3, 2, 1, 1, 2, 2}, 1},
      {{1, 4, 5, 4}, {3, 3, 2, 2}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 2},
      {{2, 4, 5, 3}, {3, 3, 1, 3}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 3}};
  for (const geometry& g : cases) {
    check_op(glia::text("conv2d ", g.x, " ", g.w), {{g.x, 1}, {g.w, 2}, {{g.w[3]}, 3}},
             [&](const auto& operands) {
               return ops::conv2d(operands[0], operands[1], {operands[2]}, g.window, g.groups);
             });
  }
}

TEST_CASE("pooling has the right adjoint") {
  for (const glia::window2d& window : {glia::window2d{2, 2, 2, 2}, glia::window2d{3, 2, 1, 2},
                                       glia::window2d{3, 3, 2, 2, 1, 1, 1, 1, 1, 1}}) {
    const std::vector<check_input> x{{{2, 5, 4, 3}, 1}};
    check_op("max_pool2d", x,
             [&](const auto& operands) { return ops::max_pool2d(operands[0], window); });
    check_op("avg_pool2d", x,
             [&](const auto& operands) { return ops::avg_pool2d(operands[0], window); });
  }
}

TEST_CASE("normalization has the right adjoint") {
  for (const auto kind :
       {glia::normalization::batch, glia::normalization::layer, glia::normalization::rms}) {
    check_op("normalize", {{{5, 4}, 1, 2, 1}, {{4}, 2}, {{4}, 3}}, [&](const auto& operands) {
      return ops::normalize(kind, operands[0], operands[1], operands[2], 1e-3).output;
    });
  }
  for (const std::size_t groups : {1U, 2U, 4U}) {
    check_op("normalize", {{{3, 5, 4}, 1, 2, 1}, {{4}, 2}, {{4}, 3}}, [&](const auto& operands) {
      constexpr auto kind = glia::normalization::group;
      return ops::normalize(kind, operands[0], operands[1], operands[2], 1e-3, groups).output;
    });
  }
}

TEST_CASE("dropout has the right adjoint") {
  check_op("dropout", {{{7, 9}, 1}}, [](const auto& operands) {
    const auto words = glia::step_key{.seed = 1, .step = 3, .first_sample = 5}.to_words();
    return ops::dropout(
        operands[0], 0.4,
        {operands[0].device().from_host(std::span<const std::int32_t>(words), {words.size()}), 2});
  });
}

TEST_CASE("softmax and its cross-entropy have the right adjoint") {
  check_op("softmax", {{{3, 5}, 1, 2}},
           [](const auto& operands) { return ops::softmax(operands[0]); });
  check_op("softmax_cross_entropy", {{{3, 5}, 1, 2}}, [](const auto& operands) {
    const auto targets = test::tensor_of(operands[0].device(), {3, 5},
                                         {0, 1, 0, 0, 0, 0.5F, 0.5F, 0, 0, 0, 0, 0, 0, 3, 0.1F});
    return ops::softmax_cross_entropy(operands[0], targets);
  });
}

TEST_CASE("nothing cannot be joined") {
  CHECK(test::message_of<glia::value_error>([] {
          (void)ops::concat(std::vector<glia::variable>{}, 0);
        }) == "concat: expected at least one variable, got none");
}

TEST_CASE("the gradient check notices a wrong adjoint") {
  const auto wrong = [](const auto& operands) {
    const auto& x = operands[0];
    // x^2 with the derivative x, as if the 2 had been forgotten.
    return x.owner().record(
        x.device().run(kernels::unary{{glia::unary_function::square}}, x.value()),
        x.needs_gradient(), [x](auto& tape, auto dy) {
          tape.add(x.slot(), tape.device().run(kernels::binary{glia::binary_function::multiply},
                                               std::move(dy), x.value()));
        });
  };
  CHECK(gradient_error(glia::reference<double>(), wrong, {{{3, 4}, 1}}) > 0.01);
}

TEST_CASE("the gradient check notices a missing gradient") {
  const auto cut = [](const auto& operands) {
    return operands[0].owner().constant(operands[0].value()) + operands[0];
  };
  CHECK(gradient_error(glia::reference<double>(), cut, {{{3}, 1}}) > 0.01);
}

TEST_CASE("parts of a tensor have their gradients together, whichever are used") {
  const glia::cpu<double> device;
  const auto error = [&](const auto& function) {
    return glia::testing::gradient_error(device, function, {{{2, 6, 3}, 1U}});
  };
  using variables = std::vector<glia::variable>;
  CHECK(error([](const variables& x) {
          const auto parts = glia::ops::split(x[0], 1, {1, 3, 2});
          return glia::ops::concat({parts[2] * 3.0, glia::ops::square(parts[1])}, 1);
        }) < tolerance::gradient);
  CHECK(error([](const variables& x) {  // the first part alone, the last alone, one of them twice
          const auto rows = glia::ops::split(x[0], 0, {1, 1});
          const auto columns = glia::ops::split(x[0], 2, {2, 1});
          return glia::ops::sum(rows[0]) + glia::ops::sum(columns[1]) * columns[1];
        }) < tolerance::gradient);
  CHECK(error([](const variables& x) { return glia::ops::split(x[0], 2, {3})[0]; }) <
        tolerance::gradient);
  glia::tape tape(device);
  const auto x = tape.leaf(device.run(kernels::full{{2, 4}, 1}));
  const auto unused = tape.leaf(device.run(kernels::full{{2, 4}, 1}));
  const auto parts = glia::ops::split(x, 1, {1, 3});
  const auto of_unused = glia::ops::split(unused, 1, {2, 2});
  tape.backward(glia::ops::sum(parts[1]));
  CHECK(test::values_of(device, tape.gradient(x.slot())) ==
        std::vector<float>{0, 1, 1, 1, 0, 1, 1, 1});
  CHECK(!tape.gradient(unused.slot()));
  CHECK(test::message_of<glia::shape_error>([&] {
          (void)glia::ops::split(x, 1, {1, 2});
        }) == "split: expected parts with 4 elements in total along axis 1 of (2, 4), got 3");
}

TEST_CASE("quantization hands gradients on within its range") {
  const glia::reference<double> device;
  glia::tape tape(device);
  const auto x = tape.leaf(test::tensor_of(device, {2, 3}, {0.26F, -0.26F, 5, -5, 1.1F, 0}));
  const auto scales = test::tensor_of(device, {1}, {0.5F});
  const auto y = ops::fake_quantize(x, scales, {2, 0, 7});
  CHECK(test::values_of(device, y.value()) == std::vector<float>{0.5F, -0.5F, 2.5F, -1, 1, 0});
  tape.backward(ops::sum(y * y));
  CHECK(test::values_of(device, tape.take_gradient(x.slot())) ==
        std::vector<float>{1, -1, 0, 0, 2, 0});
}

TEST_CASE("every basic kernel has a derivative, or is one of those that need none") {
  // Some gradients, updates, and kernels whose results are not real numbers.
  using undifferentiable =
      glia::kernel_list<kernels::full, kernels::norm, kernels::to_index, kernels::update_slice,
                        kernels::max_pool2d_gradient, kernels::normalize_gradient,
                        kernels::softmax_cross_entropy_gradient, kernels::one_hot, kernels::argmax,
                        kernels::in_top_k, kernels::sgd, kernels::adam, kernels::rmsprop,
                        kernels::adagrad>;
  [&]<class... K>(glia::kernel_list<K...>) {
    const auto check = [](std::string_view name, bool differentiable, bool listed) {
      INFO(name);
      CHECK(differentiable != listed);
    };
    (check(K::name, glia::differentiable<K>, glia::detail::is_listed<K>(undifferentiable{})), ...);
  }(glia::basic_kernels{});
}

TEST_CASE("a kernel that no op calls has its derivative, too") {
  const auto subtract = [](const std::vector<glia::variable>& x) {
    return ops::call(x[0].owner(), kernels::binary{glia::binary_function::subtract}, x[0], x[1]);
  };
  CHECK(glia::testing::gradient_error(glia::cpu<double>(), subtract, {{{2, 3}, 1U}, {{3}, 2U}}) <
        tolerance::gradient);

  const glia::cpu<double> device;
  glia::tape tape(device);
  const auto x = tape.leaf(device.run(kernels::full{{2, 3}, 1}));
  const auto comparison = ops::call(tape, kernels::binary{glia::binary_function::greater}, x, x);
  CHECK_FALSE(comparison.needs_gradient());  // a comparison has none
  const auto w = tape.constant(device.run(kernels::full{{3, 4}, 1}));
  const auto fused = ops::call(tape, kernels::dense{glia::relu.map}, x, w, glia::tensor{});
  CHECK(test::contains(test::message_of<glia::value_error>([&] { tape.backward(ops::sum(fused)); }),
                       "dense: a kernel with a fused function has no derivative"));
}

TEST_CASE("a derivative adds no gradient of an operand that needs none") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.constant(test::tensor_of(device, {2}, {0.3F, 5}));
  const auto scales = tape.leaf(test::tensor_of(device, {1}, {0.01F}));
  const auto y = ops::call(tape, kernels::fake_quantize{glia::signed_bytes}, x, scales);
  tape.backward(y);
  CHECK_FALSE(tape.gradient(scales.slot()));
}
