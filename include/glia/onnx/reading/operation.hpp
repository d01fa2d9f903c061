#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/builder.hpp"

namespace glia::onnx {

/// A node of the file with its operands, for the function that reads it. That function adds nodes
/// to the graph and sets the results.
class operation {
 public:
  using numbers_function = std::function<std::optional<numbers>(const std::string& name)>;

  /// `used_results` tells, for each result, whether the result is used.
  operation(const ::onnx::NodeProto& message, std::vector<tensor> operands, graph_builder& builder,
            std::int64_t opset_of_file, bool trains, std::vector<bool> used_results,
            const numbers_function& ask)
      : node(message),
        x(std::move(operands)),
        out(builder),
        opset(opset_of_file),
        training(trains),
        results(static_cast<std::size_t>(message.output_size())),
        used_results_(std::move(used_results)),
        ask_(&ask) {}

  const ::onnx::NodeProto& node;
  std::vector<tensor> x;  ///< Operands; empty tensors for omitted ones.
  graph_builder& out;
  std::int64_t opset;
  bool training;
  std::vector<tensor> results;

  // --- operands and results ----------------------------------------------------------------------

  [[nodiscard]] bool has(std::size_t i) const { return i < x.size() && x[i]; }
  /// Returns operand i. Throws `data_error` if it is omitted.
  [[nodiscard]] const tensor& operand(std::size_t i) const {
    require<data_error>(has(i), "expected at least ", i + 1, " operands, got ", x.size());
    return x[i];
  }
  /// Returns whether result i is used.
  [[nodiscard]] bool wants(std::size_t i) const {
    return i < used_results_.size() && used_results_[i];
  }
  void give(tensor result, std::size_t i = 0) {
    if (i < results.size()) {
      results[i] = std::move(result);
    }
  }
  /// Sets the first result: the value `id` with the axes and layout of `like`.
  void give_like(const tensor& like, value_id id) { give(graph_builder::with_value(like, id)); }

  /// Returns operand i as numbers. Throws `data_error` if it depends on the samples.
  [[nodiscard]] numbers known(std::size_t i) const {
    const tensor& t = operand(i);
    if (t.known != nullptr) {
      return *t.known;
    }
    if (t.source != nullptr && t.stored == extents_of(*t.source->data.message)) {
      numbers result = numbers_of(*t.source);
      result = permuted(result, flat(t.axes));
      result.extents = t.extents;
      return result;
    }
    std::optional<numbers> found = (*ask_)(node.input(static_cast<int>(i)));
    require<data_error>(found.has_value(), "operand ", i, ", '", node.input(static_cast<int>(i)),
                        "', depends on the samples; glia needs its value when it reads the file");
    return *std::move(found);
  }
  [[nodiscard]] std::vector<std::int64_t> known_integers(std::size_t i) const {
    return known(i).integers();
  }
  /// Returns a single number, or `otherwise` if the operand is omitted.
  [[nodiscard]] double known_number(std::size_t i, double otherwise) const {
    if (!has(i)) {
      return otherwise;
    }
    const numbers values = known(i);
    require<data_error>(values.size() == 1, "operand ", i, " has ", values.size(),
                        " elements; expected one number");
    return values.at(0);
  }

  /// Returns a single integer, or `otherwise` if the operand is omitted.
  [[nodiscard]] std::int64_t known_integer(std::size_t i, std::int64_t otherwise) const {
    if (!has(i)) {
      return otherwise;
    }
    const std::vector<std::int64_t> values = known_integers(i);
    require<data_error>(values.size() == 1, "operand ", i, " has ", values.size(),
                        " elements; expected one integer");
    return values[0];
  }

  // --- attributes --------------------------------------------------------------------------------

  [[nodiscard]] const ::onnx::AttributeProto* attribute(std::string_view name) const {
    for (const auto& candidate : node.attribute()) {
      if (candidate.name() == name) {
        return &candidate;
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* const a = typed(name, ::onnx::AttributeProto::INT);
    return a == nullptr ? otherwise : a->i();
  }
  [[nodiscard]] double real(std::string_view name, double otherwise) const {
    const auto* const a = typed(name, ::onnx::AttributeProto::FLOAT);
    return a == nullptr ? otherwise : a->f();
  }
  [[nodiscard]] std::string word(std::string_view name, const char* otherwise) const {
    const auto* const a = typed(name, ::onnx::AttributeProto::STRING);
    return a == nullptr ? otherwise : a->s();
  }
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name) const {
    const auto* const a = typed(name, ::onnx::AttributeProto::INTS);
    return a == nullptr
               ? std::nullopt
               : std::optional(std::vector<std::int64_t>(a->ints().begin(), a->ints().end()));
  }
  [[nodiscard]] std::vector<double> reals(std::string_view name) const {
    const auto* const a = typed(name, ::onnx::AttributeProto::FLOATS);
    return a == nullptr ? std::vector<double>{}
                        : std::vector<double>(a->floats().begin(), a->floats().end());
  }
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const {
    const auto* const a = typed(name, ::onnx::AttributeProto::STRINGS);
    return a == nullptr ? std::vector<std::string>{}
                        : std::vector<std::string>(a->strings().begin(), a->strings().end());
  }
  /// Returns integers that are an attribute in older opsets and operand i in newer opsets.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name,
                                                                  std::size_t i) const {
    return has(i) ? std::optional(known_integers(i)) : integers(name);
  }

 private:
  [[nodiscard]] const ::onnx::AttributeProto* typed(
      std::string_view name, ::onnx::AttributeProto::AttributeType type) const {
    const auto* const a = attribute(name);
    require<data_error>(a == nullptr || a->type() == type, "the attribute '", name,
                        "' has an unexpected type");
    return a;
  }

  std::vector<bool> used_results_;
  const numbers_function* ask_;
};

/// Converts integers of the file to extents. Throws `data_error` for negative integers.
[[nodiscard]] inline dims dims_from(const std::vector<std::int64_t>& integers) {
  dims result;
  for (const std::int64_t extent : integers) {
    require<data_error>(extent >= 0, "expected extents of at least 0, got ", extent);
    result.push_back(static_cast<std::size_t>(extent));
  }
  static_cast<void>(count_of(result));
  return result;
}

/// Returns axes of a tensor in the listed order. Throws `data_error` if an axis is listed twice or
/// does not exist.
[[nodiscard]] inline std::vector<std::size_t> axes_in_order(
    const std::vector<std::int64_t>& integers, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : integers) {
    axes.push_back(axis_in(axis, rank));
    require<data_error>(std::find(axes.begin(), axes.end() - 1, axes.back()) == axes.end() - 1,
                        "an axis is listed twice");
  }
  return axes;
}

/// Returns axes of a tensor in ascending order. Throws `data_error` if an axis is listed twice or
/// does not exist.
[[nodiscard]] inline std::vector<std::size_t> axes_from(const std::vector<std::int64_t>& integers,
                                                        std::size_t rank) {
  std::vector<std::size_t> axes;
  axes.reserve(integers.size());
  for (const std::int64_t axis : integers) {
    axes.push_back(axis_in(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  require<data_error>(std::adjacent_find(axes.begin(), axes.end()) == axes.end(),
                      "an axis is listed twice");
  return axes;
}

}  // namespace glia::onnx
