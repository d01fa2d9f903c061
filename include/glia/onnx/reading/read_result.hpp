#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/core/input_file.hpp"
#include "glia/core/mapped_block.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/graph/graph.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

/// Weights as a graph takes them: split into more axes, with these in another order, joined again.
struct graph_weight {
  value_id value = no_value;  ///< of the graph
  const weight* from = nullptr;
  std::string name;
  dims split;
  std::vector<std::size_t> places;
  glia::shape shape;
  bool trainable = true;
  std::shared_ptr<const weight> made{};  ///< what `from` is, if the file does not hold it itself

  /// Its numbers.
  [[nodiscard]] std::vector<float> read() const {
    std::vector<float> all = floats_of(*from);
    return as_it_lies() ? all : in_order(all, split, places);
  }
  /// The same in memory of their own, if they are many and another file has them just so; else
  /// none.
  [[nodiscard]] memory_block in_place() const {
    constexpr std::size_t least = 1 << 16;  // bytes: for a few pages, a copy is as good
    const tensor_data& data = from->data;
    const bool so = data.file != nullptr && !from->steps && as_it_lies() &&
                    data.message->data_type() == ::onnx::TensorProto::FLOAT &&
                    data.offset % glia::detail::mapped_block_alignment == 0 &&
                    data.elsewhere.size() >= least;
    return so ? glia::detail::map_block(*data.file, data.offset, data.elsewhere.size())
              : memory_block{};
  }

 private:
  [[nodiscard]] bool as_it_lies() const { return std::is_sorted(places.begin(), places.end()); }
};

/// What of a graph one node of the file has become.
struct graph_part {
  std::string operation;  ///< Conv
  std::string described;  ///< Conv 3x3
  std::size_t first = 0;  ///< nodes of the graph
  std::size_t end = 0;
  std::vector<std::size_t> weights;  ///< that it is the first to take, by their numbers
};

/// An input of a file, as a model takes it.
struct graph_input_spec {
  std::string name;
  element_type type = ::onnx::TensorProto::FLOAT;
  std::vector<std::optional<std::size_t>> extents;  ///< of the file, behind the first; none: open
  std::vector<std::size_t> order;                   ///< in which the samples' axes lie
  std::size_t rows = 0;                             ///< that the file says; 0: any number
  std::optional<shape> sample;                      ///< as it lies, where all extents are said
  std::string words;                                ///< the same for people

  /// Whether samples of this shape can be its.
  [[nodiscard]] bool fits(const shape& s) const {
    bool same = s.rank() == extents.size();
    for (std::size_t i = 0; same && i < s.rank(); ++i) {
      same = !extents[order[i]] || *extents[order[i]] == s[i];
    }
    return same;
  }
};

/// What goes into the network of a file, and what comes out of it.
struct graph_interface {
  std::vector<graph_input_spec> inputs;
  std::vector<std::string> outputs;
  std::size_t rows = 0;  ///< samples of the batches that the file was written for; 0: any number
  bool channels_last = false;
  output_kind gives = output_kind::other;
};

/// A file's network as a graph of glia's kernels, for so many samples.
struct read_result {
  graph calls;
  std::size_t rows = 0;  ///< samples
  std::vector<value_id> inputs;
  std::vector<graph_weight> weights;
  std::vector<graph_part> parts;
  std::vector<std::string> names;  ///< of the parts

  [[nodiscard]] const std::string& name_of(const graph_part& part) const {
    return names[static_cast<std::size_t>(&part - parts.data())];
  }
  /// What a weight is called within its part.
  [[nodiscard]] std::string own_name(const graph_part& part, std::size_t w) const {
    const std::string& whole = weights[w].name;
    const std::string& around = name_of(part);
    return whole.starts_with(around + '.') ? whole.substr(around.size() + 1) : whole;
  }
  /// What an input is after a training step.
  [[nodiscard]] value_id next_of(value_id input) const {
    for (const graph_input& one : calls.inputs()) {
      if (one.value == input) {
        return one.next;
      }
    }
    return no_value;
  }
};

namespace detail {

template <class Call>
auto naming_file(const model_content& content, const Call& call) {
  return glia::detail::naming(content.path().string(), call);
}

}  // namespace detail

}  // namespace glia::onnx
