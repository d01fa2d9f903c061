#pragma once

#include <cstdint>
#include <filesystem>
#include <glia/onnx.hpp>
#include <string>
#include <vector>

#include "onnx/models.hpp"
#include "temporary_folder.hpp"

namespace test {

/// An ONNX graph put together by hand, of one input x and one output y.
class small_graph {
 public:
  /// x (N, ...), or of so many rows.
  explicit small_graph(const std::vector<std::int64_t>& sample, std::int64_t opset = 18,
                       std::int64_t rows = 0) {
    message.set_ir_version(8);
    auto& import = *message.add_opset_import();
    import.set_version(opset);
    auto& x = *message.mutable_graph()->add_input();
    x.set_name("x");
    auto& type = *x.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    auto& first = *type.mutable_shape()->add_dim();
    rows > 0 ? first.set_dim_value(rows) : first.set_dim_param("N");
    for (const std::int64_t extent : sample) {
      type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
    message.mutable_graph()->add_output()->set_name("y");
  }

  ::onnx::NodeProto& node(const std::string& operation, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
    return fill(*message.mutable_graph()->add_node(), operation, inputs, outputs);
  }
  static ::onnx::NodeProto& fill(::onnx::NodeProto& proto, const std::string& operation,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
    proto.set_op_type(operation);
    proto.set_name(operation);
    for (const std::string& name : inputs) {
      proto.add_input(name);
    }
    for (const std::string& name : outputs) {
      proto.add_output(name);
    }
    return proto;
  }
  static void set(::onnx::NodeProto& proto, const std::string& name,
                  const std::vector<std::int64_t>& numbers) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t number : numbers) {
      attribute.add_ints(number);
    }
  }

  static void set_flag(::onnx::NodeProto& proto, const std::string& name, bool value) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(value ? 1 : 0);
  }

  void weights(const std::string& name, const std::vector<std::int64_t>& extents,
               const std::vector<float>& numbers) {
    auto& proto = tensor(name, extents, ::onnx::TensorProto::FLOAT);
    for (const float number : numbers) {
      proto.add_float_data(number);
    }
  }
  void integers(const std::string& name, const std::vector<std::int64_t>& numbers) {
    auto& proto =
        tensor(name, {static_cast<std::int64_t>(numbers.size())}, ::onnx::TensorProto::INT64);
    for (const std::int64_t number : numbers) {
      proto.add_int64_data(number);
    }
  }

  /// Bytes, with or without signs, or other whole numbers of up to 32 bits.
  void bytes(const std::string& name, const std::vector<std::int64_t>& extents,
             const std::vector<std::int32_t>& numbers,
             ::onnx::TensorProto::DataType type = ::onnx::TensorProto::INT8) {
    auto& proto = tensor(name, extents, type);
    for (const std::int32_t number : numbers) {
      proto.add_int32_data(number);
    }
  }

  [[nodiscard]] glia::onnx_model read() const {
    const temporary_folder scratch;
    write_message(message, scratch.path() / "small.onnx");
    return glia::onnx_model{scratch.path() / "small.onnx"};
  }

  ::onnx::ModelProto message;

 private:
  ::onnx::TensorProto& tensor(const std::string& name, const std::vector<std::int64_t>& extents,
                              ::onnx::TensorProto::DataType type) {
    auto& proto = *message.mutable_graph()->add_initializer();
    proto.set_name(name);
    proto.set_data_type(type);
    for (const std::int64_t extent : extents) {
      proto.add_dims(extent);
    }
    return proto;
  }
};

}  // namespace test
