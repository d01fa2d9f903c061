#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/utf8_path.hpp"
#include "glia/layers/scope.hpp"
#include "glia/onnx/onnx_options.hpp"
#include "glia/onnx/reading/read.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/replay.hpp"

namespace glia {

/// Options of `onnx_model`.
struct onnx_model_options {
  /// Whether images (inputs and outputs with four axes) are (N, H, W, C), as everywhere else in
  /// glia. If false, images stay (N, C, H, W), as in the file.
  bool channels_last = false;
  /// Names of the outputs; empty: the file's outputs. A name is that of a tensor in the file, or of
  /// a layer that `summary` shows for `model{onnx_model{path}}`. The output of an inner layer can
  /// be the input of your own layers. If a layer has several outputs, its name means the first one.
  /// If several layers have the name, it means the last one.
  ///
  /// Images between convolutions are (N, C, H, W). This is also true for files that glia wrote,
  /// although their inputs are (N, H, W, C).
  std::vector<std::string> outputs{};
};

/// A description that contains the network of an ONNX file and its weights. Use it like any other
/// layer or model:
///
///     glia::model net{glia::onnx_model{"net.onnx"}};
///     const auto y = net.predict(x);
///
/// The model can be summarized, prepared and trained further, on any device. It can be combined
/// with other layers, for example as a frozen feature extractor. Its parameters have the names in
/// the file. Convolution kernels are converted to glia's axis order when they are read.
///
/// Training changes the weights of products, convolutions, normalizations and similar operators,
/// and other weights with more than one element. Batch normalization keeps running statistics, and
/// dropout is active during training.
///
/// A sample has the shape of the file's input without its first axis. If the file fixes the batch
/// size, but treats all samples independently, glia accepts any batch size. Otherwise it accepts
/// only the file's batch size. For another size it throws a `data_error`, which names the node that
/// prevents this size. If the file has several inputs, a sample is one row that contains one input
/// after the other, as for the layer `inputs`. Several outputs are concatenated, as by the layer
/// `outputs`.
///
/// Supports opsets 7 to 21, and most operators of older opsets. Throws `data_error`, with the
/// file's name, if the file cannot be read or is damaged, or if its nodes do not fit together. If
/// the file contains operators that glia does not support, the `data_error` names them. Reading
/// takes about 100 MB of memory in addition to the weights.
///
/// Weights in a separate data file are mapped, not copied, if they are floats in glia's layout and
/// the device uses host memory. Training copies the memory pages that it changes. Do not overwrite
/// a data file while a model uses it; replace it by a new file, as `write_onnx` does.
class onnx_model {
 public:
  using contains_layers = void;
  static constexpr bool preserves_output_kind = false;

  /// Reads an ONNX file: a path, or the bytes of the file in memory. The file's name is a part of
  /// the description: give bytes the name of the file, as in onnx_model{{bytes, "net.onnx"}}, to
  /// load parameters that were saved for it. Throws `data_error`, with the file's name, if the file
  /// cannot be read.
  explicit onnx_model(const file_source& file, const onnx_model_options& options = {})
      : content_(std::make_shared<const onnx::model_content>(file)) {
    onnx::detail::naming_file(*content_, [&] {
      interface_ = onnx::interface_of(*content_, options.channels_last, options.outputs);
    });
  }

  /// Returns the shape of a sample. Throws `value_error` if the file does not fix all extents. In
  /// this case, pass the shape to the model: model{onnx_model{...}, {28, 28, 1}}.
  [[nodiscard]] shape sample_shape() const {
    if (interface_.inputs.size() == 1) {
      const onnx::graph_input_spec& only = interface_.inputs[0];
      require<value_error>(only.sample.has_value(), content_->name(),
                           ": the file does not fix the sample shape of the input '", only.name,
                           "'; give the shape when you make the model, for example "
                           "model{onnx_model{...}, {28, 28, 1}}");
      return *only.sample;
    }
    std::size_t size = 0;
    for (const onnx::graph_input_spec& input : interface_.inputs) {
      size += input.sample->size();
    }
    return {size};
  }

  [[nodiscard]] variable operator()(scope& s, const variable& x) const;

  /// Returns whether the samples are images (C, H, W) with one or three channels.
  [[nodiscard]] bool takes_channels_first() const {
    const auto& sample = interface_.inputs[0].sample;
    return interface_.inputs.size() == 1 && !interface_.channels_last && sample &&
           sample->rank() == 3 && ((*sample)[0] == 1 || (*sample)[0] == 3) && (*sample)[1] > 3 &&
           (*sample)[2] > 3;
  }
  [[nodiscard]] glia::output_kind output_kind() const { return interface_.gives; }
  [[nodiscard]] std::string description() const {
    return text("onnx_model(", glia::detail::utf8_path(content_->name()).filename().string(), ')');
  }
  /// Returns the metadata of the file, such as class names and preprocessing, by key.
  [[nodiscard]] std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> result;
    for (const auto& property : content_->message().metadata_props()) {
      result[property.key()] = property.value();
    }
    return result;
  }
  /// Returns options of `write_onnx` that keep the interface of this file: the names and order of
  /// its inputs and outputs, images (N, C, H, W) if `channels_last` is set, the name of the graph
  /// and the metadata. A model of this file that is written with these options can replace the
  /// file.
  [[nodiscard]] onnx_options write_options() const;
  /// Returns the content of the file.
  [[nodiscard]] const onnx::model_content& content() const { return *content_; }

  friend bool operator==(const onnx_model& a, const onnx_model& b) {
    return a.content_ == b.content_ && a.interface_.outputs == b.interface_.outputs &&
           a.interface_.channels_last == b.interface_.channels_last;
  }

 private:
  struct layer_of_part;

  [[nodiscard]] std::vector<variable> inputs_of(scope& s, const variable& x) const;

  std::shared_ptr<const onnx::model_content> content_;
  onnx::graph_interface interface_;
};

/// A node of the file as a layer. Summaries and profiles show this layer, and the node's weights
/// belong to it.
struct onnx_model::layer_of_part {
  layer_of_part(const onnx_model& net, const onnx::read_result& read,
                const onnx::graph_part& this_part, onnx::replay& graph_values)
      : file(net), file_graph(read), part(this_part), values(graph_values) {}

  const onnx_model& file;
  const onnx::read_result& file_graph;
  const onnx::graph_part& part;
  onnx::replay& values;

  static constexpr std::string_view type_name = "onnx";

  [[nodiscard]] std::string description() const { return part.described; }

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    for (const std::size_t w : part.weights) {
      if (file_graph.weights[w].trainable) {
        values.set(
            file_graph.weights[w].value,
            s.parameter(file_graph.own_name(part, w), file_graph.weights[w].shape, initial(w)));
      } else if (!s.is_training()) {
        values.set(file_graph.weights[w].value,
                   x.owner().constant(s.state(file_graph.own_name(part, w),
                                              file_graph.weights[w].shape, initial(w))));
      }
    }
    for (std::size_t n = part.first; n < part.end; ++n) {
      run(s, x, file_graph.calls.nodes()[n]);
    }
    for (std::size_t n = part.end; n-- > part.first;) {
      const value_id last = file_graph.calls.nodes()[n].results[0];
      if (values.is_real(last)) {
        return values.real(last);
      }
    }
    return x;
  }

 private:
  /// Runs a node. A running statistic is replaced as soon as its new value has been computed,
  /// because only one statistic can be open for writing at a time.
  void run(scope& s, const variable& x, const graph_node& node) const {
    for (const value_id operand : node.operands) {
      if (operand == no_value || values.is_real(operand)) {
        continue;
      }
      for (const std::size_t w : part.weights) {
        if (file_graph.weights[w].value == operand && !file_graph.weights[w].trainable) {
          changing_ = &s.mutable_state(file_graph.own_name(part, w), file_graph.weights[w].shape,
                                       initial(w));
          values.set(operand, x.owner().constant(*changing_));
          next_ = file_graph.next_of(operand);
        }
      }
    }
    values.run(node, s);
    if (changing_ != nullptr && node.results[0] == next_) {
      *changing_ = values.real(next_).value();
      changing_ = nullptr;
    }
  }

  [[nodiscard]] initializer initial(std::size_t w) const {
    return {text(file.content_->name(), ": ", file_graph.weights[w].name),
            [content = file.content_, weight = file_graph.weights[w]](
                std::span<float> destination, const shape&, random_stream&) {
              const std::vector<float> numbers = weight.read();
              std::copy(numbers.begin(), numbers.end(), destination.begin());
            },
            [content = file.content_, weight = file_graph.weights[w]] {
              return weight.in_place(content);
            }};
  }

  mutable tensor* changing_ = nullptr;
  mutable value_id next_ = no_value;
};

inline std::vector<variable> onnx_model::inputs_of(scope& s, const variable& x) const {
  if (interface_.inputs.size() == 1) {
    return {x};
  }
  std::vector<std::size_t> sizes;
  for (const onnx::graph_input_spec& input : interface_.inputs) {
    sizes.push_back(input.sample->size());
  }
  std::vector<variable> rows = ops::split(x, 1, sizes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const shape batch = batch_of(x.shape()[0], *interface_.inputs[i].sample);
    rows[i] = ops::reshape(rows[i], batch);
    s.add_input(interface_.inputs[i].name, rows[i]);
  }
  return rows;
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/onnx/onnx_model_impl.hpp"
#endif
