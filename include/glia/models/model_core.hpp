#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/graph/value_id.hpp"
#include "glia/layers/plan.hpp"
#include "glia/layers/scope.hpp"
#include "glia/models/inference.hpp"
#include "glia/models/model_access.hpp"
#include "glia/models/prepared.hpp"

namespace glia {

class recorder;
struct quantization;

/// The options of a `model`.
struct model_options {
  std::uint64_t seed = 1;  ///< Seed of the initial parameters.

  /// Whether large batches of images run in batch tiles, if the device supports it: a few samples
  /// at a time pass several layers while they stay in the cache. The results are the same up to
  /// rounding. Use false only to compare speeds.
  bool depth_first = true;
};

/// Returns the default batch size of predictions: the number of samples of this shape that fit into
/// 32 MiB, from 1 to 256.
[[nodiscard]] constexpr std::size_t default_batch_size(const shape& sample) {
  constexpr std::size_t bytes = 32 << 20;
  constexpr std::size_t max_samples = 256;
  const std::size_t sample_bytes = std::max<std::size_t>(sample.size() * sizeof(float), 1);
  return std::clamp<std::size_t>(bytes / sample_bytes, 1, max_samples);
}

namespace detail {

/// Returns `requested`, or the default if that is 0.
[[nodiscard]] constexpr std::size_t batch_size_for(std::size_t requested, const shape& sample) {
  return requested > 0 ? requested : default_batch_size(sample);
}

}  // namespace detail

/// The part of a model to run: the whole, the frozen prefix (whose output for a sample never
/// changes), or the trainable rest.
enum class model_part : std::uint8_t { whole, frozen, trained };

/// A copy of a description of any type, as a function that runs it in a scope.
using forward_pass = std::function<variable(scope&, variable)>;

/// The end of a model's frozen prefix. Its output for a sample is the same in every step.
struct frozen_end {
  std::size_t node = 0;  ///< Index of the node with this output, in the graph of a training pass.
  shape output;          ///< Shape of the output for one sample.

  /// Returns this output in the graph of another training pass. Throws `value_error` if the
  /// description runs different kernels for other batch sizes.
  [[nodiscard]] value_id value_in(const graph& pass) const;
};

namespace detail {

/// Throws `shape_error` unless outputs have one row for each sample.
inline void require_rows(const shape& outputs, std::size_t samples) {
  require<shape_error>(
      outputs.rank() > 0 && outputs[0] == samples,
      "model: expected outputs (N, ...) with one row for each of ", samples,
      samples == 1 ? " sample" : " samples", ", got ", outputs,
      "; reduce over the axes of a sample, not over the batch axis, for example with "
      "ops::mean_per_sample");
}

}  // namespace detail

/// The part of `model` that does not depend on the type of its description, so that it is compiled
/// only once.
class model_core {
 public:
  /// Without `parameters`, the initializers of the plan set them.
  model_core(model_plan plan, std::optional<parameter_list> parameters, const shape& sample,
             glia::device device, const model_options& options, forward_pass forward);

  /// Copies a model. If another thread trains it, the copy has the state between two steps.
  model_core(const model_core& other) : model_core(other, model_access::reading(other.access_)) {}
  model_core(model_core&&) noexcept = default;
  model_core& operator=(const model_core& other) {
    *this = model_core(other);
    return *this;
  }
  model_core& operator=(model_core&&) noexcept = default;
  ~model_core() = default;

  /// Throws `value_error` if the model was moved from.
  void require_parameters() const {
    require<value_error>(
        identity_ != nullptr,
        "model: the model was moved from and has no parameters; use the model that "
        "it was moved to, or assign another model to it first");
  }
  [[nodiscard]] const glia::device& device() const { return device_; }
  [[nodiscard]] const shape& sample_shape() const { return sample_; }
  [[nodiscard]] shape output_shape() const { return sample_of(plan_.output); }
  [[nodiscard]] const model_plan& plan() const { return plan_; }
  [[nodiscard]] const parameter_list& parameters() const { return parameters_; }
  [[nodiscard]] parameter_list& parameters() { return parameters_; }
  [[nodiscard]] std::size_t parameter_count() const;
  [[nodiscard]] glia::parameter& parameter(const std::string& name);
  [[nodiscard]] const glia::parameter& parameter(const std::string& name) const;
  [[nodiscard]] bool depth_first() const { return depth_first_; }
  [[nodiscard]] const model_access& access() const { return access_; }
  /// A copy of the parameters between two training steps. Later steps do not change it.
  [[nodiscard]] parameter_list parameters_now() const {
    const model_access::reading unchanged(access_);
    return parameters_;
  }
  /// An identity that a model shares only with its copies. A graph that was recorded for one of
  /// them fits all of them.
  [[nodiscard]] const std::shared_ptr<const char>& identity() const { return identity_; }

  /// Whether `adapt` has fitted the model's layers to data.
  [[nodiscard]] bool is_adapted() const { return is_adapted_; }
  void set_adapted() { is_adapted_ = true; }

  /// The end of the model's frozen prefix. Empty if there are no frozen layers at the beginning, or
  /// if they do not end in a single tensor.
  [[nodiscard]] const std::optional<frozen_end>& frontier() const { return frontier_; }
  /// The shape of the input of a part of the model, for one sample.
  [[nodiscard]] const shape& sample_shape_of(model_part part) const;

  /// Runs the description. Checks the shape of the batch first, unless the scope has a stream.
  /// Checks at the end that the description has used all parameters.
  [[nodiscard]] variable run(scope& s, variable x) const;

  /// Records a part of the model for batches of `rows` samples. The inputs of the graph are the
  /// samples and the parameters. Its output is the output of the part.
  [[nodiscard]] recorder recorded(model_part part, std::size_t rows) const;
  /// Returns the number of rows for the last, shorter batch, which has `samples` samples. On
  /// devices that compile a graph for each batch size, the batch is padded to `batch` rows. It is
  /// not padded if the samples of a batch affect each other's outputs.
  [[nodiscard]] std::size_t rows_for(model_part part, std::size_t samples, std::size_t batch) const;

  /// Computes the outputs for a batch. Any number of threads can call this at the same time.
  [[nodiscard]] tensor infer(model_part part, tensor x) const;

  /// Throws `data_error` if a layer such as `embedding` needs integers and the samples contain
  /// other numbers.
  template <class T>
  void require_integers(std::span<const T> samples, model_part part) const;
  /// Throws `shape_error` if `batch` is not the shape of a batch for this part of the model.
  void require_batch(const shape& batch, model_part part) const;
  /// Returns the shape of the outputs for inputs of this shape. Throws `shape_error` if the shape
  /// does not fit the model.
  [[nodiscard]] shape require_inputs(const shape& inputs) const;

  /// Computes outputs from inputs, both in buffers on the host, for `batch_size` samples at a time.
  template <class T>
  void predict(std::span<const T> inputs, std::span<T> outputs, std::size_t batch_size) const;
  /// Computes outputs from inputs, both in buffers on the host, for all samples in one batch.
  template <class T>
  void predict_batch(std::span<const T> inputs, std::span<T> outputs) const;

  [[nodiscard]] prepared prepare(std::size_t batch) const;
  [[nodiscard]] prepared prepare(std::size_t batch, const quantization& scales) const;

 private:
  model_core(const model_core& other, const model_access::reading&)
      : sample_(other.sample_),
        device_(other.device_),
        depth_first_(other.depth_first_),
        forward_(other.forward_),
        plan_(other.plan_),
        frontier_(other.frontier_),
        parameters_(other.parameters_),
        is_adapted_(other.is_adapted_),
        identity_(other.identity_) {}

  [[nodiscard]] std::shared_ptr<const inference> inference_for(model_part part,
                                                               const shape& batch) const;
  [[nodiscard]] recorder record(run_mode mode, std::size_t rows) const;
  void find_frontier();
  void cut(graph& g, std::size_t rows) const;

  shape sample_;
  glia::device device_;
  bool depth_first_;
  forward_pass forward_;
  model_plan plan_;
  std::optional<frozen_end> frontier_;
  parameter_list parameters_;
  bool is_adapted_ = false;
  std::shared_ptr<const char> identity_ = std::make_shared<const char>();
  model_access access_;
  std::array<inference_cache, 3> inference_;  // one for each model_part
};

inline variable model_core::run(scope& s, variable x) const {
  if (s.stream() == nullptr) {
    require_batch(x.shape(), model_part::whole);
  }
  const std::size_t rows = x.shape()[0];
  variable y = forward_(s, std::move(x));
  s.expect_all_asked();
  detail::require_rows(y.shape(), rows);
  return y;
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/model_core_impl.hpp"
#endif
