#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/onnx/axes.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/writing/constant.hpp"

namespace glia::onnx {

/// An extent of an axis: constant, or proportional to the batch size.
struct extent {
  std::size_t count = 1;
  bool of_each_sample = false;

  friend bool operator==(const extent&, const extent&) = default;
};
using extents = std::vector<extent>;

/// The axis order of images in ONNX, (N, C, H, W).
[[nodiscard]] inline axis_order channels_first() { return {0, 3, 1, 2}; }

/// A tensor of the file. A default-constructed object stands for "no tensor", such as an omitted
/// operand.
struct value {
  std::string name;  ///< Name; the name of a constant is empty until its first use.
  extents shape;     ///< Extents of glia's axes.
  axis_order order;  ///< Order of the axes in the file.
  const constant* known = nullptr;

  [[nodiscard]] explicit operator bool() const noexcept {
    return known != nullptr || !name.empty();
  }
  [[nodiscard]] std::size_t rank() const noexcept { return shape.size(); }
};

using values = std::vector<value>;
using names = std::vector<std::string>;
using integers = std::vector<std::int64_t>;

/// Writes the operators of a graph, for ONNX opset 17. Transposes are written only if they are
/// needed: images stay (N, C, H, W) from one convolution to the next.
class writer {
 public:
  /// `input` is the name of an input that contains samples.
  writer(::onnx::GraphProto& graph, std::string input) : graph_(&graph), input_(std::move(input)) {}

  /// Keeps a name of an input or output from being used for other tensors.
  void reserve(const std::string& name) { static_cast<void>(unique(name)); }

  /// Sets the layer to which the next operators belong.
  void set_place(std::string_view place) { place_ = place; }

  [[nodiscard]] ::onnx::NodeProto& node(std::string_view operation, const names& inputs) {
    ::onnx::NodeProto& result = *graph_->add_node();
    result.set_op_type(std::string(operation));
    result.set_name(unique(place_.empty() ? std::string(operation)
                                          : text(place_, '/', std::string(operation))));
    for (const std::string& input : inputs) {
      result.add_input(input);
    }
    return result;
  }
  /// Writes an operator with one result and the attributes that `set_attributes(node)` sets.
  template <class Set>
  std::string call(std::string_view operation, const names& inputs, const Set& set_attributes) {
    ::onnx::NodeProto& result = node(operation, inputs);
    set_attributes(result);
    result.add_output(result.name());
    return result.name();
  }
  std::string call(std::string_view operation, const names& inputs) {
    return call(operation, inputs, [](::onnx::NodeProto&) {});
  }

  static void set(::onnx::NodeProto& node, std::string_view name, std::int64_t number) {
    ::onnx::AttributeProto& result = attribute(node, name, ::onnx::AttributeProto::INT);
    result.set_i(number);
  }
  static void set(::onnx::NodeProto& node, std::string_view name, float number) {
    ::onnx::AttributeProto& result = attribute(node, name, ::onnx::AttributeProto::FLOAT);
    result.set_f(number);
  }
  static void set(::onnx::NodeProto& node, std::string_view name, std::string_view word) {
    ::onnx::AttributeProto& result = attribute(node, name, ::onnx::AttributeProto::STRING);
    result.set_s(std::string(word));
  }
  static void set(::onnx::NodeProto& node, std::string_view name, const integers& numbers) {
    ::onnx::AttributeProto& result = attribute(node, name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t number : numbers) {
      result.add_ints(number);
    }
  }

  // --- constants ---------------------------------------------------------------------------------

  [[nodiscard]] static value constant_value(const constant& source) {
    value result{"", {}, plain_order(source.shape.rank()), &source};
    for (const std::size_t count : source.shape) {
      result.shape.push_back({count, false});
    }
    return result;
  }

  /// Stores a constant that was computed from other constants, as long as the writer exists.
  const constant& keep(constant computed) { return computed_.emplace_back(std::move(computed)); }

  /// Writes signed or unsigned bytes under this name, or a similar one if it is taken.
  std::string bytes(std::string_view name, const glia::shape& s,
                    std::span<const std::int32_t> elements, bool with_signs) {
    std::vector<std::uint8_t> stored(elements.begin(), elements.end());
    const auto type = with_signs ? ::onnx::TensorProto::INT8 : ::onnx::TensorProto::UINT8;
    return initializer(name, s, type, std::as_bytes(std::span(stored)));
  }

  /// Writes numbers under this name, or a similar one if it is taken.
  std::string numbers(std::string_view name, const glia::shape& s,
                      std::span<const float> elements) {
    return initializer(name, s, ::onnx::TensorProto::FLOAT, std::as_bytes(elements));
  }
  /// Writes a number as a tensor without axes.
  std::string number(double x) {
    const auto exact = static_cast<float>(x);
    std::string& known = numbers_[glia::detail::bit_cast<std::uint32_t>(exact)];
    if (known.empty()) {
      known = numbers(text("number_", exact), {}, std::span(&exact, 1));
    }
    return known;
  }
  /// Writes integers as a tensor with one axis, or one integer as a tensor without axes.
  std::string whole(const integers& elements, bool has_axis = true) {
    std::string key = has_axis ? "integers" : "integer";
    for (const std::int64_t integer : elements) {
      key += text('_', integer);
    }
    std::string& known = integers_[key];
    if (known.empty()) {
      known = whole_numbers(key, has_axis ? glia::shape{elements.size()} : glia::shape{}, elements);
    }
    return known;
  }

  /// Writes integers of any shape under this name, or a similar one if it is taken.
  std::string whole_numbers(std::string_view name, const glia::shape& s, const integers& elements) {
    return initializer(name, s, ::onnx::TensorProto::INT64, std::as_bytes(std::span(elements)));
  }

  /// Writes weights as bytes under their name, and the operator that converts the bytes to numbers.
  /// `elements` has the shape `s`. `scales` has one scale for each index along `axis`.
  std::string dequantized(const constant& weights, const glia::shape& s,
                          std::span<const float> elements, std::span<const float> scales,
                          std::size_t axis) {
    const std::vector<std::size_t> lengths(s.begin(), s.end());
    std::vector<std::int32_t> whole(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const float q = std::nearbyint(elements[i] / scales[index_along(axis, lengths, i)]);
      whole[i] =
          std::clamp(static_cast<std::int32_t>(q), weights.range.minimum, weights.range.maximum);
    }
    const std::vector<std::int32_t> zeros(scales.size(), 0);
    const glia::shape scale_shape{scales.size()};
    return call(
        "DequantizeLinear",
        {bytes(weights.name, s, whole, true), numbers(weights.name + ".scale", scale_shape, scales),
         bytes(weights.name + ".zero_point", scale_shape, zeros, true)},
        [&](::onnx::NodeProto& node) { set(node, "axis", static_cast<std::int64_t>(axis)); });
  }

  /// Returns the name of a value. Writes a constant before its first use.
  std::string use(const value& v) {
    return v.known ? arranged_constant(v, v.order, v.rank()) : v.name;
  }

  // --- axes --------------------------------------------------------------------------------------

  /// Returns a value with its axes in this order.
  value arranged(const value& v, const axis_order& order) {
    if (v.order == order) {
      return v;
    }
    value result = v;
    result.order = order;
    if (v.known != nullptr) {
      return result;
    }
    std::string& known = arranged_[{v.name, order}];
    if (known.empty()) {
      integers turns;
      for (const std::size_t axis : order) {
        const auto position = std::find(v.order.begin(), v.order.end(), axis);
        turns.push_back(position - v.order.begin());
      }
      known =
          call("Transpose", {v.name}, [&](::onnx::NodeProto& node) { set(node, "perm", turns); });
    }
    result.name = known;
    return result;
  }
  value plain(const value& v) { return arranged(v, plain_order(v.rank())); }

  /// Arranges a value so that ONNX can broadcast it to axes in this order. Returns its name.
  std::string broadcastable(const value& v, const axis_order& order) {
    if (v.known != nullptr) {
      return arranged_constant(v, order, order.size());
    }
    require<value_error>(v.rank() == order.size() || order == plain_order(order.size()),
                         "onnx: cannot combine a tensor with ", v.rank(), " axes and one with ",
                         order.size(), " axes");
    return (v.rank() == order.size() ? arranged(v, order) : plain(v)).name;
  }

  /// Returns the extents as a tensor of integers.
  std::string shape_tensor(const extents& shape) {
    const auto varying =
        std::count_if(shape.begin(), shape.end(), [](const extent& e) { return e.of_each_sample; });
    if (varying == 0) {
      return whole(fixed(shape));
    }
    names parts;
    for (const extent& e : shape) {
      const std::string count = whole({static_cast<std::int64_t>(e.count)});
      parts.push_back(!e.of_each_sample ? count
                      : e.count == 1    ? samples()
                                        : call("Mul", {samples(), count}));
    }
    return call("Concat", parts,
                [](::onnx::NodeProto& node) { set(node, "axis", std::int64_t{0}); });
  }
  /// Returns the extents for a Reshape. An extent that depends on the batch size is -1, if only one
  /// depends on it: the operator computes this extent itself.
  std::string reshape_tensor(const extents& shape) {
    const auto varies = [](const extent& e) { return e.of_each_sample; };
    const auto size = [](std::size_t product, const extent& e) { return product * e.count; };
    const bool empty = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, size) == 0;
    if (empty || std::count_if(shape.begin(), shape.end(), varies) != 1) {
      return shape_tensor(shape);
    }
    integers result = fixed(shape);
    const auto position = std::find_if(shape.begin(), shape.end(), varies) - shape.begin();
    result[static_cast<std::size_t>(position)] = -1;
    return whole(result);
  }

 private:
  static ::onnx::AttributeProto& attribute(::onnx::NodeProto& node, std::string_view name,
                                           ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto& result = *node.add_attribute();
    result.set_name(std::string(name));
    result.set_type(type);
    return result;
  }
  std::string initializer(std::string_view name, const glia::shape& s,
                          ::onnx::TensorProto::DataType type, std::span<const std::byte> bytes) {
    ::onnx::TensorProto& tensor = *graph_->add_initializer();
    fill(tensor, unique(std::string(name)), s, type, bytes);
    return tensor.name();
  }
  static void fill(::onnx::TensorProto& tensor, const std::string& name, const glia::shape& s,
                   ::onnx::TensorProto::DataType type, std::span<const std::byte> bytes) {
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::size_t count : s) {
      tensor.add_dims(static_cast<std::int64_t>(count));
    }
    glia::detail::use_little_endian(
        bytes, bytes.size() / std::max<std::size_t>(s.size(), 1),
        [&](std::string_view content) { tensor.set_raw_data(content.data(), content.size()); });
  }
  [[nodiscard]] static integers fixed(const extents& shape) {
    integers result;
    for (const extent& e : shape) {
      result.push_back(static_cast<std::int64_t>(e.count));
    }
    return result;
  }

  std::string unique(const std::string& name) {
    std::size_t& count = name_counts_[name];
    ++count;
    return count == 1 ? name : unique(text(name, '_', count));
  }
  /// Returns the batch size as a tensor with one axis and one element.
  const std::string& samples() {
    if (samples_.empty()) {
      const std::string place = std::exchange(place_, "");
      samples_ = call("Gather", {call("Shape", {input_}), whole({0})});
      place_ = place;
    }
    return samples_;
  }

  std::string arranged_constant(const value& v, const axis_order& order, std::size_t rank) {
    // A shape is broadcast by adding leading axes of extent 1.
    const std::size_t missing = rank - v.rank();
    glia::shape wide;
    for (std::size_t i = 0; i < rank; ++i) {
      wide.push_back(i < missing ? 1 : v.known->shape[i - missing]);
    }
    std::string& known = constants_[{v.known, order}];
    if (!known.empty()) {
      return known;
    }
    glia::shape turned;
    for (const std::size_t axis : order) {
      turned.push_back(wide[axis]);
    }
    const std::vector<float> elements =
        in_order(v.known->numbers, {wide.begin(), wide.end()}, order);
    if (!v.known->scales.empty()) {
      const auto last = std::find(order.begin(), order.end(), rank - 1) - order.begin();
      known =
          dequantized(*v.known, turned, elements, v.known->scales, static_cast<std::size_t>(last));
      return known;
    }
    if (v.known->weights) {
      known = numbers(v.known->name, turned, elements);
      return known;
    }
    known = call("Constant", {}, [&](::onnx::NodeProto& node) {
      ::onnx::TensorProto& tensor =
          *attribute(node, "value", ::onnx::AttributeProto::TENSOR).mutable_t();
      fill(tensor, v.known->name, turned, ::onnx::TensorProto::FLOAT,
           std::as_bytes(std::span(elements)));
    });
    return known;
  }

  ::onnx::GraphProto* graph_;
  std::string input_;
  std::string place_;
  std::string samples_;
  std::map<std::string, std::size_t> name_counts_;
  std::map<std::uint32_t, std::string> numbers_;  // by their bit pattern
  std::map<std::string, std::string> integers_;
  std::map<std::pair<std::string, axis_order>, std::string> arranged_;
  std::map<std::pair<const constant*, axis_order>, std::string> constants_;
  std::deque<constant> computed_;
};

/// The context for writing the operators of a kernel: the operands, the shapes of the results, and
/// the layer of the kernel.
struct lowering {
  writer& out;
  std::span<const value> x;
  std::span<const extents> results;
  const std::string& place;

  /// Returns the first result of the kernel. It has this name and this order of axes in the file.
  [[nodiscard]] value result(std::string name, const axis_order& order) const {
    return {std::move(name), results[0], order};
  }
  [[nodiscard]] value result(std::string name) const {
    return result(std::move(name), plain_order(results[0].size()));
  }
};

}  // namespace glia::onnx
