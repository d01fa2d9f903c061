#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/cpu.hpp"
#include "glia/core/living_ref.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/models/model_core.hpp"
#include "glia/models/plan_model.hpp"
#include "glia/models/summary.hpp"

namespace glia {

/// How `predict` goes through its samples.
struct predict_options {
  std::size_t batch_size = 0;  ///< bounds the memory; 0: as many as take some 32 MB, at most 256
};

/// A description put on a backend: it has shapes, parameters and a device.
///
///     glia::model net{glia::sequential{glia::dense{400, glia::relu}, glia::dense{10}}, {784}};
///
/// Throws, naming the layer, when the description does not fit samples of the given shape.
///
/// Any number of threads may predict with one model, or with copies of it, at the same time; they
/// share the device's threads. A prediction beside a training step of the same model waits for it,
/// and so do `get`, a copy and all that is written of the model. `set` waits for them, and throws
/// `value_error` beside a training on another thread. What changes the model otherwise
/// (`parameters()`, assignment to it) must not run beside others.
/// A model that was moved from has no parameters and no device: all that is asked of it throws
/// `value_error` until another is assigned to it.
template <layer Description, backend B = cpu<float>>
class model {
 public:
  using backend_type = B;

  model(Description description, const shape& sample, B device = B(),
        const model_options& options = {})
      : description_(std::move(description)),
        core_(plan_model<B>(description_, sample), sample, std::move(device), options,
              described()) {}

  /// Of a description that says the shape of its samples, as one does that begins with `inputs`.
  explicit model(Description description, B device = B(),
                 const model_options& options = {}) requires knows_samples<Description>
      : model(description, description.sample_shape(), std::move(device), options) {}
  template <backend... Device>
  explicit model(Description description,
                 const Device&...) requires(!knows_samples<Description> && sizeof...(Device) < 2)
      : model(std::move(description), shape()) {
    static_assert(knows_samples<Description>,
                  "model: the shape of a sample is missing: glia::model net{layers, {28, 28, 1}}");
  }

  [[nodiscard]] const Description& description() const {
    core_.require_parameters();
    return description_;
  }
  [[nodiscard]] const B& device() const { return core().device(); }
  [[nodiscard]] const shape& sample_shape() const { return core().sample_shape(); }
  /// The shape of one sample's output.
  [[nodiscard]] shape output_shape() const { return core().output_shape(); }
  [[nodiscard]] const model_plan& plan() const { return core().plan(); }

  /// Parameters and running statistics, by name and in the order of the layers.
  [[nodiscard]] const parameter_list<B>& parameters() const { return core().parameters(); }
  [[nodiscard]] parameter_list<B>& parameters() { return core().parameters(); }

  /// The number of elements of all parameters, running statistics included.
  [[nodiscard]] std::size_t parameter_count() const { return core().parameter_count(); }

  /// A parameter's values, and new ones for it; get<double>, and doubles given to set, keep all
  /// digits of a backend in double. Throws `value_error` for a name that the model does not have,
  /// `shape_error` for another shape.
  template <std::floating_point T = float>
  [[nodiscard]] xt::xarray<T> get(const std::string& name) const {
    const glia::parameter<B>& p = core().parameter(name);
    const model_access::reading unchanged(access());
    xt::xarray<T> values(
        typename xt::xarray<T>::shape_type(p.spec.shape.begin(), p.spec.shape.end()));
    device().to_host(p.value, std::span<T>(values.data(), values.size()));
    return values;
  }
  void set(const std::string& name, const xt::xarray<float>& values) { set_values(name, values); }
  template <class Expression>
  void set(const std::string& name, const xt::xexpression<Expression>& values) {
    using T =
        std::conditional_t<std::same_as<typename Expression::value_type, double>, double, float>;
    set_values(name, xt::xarray<T>(values.derived_cast()));
  }

  /// Whether large batches of images run depth-first; see model_options.
  [[nodiscard]] bool depth_first() const { return core().depth_first(); }

  /// A table of the layers: output shape, parameters, operations, memory.
  [[nodiscard]] std::string summary() const { return summary_table(plan()); }

  /// What keeps threads apart that predict and that train.
  [[nodiscard]] const model_access& access() const { return core().access(); }
  /// How a trainer knows whether the model still exists.
  [[nodiscard]] const alive_token& token() const { return token_; }

  /// Runs the description on x (N, ...sample). What the backward pass needs is on x's tape; `slots`
  /// receives where each parameter's gradient is collected; `random` names the step. For one thread
  /// at a time.
  [[nodiscard]] variable<B> forward(variable<B> x, std::vector<gradient_slot>& slots, run_mode mode,
                                    const step_key& random) {
    scope<B> s(x.owner(), parameters(), slots, mode, random);
    return core().template run<B>({this, &run<B>}, s, std::move(x));
  }

  /// The same in inference, which any number of threads may run at the same time. Nothing is kept
  /// for a backward pass: x must be a constant.
  [[nodiscard]] variable<B> infer(variable<B> x) const {
    require<value_error>(!x.needs_gradient(),
                         "model: infer takes constants; for gradients to the inputs call forward "
                         "with run_mode::inference");
    tape<B>& owner = x.owner();
    return owner.constant(core().infer(described(), model_part::whole, std::move(x).value()));
  }

  /// The description on any backend, such as a recorder: what `forward` runs.
  template <backend X>
  [[nodiscard]] variable<X> describe(scope<X>& s, variable<X> x) const {
    return core().template run<X>({this, &run<X>}, s, std::move(x));
  }

  /// The shape of what the frozen layers give for one sample, where all else of the model sees the
  /// samples through that alone; it needs to be computed only once then.
  [[nodiscard]] std::optional<shape> frozen_output_shape() const {
    return core().frontier() ? std::optional(core().frontier()->output) : std::nullopt;
  }

  /// The outputs (N, ...) for inputs (N, ...sample), an xtensor expression, computed in batches;
  /// predict<double> keeps all digits of a backend in double. Of a model that is trained with a
  /// loss which takes logits they are logits: glia::softmax(net.predict(x)) or, with
  /// binary_cross_entropy, glia::sigmoid(net.predict(x)) are probabilities.
  template <std::floating_point T = float, class Expression>
  [[nodiscard]] xt::xarray<T> predict(const xt::xexpression<Expression>& inputs,
                                      const predict_options& options = {}) const {
    const xt::xarray<T>& x = inputs.derived_cast();
    const shape given(x.shape().begin(), x.shape().end());
    const shape out = core().require_inputs(given);
    xt::xarray<T> y(typename xt::xarray<T>::shape_type(out.begin(), out.end()));
    core().template predict<T>(described(), {x.data(), x.size()}, {y.data(), y.size()},
                               batch_size_for(options.batch_size, sample_shape()));
    return y;
  }

  /// The model as it is now, made ready for batches of one size: small, const, for any number of
  /// threads. Throws `value_error` for batches of no samples.
  [[nodiscard]] prepared<B> prepare(const prepare_options& options = {}) const requires
      program_backend<B> {
    return core().prepare(described(), options.batch);
  }

  /// The same with products computed with integers of 8 bits; see `calibrate`. Throws `value_error`
  /// for a quantization of another model.
  [[nodiscard]] prepared<B> prepare(const quantization& how, const prepare_options& options = {})
      const requires program_backend<B> {
    return core().prepare(described(), options.batch, how);
  }

  /// `predict` of one batch in plain memory, without copies of its own.
  void predict_batch(std::span<const float> inputs, std::span<float> outputs) const {
    core().predict_batch(described(), inputs, outputs);
  }
  void predict_batch(std::span<const double> inputs, std::span<double> outputs) const {
    core().predict_batch(described(), inputs, outputs);
  }

  /// What of the model does not depend on its description's type, and the description as that sees
  /// it: for what is compiled once for all models.
  [[nodiscard]] model_core<B>& core() {
    core_.require_parameters();
    return core_;
  }
  [[nodiscard]] const model_core<B>& core() const {
    core_.require_parameters();
    return core_;
  }
  [[nodiscard]] description_ref<tracing_backend<B>> described() const {
    return {this, &run<tracing_backend<B>>};
  }

 private:
  template <class T>
  void set_values(const std::string& name, const xt::xarray<T>& values) {
    glia::parameter<B>& p = core().parameter(name);
    require_same_shape(name.c_str(), p.spec.shape,
                       shape(values.shape().begin(), values.shape().end()));
    const model_access::training alone(access());
    p.value = device().from_host(std::span<const T>(values.data(), values.size()), p.spec.shape);
  }

  /// What the model is on any backend: a function from a variable to a variable.
  template <backend X>
  [[nodiscard]] static variable<X> run(const void* self, scope<X>& s, variable<X> x) {
    return s.run_model(static_cast<const model*>(self)->description_, std::move(x));
  }

  Description description_;
  model_core<B> core_;
  alive_token token_;
};

}  // namespace glia
