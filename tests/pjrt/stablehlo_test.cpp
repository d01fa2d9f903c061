#include <glia/backends/recorder.hpp>
#include <glia/stablehlo/module.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::stablehlo::module_text;
using glia::stablehlo::scalar;
using test::contains;

namespace {

using recorder = glia::recorder;

}  // namespace

TEST_CASE("a graph becomes a module whose results may be written over the inputs they replace") {
  const recorder rec;
  const auto p = rec.input("p", glia::real_of({2, 3}));
  const auto x = rec.input("x", glia::real_of({3}));
  const auto sum = rec.run(kernels::binary{}, p, x);
  rec.next(p, sum);
  rec.output("loss", rec.run(kernels::sum_to{{}}, sum));
  CHECK(module_text(rec.recorded()) ==
        R"(module @glia {
  func.func public @main(%0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %1: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<f32>) {
    %2 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
    %3 = "stablehlo.add"(%0, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %4 = "stablehlo.constant"() {value = dense<0.00000000000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %5 = "stablehlo.reduce"(%3, %4) ({
      ^bb0(%ra: tensor<f32>, %rb: tensor<f32>):
      %rr = "stablehlo.add"(%ra, %rb) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%rr) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%3, %5) : (tensor<2x3xf32>, tensor<f32>) -> ()
  }
}
)");
}

TEST_CASE("numbers are written to the bit, in the type that is asked for") {
  using glia::stablehlo::literal;
  CHECK(literal(0.1, scalar::f64) == "1.00000000000000006e-01");
  CHECK(literal(0.1, scalar::f32) == "1.00000001490116119e-01");
  CHECK(literal(1e300, scalar::f32) == "0x7F800000");
  CHECK(literal(-INFINITY, scalar::f64) == "0xFFF0000000000000");
  CHECK(literal(NAN, scalar::f32) == "0x7FC00000");
  CHECK(literal(-3, scalar::i32) == "-3");
  CHECK(literal(1, scalar::i1) == "true");
  const recorder rec;
  const std::vector<float> values{1, -2};
  rec.output("y", rec.from_host(std::span<const float>(values), {2}));
  CHECK(contains(module_text(rec.recorded()), R"(dense<"0x0000803F000000C0"> : tensor<2xf32>)"));
  CHECK(contains(module_text(rec.recorded(), {.real = scalar::f64}),
                 R"(dense<"0x000000000000F03F00000000000000C0"> : tensor<2xf64>)"));
}

TEST_CASE("what a rounded mean lacks is a rounding of the type that is computed in") {
  using glia::stablehlo::literal;
  const recorder rec;
  const auto x = rec.input("x", glia::real_of({2, 4}));
  const auto gamma = rec.input("gamma", glia::real_of({4}));
  const auto mean = rec.input("mean", glia::real_of({2}));
  rec.output("dx", rec.run(kernels::normalize_gradient{glia::normalization::layer, 0.5, 1}, x, x,
                           gamma, mean, mean)[0]);
  CHECK(contains(module_text(rec.recorded()), literal(0x1p-23, scalar::f32)));
  const std::string wide = module_text(rec.recorded(), {.real = scalar::f64});
  CHECK(contains(wide, literal(0x1p-52, scalar::f64)));
  CHECK_FALSE(contains(wide, literal(0x1p-23, scalar::f64)));
}

TEST_CASE("a kernel that no operations are known for is refused by name") {
  glia::graph calls;
  const auto x = calls.add_input("x", glia::real_of({2, 4}));
  const auto w = calls.add_input("w", glia::real_of({4, 3}));
  calls.add(kernels::pack_panels{}, {w, glia::no_value});
  calls.add_output("x", x);
  CHECK(test::message_of<glia::value_error>([&] { (void)module_text(calls); }) ==
        "stablehlo: the kernel 'pack_panels' cannot be written as StableHLO operations; compose it "
        "of other "
        "kernels, or run it on a backend in host memory");
}
