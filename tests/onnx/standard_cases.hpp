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
  kind how = kind::failed;
  std::string why;
};

/// Whether what goes in and comes out of a model are tensors of floats, beside integers and truth
/// values that say shapes, axes and the like.
inline bool is_in_float(const ::onnx::GraphProto& graph) {
  bool floats = false;
  bool others = false;
  const auto look = [&](const ::onnx::ValueInfoProto& one) {
    using P = ::onnx::TensorProto;
    const int type = one.type().has_tensor_type() ? one.type().tensor_type().elem_type() : 0;
    floats = floats || type == P::FLOAT;
    others =
        others || (type != P::FLOAT && type != P::INT64 && type != P::INT32 && type != P::BOOL);
  };
  for (const auto& one : graph.input()) {
    look(one);
  }
  for (const auto& one : graph.output()) {
    look(one);
  }
  return floats && !others;
}

/// Whether there are doubles, which single precision may not hold.
inline bool is_in_double(const ::onnx::GraphProto& graph) {
  return std::any_of(graph.input().begin(), graph.input().end(), [](const auto& one) {
    return one.type().has_tensor_type() &&
           one.type().tensor_type().elem_type() == ::onnx::TensorProto::DOUBLE;
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

/// Whether an input says how something is done, as scales and regions do, and is not what it is
/// done to: models have constants there.
inline bool says_how(const ::onnx::GraphProto& graph, const std::string& input) {
  for (const auto& node : graph.node()) {
    const std::string& what = node.op_type();
    for (int i = 0; i < node.input_size(); ++i) {
      const bool how =
          what == "Range" ||
          ((what == "Resize" || what == "Upsample" || what == "Pad" || what == "Dropout") &&
           i > 0) ||
          ((what == "QuantizeLinear" || what == "DequantizeLinear") && i > 0) ||
          (what == "OneHot" && i == 1);
      if (node.input(i) == input && !how) {
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
  glia::tape on(device);
  std::map<glia::value_id, std::vector<double>> given;
  const auto& graph = content.graph();
  std::set<std::string> weights;
  for (const auto& one : graph.initializer()) {
    weights.insert(one.name());
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
    const glia::onnx::numbers all = glia::onnx::numbers_of({&message});
    if (!glia::onnx::is_real(message.data_type()) || says_how(graph, input.name())) {
      reader.give(input.name(), glia::onnx::known_tensor(all));
      continue;
    }
    const auto id = reader.out.add_samples(input.name(), glia::onnx::shape_of(all.extents));
    given[id] = all.reals();
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
    given[w.value] = {numbers.begin(), numbers.end()};
  }
  glia::onnx::replay run(reader.out.calls, on);
  for (const auto& [id, numbers] : given) {
    run.set(id, on.constant(device.from_host(std::span<const double>(numbers),
                                             reader.out.calls.spec(id).shape)));
  }
  glia::parameter_list none;
  std::vector<glia::gradient_slot> slots;
  glia::scope scope(on, std::as_const(none), slots);
  for (const auto& node : reader.out.calls.nodes()) {
    run.run(node, scope);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    ::onnx::TensorProto expected = tensor_in(data / ("output_" + std::to_string(i) + ".pb"));
    if (graph.output(static_cast<int>(i)).type().tensor_type().elem_type() ==
        ::onnx::TensorProto::BFLOAT16) {
      expected.set_data_type(::onnx::TensorProto::BFLOAT16);
    }
    const glia::onnx::numbers wanted = glia::onnx::numbers_of({&expected});
    const tensor& y = reader.result(names[i]);
    if (y.extents != wanted.extents) {
      throw glia::value_error(glia::text(names[i], " has the shape ", glia::onnx::words(y.extents),
                                         ", expected ", glia::onnx::words(wanted.extents)));
    }
    std::vector<double> got(wanted.size());
    if (y.known != nullptr) {
      for (std::size_t k = 0; k < got.size(); ++k) {
        got[k] = y.known->at(k);
      }
    } else {
      device.to_host(run.real(values[i]).value(), std::span<double>(got));
    }
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double w = wanted.at(k);
      const bool same = std::isnan(w)   ? std::isnan(got[k])
                        : std::isinf(w) ? got[k] == w
                                        : std::abs(got[k] - w) <= 1e-6 + 1e-3 * std::abs(w);
      if (!same) {
        throw glia::value_error(names[i] + "[" + std::to_string(k) + "] is " +
                                std::to_string(got[k]) + ", expected " + std::to_string(w));
      }
    }
  }
}

/// Runs all sets of a case. What glia says that it does not read, it refuses.
template <class B>
outcome run(const std::filesystem::path& of, const B& device, bool whole_recurrences) {
  try {
    const glia::onnx::model_content content(of / "model.onnx");
    for (const auto& set : std::filesystem::directory_iterator(of)) {
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
