#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <glia/onnx.hpp>
#include <glia/onnx/reading/graph_reader.hpp>
#include <map>
#include <string>
#include <vector>

// The ONNX project's own cases: a model of one node, or a small one, with inputs and the outputs
// that they must give. On Debian they come with libonnx-testdata.
namespace test::standard {

inline const std::filesystem::path folder = "/usr/share/libonnx-testdata/data";

struct outcome {
  enum class kind { passed, refused, failed };
  kind status = kind::failed;
  std::string reason;
};

/// Whether what goes in and comes out of a model are tensors of floats, beside integers and truth
/// values that say shapes, axes and the like.
inline bool is_in_float(const ::onnx::GraphProto& graph) {
  bool floats = false;
  bool unsupported = false;
  const auto look = [&](const ::onnx::ValueInfoProto& value) {
    using P = ::onnx::TensorProto;
    const int type = value.type().has_tensor_type() ? value.type().tensor_type().elem_type() : 0;
    floats = floats || type == P::FLOAT;
    unsupported = unsupported ||
                  (type != P::FLOAT && type != P::INT64 && type != P::INT32 && type != P::BOOL);
  };
  for (const auto& value : graph.input()) {
    look(value);
  }
  for (const auto& value : graph.output()) {
    look(value);
  }
  return floats && !unsupported;
}

/// Whether there are doubles, which single precision may not hold.
inline bool is_in_double(const ::onnx::GraphProto& graph) {
  return std::any_of(graph.input().begin(), graph.input().end(), [](const auto& value) {
    return value.type().has_tensor_type() &&
           value.type().tensor_type().elem_type() == ::onnx::TensorProto::DOUBLE;
  });
}

inline ::onnx::TensorProto tensor_in(const std::filesystem::path& path) {
  ::onnx::TensorProto message;
  std::ifstream file(path, std::ios::binary);
  if (!message.ParseFromIstream(&file)) {
    throw glia::value_error(path.string() + ": no tensor");
  }
  return message;
}

/// Whether an input is an option of its operations, such as scales or regions, and not data. Models
/// have constants there.
inline bool is_option(const ::onnx::GraphProto& graph, const std::string& input) {
  for (const auto& node : graph.node()) {
    const std::string& operation = node.op_type();
    for (int i = 0; i < node.input_size(); ++i) {
      const bool option =
          operation == "Range" ||
          ((operation == "Resize" || operation == "Upsample" || operation == "Pad" ||
            operation == "Dropout") &&
           i > 0) ||
          ((operation == "QuantizeLinear" || operation == "DequantizeLinear") && i > 0) ||
          (operation == "OneHot" && i == 1);
      if (node.input(i) == input && !option) {
        return false;
      }
    }
  }
  return true;
}

/// Runs one set of inputs of a case on a backend, held to the 1e-3 of the ONNX project's own
/// runner, kernel by kernel. Reals are what depends on samples, all else is known, as it is in a
/// model.
template <class B>
void run_set(const glia::onnx::model_content& content, const std::filesystem::path& data,
             const B& device, bool whole_recurrences) {
  using glia::onnx::tensor;
  glia::onnx::graph_reader reader(content, false);
  reader.out.whole_recurrences = whole_recurrences;
  glia::tape tape(device);
  std::map<glia::value_id, std::vector<double>> bindings;
  const auto& graph = content.graph();
  std::set<std::string> weights;
  for (const auto& initializer : graph.initializer()) {
    weights.insert(initializer.name());
  }
  int number = 0;
  for (const auto& input : graph.input()) {
    const auto file = data / ("input_" + std::to_string(number++) + ".pb");
    if (!std::filesystem::exists(file)) {
      if (weights.contains(input.name())) {
        continue;
      }
      throw glia::data_error(input.name() + " is no tensor");
    }
    ::onnx::TensorProto message = tensor_in(file);
    // NumPy has no such numbers, and wrote their bits.
    if (input.type().tensor_type().elem_type() == ::onnx::TensorProto::BFLOAT16) {
      message.set_data_type(::onnx::TensorProto::BFLOAT16);
    }
    const glia::onnx::numbers numbers = glia::onnx::numbers_of({&message});
    if (!glia::onnx::is_real(message.data_type()) || is_option(graph, input.name())) {
      reader.give(input.name(), glia::onnx::known_tensor(numbers));
      continue;
    }
    const auto id = reader.out.add_samples(input.name(), glia::onnx::shape_of(numbers.extents));
    bindings[id] = numbers.reals();
    reader.give(input.name(), reader.out.computed(id, message.data_type()));
  }
  std::vector<std::string> names;
  for (const auto& output : graph.output()) {
    names.push_back(output.name());
  }
  reader.read(names);
  std::vector<glia::value_id> values;
  for (const std::string& name : names) {
    const tensor& y = reader.result(name);
    values.push_back(y.known != nullptr ? glia::no_value : reader.out.plain(y));
  }
  for (const auto& w : reader.out.weights) {
    const std::vector<float> numbers = w.read();
    bindings[w.value] = {numbers.begin(), numbers.end()};
  }
  glia::onnx::replay run(reader.out.calls, tape);
  for (const auto& [id, numbers] : bindings) {
    run.set(id, tape.constant(device.from_host(std::span<const double>(numbers),
                                               reader.out.calls.spec(id).shape)));
  }
  glia::parameter_list no_parameters;
  std::vector<glia::gradient_slot> slots;
  glia::scope scope(tape, std::as_const(no_parameters), slots);
  for (const auto& node : reader.out.calls.nodes()) {
    run.run(node, scope);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    ::onnx::TensorProto message = tensor_in(data / ("output_" + std::to_string(i) + ".pb"));
    if (graph.output(static_cast<int>(i)).type().tensor_type().elem_type() ==
        ::onnx::TensorProto::BFLOAT16) {
      message.set_data_type(::onnx::TensorProto::BFLOAT16);
    }
    const glia::onnx::numbers expected = glia::onnx::numbers_of({&message});
    const tensor& y = reader.result(names[i]);
    if (y.extents != expected.extents) {
      throw glia::value_error(glia::text(names[i], " has the shape ", glia::onnx::words(y.extents),
                                         ", expected ", glia::onnx::words(expected.extents)));
    }
    std::vector<double> actual(expected.size());
    if (y.known != nullptr) {
      for (std::size_t k = 0; k < actual.size(); ++k) {
        actual[k] = y.known->at(k);
      }
    } else {
      device.to_host(run.real(values[i]).value(), std::span<double>(actual));
    }
    for (std::size_t k = 0; k < actual.size(); ++k) {
      const double w = expected.at(k);
      const bool same = std::isnan(w)   ? std::isnan(actual[k])
                        : std::isinf(w) ? actual[k] == w
                                        : std::abs(actual[k] - w) <= 1e-6 + 1e-3 * std::abs(w);
      if (!same) {
        throw glia::value_error(names[i] + "[" + std::to_string(k) + "] is " +
                                std::to_string(actual[k]) + ", expected " + std::to_string(w));
      }
    }
  }
}

/// Runs all sets of a case. What glia says that it does not read, it refuses.
template <class B>
outcome run(const std::filesystem::path& directory, const B& device, bool whole_recurrences) {
  try {
    const glia::onnx::model_content content(directory / "model.onnx");
    for (const auto& set : std::filesystem::directory_iterator(directory)) {
      if (set.is_directory()) {
        run_set(content, set.path(), device, whole_recurrences);
      }
    }
    return {outcome::kind::passed, ""};
  } catch (const glia::data_error& e) {
    return {outcome::kind::refused, e.what()};
  } catch (const std::exception& e) {
    return {outcome::kind::failed, e.what()};
  }
}

}  // namespace test::standard
