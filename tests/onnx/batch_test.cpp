#include <cmath>
#include <cstdint>
#include <functional>
#include <glia/onnx.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "onnx/small_graph.hpp"

// Files that were written for batches of one size: for that size they give what the file says, and
// for others what the same graph gives that was written for these, or an error that names the node.
namespace {

using test::small_graph;
using extents = std::vector<std::int64_t>;

xt::xarray<float> batch_of_samples(std::int64_t rows, const extents& sample) {
  std::vector<std::size_t> shape{static_cast<std::size_t>(rows)};
  shape.insert(shape.end(), sample.begin(), sample.end());
  xt::xarray<float> x = xt::zeros<float>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = std::sin(0.37F * static_cast<float>(i) + 0.2F);
  }
  return x;
}

std::vector<float> waves(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::cos(step * static_cast<float>(i + 1));
  }
  return values;
}

/// Numbers with a part for each sample of a batch, the same for all or not.
std::vector<float> for_each(std::int64_t rows, std::size_t count, bool same) {
  std::vector<float> values;
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(std::cos(0.7F * static_cast<float>(i + 1)) +
                       (same ? 0 : static_cast<float>(n)));
    }
  }
  return values;
}

void set_number(::onnx::NodeProto& proto, const std::string& name, std::int64_t number) {
  auto& attribute = *proto.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::INT);
  attribute.set_i(number);
}

/// The same graph for any number of rows.
using graph_function = std::function<small_graph(std::int64_t rows)>;

enum class outcome { right, wrong, refused };

/// What a graph that was written for some batches gives for others.
outcome outcome_of(const graph_function& graph, const extents& sample, std::int64_t written,
                   std::int64_t rows) {
  const xt::xarray<float> x = batch_of_samples(rows, sample);
  xt::xarray<float> y;
  try {
    y = glia::model{graph(written).read()}.predict(x);
  } catch (const glia::data_error& e) {
    INFO(e.what());
    CHECK(test::contains(e.what(), "was written for batches of " + std::to_string(written)));
    CHECK(test::contains(e.what(), "cannot be used for " + std::to_string(rows) + ": the "));
    return outcome::refused;
  }
  const xt::xarray<float> right = glia::model{graph(rows).read()}.predict(x);
  return y.shape() == right.shape() && test::distance(y, right) < 1e-4 ? outcome::right
                                                                       : outcome::wrong;
}

/// Checks a graph, written for 1, 2 and 4 samples, with batches of 1 to 4.
void check_graph(const std::string& name, const graph_function& graph, const extents& sample,
                 bool works, bool works_for_one) {
  for (const std::int64_t written : {1, 2, 4}) {
    for (std::int64_t rows = 1; rows <= 4; ++rows) {
      INFO(name << " written for " << written << ", given " << rows);
      const bool expected = rows == written || (written == 1 ? works_for_one : works);
      CHECK(outcome_of(graph, sample, written, rows) ==
            (expected ? outcome::right : outcome::refused));
    }
  }
}

small_graph with_token(std::int64_t rows, bool same) {
  small_graph g({4, 3}, 17, rows);
  g.weights("token", {rows, 1, 3}, for_each(rows, 3, same));
  set_number(g.node("Concat", {"token", "x"}, {"y"}), "axis", 1);
  return g;
}

}  // namespace

TEST_CASE("a file for one batch size: what is the same for all samples is for any batch") {
  check_graph(
      "class token", [](auto rows) { return with_token(rows, true); }, {4, 3}, true, true);
  check_graph(
      "zeros",
      [](auto rows) {
        small_graph g({4, 3}, 17, rows);
        g.integers("shape", {rows, 2, 3});
        g.node("ConstantOfShape", {"shape"}, {"zeros"});
        set_number(g.node("Concat", {"x", "zeros"}, {"y"}), "axis", 1);
        return g;
      },
      {4, 3}, true, true);
  check_graph(
      "computed of weights",
      [](auto rows) {
        small_graph g({3}, 17, rows);
        g.weights("first", {rows, 2}, for_each(rows, 2, true));
        g.weights("w", {2, 3}, waves(6, 0.9F));
        g.node("MatMul", {"first", "w"}, {"made"});
        g.node("Tanh", {"made"}, {"bent"});
        g.node("Add", {"x", "bent"}, {"y"});
        return g;
      },
      {3}, true, true);
}

TEST_CASE(
    "a file for one batch size: numbers that differ from sample to sample are for that size") {
  const auto table = [](std::int64_t rows) {
    small_graph g({3}, 17, rows);
    g.weights("table", {rows, 3}, for_each(rows, 3, false));
    g.node("Add", {"x", "table"}, {"y"});
    return g;
  };
  for (std::int64_t rows = 1; rows <= 4; ++rows) {
    CHECK(outcome_of(table, {3}, 3, rows) == (rows == 3 ? outcome::right : outcome::refused));
  }
  const std::string message = test::message_of<glia::data_error>([] {
    (void)glia::model{with_token(2, false).read()}.predict(batch_of_samples(3, {4, 3}));
  });
  CHECK(test::contains(message,
                       "was written for batches of 2 samples and cannot be used for 3: the node "
                       "'Concat' (Concat) uses numbers that differ from sample to sample"));
}

TEST_CASE("a file for one batch size: axes that are joined to the samples' and parted again") {
  check_graph(
      "merged rows",
      [](auto rows) {
        small_graph g({4, 3}, 17, rows);
        g.integers("flat", {rows * 4, 3});
        g.integers("back", {rows, 4, 5});
        g.weights("w", {3, 5}, waves(15, 0.4F));
        g.node("Reshape", {"x", "flat"}, {"f"});
        g.node("MatMul", {"f", "w"}, {"m"});
        g.node("Reshape", {"m", "back"}, {"y"});
        return g;
      },
      {4, 3}, true, true);
  check_graph(
      "heads",
      [](auto rows) {
        small_graph g({4, 6}, 17, rows);
        g.integers("parts", {rows, 4, 2, 3});
        g.integers("joined", {rows * 2, 4, 3});
        g.integers("apart", {rows, 2, 4, 3});
        g.integers("all", {rows, 4, 6});
        g.node("Reshape", {"x", "parts"}, {"p"});
        small_graph::set(g.node("Transpose", {"p"}, {"t"}), "perm", {0, 2, 1, 3});
        g.node("Reshape", {"t", "joined"}, {"h"});
        small_graph::set(g.node("Transpose", {"h"}, {"k"}), "perm", {0, 2, 1});
        g.node("MatMul", {"h", "k"}, {"s"});
        set_number(g.node("Softmax", {"s"}, {"a"}), "axis", 2);
        g.node("MatMul", {"a", "h"}, {"o"});
        g.node("Reshape", {"o", "apart"}, {"q"});
        small_graph::set(g.node("Transpose", {"q"}, {"r"}), "perm", {0, 2, 1, 3});
        g.node("Reshape", {"r", "all"}, {"y"});
        return g;
      },
      {4, 6}, true, true);
  check_graph(
      "samples second",
      [](auto rows) {
        small_graph g({4, 3}, 17, rows);
        small_graph::set(g.node("Transpose", {"x"}, {"t"}), "perm", {1, 0, 2});
        g.weights("w", {1, 6, 3}, waves(18, 0.3F));
        g.weights("r", {1, 6, 2}, waves(12, 0.5F));
        g.weights("b", {1, 12}, waves(12, 0.2F));
        g.weights("h", {1, rows, 2}, for_each(rows, 2, true));
        set_number(g.node("GRU", {"t", "w", "r", "b", "", "h"}, {"s", "e"}), "hidden_size", 2);
        g.integers("one", {1});
        g.node("Squeeze", {"s", "one"}, {"q"});
        small_graph::set(g.node("Transpose", {"q"}, {"y"}), "perm", {1, 0, 2});
        return g;
      },
      {4, 3}, true, true);
  check_graph(
      "all of axis 0",
      [](auto rows) {
        small_graph g({4, 3}, 17, rows);
        g.integers("begin", {0, 1});
        g.integers("end", {rows, 3});
        g.integers("axes", {0, 1});
        g.node("Slice", {"x", "begin", "end", "axes"}, {"y"});
        return g;
      },
      {4, 3}, true, true);
}

TEST_CASE("a file for one batch size: what computes across the samples is for that size") {
  const auto over_first = [](const std::string& operation) {
    return [operation](std::int64_t rows) {
      small_graph g({3}, 17, rows);
      auto& node = g.node(operation, {"x"}, {"m"});
      if (operation == "Softmax") {
        set_number(node, "axis", 0);
      } else {
        small_graph::set(node, "axes", {0});
      }
      g.node("Sub", {"x", "m"}, {"y"});
      return g;
    };
  };
  for (const char* const operation : {"Softmax", "ReduceMax", "ReduceMean", "ReduceL2"}) {
    check_graph(operation, over_first(operation), {3}, false, false);
  }
  check_graph(
      "first sample",
      [](auto rows) {
        small_graph g({3}, 17, rows);
        g.integers("zero", {0});
        set_number(g.node("Gather", {"x", "zero"}, {"f"}), "axis", 0);
        g.node("Sub", {"x", "f"}, {"y"});
        return g;
      },
      {3}, false, false);
  check_graph(
      "similarities",
      [](auto rows) {
        small_graph g({3}, 17, rows);
        small_graph::set(g.node("Transpose", {"x"}, {"t"}), "perm", {1, 0});
        g.node("MatMul", {"x", "t"}, {"s"});
        g.node("MatMul", {"s", "x"}, {"y"});
        return g;
      },
      {3}, false, false);
  check_graph(
      "how many there are",
      [](auto rows) {
        small_graph g({3}, 17, rows);
        g.node("Shape", {"x"}, {"s"});
        g.integers("zero", {0});
        set_number(g.node("Gather", {"s", "zero"}, {"n"}), "axis", 0);
        set_number(g.node("Cast", {"n"}, {"f"}), "to", 1);
        g.node("Div", {"x", "f"}, {"y"});
        return g;
      },
      {3}, false, false);
  check_graph(
      "joined to the first axis",
      [](auto rows) {
        small_graph g({3}, 17, rows);
        g.weights("more", {1, 3}, waves(3, 0.6F));
        set_number(g.node("Concat", {"x", "more"}, {"c"}), "axis", 0);
        small_graph::set(g.node("ReduceMean", {"c"}, {"m"}), "axes", {0});
        g.node("Add", {"x", "m"}, {"y"});
        return g;
      },
      {3}, false, false);
}

TEST_CASE("a file for one batch size: an axis that is as long as the batch is not its") {
  check_graph(
      "reduced over 4",
      [](auto rows) {
        small_graph g({4, 4}, 17, rows);
        small_graph::set(g.node("Transpose", {"x"}, {"t"}), "perm", {1, 0, 2});
        small_graph::set(g.node("ReduceMean", {"t"}, {"m"}), "axes", {0});
        g.node("Sub", {"t", "m"}, {"d"});
        small_graph::set(g.node("Transpose", {"d"}, {"y"}), "perm", {1, 0, 2});
        return g;
      },
      {4, 4}, true, true);
}

TEST_CASE("inputs of other numbers of rows are refused") {
  small_graph g({3}, 17, 4);
  auto& second = *g.message.mutable_graph()->add_input();
  second = g.message.graph().input(0);
  second.set_name("z");
  second.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  g.node("Add", {"x", "z"}, {"y"});
  CHECK(
      test::contains(test::message_of<glia::data_error>([&] { (void)g.read(); }),
                     "the first axis of the input 'z' has the extent 1, that of another input 4"));
}

TEST_CASE("networks of other libraries are for any batch when their files say one size") {
  for (const std::string& name : test::onnx_models()) {
    const ::onnx::ModelProto message = test::onnx_message(name);
    if (message.opset_import(0).version() > 21) {
      continue;  // which is refused
    }
    const glia::onnx_model whole{test::onnx_folder() / (name + ".onnx")};
    if (message.graph().input(0).type().tensor_type().shape().dim(0).has_dim_value() ||
        test::contains(name, "external") || whole.content().graph().input_size() != 1) {
      continue;
    }
    const glia::model net{whole};
    const glia::shape sample = net.sample_shape();
    const xt::xarray<float> x =
        xt::abs(batch_of_samples(3, extents(sample.begin(), sample.end()))) * 2.0F;
    const xt::xarray<float> y = net.predict(x);
    const auto kernels = [](const auto& model) {  // but for those that only say shapes otherwise
      const auto ready = model.prepare({.batch_size = 3});
      return ready.calls().nodes().size() - test::kernel_count(ready.calls(), "reshape");
    };
    for (const std::int64_t written : {1, 2}) {
      INFO(name << " written for " << written);
      ::onnx::ModelProto fixed = message;
      fixed.mutable_graph()
          ->mutable_input(0)
          ->mutable_type()
          ->mutable_tensor_type()
          ->mutable_shape()
          ->mutable_dim(0)
          ->set_dim_value(written);
      const test::temporary_folder scratch;
      test::write_message(fixed, scratch.path() / "fixed.onnx");
      std::optional<glia::model<glia::onnx_model>> reread;
      REQUIRE_NOTHROW(reread.emplace(glia::onnx_model{scratch.path() / "fixed.onnx"}));
      xt::xarray<float> actual;
      REQUIRE_NOTHROW(actual = reread->predict(x));
      CHECK(actual.shape() == y.shape());
      CHECK((actual.shape() != y.shape() || test::distance(actual, y) < 1e-4));
      CHECK(kernels(*reread) == kernels(net));
    }
  }
}

namespace {

/// A random chain of operations, the same for any number of rows. Axes are so long, or so long for
/// each sample.
class random_graph {
 public:
  random_graph(std::uint32_t seed, std::int64_t rows, std::int64_t written)
      : random_(seed), rows_(rows), written_(written), axes_{{1, true}} {
    for (std::int64_t i = 0, rank = draw(3) + 1; i < rank; ++i) {
      sample.push_back(1 + draw(4));
      axes_.push_back({sample.back(), false});
    }
    graph = small_graph(sample, 17, rows);
    for (std::int64_t i = 0, count = draw(7) + 1; i < count; ++i) {
      add();
    }
    const std::size_t first = samples_axis();
    if (first > 0) {
      move_first(first);
    }
    if (axes_[0].count > 1) {
      axes_.insert(axes_.begin() + 1, {axes_[0].count, false});
      axes_[0].count = 1;
      reshape();
    }
    graph.node("Identity", {last_}, {"y"});
  }

  extents sample;
  small_graph graph{{}, 17, 1};

 private:
  struct axis {
    std::int64_t count;
    bool of_batch;
  };

  std::int64_t draw(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(end));
  }
  std::string next() { return "t" + std::to_string(++name_count_); }
  [[nodiscard]] std::int64_t extent(const axis& a) const {
    return a.of_batch ? a.count * rows_ : a.count;
  }
  [[nodiscard]] std::size_t samples_axis() const {
    std::size_t i = 0;
    while (!axes_[i].of_batch) {
      ++i;
    }
    return i;
  }
  ::onnx::NodeProto& call(const std::string& operation, std::vector<std::string> inputs) {
    last_ = next();
    auto& node = graph.node(operation, inputs, {last_});
    node.set_name(operation + last_);
    return node;
  }
  std::string integers(const extents& values) {
    const std::string name = next();
    graph.integers(name, values);
    return name;
  }
  [[nodiscard]] extents shape() const {
    extents result;
    for (const axis& a : axes_) {
      result.push_back(extent(a));
    }
    return result;
  }
  void reshape() { call("Reshape", {last_, integers(shape())}); }
  void move_first(std::size_t index) {
    extents order;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (i != index) {
        order.push_back(static_cast<std::int64_t>(i));
      }
    }
    order.insert(order.begin(), static_cast<std::int64_t>(index));
    permute(order);
  }
  void permute(const extents& order) {
    std::vector<axis> permuted;
    for (const std::int64_t i : order) {
      permuted.push_back(axes_[static_cast<std::size_t>(i)]);
    }
    small_graph::set(call("Transpose", {last_}), "perm", order);
    axes_ = permuted;
  }
  /// Numbers with the shape of the value at hand, but for one axis, the same for all samples or
  /// not.
  std::string numbers(std::size_t index, bool same) {
    const std::string name = next();
    std::vector<axis> axes = axes_;
    axes[index] = axes[index].of_batch ? axes[index] : axis{1, false};
    extents sizes;
    std::size_t inner = 1;
    std::size_t outer = 1;
    bool passed = false;
    for (const axis& a : axes) {
      sizes.push_back(extent(a));
      if (a.of_batch) {
        passed = true;
        inner *= static_cast<std::size_t>(a.count);
      } else {
        (passed ? inner : outer) *= static_cast<std::size_t>(a.count);
      }
    }
    std::vector<float> values;
    for (std::size_t o = 0; o < outer; ++o) {
      const std::vector<float> part = for_each(rows_, inner, same || written_ == 1);
      for (const float value : part) {
        values.push_back(value + 0.1F * static_cast<float>(o));
      }
    }
    graph.weights(name, sizes, values);
    return name;
  }

  void add() {
    const auto rank = static_cast<std::int64_t>(axes_.size());
    const auto index = static_cast<std::size_t>(draw(rank));
    axis& chosen = axes_[index];
    const std::size_t batch_axis = samples_axis();
    switch (draw(14)) {
      case 0:
        call("Tanh", {last_});
        return;
      case 1:
        call("Add", {last_, numbers(index, draw(5) > 0)});
        return;
      case 2: {  // joins the samples' axis to the one behind it
        if (batch_axis + 1 < axes_.size()) {
          axes_[batch_axis].count *= axes_[batch_axis + 1].count;
          axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(batch_axis) + 1);
          reshape();
        }
        return;
      }
      case 3: {  // and parts them
        if (axes_[batch_axis].count > 1 && axes_.size() < 5) {
          axes_.insert(axes_.begin() + static_cast<std::ptrdiff_t>(batch_axis) + 1,
                       {axes_[batch_axis].count, false});
          axes_[batch_axis].count = 1;
          reshape();
        }
        return;
      }
      case 4: {
        extents order;
        for (std::int64_t i = 0; i < rank; ++i) {
          order.insert(order.begin() + draw(i + 1), i);
        }
        permute(order);
        return;
      }
      case 5: {
        if (rank > 1 && rank < 5 && !axes_.back().of_batch) {
          const std::string name = next();
          const std::int64_t inputs = axes_.back().count;
          graph.weights(name, {inputs, 3}, waves(static_cast<std::size_t>(inputs * 3), 0.8F));
          call("MatMul", {last_, name});
          axes_.back().count = 3;
        }
        return;
      }
      case 6:
        set_number(call("Softmax", {last_}), "axis", static_cast<std::int64_t>(index));
        return;
      case 7:
      case 8: {
        if (chosen.of_batch && draw(3) > 0) {
          return;
        }
        const std::string input = last_;
        small_graph::set(call(draw(2) == 0 ? "ReduceMean" : "ReduceMax", {last_}), "axes",
                         {static_cast<std::int64_t>(index)});
        if (chosen.of_batch) {
          call("Add", {input, last_});
        } else {
          chosen.count = 1;
        }
        return;
      }
      case 9: {
        if (!chosen.of_batch && rank > 1) {
          set_number(call("Concat", {numbers(index, draw(5) > 0), last_}), "axis",
                     static_cast<std::int64_t>(index));
          ++chosen.count;
        }
        return;
      }
      case 10: {
        const std::int64_t end = extent(chosen);
        const std::int64_t begin = chosen.of_batch ? 0 : draw(end);
        call("Slice", {last_, integers({begin}), integers({end}),
                       integers({static_cast<std::int64_t>(index)})});
        chosen.count -= chosen.of_batch ? 0 : begin;
        return;
      }
      case 11: {
        if (!chosen.of_batch) {
          const std::int64_t row = draw(chosen.count);
          set_number(call("Gather", {last_, integers({row})}), "axis",
                     static_cast<std::int64_t>(index));
          chosen.count = 1;
        }
        return;
      }
      case 12: {
        const std::string shape = integers([&] {
          extents sizes = this->shape();
          sizes[index] = chosen.of_batch ? sizes[index] : 1;
          return sizes;
        }());
        const std::string input = last_;
        call("ConstantOfShape", {shape});
        if (!chosen.of_batch && rank > 1) {
          set_number(call("Concat", {input, last_}), "axis", static_cast<std::int64_t>(index));
          ++chosen.count;
        } else {
          call("Sub", {input, last_});
        }
        return;
      }
      default: {
        if (axes_.size() < 5) {
          axes_.insert(axes_.begin() + static_cast<std::ptrdiff_t>(index), {1, false});
          call("Unsqueeze", {last_, integers({static_cast<std::int64_t>(index)})});
        }
      }
    }
  }

  std::mt19937 random_;
  std::int64_t rows_;
  std::int64_t written_;
  std::vector<axis> axes_;
  std::string last_ = "x";
  std::size_t name_count_ = 0;
};

}  // namespace

TEST_CASE("random graphs for one batch size give others' right numbers or say why not") {
  std::size_t right = 0;
  std::size_t refused = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const std::int64_t written = 1 + seed % 4;
    const extents sample = random_graph(seed, 1, written).sample;
    const auto graph = [&](std::int64_t rows) { return random_graph(seed, rows, written).graph; };
    for (std::int64_t rows = 1; rows <= 4; ++rows) {
      INFO("seed " << seed << ", written for " << written << ", given " << rows);
      const outcome found = outcome_of(graph, sample, written, rows);
      CHECK(found != outcome::wrong);
      CHECK((rows != written || found == outcome::right));
      (found == outcome::right ? right : refused) += 1;
    }
  }
  CHECK(right > 300);
  INFO(right << " right, " << refused << " refused");
}
