#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/layers/scope.hpp"
#include "glia/models/inference.hpp"
#include "glia/models/model_access.hpp"
#include "glia/models/prepared.hpp"

namespace glia {

struct model_options {
  std::uint64_t seed = 1;  ///< of the initial parameters

  /// Whether large batches of images run depth-first, a few at a time through all that treats them
  /// on their own, where the backend can. The numbers are the same up to rounding; it is here to
  /// compare.
  bool depth_first = true;
};

/// How many samples make a batch: as many as are asked for or, for 0, as many of this shape as take
/// some 32 MB, at most 256.
[[nodiscard]] constexpr std::size_t batch_size_for(std::size_t asked, const shape& sample) {
  constexpr std::size_t bytes = 32 << 20;
  constexpr std::size_t most = 256;
  const std::size_t each = std::max<std::size_t>(sample.size() * sizeof(float), 1);
  return asked > 0 ? asked : std::clamp<std::size_t>(bytes / each, 1, most);
}

/// The layers of a model, or those of its first that are frozen, or the others.
enum class model_part : std::uint8_t { whole, frozen, trained };

/// Where a description runs for a model on B: on a recorder, or on B itself if it runs at once.
template <backend B>
using tracing_backend = std::conditional_t<placing_backend<B>, recorder<B>, B>;

/// A description of any type, or a part of it, as what runs it sees it.
template <backend X>
using description_ref = function_ref<variable<X>(model_part, scope<X>&, variable<X>)>;

namespace detail {

/// What a model keeps to infer with: programs, or nothing where a backend only runs at once.
template <backend B>
struct inference_memory {};
template <placing_backend B>
struct inference_memory<B> {
  inference_cache<B> of_part[3];
};

}  // namespace detail

/// What a model is but for its description's type: compiled once for each backend.
template <backend B>
class model_core {
 public:
  using X = tracing_backend<B>;
  using tensor = typename B::tensor;

  /// `frozen_layers` are so many of the layers that the description holds.
  model_core(model_plan plan, const shape& sample, B device, const model_options& options,
             std::size_t frozen_layers);

  [[nodiscard]] const B& device() const { return device_; }
  [[nodiscard]] const shape& sample_shape() const { return sample_; }
  [[nodiscard]] shape output_shape() const { return sample_of(plan_.output); }
  [[nodiscard]] const model_plan& plan() const { return plan_; }
  [[nodiscard]] const parameter_list<B>& parameters() const { return parameters_; }
  [[nodiscard]] parameter_list<B>& parameters() { return parameters_; }
  [[nodiscard]] std::size_t parameter_count() const;
  [[nodiscard]] glia::parameter<B>& parameter(const std::string& name);
  [[nodiscard]] const glia::parameter<B>& parameter(const std::string& name) const;
  [[nodiscard]] bool depth_first() const { return depth_first_; }
  [[nodiscard]] const model_access& access() const { return access_; }

  [[nodiscard]] std::size_t frozen_layers() const { return frozen_layers_; }
  /// The shape of one sample's input to a part of the model.
  [[nodiscard]] shape sample_shape_of(model_part which) const;
  /// The shape of what the frozen layers give for one sample.
  [[nodiscard]] shape frozen_output_shape() const { return sample_shape_of(model_part::trained); }

  /// Runs the description, having checked the batch and then that all parameters were asked for.
  template <backend On>
  [[nodiscard]] variable<On> run(const description_ref<On>& described, model_part which,
                                 scope<On>& s, variable<On> x) const;

  /// The outputs for a batch; any number of threads may ask side by side.
  [[nodiscard]] tensor infer(const description_ref<X>& described, model_part which, tensor x) const;

  /// The shape of the outputs for inputs of this one. Throws `shape_error` for what is no inputs.
  [[nodiscard]] shape require_inputs(const shape& given) const;

  /// The outputs between buffers of the host: `batch_size` samples at a time, or all at once.
  template <class T>
  void predict(const description_ref<X>& described, std::span<const T> inputs, std::span<T> outputs,
               std::size_t batch_size) const;
  template <class T>
  void predict_batch(const description_ref<X>& described, std::span<const T> inputs,
                     std::span<T> outputs) const;

  [[nodiscard]] prepared<B> prepare(const description_ref<X>& described,
                                    std::size_t batch) const requires placing_backend<B>;

 private:
  void require_batch(const shape& got, model_part which) const;
  [[nodiscard]] std::shared_ptr<const inference<B>> inference_for(
      const description_ref<X>& described, model_part which,
      const shape& batch) const requires placing_backend<B>;

  shape sample_;
  B device_;
  bool depth_first_;
  model_plan plan_;
  std::size_t frozen_layers_;
  parameter_list<B> parameters_;
  model_access access_;
  [[no_unique_address]] detail::inference_memory<B> inference_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/model_core_impl.hpp"
#endif
