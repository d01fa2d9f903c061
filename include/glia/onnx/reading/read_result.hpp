#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/input_file.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/graph/graph.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

/// Weights as the graph uses them: with axes split, permuted and joined again.
struct graph_weight {
  value_id value = no_value;  ///< Value of the graph.
  const weight* source = nullptr;
  std::string name;
  dims split;
  std::vector<std::size_t> places;
  glia::shape shape;
  bool trainable = true;
  std::shared_ptr<const weight> owner{};  ///< Owner of `source`, if the file does not contain it.

  /// Reads the numbers.
  [[nodiscard]] std::vector<float> read() const {
    std::vector<float> elements = floats_of(*source);
    return has_file_order() ? elements : in_order(elements, split, places);
  }
  /// Returns the numbers where they are, if the weight is large and a mapped file contains it in
  /// this layout and in the processor's byte order. Otherwise returns nothing. `content` keeps the
  /// file.
  [[nodiscard]] shared_floats in_place(std::shared_ptr<const void> content) const {
    constexpr std::size_t min_size = 1 << 16;  // bytes; smaller weights are copied
    const tensor_data& data = source->data;
    const std::span<const std::byte> bytes = data.external_bytes;
    const shared_floats floats{
        {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)},
        std::move(content)};
    const bool is_in_place = !glia::detail::is_big_endian && !source->steps && has_file_order() &&
                             bytes.size() >= min_size &&
                             data.message->data_type() == ::onnx::TensorProto::FLOAT &&
                             floats.is_aligned();
    return is_in_place ? floats : shared_floats{};
  }

 private:
  [[nodiscard]] bool has_file_order() const { return std::is_sorted(places.begin(), places.end()); }
};

/// The part of the graph that belongs to one node of the file.
struct graph_part {
  std::string operation;  ///< Name of the operator, such as Conv.
  std::string described;  ///< Description, such as Conv 3x3.
  std::size_t first = 0;  ///< Index of the first node of this part in the graph.
  std::size_t end = 0;
  std::vector<std::size_t> weights;  ///< Indices of the weights that no earlier part uses.
  /// Name of the file's tensor with the result; empty if the tensor is in a branch, loop or
  /// function.
  std::string result{};
};

/// The description of an input of a file.
struct graph_input_spec {
  std::string name;
  element_type type = ::onnx::TensorProto::FLOAT;
  /// Extents in the file, without the first axis. An extent that the file does not fix is empty.
  std::vector<std::optional<std::size_t>> extents;
  std::vector<std::size_t> order;  ///< Order of the axes of a sample.
  std::size_t rows = 0;            ///< Batch size of the file; 0: any.
  /// Shape of a sample in memory, if all extents are fixed.
  std::optional<shape> sample;
  std::string words;  ///< The shape as text.

  /// Returns whether samples of this shape fit the input.
  [[nodiscard]] bool fits(const shape& s) const {
    bool same = s.rank() == extents.size();
    for (std::size_t i = 0; same && i < s.rank(); ++i) {
      same = !extents[order[i]] || *extents[order[i]] == s[i];
    }
    return same;
  }
};

/// The inputs and outputs of the network in a file.
struct graph_interface {
  std::vector<graph_input_spec> inputs;
  std::vector<std::string> outputs;
  std::size_t rows = 0;  ///< Batch size for which the file was written; 0: any.
  bool channels_last = false;
  output_kind gives = output_kind::other;
};

/// The network of a file as a graph of glia's kernels, for one batch size.
struct read_result {
  graph calls;
  std::size_t rows = 0;  ///< Batch size.
  std::vector<value_id> inputs;
  std::vector<graph_weight> weights;
  std::vector<graph_part> parts;
  std::vector<std::string> names;  ///< Names of the parts.

  [[nodiscard]] const std::string& name_of(const graph_part& part) const {
    return names[static_cast<std::size_t>(&part - parts.data())];
  }
  /// Returns the name of a weight within its part.
  [[nodiscard]] std::string own_name(const graph_part& part, std::size_t w) const {
    const std::string& full_name = weights[w].name;
    const std::string& prefix = name_of(part);
    return full_name.starts_with(prefix + '.') ? full_name.substr(prefix.size() + 1) : full_name;
  }
  /// Returns the value that an input gets after a training step.
  [[nodiscard]] value_id next_of(value_id input) const {
    for (const graph_input& candidate : calls.inputs()) {
      if (candidate.value == input) {
        return candidate.next;
      }
    }
    return no_value;
  }
};

namespace detail {

template <class Call>
auto naming_file(const model_content& content, const Call& call) {
  return glia::detail::naming(content.name(), call);
}

}  // namespace detail

}  // namespace glia::onnx
