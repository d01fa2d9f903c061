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
#include "glia/core/input_file.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/layers/scope.hpp"
#include "glia/onnx/reading/read.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/replay.hpp"

namespace glia {

/// What of a file's network a description is.
struct onnx_model_options {
  /// Whether images, the inputs and outputs of four axes, are (N, H, W, C), as in all of glia; else
  /// they are as in the file, which has them as (N, C, H, W).
  bool channels_last = false;
  /// Which tensors of the file the model gives, by their names there; if none is named, the file's
  /// own outputs. One before the end makes features of a network for others to build on.
  std::vector<std::string> outputs{};
};

/// The network of an ONNX file, with its weights, as a description like any other:
///
///     glia::model net{glia::onnx_model{"net.onnx"}};
///     const auto y = net.predict(x);
///
/// It can be summarised, prepared, trained further, and put behind `frozen` with other layers
/// behind it, on any backend. Its parameters are called as in the file; those of images are turned
/// to glia's order as they are read, and images themselves where they enter and leave. Weights of
/// products, convolutions, normalisations and the like, and of more than one element elsewhere, are
/// trained; batch normalisations have running statistics, and dropout drops while training.
///
/// Samples are what the file's input has behind its first axis. A file that says a number of
/// samples is used for any number where it treats them one by one, and else for its own only:
/// `data_error` says which node stands against it. A model of several inputs takes them as rows,
/// one behind the other, as `inputs` does, and gives several outputs as `outputs` does.
///
/// Opsets 7 to 21, and most of what older ones have. Throws `data_error`, naming the file, where it
/// cannot be read or is damaged, for operators that glia has no kernels for, by name, and for nodes
/// that do not fit together. Reading takes no more memory than some 100 MB beside the weights.
///
/// Floats in a file beside the model that lie there as glia has them are used where they lie, on
/// backends in host memory; training makes pages of their own of what it changes. So that file must
/// not be written over while a model lives: put another in its place, as `write_onnx` does.
class onnx_model {
 public:
  using holds_layers = void;
  static constexpr bool hands_on = false;

  explicit onnx_model(const std::filesystem::path& path, const onnx_model_options& options = {})
      : content_(std::make_shared<const onnx::model_content>(path)) {
    onnx::detail::naming_file(*content_, [&] {
      what_ = onnx::interface_of(*content_, options.channels_last, options.outputs);
    });
  }

  /// The shape of a sample. Throws `value_error` where the file leaves an extent open: then say it
  /// as the model is made, model{onnx_model{...}, {28, 28, 1}}.
  [[nodiscard]] shape sample_shape() const {
    if (what_.inputs.size() == 1) {
      const onnx::graph_input_spec& only = what_.inputs[0];
      require<value_error>(only.sample.has_value(), content_->path().string(), ": the input '",
                           only.name,
                           "' may have samples of several shapes; say which: "
                           "model{onnx_model{...}, {28, 28, 1}}");
      return *only.sample;
    }
    std::size_t size = 0;
    for (const onnx::graph_input_spec& one : what_.inputs) {
      size += one.sample->size();
    }
    return {size};
  }

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const;

  /// Whether its samples are pictures of one or three colours (C, H, W).
  [[nodiscard]] bool takes_channels_first() const {
    const auto& sample = what_.inputs[0].sample;
    return what_.inputs.size() == 1 && !what_.channels_last && sample && sample->rank() == 3 &&
           ((*sample)[0] == 1 || (*sample)[0] == 3) && (*sample)[1] > 3 && (*sample)[2] > 3;
  }
  [[nodiscard]] output_kind gives() const { return what_.gives; }
  [[nodiscard]] std::string description() const {
    return text("onnx_model(", content_->path().filename().string(), ')');
  }
  /// What its writer put into the file beside the network: class names, preprocessing and the like.
  [[nodiscard]] std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> all;
    for (const auto& one : content_->message().metadata_props()) {
      all[one.key()] = one.value();
    }
    return all;
  }
  /// The file itself.
  [[nodiscard]] const onnx::model_content& content() const { return *content_; }

  friend bool operator==(const onnx_model& a, const onnx_model& b) {
    return a.content_ == b.content_ && a.what_.outputs == b.what_.outputs &&
           a.what_.channels_last == b.what_.channels_last;
  }

 private:
  template <backend B>
  struct layer_of_part;

  template <backend B>
  [[nodiscard]] std::vector<variable<B>> inputs_of(scope<B>& s, const variable<B>& x) const;

  std::shared_ptr<const onnx::model_content> content_;
  onnx::graph_interface what_;
};

/// One of the file's nodes as a layer: what summaries and profiles show, and what its weights
/// belong to.
template <backend B>
struct onnx_model::layer_of_part {
  layer_of_part(const onnx_model& of, const onnx::read_result& read,
                const onnx::graph_part& this_part, onnx::replay<B>& of_all)
      : file(of), all(read), part(this_part), values(of_all) {}

  const onnx_model& file;
  const onnx::read_result& all;
  const onnx::graph_part& part;
  onnx::replay<B>& values;

  static constexpr std::string_view type_name = "onnx";

  [[nodiscard]] std::string description() const { return part.described; }

  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    for (const std::size_t w : part.weights) {
      if (all.weights[w].trainable) {
        values.set(all.weights[w].value,
                   s.parameter(all.own_name(part, w), all.weights[w].shape, initial(w)));
      } else if (!s.training()) {
        values.set(
            all.weights[w].value,
            x.owner().constant(s.state(all.own_name(part, w), all.weights[w].shape, initial(w))));
      }
    }
    for (std::size_t n = part.first; n < part.end; ++n) {
      run(s, x, all.calls.nodes()[n]);
    }
    for (std::size_t n = part.end; n-- > part.first;) {
      const value_id last = all.calls.nodes()[n].results[0];
      if (values.is_real(last)) {
        return values.real(last);
      }
    }
    return x;
  }

 private:
  /// A running statistic is changed as soon as what it is to be is there, since another must not be
  /// asked for before.
  void run(scope<B>& s, const variable<B>& x, const graph_node& node) const {
    for (const value_id operand : node.operands) {
      if (operand == no_value || values.is_real(operand)) {
        continue;
      }
      for (const std::size_t w : part.weights) {
        if (all.weights[w].value == operand && !all.weights[w].trainable) {
          changing_ = &s.changing_state(all.own_name(part, w), all.weights[w].shape, initial(w));
          values.set(operand, x.owner().constant(*changing_));
          next_ = all.next_of(operand);
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
    return {text(file.content_->path().string(), ": ", all.weights[w].name),
            [content = file.content_, from = all.weights[w]](std::span<float> values_there,
                                                             const shape&, random_stream&) {
              const std::vector<float> numbers = from.read();
              std::copy(numbers.begin(), numbers.end(), values_there.begin());
            },
            [content = file.content_, from = all.weights[w]] { return from.in_place(); }};
  }

  mutable typename B::tensor* changing_ = nullptr;
  mutable value_id next_ = no_value;
};

template <backend B>
std::vector<variable<B>> onnx_model::inputs_of(scope<B>& s, const variable<B>& x) const {
  if (what_.inputs.size() == 1) {
    return {x};
  }
  std::vector<std::size_t> sizes;
  for (const onnx::graph_input_spec& one : what_.inputs) {
    sizes.push_back(one.sample->size());
  }
  std::vector<variable<B>> rows = ops::split(x, 1, sizes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const shape batch = batch_of(x.shape()[0], *what_.inputs[i].sample);
    s.add_input(what_.inputs[i].name, batch);
    rows[i] = ops::reshape(rows[i], batch);
  }
  return rows;
}

template <backend B>
variable<B> onnx_model::operator()(scope<B>& s, const variable<B>& x) const {
  const shape given = sample_of(x.shape());
  for (const onnx::graph_input_spec& one : what_.inputs) {
    s.expect(what_.inputs.size() > 1 ? given == sample_shape() : one.fits(given),
             "the file's input '", one.name, "' takes samples ", one.words, ", got ", given,
             one.fits(given) ? ""
             : what_.channels_last
                 ? ""
                 : "; onnx_model{path, {.channels_last = true}} takes images as (H, W, C)");
  }
  const std::vector<variable<B>> inputs = inputs_of(s, x);
  std::vector<shape> shapes;
  shapes.reserve(inputs.size());
  for (const variable<B>& one : inputs) {
    shapes.push_back(one.shape());
  }
  const onnx::read_result all = onnx::detail::naming_file(*content_, [&] {
    return onnx::read_graph(*content_, what_, shapes, s.training(),
                            glia::detail::runs_recurrence<B>, s.planning());
  });
  onnx::replay<B> values(all.calls, x.owner());
  // A model is planned with one sample. Of a file that is for its own batches only, one of these.
  const std::size_t rows = x.shape()[0];
  const bool repeats = all.rows != rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const shape batch = batch_of(all.rows, sample_of(shapes[i]));
    values.set(all.inputs[i], repeats ? ops::broadcast_to(inputs[i], batch) : inputs[i]);
  }
  std::size_t index = 0;
  for (const onnx::graph_part& part : all.parts) {
    const typename scope<B>::under_name called(s, all.name_of(part));
    static_cast<void>(s.run(layer_of_part<B>(*this, all, part, values), x, "onnx", index++));
  }
  std::vector<variable<B>> results;
  for (const graph_output& one : all.calls.outputs()) {
    const variable<B>& y = values.real(one.value);
    results.push_back(repeats ? ops::slice(y, {0, 0, rows}) : y);
  }
  if (results.size() == 1) {
    return results[0];
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const shape y = results[i].shape();
    s.add_output(what_.outputs[i], y);
    results[i] = ops::reshape(results[i], {y[0], sample_of(y).size()});
  }
  return ops::concat(results, 1);
}

}  // namespace glia
