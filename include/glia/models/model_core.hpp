#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/graph/passes.hpp"
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

/// A model, or what of it gives always the same for a sample, since it is frozen, or the rest.
enum class model_part : std::uint8_t { whole, frozen, trained };

/// Where a description runs for a model on B: on a recorder, or on B itself if it runs at once.
template <backend B>
using tracing_backend = std::conditional_t<program_backend<B>, recorder<B>, B>;

/// A description of any type as what runs it sees it.
template <backend X>
using description_ref = function_ref<variable<X>(scope<X>&, variable<X>)>;

/// Where what a model gives for a sample stops being the same in every step: behind frozen layers.
struct frozen_end {
  std::size_t node = 0;  ///< which gives it, counted in a training pass
  shape output;          ///< of one sample

  /// The tensor of another training pass that it is. Throws `value_error` where the description
  /// does not leave the same kernels for every number of samples.
  [[nodiscard]] value_id value_in(const graph& pass) const {
    const bool there = node < pass.nodes().size() && pass.nodes()[node].results[0] != no_value;
    const value_id value = there ? pass.nodes()[node].results[0] : no_value;
    require<value_error>(there && sample_of(pass.spec(value).shape) == output,
                         "model: the description runs otherwise for other numbers of samples, so "
                         "what its frozen layers give cannot be kept; ask for "
                         "fit_options{.frozen = {.keep = false}}");
    return value;
  }
};

namespace detail {

/// Throws `shape_error` for outputs of so many samples that have not a row for each.
inline void require_rows(const shape& outputs, std::size_t samples) {
  require<shape_error>(
      outputs.rank() > 0 && outputs[0] == samples, "model: expected outputs (N, ...), one row for ",
      "each of ", samples, samples == 1 ? " sample" : " samples", ", got ", outputs,
      "; reduce over the axes of a sample and not over the batch, as ops::mean_per_sample does");
}

/// What a model keeps to infer with: programs, or nothing where a backend only runs at once.
template <backend B>
struct inference_memory {};
template <program_backend B>
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

  model_core(model_plan plan, const shape& sample, B device, const model_options& options,
             const description_ref<X>& described);

  /// Beside a training of `other` a copy is of the model between two steps.
  model_core(const model_core& other) : model_core(other, model_access::reading(other.access_)) {}
  model_core(model_core&&) noexcept = default;
  model_core& operator=(const model_core& other) {
    *this = model_core(other);
    return *this;
  }
  model_core& operator=(model_core&&) noexcept = default;
  ~model_core() = default;

  /// Throws `value_error` for a model that was moved from.
  void require_parameters() const {
    require<value_error>(identity_ != nullptr,
                         "model: it was moved from and has no parameters; use the model that it "
                         "was moved to, or assign one to it first");
  }
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
  /// The parameters between two steps: what a training does later leaves this list alone.
  [[nodiscard]] parameter_list<B> parameters_now() const {
    const model_access::reading unchanged(access_);
    return parameters_;
  }
  /// Shared by copies alone: what was recorded of one is good for the others.
  [[nodiscard]] const std::shared_ptr<const char>& identity() const { return identity_; }

  /// Where the frozen part of the model ends; none where nothing is frozen or it does not end in a
  /// single tensor.
  [[nodiscard]] const std::optional<frozen_end>& frontier() const { return frontier_; }
  /// The shape of one sample's input to a part of the model.
  [[nodiscard]] const shape& sample_shape_of(model_part which) const;

  /// Runs the description, having checked the batch and then that all parameters were asked for.
  template <backend On>
  [[nodiscard]] variable<On> run(const description_ref<On>& described, scope<On>& s,
                                 variable<On> x) const;

  /// What a part of the model does for so many samples: its inputs are these and the parameters,
  /// its outputs those of the part.
  [[nodiscard]] recorder<B> recorded(const description_ref<X>& described, model_part which,
                                     std::size_t rows) const requires program_backend<B>;
  /// How many rows to infer some samples with among batches of `batch`: as many where programs are
  /// compiled for a number of rows, since any samples can fill a shorter batch up, unless samples
  /// of a batch meet in what is inferred.
  [[nodiscard]] std::size_t rows_for(const description_ref<X>& described, model_part which,
                                     std::size_t samples, std::size_t batch) const;

  /// The outputs for a batch; any number of threads may ask side by side.
  [[nodiscard]] tensor infer(const description_ref<X>& described, model_part which, tensor x) const;

  /// Throws `data_error` where samples for a part of the model hold other numbers than the integers
  /// that a layer is to see, such as `embedding`.
  template <class T>
  void require_integers(std::span<const T> samples, model_part which) const;
  /// Throws `shape_error` for what is no batch for a part of the model.
  void require_batch(const shape& got, model_part which) const;
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
                                    std::size_t batch) const requires program_backend<B>;
  [[nodiscard]] prepared<B> prepare(const description_ref<X>& described, std::size_t batch,
                                    const quantization& how) const requires program_backend<B>;

 private:
  model_core(const model_core& other, const model_access::reading&)
      : sample_(other.sample_),
        device_(other.device_),
        depth_first_(other.depth_first_),
        plan_(other.plan_),
        frontier_(other.frontier_),
        parameters_(other.parameters_),
        identity_(other.identity_) {}

  [[nodiscard]] std::shared_ptr<const inference<B>> inference_for(
      const description_ref<X>& described, model_part which,
      const shape& batch) const requires program_backend<B>;
  [[nodiscard]] recorder<B> record(const description_ref<X>& described, run_mode mode,
                                   std::size_t rows) const requires program_backend<B>;
  void find_frontier(const description_ref<X>& described) requires program_backend<B>;
  void cut(graph& g, const description_ref<X>& described,
           std::size_t rows) const requires program_backend<B>;

  shape sample_;
  B device_;
  bool depth_first_;
  model_plan plan_;
  std::optional<frozen_end> frontier_;
  parameter_list<B> parameters_;
  std::shared_ptr<const char> identity_ = std::make_shared<const char>();
  model_access access_;
  [[no_unique_address]] detail::inference_memory<B> inference_;
};

template <backend B>
template <backend On>
variable<On> model_core<B>::run(const description_ref<On>& described, scope<On>& s,
                                variable<On> x) const {
  require_batch(x.shape(), model_part::whole);
  const std::size_t rows = x.shape()[0];
  variable<On> y = described(s, std::move(x));
  s.expect_all_asked();
  detail::require_rows(y.shape(), rows);
  return y;
}

}  // namespace glia

#include "glia/models/model_core_impl.hpp"
