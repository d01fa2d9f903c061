#pragma once

#include <algorithm>
#include <bit>
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

#include "glia/core/error.hpp"
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
  /// `input` is the name of the input that contains the samples.
  writer(::onnx::GraphProto& to, std::string input) : to_(&to), input_(std::move(input)) {}

  /// Sets the layer to which the next operators belong.
  void set_place(std::string_view place) { place_ = place; }

  [[nodiscard]] ::onnx::NodeProto& node(std::string_view operation, const names& inputs) {
    ::onnx::NodeProto& made = *to_->add_node();
    made.set_op_type(std::string(operation));
    made.set_name(unique(place_.empty() ? std::string(operation)
                                        : text(place_, '/', std::string(operation))));
    for (const std::string& input : inputs) {
      made.add_input(input);
    }
    return made;
  }
  /// Writes an operator with one result and the attributes that `with(node)` sets.
  template <class With>
  std::string call(std::string_view operation, const names& inputs, const With& with) {
    ::onnx::NodeProto& made = node(operation, inputs);
    with(made);
    made.add_output(made.name());
    return made.name();
  }
  std::string call(std::string_view operation, const names& inputs) {
    return call(operation, inputs, [](::onnx::NodeProto&) {});
  }

  static void set(::onnx::NodeProto& of, std::string_view name, std::int64_t number) {
    ::onnx::AttributeProto& made = attribute(of, name, ::onnx::AttributeProto::INT);
    made.set_i(number);
  }
  static void set(::onnx::NodeProto& of, std::string_view name, float number) {
    ::onnx::AttributeProto& made = attribute(of, name, ::onnx::AttributeProto::FLOAT);
    made.set_f(number);
  }
  static void set(::onnx::NodeProto& of, std::string_view name, std::string_view word) {
    ::onnx::AttributeProto& made = attribute(of, name, ::onnx::AttributeProto::STRING);
    made.set_s(std::string(word));
  }
  static void set(::onnx::NodeProto& of, std::string_view name, const integers& numbers) {
    ::onnx::AttributeProto& made = attribute(of, name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t number : numbers) {
      made.add_ints(number);
    }
  }

  // --- constants ---------------------------------------------------------------------------------

  [[nodiscard]] static value constant_value(const constant& of) {
    value result{"", {}, plain_order(of.shape.rank()), &of};
    for (const std::size_t count : of.shape) {
      result.shape.push_back({count, false});
    }
    return result;
  }

  /// Stores a constant that was computed from other constants, as long as the writer exists.
  const constant& keep(constant one) { return kept_.emplace_back(std::move(one)); }

  /// Writes signed or unsigned bytes under this name, or a similar one if it is taken.
  std::string bytes(std::string_view name, const glia::shape& s, std::span<const std::int32_t> all,
                    bool with_signs) {
    std::vector<std::uint8_t> made(all.begin(), all.end());
    const auto type = with_signs ? ::onnx::TensorProto::INT8 : ::onnx::TensorProto::UINT8;
    return initializer(name, s, type, std::as_bytes(std::span(made)));
  }

  /// Writes numbers under this name, or a similar one if it is taken.
  std::string numbers(std::string_view name, const glia::shape& s, std::span<const float> all) {
    return initializer(name, s, ::onnx::TensorProto::FLOAT, std::as_bytes(all));
  }
  /// Writes a number as a tensor without axes.
  std::string number(double of) {
    const auto exact = static_cast<float>(of);
    std::string& known = numbers_[std::bit_cast<std::uint32_t>(exact)];
    if (known.empty()) {
      known = numbers(text("number_", exact), {}, std::span(&exact, 1));
    }
    return known;
  }
  /// Writes integers as a tensor with one axis, or one integer as a tensor without axes.
  std::string whole(const integers& all, bool has_axis = true) {
    std::string key = has_axis ? "integers" : "integer";
    for (const std::int64_t one : all) {
      key += text('_', one);
    }
    std::string& known = integers_[key];
    if (known.empty()) {
      known = whole_numbers(key, has_axis ? glia::shape{all.size()} : glia::shape{}, all);
    }
    return known;
  }

  /// Writes integers of any shape under this name, or a similar one if it is taken.
  std::string whole_numbers(std::string_view name, const glia::shape& s, const integers& all) {
    return initializer(name, s, ::onnx::TensorProto::INT64, std::as_bytes(std::span(all)));
  }

  /// Writes weights as bytes under their name, and the operator that converts the bytes to numbers.
  /// `all` has the shape `s`. `scales` has one scale for each index along `axis`.
  std::string dequantized(const constant& of, const glia::shape& s, std::span<const float> all,
                          std::span<const float> scales, std::size_t axis) {
    const std::vector<std::size_t> lengths(s.begin(), s.end());
    std::vector<std::int32_t> whole(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float q = std::nearbyint(all[i] / scales[index_along(axis, lengths, i)]);
      whole[i] = std::clamp(static_cast<std::int32_t>(q), of.range.least, of.range.most);
    }
    const std::vector<std::int32_t> zeros(scales.size(), 0);
    const glia::shape along{scales.size()};
    return call(
        "DequantizeLinear",
        {bytes(of.name, s, whole, true), numbers(of.name + ".scale", along, scales),
         bytes(of.name + ".zero_point", along, zeros, true)},
        [&](::onnx::NodeProto& made) { set(made, "axis", static_cast<std::int64_t>(axis)); });
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
        const auto at = std::find(v.order.begin(), v.order.end(), axis);
        turns.push_back(at - v.order.begin());
      }
      known =
          call("Transpose", {v.name}, [&](::onnx::NodeProto& made) { set(made, "perm", turns); });
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
  std::string shape_tensor(const extents& of) {
    const auto varying =
        std::count_if(of.begin(), of.end(), [](const extent& e) { return e.of_each_sample; });
    if (varying == 0) {
      return whole(fixed(of));
    }
    names parts;
    for (const extent& e : of) {
      const std::string count = whole({static_cast<std::int64_t>(e.count)});
      parts.push_back(!e.of_each_sample ? count
                      : e.count == 1    ? samples()
                                        : call("Mul", {samples(), count}));
    }
    return call("Concat", parts,
                [](::onnx::NodeProto& made) { set(made, "axis", std::int64_t{0}); });
  }
  /// Returns the extents for a Reshape. An extent that depends on the batch size is -1, if only one
  /// depends on it: the operator computes this extent itself.
  std::string reshape_tensor(const extents& of) {
    const auto varies = [](const extent& e) { return e.of_each_sample; };
    const auto size = [](std::size_t so_far, const extent& e) { return so_far * e.count; };
    const bool empty = std::accumulate(of.begin(), of.end(), std::size_t{1}, size) == 0;
    if (empty || std::count_if(of.begin(), of.end(), varies) != 1) {
      return shape_tensor(of);
    }
    integers all = fixed(of);
    const auto at = std::find_if(of.begin(), of.end(), varies) - of.begin();
    all[static_cast<std::size_t>(at)] = -1;
    return whole(all);
  }

 private:
  static ::onnx::AttributeProto& attribute(::onnx::NodeProto& of, std::string_view name,
                                           ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto& made = *of.add_attribute();
    made.set_name(std::string(name));
    made.set_type(type);
    return made;
  }
  std::string initializer(std::string_view name, const glia::shape& s,
                          ::onnx::TensorProto::DataType type, std::span<const std::byte> bytes) {
    ::onnx::TensorProto& made = *to_->add_initializer();
    fill(made, unique(std::string(name)), s, type, bytes);
    return made.name();
  }
  static void fill(::onnx::TensorProto& made, const std::string& name, const glia::shape& s,
                   ::onnx::TensorProto::DataType type, std::span<const std::byte> bytes) {
    made.set_name(name);
    made.set_data_type(type);
    for (const std::size_t count : s) {
      made.add_dims(static_cast<std::int64_t>(count));
    }
    made.set_raw_data(bytes.data(), bytes.size());
  }
  [[nodiscard]] static integers fixed(const extents& of) {
    integers all;
    for (const extent& e : of) {
      all.push_back(static_cast<std::int64_t>(e.count));
    }
    return all;
  }

  std::string unique(const std::string& name) {
    std::size_t& taken = taken_[name];
    ++taken;
    return taken == 1 ? name : unique(text(name, '_', taken));
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
    const std::vector<float> numbers_there =
        in_order(v.known->numbers, {wide.begin(), wide.end()}, order);
    if (!v.known->scales.empty()) {
      const auto last = std::find(order.begin(), order.end(), rank - 1) - order.begin();
      known = dequantized(*v.known, turned, numbers_there, v.known->scales,
                          static_cast<std::size_t>(last));
      return known;
    }
    if (v.known->weights) {
      known = numbers(v.known->name, turned, numbers_there);
      return known;
    }
    known = call("Constant", {}, [&](::onnx::NodeProto& made) {
      ::onnx::TensorProto& held =
          *attribute(made, "value", ::onnx::AttributeProto::TENSOR).mutable_t();
      fill(held, v.known->name, turned, ::onnx::TensorProto::FLOAT,
           std::as_bytes(std::span(numbers_there)));
    });
    return known;
  }

  ::onnx::GraphProto* to_;
  std::string input_;
  std::string place_;
  std::string samples_;
  std::map<std::string, std::size_t> taken_;
  std::map<std::uint32_t, std::string> numbers_;  // by their bit pattern
  std::map<std::string, std::string> integers_;
  std::map<std::pair<std::string, axis_order>, std::string> arranged_;
  std::map<std::pair<const constant*, axis_order>, std::string> constants_;
  std::deque<constant> kept_;
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
