#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <glia/onnx/proto.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Random ONNX graphs, for programs that run them in several ways.
namespace test::random {

/// An extent: k, or k times the number of samples.
struct extent {
  std::int64_t k = 1;
  bool samples = false;

  friend bool operator==(const extent&, const extent&) = default;
};

/// A graph of one input and one output whose first axis has the samples, made by a seed. Axes are
/// turned, split and joined on the way, that of the samples as well.
class onnx_graph {
 public:
  explicit onnx_graph(std::uint64_t seed) : random_(seed) {
    constexpr std::int64_t opsets[] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
    opset_ = opsets[integer(std::size(opsets))];
    rows = 1 + integer(3);
    model.set_ir_version(opset_ < 19 ? 8 : 9);
    model.add_opset_import()->set_version(opset_);
    begin();
    const std::size_t count = 3 + integer(10);
    for (std::size_t i = 0; i < count; ++i) {
      // A few tries, as most operations ask for shapes of some kind.
      for (std::size_t attempt = 0; attempt < 20 && !add_operation(); ++attempt) {
      }
    }
    end();
  }

  ::onnx::ModelProto model;
  std::size_t rows = 1;
  std::vector<std::size_t> sample;  ///< the input's shape, without its first axis
  std::vector<std::string> operations;

  /// Multiples of 1/8 from -2 to 2, as many as a batch has.
  [[nodiscard]] std::vector<float> input() {
    std::size_t size = rows;
    for (const std::size_t dimension : sample) {
      size *= dimension;
    }
    std::vector<float> x(size);
    for (float& element : x) {
      element = eighth(16);
    }
    return x;
  }

 private:
  using ints = std::vector<std::int64_t>;
  using names = std::vector<std::string>;
  using attributes = std::function<void(::onnx::NodeProto&)>;

  struct value {
    std::string name;
    std::vector<extent> shape;
    bool exact = false;  ///< whether any program computes it without rounding

    [[nodiscard]] std::size_t rank() const { return shape.size(); }
    [[nodiscard]] std::size_t samples() const {
      return static_cast<std::size_t>(
          std::find_if(shape.begin(), shape.end(), [](const extent& e) { return e.samples; }) -
          shape.begin());
    }
    [[nodiscard]] std::int64_t size() const {
      std::int64_t count = 1;
      for (const extent& e : shape) {
        count *= e.k;
      }
      return count;
    }
    /// Whether it is (N, ...) of so many axes.
    [[nodiscard]] bool is_batch(std::size_t axes) const {
      return rank() == axes && shape[0] == extent{1, true};
    }
  };

  std::size_t integer(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::int64_t draw(std::int64_t a, std::int64_t b) {
    return a + static_cast<std::int64_t>(integer(static_cast<std::size_t>(b - a + 1)));
  }
  bool maybe(std::size_t n = 2) { return integer(n) == 0; }
  float eighth(std::int64_t limit) { return static_cast<float>(draw(-limit, limit)) / 8; }

  // --- messages ----------------------------------------------------------------------------------

  std::string fresh() { return "v" + std::to_string(count_++); }
  static void set(::onnx::NodeProto& proto, const std::string& name, std::int64_t scalar) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(scalar);
  }
  static void set(::onnx::NodeProto& proto, const std::string& name, float scalar) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::FLOAT);
    attribute.set_f(scalar);
  }
  static void set(::onnx::NodeProto& proto, const std::string& name, const std::string& text) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::STRING);
    attribute.set_s(text);
  }
  static void set(::onnx::NodeProto& proto, const std::string& name, const ints& elements) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t element : elements) {
      attribute.add_ints(element);
    }
  }
  ::onnx::TensorProto& initializer(::onnx::TensorProto::DataType type, const ints& dims) {
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("c" + std::to_string(count_++));
    tensor.set_data_type(type);
    for (const std::int64_t dim : dims) {
      tensor.add_dims(dim);
    }
    return tensor;
  }
  std::string integers(const ints& elements) {
    auto& tensor =
        initializer(::onnx::TensorProto::INT64, {static_cast<std::int64_t>(elements.size())});
    for (const std::int64_t element : elements) {
      tensor.add_int64_data(element);
    }
    return tensor.name();
  }
  std::string number(float scalar) {
    auto& tensor = initializer(::onnx::TensorProto::FLOAT, {});
    tensor.add_float_data(scalar);
    return tensor.name();
  }
  /// Weights of up to `maximum` eighths, of at least `minimum`.
  std::string weights(const ints& dims, std::int64_t maximum = 6, std::int64_t minimum = -100) {
    auto& tensor = initializer(::onnx::TensorProto::FLOAT, dims);
    std::int64_t size = 1;
    for (const std::int64_t dim : dims) {
      size *= dim;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      tensor.add_float_data(static_cast<float>(draw(std::max(minimum, -maximum), maximum)) / 8);
    }
    return tensor.name();
  }
  names node(const std::string& operation, const names& operands, std::size_t results = 1,
             const attributes& set_attributes = {}) {
    auto& proto = *model.mutable_graph()->add_node();
    proto.set_op_type(operation);
    proto.set_name("n" + std::to_string(operations.size()));
    operations.push_back(operation);
    names outputs;
    for (const std::string& operand : operands) {
      proto.add_input(operand);
    }
    for (std::size_t i = 0; i < results; ++i) {
      outputs.push_back(fresh());
      proto.add_output(outputs.back());
    }
    if (set_attributes) {
      set_attributes(proto);
    }
    return outputs;
  }
  void keep(const std::string& name, std::vector<extent> shape, bool exact) {
    pool_.push_back({name, std::move(shape), exact});
  }

  // --- the frame ---------------------------------------------------------------------------------

  void begin() {
    const std::size_t rank = 1 + integer(3);
    std::vector<extent> shape{{1, true}};
    auto& x = *model.mutable_graph()->add_input();
    x.set_name("x");
    auto& type = *x.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent_here = draw(1, 6);
      sample.push_back(static_cast<std::size_t>(extent_here));
      shape.push_back({extent_here, false});
      type.mutable_shape()->add_dim()->set_dim_value(extent_here);
    }
    model.mutable_graph()->set_name("random");
    keep("x", shape, true);
  }
  void end() {
    value last = pool_.back();
    const std::size_t axis = last.samples();
    if (axis != 0) {
      ints order{static_cast<std::int64_t>(axis)};
      for (std::size_t i = 0; i < last.rank(); ++i) {
        if (i != axis) {
          order.push_back(static_cast<std::int64_t>(i));
        }
      }
      last = transposed(last, order);
    }
    if (last.shape[0].k != 1) {
      ints dims{-1, last.shape[0].k};
      for (std::size_t i = 1; i < last.rank(); ++i) {
        dims.push_back(last.shape[i].k);
      }
      last.name = node("Reshape", {last.name, integers(dims)})[0];
    }
    auto& identity = *model.mutable_graph()->add_node();
    identity.set_op_type("Identity");
    identity.set_name("last");
    identity.add_input(last.name);
    identity.add_output("y");
    auto& y = *model.mutable_graph()->add_output();
    y.set_name("y");
    y.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  }
  value transposed(const value& x, const ints& order) {
    value y{
        node("Transpose", {x.name}, 1, [&](auto& n) { set(n, "perm", order); })[0], {}, x.exact};
    for (const std::int64_t axis : order) {
      y.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    }
    return y;
  }

  /// An axis that has no samples; none where there is no such axis.
  bool other_axis(const value& x, std::size_t& axis) {
    if (x.rank() < 2) {
      return false;
    }
    axis = integer(x.rank());
    return !x.shape[axis].samples;
  }
  std::int64_t counted(const value& x, std::size_t axis) {  // some from the end
    return static_cast<std::int64_t>(axis) - (maybe() ? static_cast<std::int64_t>(x.rank()) : 0);
  }

  bool add_operation() {
    // Most often what came last.
    const value x = maybe(3) ? pool_[integer(pool_.size())] : pool_.back();
    switch (integer(11)) {
      case 0:
      case 1:
        return elementwise(x);
      case 2:
        return binary(x);
      case 3:
      case 4:
        return arrangement(x);
      case 5:
        return reduction(x);
      case 6:
        return product(x);
      case 7:
        return windows(x);
      case 8:
        return normalization(x);
      case 9:
        return recurrence(x);
      default:
        return composed(x);
    }
  }

  bool elementwise(const value& x) {
    struct function {
      const char* name;
      std::int64_t opset;
      int kind;  // 0: any, 1: without rounding, 2: of what is exact, 3: of what is positive
    };
    constexpr function functions[] = {
        {"Abs", 1, 1},      {"Neg", 1, 1},        {"Relu", 1, 1},
        {"Sigmoid", 1, 0},  {"Tanh", 1, 0},       {"Elu", 1, 0},
        {"Selu", 1, 0},     {"Celu", 12, 0},      {"HardSigmoid", 1, 0},
        {"Mish", 18, 0},    {"HardSwish", 14, 0}, {"Softplus", 1, 0},
        {"Softsign", 1, 0}, {"Floor", 1, 2},      {"Ceil", 1, 2},
        {"Round", 11, 2},   {"Sign", 9, 2},       {"Erf", 9, 0},
        {"Identity", 1, 1}, {"Sqrt", 1, 3},       {"Reciprocal", 1, 3},
        {"Log", 1, 3},      {"Exp", 1, 4},        {"LeakyRelu", 1, 0},
        {"Gelu", 20, 0},    {"Dropout", 12, 1},   {"ThresholdedRelu", 10, 2},
        {"Shrink", 9, 2},   {"Clip", 11, 1},      {"PRelu", 9, 0},
        {"Pow", 13, 3},     {"Not", 1, 5},        {"IsNaN", 9, 5},
        {"IsInf", 10, 5},   {"Cast", 9, 2}};
    const function f = functions[integer(std::size(functions))];
    if (f.opset > opset_ || (f.kind == 2 && !x.exact)) {
      return false;
    }
    const std::string name = f.name;
    std::string operand = x.name;
    if (f.kind == 3) {
      operand = node("Add", {node("Abs", {operand})[0], number(0.5F)})[0];
    } else if (f.kind == 4) {
      operand = node("Clip", {operand, number(-4), number(3)})[0];
    }
    names operands{operand};
    if (name == "Clip") {
      operands.push_back(maybe(4) ? "" : number(-1));
      if (maybe()) {
        operands.push_back(number(1.5F));
      }
    } else if (name == "PRelu") {
      const extent last = x.shape.back();
      operands.push_back(weights({last.samples || maybe() ? 1 : last.k}));
    } else if (name == "Pow") {
      constexpr float powers[] = {2, 3, 0.5F, -1, 1.5F, 0};
      operands.push_back(number(powers[integer(std::size(powers))]));
    } else if (name == "Not") {
      operands[0] = node("Greater", {node("Round", {pool_[0].name})[0], number(0)})[0];
    }
    if (name == "Not") {
      const std::string y = node("Not", operands)[0];
      keep(node("Cast", {y}, 1, [](auto& n) { set(n, "to", std::int64_t{1}); })[0], pool_[0].shape,
           true);
      return true;
    }
    if (name == "Cast") {
      constexpr std::int64_t types[] = {6, 7, 9};
      const std::int64_t type = types[integer(3)];
      const std::string y = node("Cast", operands, 1, [&](auto& n) { set(n, "to", type); })[0];
      keep(node("Cast", {y}, 1, [](auto& n) { set(n, "to", std::int64_t{1}); })[0], x.shape, true);
      return true;
    }
    std::string y = node(name, operands, 1, [&](auto& n) {
      if ((name == "Elu" || name == "LeakyRelu" || name == "ThresholdedRelu" || name == "Celu" ||
           name == "HardSigmoid") &&
          maybe()) {
        set(n, "alpha", 0.3125F);
      }
      if (name == "Gelu" && maybe()) {
        set(n, "approximate", std::string("tanh"));
      }
      if (name == "Shrink") {
        set(n, "lambd", 0.25F);
        set(n, "bias", 0.125F);
      }
    })[0];
    if (name.starts_with("Is")) {
      y = node("Cast", {y}, 1, [](auto& n) { set(n, "to", std::int64_t{1}); })[0];
    }
    keep(y, x.shape, (x.exact && f.kind == 1) || f.kind == 2);
    return true;
  }

  bool binary(const value& x) {
    // The other: a number, weights that are broadcast, or another tensor of this shape.
    std::string other;
    bool exact = x.exact;
    const std::size_t kind = integer(3);
    if (kind == 0) {
      other = number(eighth(12));
    } else if (kind == 1) {
      ints dims;
      for (std::size_t axis = integer(x.rank()); axis < x.rank(); ++axis) {
        dims.push_back(x.shape[axis].samples || maybe(4) ? 1 : x.shape[axis].k);
      }
      other = weights(dims);
    } else {
      const value& found = pool_[integer(pool_.size())];
      if (found.shape != x.shape) {
        return false;
      }
      other = found.name;
      exact = exact && found.exact;
    }
    constexpr const char* operators[] = {"Add",        "Sub",  "Mul",   "Max",
                                         "Min",        "Mean", "Sum",   "Div",
                                         "Greater",    "Less", "Equal", "GreaterOrEqual",
                                         "LessOrEqual"};
    const std::size_t index = integer(std::size(operators));
    const std::string name = operators[index];
    if ((index >= 8 && !exact) || (index >= 11 && opset_ < 12)) {
      return false;
    }
    if (name == "Div") {
      other = node("Add", {node("Abs", {other})[0], number(0.75F)})[0];
    }
    names operands{x.name, other};
    if (maybe() && name != "Div") {
      std::swap(operands[0], operands[1]);
    }
    std::string y = node(name, operands)[0];
    if (index >= 8) {
      y = maybe() ? node("Where", {y, x.name, number(0.5F)})[0]
                  : node("Cast", {y}, 1, [](auto& n) { set(n, "to", std::int64_t{1}); })[0];
    }
    keep(y, x.shape, exact && name != "Mul" && name != "Mean" && name != "Div");
    return true;
  }

  bool arrangement(const value& x) {
    std::size_t axis = 0;
    switch (integer(13)) {
      case 0: {  // any axes, those of the samples as well
        ints order;
        for (std::size_t i = 0; i < x.rank(); ++i) {
          order.push_back(static_cast<std::int64_t>(i));
        }
        std::shuffle(order.begin(), order.end(), random_);
        const value y = transposed(x, order);
        keep(y.name, y.shape, y.exact);
        return true;
      }
      case 1: {  // two neighbors become one
        if (x.rank() < 3) {
          return false;
        }
        axis = integer(x.rank() - 1);
        std::vector<extent> shape = x.shape;
        shape[axis] = {shape[axis].k * shape[axis + 1].k,
                       shape[axis].samples || shape[axis + 1].samples};
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
        keep(reshaped(x, shape), shape, x.exact);
        return true;
      }
      case 2: {  // one becomes two
        if (x.rank() > 4) {
          return false;
        }
        axis = integer(x.rank());
        const extent e = x.shape[axis];
        const std::int64_t part = draw(1, 3);
        if (e.k % part != 0) {
          return false;
        }
        std::vector<extent> shape = x.shape;
        shape[axis] = {e.k / part, e.samples};
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, {part, false});
        keep(reshaped(x, shape), shape, x.exact);
        return true;
      }
      case 3: {
        if (x.rank() > 4) {
          return false;
        }
        axis = integer(x.rank() + 1);
        std::vector<extent> shape = x.shape;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), {1, false});
        keep(along_axes("Unsqueeze", x.name, {static_cast<std::int64_t>(axis)}), shape, x.exact);
        return true;
      }
      case 4: {
        if (!other_axis(x, axis) || x.shape[axis].k != 1) {
          return false;
        }
        std::vector<extent> shape = x.shape;
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
        keep(along_axes("Squeeze", x.name, {counted(x, axis)}), shape, x.exact);
        return true;
      }
      case 5: {
        if (!other_axis(x, axis) || x.size() > 400) {
          return false;
        }
        std::vector<extent> shape = x.shape;
        std::string other = x.name;
        bool exact = x.exact;
        if (maybe()) {
          for (const value& candidate : pool_) {
            if (candidate.shape == x.shape && maybe()) {
              other = candidate.name;
              exact = x.exact && candidate.exact;
            }
          }
        }
        shape[axis].k *= 2;
        keep(node("Concat", {x.name, other}, 1,
                  [&](auto& n) { set(n, "axis", counted(x, axis)); })[0],
             shape, exact);
        return true;
      }
      case 6: {
        if (!other_axis(x, axis) || x.shape[axis].k < 2) {
          return false;
        }
        const std::int64_t first = draw(1, x.shape[axis].k - 1);
        const ints parts{first, x.shape[axis].k - first};
        const std::int64_t named = counted(x, axis);
        const names outputs = opset_ < 13 ? node("Split", {x.name}, 2,
                                                 [&](auto& n) {
                                                   set(n, "axis", named);
                                                   set(n, "split", parts);
                                                 })
                                          : node("Split", {x.name, integers(parts)}, 2,
                                                 [&](auto& n) { set(n, "axis", named); });
        for (std::size_t i = 0; i < 2; ++i) {
          std::vector<extent> shape = x.shape;
          shape[axis].k = parts[i];
          keep(outputs[i], shape, x.exact);
        }
        return true;
      }
      case 7: {
        if (!other_axis(x, axis)) {
          return false;
        }
        const std::int64_t k = x.shape[axis].k;
        std::vector<extent> shape = x.shape;
        if (maybe()) {
          const std::int64_t first = draw(0, k - 1);
          const std::int64_t last = draw(first + 1, k);
          const std::int64_t step = draw(1, 2);
          shape[axis].k = (last - first + step - 1) / step;
          keep(node("Slice", {x.name, integers({first}), integers({last}),
                              integers({counted(x, axis)}), integers({step})})[0],
               shape, x.exact);
        } else {
          keep(node("Slice", {x.name, integers({-1}), integers({-1000}),
                              integers({counted(x, axis)}), integers({-1})})[0],
               shape, x.exact);
        }
        return true;
      }
      case 8: {
        if (!other_axis(x, axis)) {
          return false;
        }
        ints rows_taken(static_cast<std::size_t>(draw(1, 4)));
        for (std::int64_t& row : rows_taken) {
          row = draw(-x.shape[axis].k, x.shape[axis].k - 1);
        }
        std::vector<extent> shape = x.shape;
        shape[axis].k = static_cast<std::int64_t>(rows_taken.size());
        keep(node("Gather", {x.name, integers(rows_taken)}, 1,
                  [&](auto& n) { set(n, "axis", counted(x, axis)); })[0],
             shape, x.exact);
        return true;
      }
      case 9: {
        if (!other_axis(x, axis)) {
          return false;
        }
        ints pads(2 * x.rank(), 0);
        constexpr const char* modes[] = {"constant", "reflect", "edge"};
        const std::size_t mode = integer(3);
        const std::int64_t limit = mode == 1 ? x.shape[axis].k - 1 : 2;
        pads[axis] = draw(0, limit);
        pads[axis + x.rank()] = draw(0, limit);
        std::vector<extent> shape = x.shape;
        shape[axis].k += pads[axis] + pads[axis + x.rank()];
        names operands{x.name, integers(pads)};
        if (mode == 0 && maybe()) {
          operands.push_back(number(0.5F));
        }
        keep(
            node("Pad", operands, 1, [&](auto& n) { set(n, "mode", std::string(modes[mode])); })[0],
            shape, x.exact);
        return true;
      }
      case 10: {
        if (!other_axis(x, axis) || x.size() > 400) {
          return false;
        }
        ints repeats(x.rank(), 1);
        repeats[axis] = draw(1, 3);
        std::vector<extent> shape = x.shape;
        shape[axis].k *= repeats[axis];
        keep(node("Tile", {x.name, integers(repeats)})[0], shape, x.exact);
        return true;
      }
      case 11: {
        if (!other_axis(x, axis) || x.shape[axis].k != 1) {
          return false;
        }
        ints dims(x.rank(), 1);
        dims[axis] = draw(1, 4);
        std::vector<extent> shape = x.shape;
        shape[axis].k = dims[axis];
        keep(node("Expand", {x.name, integers(dims)})[0], shape, x.exact);
        return true;
      }
      default: {
        if (!x.is_batch(4)) {
          return false;
        }
        const extent c = x.shape[1];
        if (c.k % 4 == 0 && maybe()) {
          keep(node("DepthToSpace", {x.name}, 1,
                    [&](auto& n) {
                      set(n, "blocksize", std::int64_t{2});
                      set(n, "mode", std::string(maybe() ? "CRD" : "DCR"));
                    })[0],
               {{1, true}, {c.k / 4}, {x.shape[2].k * 2}, {x.shape[3].k * 2}}, x.exact);
          return true;
        }
        if (x.shape[2].k % 2 == 0 && x.shape[3].k % 2 == 0) {
          keep(node("SpaceToDepth", {x.name}, 1,
                    [&](auto& n) { set(n, "blocksize", std::int64_t{2}); })[0],
               {{1, true}, {c.k * 4}, {x.shape[2].k / 2}, {x.shape[3].k / 2}}, x.exact);
          return true;
        }
        return false;
      }
    }
  }
  std::string reshaped(const value& x, const std::vector<extent>& shape) {
    ints dims;
    for (const extent& e : shape) {
      dims.push_back(e.samples ? -1 : e.k);
    }
    return node("Reshape", {x.name, integers(dims)})[0];
  }
  std::string along_axes(const std::string& name, const std::string& x, const ints& axes) {
    return opset_ < 13 ? node(name, {x}, 1, [&](auto& n) { set(n, "axes", axes); })[0]
                       : node(name, {x, integers(axes)})[0];
  }

  bool reduction(const value& x) {
    std::size_t axis = 0;
    if (!other_axis(x, axis)) {
      return false;
    }
    constexpr const char* functions[] = {
        "ReduceSum",       "ReduceMean", "ReduceMax",       "ReduceMin",
        "ReduceL1",        "ReduceL2",   "ReduceSumSquare", "ReduceProd",
        "ReduceLogSumExp", "ArgMax",     "ArgMin",          "Softmax",
        "LogSoftmax",      "Hardmax",    "CumSum",          "LpNormalization"};
    const std::size_t index = integer(std::size(functions));
    const std::string name = functions[index];
    const bool keeps = maybe();
    std::vector<extent> shape = x.shape;
    const std::int64_t named = counted(x, axis);
    if (index >= 11) {
      if ((name == "Hardmax" && !x.exact) ||
          (index <= 13 && opset_ < 13 && (axis < x.samples() || axis + 1 != x.rank()))) {
        return false;
      }
      if (name == "CumSum") {
        const bool reverse = maybe();
        const bool exclusive = maybe();
        auto& axis_operand = initializer(::onnx::TensorProto::INT64, {});
        axis_operand.add_int64_data(named);
        keep(node(name, {x.name, axis_operand.name()}, 1,
                  [&](auto& n) {
                    set(n, "reverse", std::int64_t{reverse});
                    set(n, "exclusive", std::int64_t{exclusive});
                  })[0],
             shape, false);
        return true;
      }
      const std::int64_t p = draw(1, 2);
      keep(node(name, {x.name}, 1,
                [&](auto& n) {
                  set(n, "axis", named);
                  if (name == "LpNormalization") {
                    set(n, "p", p);
                  }
                })[0],
           shape, name == "Hardmax");
      return true;
    }
    if (keeps) {
      shape[axis].k = 1;
    } else {
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    if (index >= 9) {
      if (!x.exact) {
        return false;
      }
      const bool last = opset_ >= 12 && maybe();
      const std::string y = node(name, {x.name}, 1, [&](auto& n) {
        set(n, "axis", named);
        set(n, "keepdims", std::int64_t{keeps});
        if (last) {
          set(n, "select_last_index", std::int64_t{1});
        }
      })[0];
      keep(node("Cast", {y}, 1, [](auto& n) { set(n, "to", std::int64_t{1}); })[0], shape, true);
      return true;
    }
    const bool as_input = opset_ >= 18 || (name == "ReduceSum" && opset_ >= 13);
    names operands{x.name};
    if (as_input) {
      operands.push_back(integers({named}));
    }
    keep(node(name, operands, 1,
              [&](auto& n) {
                if (!as_input) {
                  set(n, "axes", ints{named});
                }
                set(n, "keepdims", std::int64_t{keeps});
              })[0],
         shape, x.exact && (name == "ReduceMax" || name == "ReduceMin"));
    return true;
  }

  bool product(const value& x) {
    if (x.rank() < 2 || x.shape.back().samples) {
      return false;
    }
    const std::int64_t inputs = x.shape.back().k;
    const std::int64_t outputs = draw(1, 6);
    std::vector<extent> shape = x.shape;
    shape.back().k = outputs;
    if (x.rank() == 2 && maybe()) {
      const bool turned = maybe();
      names operands{x.name, weights(turned ? ints{outputs, inputs} : ints{inputs, outputs})};
      if (maybe()) {
        operands.push_back(weights(maybe() ? ints{outputs} : ints{1, outputs}));
      }
      keep(node("Gemm", operands, 1,
                [&](auto& n) {
                  set(n, "transB", std::int64_t{turned});
                  if (maybe(4)) {
                    set(n, "alpha", 0.5F);
                  }
                })[0],
           shape, false);
      return true;
    }
    if (x.rank() >= 3 && maybe(3) && x.samples() + 2 < x.rank()) {
      // x x^T, as attention has it
      ints order;
      for (std::size_t i = 0; i < x.rank(); ++i) {
        order.push_back(static_cast<std::int64_t>(i));
      }
      std::swap(order[x.rank() - 1], order[x.rank() - 2]);
      const value turned = transposed(x, order);
      shape.back().k = x.shape[x.rank() - 2].k;
      keep(node("MatMul", {x.name, turned.name})[0], shape, false);
      return true;
    }
    std::string y = node("MatMul", {x.name, weights({inputs, outputs})})[0];
    if (maybe()) {
      y = node("Add", {y, weights({outputs})})[0];
    }
    keep(y, shape, false);
    return true;
  }

  bool windows(const value& x) {
    if (!x.is_batch(3) && !x.is_batch(4)) {
      return false;
    }
    const std::size_t axes = x.rank() - 2;
    const std::size_t kind = integer(7);
    const std::int64_t channels = x.shape[1].k;
    if (kind == 5) {
      keep(node(maybe() ? "GlobalAveragePool" : "GlobalMaxPool", {x.name})[0],
           axes == 1 ? std::vector<extent>{{1, true}, {channels}, {1}}
                     : std::vector<extent>{{1, true}, {channels}, {1}, {1}},
           false);
      return true;
    }
    if (kind == 6) {
      if (axes != 2) {
        return false;
      }
      // A number of halves: of odd extents the last element is cut off.
      const std::int64_t halves = draw(2, 6);
      const bool linear = maybe();
      auto& scales = initializer(::onnx::TensorProto::FLOAT, {4});
      for (const float scale : {1.0F, 1.0F, static_cast<float>(halves) / 2, 2.0F}) {
        scales.add_float_data(scale);
      }
      const std::string roi = initializer(::onnx::TensorProto::FLOAT, {0}).name();
      constexpr const char* ways[] = {"half_pixel", "align_corners", "asymmetric",
                                      "pytorch_half_pixel"};
      const std::string way = ways[integer(4)];
      if (!linear && !(way == "asymmetric")) {
        return false;  // halves between two neighbors: single precision decides
      }
      keep(node("Resize", {x.name, roi, scales.name()}, 1,
                [&](auto& n) {
                  set(n, "mode", std::string(linear ? "linear" : "nearest"));
                  set(n, "coordinate_transformation_mode", way);
                  if (!linear) {
                    set(n, "nearest_mode", std::string("floor"));
                  }
                })[0],
           {{1, true}, {channels}, {x.shape[2].k * halves / 2}, {x.shape[3].k * 2}},
           x.exact && !linear);
      return true;
    }
    ints size;
    ints strides;
    ints dilations;
    ints pads(2 * axes, 0);
    std::vector<extent> shape{{1, true}, {channels}};
    const bool transposes = kind == 2;
    const bool pools = kind >= 3;
    for (std::size_t i = 0; i < axes; ++i) {
      size.push_back(draw(1, 3));
      strides.push_back(draw(1, pools ? size[i] : 2));
      dilations.push_back(pools ? 1 : draw(1, 2));
      pads[i] = draw(0, size[i] - 1);
      pads[i + axes] = draw(0, size[i] - 1);
      const std::int64_t reach = (size[i] - 1) * dilations[i] + 1;
      const std::int64_t whole = x.shape[i + 2].k + pads[i] + pads[i + axes];
      const std::int64_t extent_here =
          transposes ? (x.shape[i + 2].k - 1) * strides[i] + reach - pads[i] - pads[i + axes]
                     : (whole - reach) / strides[i] + 1;
      if ((!transposes && whole < reach) || extent_here < 1 || extent_here > 12) {
        return false;
      }
      shape.push_back({extent_here});
    }
    const auto say = [&](::onnx::NodeProto& n) {
      set(n, "strides", strides);
      set(n, "pads", pads);
      if (!pools) {
        set(n, "dilations", dilations);
      }
    };
    if (pools) {
      const bool average = kind == 4;
      keep(node(average ? "AveragePool" : "MaxPool", {x.name}, 1,
                [&](auto& n) {
                  say(n);
                  set(n, "kernel_shape", size);
                  if (average && maybe()) {
                    set(n, "count_include_pad", std::int64_t{1});
                  }
                })[0],
           shape, x.exact && !average);
      return true;
    }
    const std::int64_t groups = channels % 2 == 0 && maybe() ? 2 : maybe(4) ? channels : 1;
    const std::int64_t filters = draw(1, 3);
    shape[1].k = groups * filters;
    ints dims = transposes ? ints{channels, filters} : ints{groups * filters, channels / groups};
    dims.insert(dims.end(), size.begin(), size.end());
    names operands{x.name, weights(dims)};
    if (maybe()) {
      operands.push_back(weights({groups * filters}));
    }
    keep(node(transposes ? "ConvTranspose" : "Conv", operands, 1,
              [&](auto& n) {
                say(n);
                set(n, "group", groups);
              })[0],
         shape, false);
    return true;
  }

  bool normalization(const value& x) {
    const std::int64_t c = x.rank() > 1 ? x.shape[1].k : 0;
    switch (integer(5)) {
      case 0:
        if (x.rank() < 2 || x.rank() > 4 || x.shape[1].samples) {
          return false;
        }
        keep(node("BatchNormalization",
                  {x.name, weights({c}), weights({c}), weights({c}), weights({c}, 12, 2)})[0],
             x.shape, false);
        return true;
      case 1:
        if (!x.is_batch(3) && !x.is_batch(4)) {
          return false;
        }
        keep(node("InstanceNormalization", {x.name, weights({c}), weights({c})}, 1,
                  [](auto& n) { set(n, "epsilon", 0.125F); })[0],
             x.shape, false);
        return true;
      case 2: {
        if (opset_ < 17 || x.rank() < 2 || x.shape.back().samples) {
          return false;
        }
        const std::int64_t last = x.shape.back().k;
        names operands{x.name, weights({last})};
        if (maybe()) {
          operands.push_back(weights({last}));
        }
        keep(node("LayerNormalization", operands, 1, [](auto& n) { set(n, "epsilon", 0.125F); })[0],
             x.shape, false);
        return true;
      }
      case 3: {
        if (opset_ < 18 || !x.is_batch(4) || c % 2 != 0) {
          return false;
        }
        const std::int64_t count = opset_ < 21 ? 2 : c;
        keep(node("GroupNormalization", {x.name, weights({count}), weights({count})}, 1,
                  [](auto& n) {
                    set(n, "num_groups", std::int64_t{2});
                    set(n, "epsilon", 0.125F);
                  })[0],
             x.shape, false);
        return true;
      }
      default:
        if (!x.is_batch(4)) {
          return false;
        }
        keep(node("LRN", {x.name}, 1,
                  [](auto& n) {
                    set(n, "size", std::int64_t{3});
                    set(n, "alpha", 0.5F);
                  })[0],
             x.shape, false);
        return true;
    }
  }

  bool recurrence(const value& x) {
    if (!x.is_batch(3)) {
      return false;
    }
    constexpr const char* cells[] = {"RNN", "GRU", "LSTM"};
    const std::size_t cell = integer(3);
    const std::int64_t gates = cell == 0 ? 1 : cell == 1 ? 3 : 4;
    const std::int64_t units = draw(1, 4);
    const bool both = maybe(3);
    const std::int64_t directions = both ? 2 : 1;
    const std::string direction = both ? "bidirectional" : maybe() ? "reverse" : "forward";
    const std::int64_t steps = x.shape[1].k;
    const value turned = transposed(x, {1, 0, 2});
    names operands{turned.name, weights({directions, gates * units, x.shape[2].k}),
                   weights({directions, gates * units, units})};
    if (maybe()) {
      operands.push_back(weights({directions, 2 * gates * units}));
    }
    const bool reset_after = maybe();
    const names outputs = node(cells[cell], operands, 2, [&](auto& n) {
      set(n, "hidden_size", units);
      set(n, "direction", direction);
      if (cell == 1 && reset_after) {
        set(n, "linear_before_reset", std::int64_t{1});
      }
    });
    if (maybe(3)) {
      keep(outputs[1], {{directions}, {1, true}, {units}}, false);
    } else {
      keep(outputs[0], {{steps}, {directions}, {1, true}, {units}}, false);
    }
    return true;
  }

  /// What exporters write in several nodes.
  bool composed(const value& x) {
    switch (integer(5)) {
      case 0: {  // the shape in the file's own arithmetic: (N, -1) or (-1, last)
        if (x.rank() < 2 || x.shape[0] != extent{1, true}) {
          return false;
        }
        auto& zero = initializer(::onnx::TensorProto::INT64, {});
        zero.add_int64_data(0);
        const std::string dims = node("Shape", {x.name})[0];
        const std::string first = node("Gather", {dims, zero.name()})[0];
        const std::string new_dims =
            node("Concat", {along_axes("Unsqueeze", first, {0}), integers({-1})}, 1,
                 [](auto& n) { set(n, "axis", std::int64_t{0}); })[0];
        std::vector<extent> shape{{1, true}, {x.size()}};
        keep(node("Reshape", {x.name, new_dims})[0], shape, x.exact);
        return true;
      }
      case 1:  // x sigmoid(x)
        keep(node("Mul", {x.name, node("Sigmoid", {x.name})[0]})[0], x.shape, false);
        return true;
      case 2: {  // x Phi(x)
        const std::string scaled = node("Div", {x.name, number(1.41421356F)})[0];
        const std::string doubled = node("Add", {node("Erf", {scaled})[0], number(1)})[0];
        keep(node("Mul", {node("Mul", {x.name, doubled})[0], number(0.5F)})[0], x.shape, false);
        return true;
      }
      case 3: {  // attention over steps
        if (!x.is_batch(3)) {
          return false;
        }
        const std::int64_t features = x.shape[2].k;
        const std::int64_t heads = draw(1, 2);
        const std::int64_t key_dim = draw(1, 3);
        const std::int64_t steps = x.shape[1].k;
        const auto projected = [&](const ints& order) {
          const std::string y = node("MatMul", {x.name, weights({features, heads * key_dim})})[0];
          const std::string parts = node("Reshape", {y, integers({-1, steps, heads, key_dim})})[0];
          return transposed({parts, {{1, true}, {steps}, {heads}, {key_dim}}, false}, order).name;
        };
        const std::string q = projected({0, 2, 1, 3});
        const std::string k = projected({0, 2, 3, 1});
        const std::string v = projected({0, 2, 1, 3});
        const std::string scores = node("MatMul", {q, k})[0];
        const std::string attention = node("Softmax", {scores}, 1, [&](auto& n) {
          set(n, "axis", std::int64_t{opset_ < 13 ? 3 : -1});
        })[0];
        const value mixed{
            node("MatMul", {attention, v})[0], {{1, true}, {heads}, {steps}, {key_dim}}, false};
        const value turned = transposed(mixed, {0, 2, 1, 3});
        keep(node("Reshape", {turned.name, integers({-1, steps, heads * key_dim})})[0],
             {{1, true}, {steps}, {heads * key_dim}}, false);
        return true;
      }
      default: {  // less its mean, over the deviation
        std::size_t axis = 0;
        if (!other_axis(x, axis) || opset_ >= 18) {
          return false;
        }
        const auto mean = [&](const std::string& operand) {
          return node("ReduceMean", {operand}, 1,
                      [&](auto& n) { set(n, "axes", ints{static_cast<std::int64_t>(axis)}); })[0];
        };
        const std::string centered = node("Sub", {x.name, mean(x.name)})[0];
        const std::string variance = mean(node("Pow", {centered, number(2)})[0]);
        const std::string deviation = node("Sqrt", {node("Add", {variance, number(0.125F)})[0]})[0];
        keep(node("Div", {centered, deviation})[0], x.shape, false);
        return true;
      }
    }
  }

  std::mt19937_64 random_;
  std::int64_t opset_ = 13;
  std::size_t count_ = 0;
  std::vector<value> pool_;
};

}  // namespace test::random
