#include <cmath>
#include <glia/onnx.hpp>
#include <limits>
#include <numeric>
#include <string>
#include <vector>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "onnx/models.hpp"
#include "onnx/small_graph.hpp"

using test::small_graph;

namespace {

/// Numbers that all differ, both sides of 0.
xt::xarray<float> rows_of(const std::vector<std::size_t>& shape) {
  xt::xarray<float> x = xt::zeros<float>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(i % 7) * 0.3F - 0.9F + 0.01F * static_cast<float>(i);
  }
  return x;
}

std::vector<float> counted(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = step * (static_cast<float>(i % 5) - 2) + 0.01F * static_cast<float>(i);
  }
  return values;
}

float logistic(float x) { return 1 / (1 + std::exp(-x)); }

/// A batch gives what its samples give one by one.
void check_apart(const small_graph& graph, const std::vector<std::size_t>& batch) {
  const glia::model net{graph.read()};
  const xt::xarray<float> x = rows_of(batch);
  const xt::xarray<float> outputs = net.predict(x);
  for (std::size_t n = 0; n < batch[0]; ++n) {
    const xt::xarray<float> output =
        net.predict(xt::xarray<float>(xt::view(x, xt::range(n, n + 1))));
    CHECK(test::distance(xt::view(output, 0), xt::view(outputs, n)) < 1e-5);
  }
}

}  // namespace

TEST_CASE(
    "an ONNX file asks for the same parameters for any batch, in training, and step by step") {
  for (const std::string& name : test::onnx_models()) {
    if (name == "torch_attention_opset23") {
      continue;
    }
    INFO(name);
    const glia::onnx_model file{test::onnx_folder() / (name + ".onnx")};
    const auto signature = glia::onnx::interface_of(file.content(), false, {});
    const auto asked = [&](std::size_t rows, bool training, bool whole) {
      const std::vector<glia::shape> shapes{glia::batch_of(rows, file.sample_shape())};
      const auto read = glia::onnx::read_graph(file.content(), signature, shapes, training, whole);
      std::vector<std::string> descriptions;
      for (const auto& part : read.parts) {
        for (const std::size_t w : part.weights) {
          const auto& weight = read.weights[w];
          descriptions.push_back(glia::text(read.name_of(part), ": ", read.own_name(part, w), ' ',
                                            weight.shape, weight.trainable ? "" : " not trained"));
          for (const std::size_t place : weight.places) {
            descriptions.back() += glia::text(' ', place);
          }
        }
      }
      return descriptions;
    };
    const auto first = asked(1, true, true);
    CHECK_FALSE(first.empty());
    for (const std::size_t rows : {1U, 2U, 5U}) {
      for (const bool training : {true, false}) {
        for (const bool whole : {true, false}) {
          CHECK(asked(rows, training, whole) == first);
        }
      }
    }
  }
}

TEST_CASE("nodes are joined only where nobody else takes what is between them") {
  const xt::xarray<float> x = rows_of({3, 4});
  const auto element = [](const xt::xarray<float>& array, std::size_t n, std::size_t i) {
    return array(n, i);
  };
  SECTION("a sigmoid that is taken again") {
    small_graph g({4});
    g.node("Sigmoid", {"x"}, {"s"});
    g.node("Mul", {"x", "s"}, {"p"});
    g.node("Add", {"s", "p"}, {"y"});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(element(y, 2, i) == Approx(logistic(x(2, i)) * (1 + x(2, i))));
    }
  }
  SECTION("a product that is taken again, without its bias") {
    small_graph g({4});
    g.weights("w", {4, 2}, counted(8, 0.1F));
    g.weights("b", {2}, {1, 2});
    g.node("MatMul", {"x", "w"}, {"p"});
    g.node("Add", {"p", "b"}, {"a"});
    g.node("Sub", {"a", "p"}, {"y"});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    CHECK(element(y, 0, 0) == Approx(1));
    CHECK(element(y, 2, 1) == Approx(2));
  }
  SECTION("a sigmoid that is handed on under another name") {
    small_graph g({4});
    g.node("Sigmoid", {"x"}, {"s"});
    g.node("Identity", {"s"}, {"t"});
    g.node("Mul", {"x", "t"}, {"p"});
    g.node("Add", {"s", "p"}, {"y"});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(element(y, 2, i) == Approx(logistic(x(2, i)) * (1 + x(2, i))));
    }
  }
  SECTION("a product whose bias is added behind a reshape") {
    small_graph g({4});
    g.weights("w", {4, 6}, counted(24, 0.1F));
    g.weights("b", {3}, {1, 2, 3});
    g.integers("to", {-1, 2, 3});
    g.node("MatMul", {"x", "w"}, {"p"});
    g.node("Reshape", {"p", "to"}, {"r"});
    g.node("Add", {"r", "b"}, {"a"});
    g.integers("back", {-1, 6});
    g.node("Reshape", {"a", "back"}, {"f"});
    g.node("Add", {"f", "p"}, {"y"});
    small_graph plain({4});
    plain.weights("w", {4, 6}, counted(24, 0.1F));
    plain.node("MatMul", {"x", "w"}, {"y"});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    const xt::xarray<float> p = glia::model{plain.read()}.predict(x);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(element(y, 1, i) == Approx(2 * p(1, i) + static_cast<float>(1 + i % 3)));
    }
  }
  SECTION("a bias that a later layer was the first to take") {
    small_graph g({4});
    g.weights("w", {4, 2}, counted(8, 0.1F));
    g.weights("b", {2}, {1, 2});
    g.node("Neg", {"x"}, {"n"});
    g.node("MatMul", {"x", "w"}, {"c1"});
    g.node("MatMul", {"n", "w"}, {"c2"});
    g.node("Add", {"c2", "b"}, {"y2"});
    g.node("Add", {"c1", "b"}, {"y1"});
    g.node("Add", {"y1", "y2"}, {"y"});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    CHECK(element(y, 0, 0) == Approx(2));
    CHECK(element(y, 2, 1) == Approx(4));
  }
  SECTION("a function that is called twice with the same product") {
    small_graph g({4});
    g.weights("w", {4, 2}, counted(8, 0.1F));
    g.weights("b", {2}, {1, 2});
    auto& f = *g.message.add_functions();
    f.set_name("Shift");
    f.set_domain("own");
    f.add_input("a");
    f.add_input("s");
    f.add_output("r");
    f.add_opset_import()->set_version(18);
    small_graph::fill(*f.add_node(), "Add", {"a", "s"}, {"r"});
    auto& import = *g.message.add_opset_import();
    import.set_domain("own");
    import.set_version(1);
    g.node("MatMul", {"x", "w"}, {"c"});
    g.node("Shift", {"c", "b"}, {"one"}).set_domain("own");
    g.node("Shift", {"c", "b"}, {"two"}).set_domain("own");
    g.node("Sub", {"two", "one"}, {"y"});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    CHECK(test::distance(y, xt::xarray<float>(xt::zeros<float>({3, 2}))) == 0);
  }
}

TEST_CASE("batches of an ONNX file give what their samples give one by one") {
  SECTION("weights as large as a single sample") {
    small_graph g({2, 3, 3});
    g.weights("k", {3, 2, 1, 1}, counted(6, 0.2F));
    g.weights("position", {1, 3, 3, 3}, counted(27, 0.3F));
    g.weights("w", {27, 2}, counted(54, 0.1F));
    g.node("Conv", {"x", "k"}, {"c"});
    g.node("Sigmoid", {"position"}, {"p"});
    g.node("Mul", {"p", "c"}, {"m"});
    g.node("Flatten", {"m"}, {"f"});
    g.node("MatMul", {"f", "w"}, {"y"});
    check_apart(g, {3, 2, 3, 3});
  }
  SECTION("weights that are repeated for each sample") {
    small_graph g({2, 4});
    g.weights("token", {1, 1, 4}, {1, 2, 3, 4});
    g.node("Shape", {"x"}, {"s"});
    g.integers("zero", {0});
    g.node("Gather", {"s", "zero"}, {"n"});
    g.integers("rest", {1, 4});
    auto& shape = g.node("Concat", {"n", "rest"}, {"to"});
    auto& axis = *shape.add_attribute();
    axis.set_name("axis");
    axis.set_type(::onnx::AttributeProto::INT);
    axis.set_i(0);
    g.node("Expand", {"token", "to"}, {"t"});
    auto& joined = g.node("Concat", {"t", "x"}, {"y"});
    *joined.add_attribute() = axis;
    joined.mutable_attribute(0)->set_i(1);
    check_apart(g, {3, 2, 4});
  }
  SECTION("a file for one sample at a time") {
    small_graph g({2, 2, 2}, 18, 1);
    g.integers("sizes", {1, 2, 4, 4});
    g.node("Resize", {"x", "", "", "sizes"}, {"r"});
    g.integers("to", {1, -1});
    g.node("Reshape", {"r", "to"}, {"y"});
    check_apart(g, {3, 2, 2, 2});
  }
}

TEST_CASE("operators of ONNX files at their edges") {
  using floats = std::vector<float>;
  /// The outputs for rows of samples, one behind the other.
  const auto predicted = [](const small_graph& g, std::size_t rows, const floats& numbers) {
    xt::xarray<float> x = xt::zeros<float>({rows, numbers.size() / rows});
    std::copy(numbers.begin(), numbers.end(), x.begin());
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    return floats(y.begin(), y.end());
  };
  SECTION("quotients are rounded once") {
    small_graph g({1});
    g.weights("d", {1}, {41});
    g.node("Div", {"x", "d"}, {"q"});
    g.node("Floor", {"q"}, {"y"});
    CHECK(predicted(g, 4, {41, 82, 40, -1}) == floats{1, 2, 0, -1});
  }
  SECTION("numbers below 0 count from the end") {
    small_graph g({2});
    g.weights("table", {3, 1}, {10, 20, 30});
    g.node("Gather", {"table", "x"}, {"y"});
    CHECK(predicted(g, 2, {0, -1, 2, -3}) == floats{10, 30, 30, 10});
  }
  SECTION("axes are padded in the order in which they are named") {
    small_graph g({1, 2, 2});
    g.integers("pads", {0, 1, 0, 0});
    g.integers("axes", {3, 2});
    g.node("Pad", {"x", "pads", "", "axes"}, {"y"});
    const xt::xarray<float> x = xt::ones<float>({1, 1, 2, 2});
    const xt::xarray<float> y = glia::model{g.read()}.predict(x);
    CHECK(y.shape() == xt::xarray<float>::shape_type{1, 1, 3, 2});
    CHECK(y(0, 0, 0, 0) == 0);
  }
  SECTION("halves are rounded to even numbers, and what is large stays") {
    small_graph g({6});
    g.node("Round", {"x"}, {"y"});
    CHECK(predicted(g, 1, {0.5F, 1.5F, -0.5F, -2.5F, 8388609.F, INFINITY}) ==
          floats{0, 2, 0, -2, 8388609.F, INFINITY});
  }
  SECTION("erf is 1 far out") {
    small_graph g({3});
    g.node("Erf", {"x"}, {"y"});
    const floats y = predicted(g, 1, {INFINITY, -INFINITY, 0});
    CHECK(y[0] == Approx(1));
    CHECK(y[1] == Approx(-1));
    CHECK(y[2] == 0);
  }
  SECTION("absolute values of numbers that the file knows") {
    using type = ::onnx::TensorProto;
    constexpr auto minimum = std::numeric_limits<std::int64_t>::min();
    small_graph g({1});
    g.integers("whole", {minimum, -3, 4});
    g.node("Abs", {"whole"}, {"size"});
    g.integers("expected", {minimum, 3, 4});
    g.node("Equal", {"size", "expected"}, {"same"});
    small_graph::set_flag(g.node("Cast", {"same"}, {"numbers"}), "to", true);
    g.bytes("bytes", {3}, {-128, -3, 4}, type::INT8);
    g.node("Abs", {"bytes"}, {"sizes"});
    small_graph::set_flag(g.node("Cast", {"sizes"}, {"of_bytes"}), "to", true);
    g.bytes("zero", {3}, {0, 2, -3}, type::INT8);
    small_graph::set_flag(g.node("Cast", {"zero"}, {"real"}), "to", true);
    g.node("Neg", {"real"}, {"negated"});
    g.node("Abs", {"negated"}, {"positive"});
    g.node("Reciprocal", {"positive"}, {"infinite"});
    auto& join = g.node("Concat", {"numbers", "of_bytes", "infinite"}, {"all"});
    small_graph::set_flag(join, "axis", false);
    g.node("Add", {"x", "all"}, {"y"});
    CHECK(predicted(g, 1, {0}) == floats{1, 1, 1, -128, 3, 4, INFINITY, 0.5F, 1 / 3.0F});
  }
  SECTION("sizes that keep the aspect ratio have to be sizes") {
    const auto message_for = [](std::int64_t size) {
      small_graph g({2, 2, 2});
      g.integers("sizes", {size});
      auto& node = g.node("Resize", {"x", "", "", "sizes"}, {"y"});
      small_graph::set(node, "axes", {3});
      auto& policy = *node.add_attribute();
      policy.set_name("keep_aspect_ratio_policy");
      policy.set_type(::onnx::AttributeProto::STRING);
      policy.set_s("not_larger");
      return test::message_of<glia::data_error>([&] { glia::model net{g.read()}; });
    };
    CHECK(test::contains(message_for(-4), "expected extents of at least 0, got -4"));
    CHECK(test::contains(message_for(0), "has the unsupported scale 0"));
    CHECK(test::contains(message_for(std::int64_t{1} << 31),
                         "has the unsupported scale 1.07374e+09"));
  }
  SECTION("a softmax of a number is refused") {
    small_graph g({3});
    auto& sum = g.node("ReduceSum", {"x"}, {"s"});
    auto& keep = *sum.add_attribute();
    keep.set_name("keepdims");
    keep.set_type(::onnx::AttributeProto::INT);
    keep.set_i(0);
    g.node("Softmax", {"s"}, {"y"});
    CHECK(test::contains(test::message_of<glia::data_error>([&] { glia::model net{g.read()}; }),
                         "expected a tensor with at least one axis"));
  }
  SECTION("tensors of different ranks are not joined, whichever of them are weights") {
    for (const bool weights_first : {false, true}) {
      test::small_graph g({3, 4});
      g.weights("w", {5}, {1, 2, 3, 4, 5});
      const std::vector<std::string> parts{"x", "w"};
      auto& join = g.node("Concat", {parts[weights_first], parts[!weights_first]}, {"y"});
      auto& axis = *join.add_attribute();
      axis.set_name("axis");
      axis.set_type(::onnx::AttributeProto::INT);
      axis.set_i(0);
      CHECK(test::contains(
          test::message_of<glia::data_error>([&] { glia::model net{g.read()}; }),
          weights_first ? "joins tensors with 1 and 3 axes" : "joins tensors with 3 and 1 axes"));
    }
  }
}

TEST_CASE("two normalizations of one statistic train, and the first one keeps it") {
  small_graph g({2});
  for (const char* const name : {"gamma", "mean"}) {
    g.weights(name, {2}, {0.5F, -0.5F});
  }
  g.weights("beta", {2}, {0, 0});
  g.weights("variance", {2}, {1, 4});
  g.node("BatchNormalization", {"x", "gamma", "beta", "mean", "variance"}, {"a"});
  g.node("Relu", {"a"}, {"r"});
  g.node("BatchNormalization", {"r", "variance", "beta", "mean", "variance"}, {"y"});
  glia::model net{g.read()};
  const xt::xarray<float> x = rows_of({8, 2});
  const xt::xarray<float> initial = net.get("batch_normalization_0.mean");
  const xt::xarray<float> trained =
      net.get("batch_normalization_1.variance_2");  // the second one's gamma
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  trainer.fit(glia::target_arrays{x, x}, {.epochs = 2, .batch_size = 8, .progress = nullptr});
  CHECK(test::distance(net.get("batch_normalization_0.mean"), initial) > 0);
  CHECK(test::distance(net.get("batch_normalization_1.variance_2"), trained) > 0);
  CHECK(net.predict(x).size() == x.size());
}

TEST_CASE("cumulative sums of an ONNX file are infinite from the first infinite element on") {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      CAPTURE(exclusive, reverse);
      small_graph graph({5});
      graph.integers("axis", {1});
      auto& node = graph.node("CumSum", {"x", "axis"}, {"y"});
      small_graph::set_flag(node, "exclusive", exclusive);
      small_graph::set_flag(node, "reverse", reverse);
      constexpr float inf = std::numeric_limits<float>::infinity();
      const glia::model net{graph.read()};
      const xt::xarray<float> y = net.predict(xt::xarray<float>{{1, 2, inf, 4, 5}});
      std::vector<float> expected;
      if (reverse) {
        expected = exclusive ? std::vector<float>{inf, inf, 9, 5, 0}
                             : std::vector<float>{inf, inf, inf, 9, 5};
      } else {
        expected = exclusive ? std::vector<float>{0, 1, 3, inf, inf}
                             : std::vector<float>{1, 3, inf, inf, inf};
      }
      CHECK(std::vector<float>(y.begin(), y.end()) == expected);
    }
  }
}
