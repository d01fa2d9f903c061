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

/// The options of `predict`.
struct predict_options {
  /// Number of samples in a batch. Smaller batches need less memory. 0: at most 256 samples, and at
  /// most about 32 MB.
  std::size_t batch_size = 0;
};

/// A neural network with parameters on a device. It is made from a description, which is a layer or
/// a composition of layers, and from the shape of a sample.
///
///     glia::model net{glia::sequential{glia::dense{400, glia::relu}, glia::dense{10}}, {784}};
///     const auto y = net.predict(x);  // x: (N, 784), y: (N, 10)
///
/// The constructor initializes the parameters and throws `shape_error` or `value_error`, with the
/// name of the layer, if the description does not fit samples of this shape.
///
/// Threads: any number of threads can predict with one model, or with copies of it, at the same
/// time. They share the device's threads. While another thread trains the model, `predict`, `get`,
/// copying and saving wait for the current training step, and `set` throws `value_error`. The
/// non-const `parameters()` and the assignment to a model must not run at the same time as any
/// other function of the model.
///
/// A model that was moved from has no parameters and no device. All its functions throw
/// `value_error` until another model is assigned to it.
template <layer Description>
class model {
 public:
  /// Makes a model for samples of shape `sample`, without the batch axis.
  model(Description description, const shape& sample, glia::device device = cpu<float>(),
        const model_options& options = {})
      : description_(std::move(description)),
        core_(plan_model(description_, sample, device.fused()), std::nullopt, sample, device,
              options, forward_of(description_)) {}

  /// Makes a model from a plan of this description for samples of shape `sample` (see `plan_model`)
  /// and from its parameters, in the order of the plan.
  model(Description description, model_plan plan, parameter_list parameters, const shape& sample,
        glia::device device = cpu<float>(), const model_options& options = {})
      : description_(std::move(description)),
        core_(std::move(plan), std::move(parameters), sample, std::move(device), options,
              forward_of(description_)) {}

  /// Makes a model from a description that knows the shape of its samples, because it begins with
  /// `inputs`.
  explicit model(Description description, glia::device device = cpu<float>(),
                 const model_options& options = {}) requires has_sample_shape<Description>
      : model(description, description.sample_shape(), std::move(device), options) {}
  template <std::convertible_to<glia::device>... Device>
  explicit model(Description description,
                 const Device&...) requires(!has_sample_shape<Description> && sizeof...(Device) < 2)
      : model(std::move(description), shape()) {
    static_assert(has_sample_shape<Description>,
                  "model: the shape of a sample is missing; write glia::model net{layers, {28, 28, "
                  "1}}");
  }

  /// The description that the model was made from.
  [[nodiscard]] const Description& description() const {
    core_.require_parameters();
    return description_;
  }
  /// The device that the model runs on.
  [[nodiscard]] const glia::device& device() const { return core().device(); }
  /// The shape of a sample, without the batch axis.
  [[nodiscard]] const shape& sample_shape() const { return core().sample_shape(); }
  /// The shape of the output for one sample, without the batch axis.
  [[nodiscard]] shape output_shape() const { return core().output_shape(); }
  /// The layers with their shapes, parameters and costs.
  [[nodiscard]] const model_plan& plan() const { return core().plan(); }

  /// The parameters and running statistics, with their names, in the order of the layers.
  [[nodiscard]] const parameter_list& parameters() const { return core().parameters(); }
  [[nodiscard]] parameter_list& parameters() { return core().parameters(); }

  /// The number of elements of all parameters, including running statistics.
  [[nodiscard]] std::size_t parameter_count() const { return core().parameter_count(); }

  /// The values of a parameter, such as "dense_0.kernel". get<double> keeps all digits of a backend
  /// that computes in double. Throws `value_error` for an unknown name.
  template <std::floating_point T = float>
  [[nodiscard]] xt::xarray<T> get(const std::string& name) const {
    const glia::parameter& p = core().parameter(name);
    const model_access::reading unchanged(access());
    xt::xarray<T> values(
        typename xt::xarray<T>::shape_type(p.spec.shape.begin(), p.spec.shape.end()));
    device().to_host(p.value, std::span<T>(values.data(), values.size()));
    return values;
  }
  /// Replaces the values of a parameter. Values of type double keep all digits on a backend that
  /// computes in double. Throws `value_error` for an unknown name, or if another thread trains the
  /// model, and `shape_error` if the shape differs from the parameter's.
  void set(const std::string& name, const xt::xarray<float>& values) { set_values(name, values); }
  template <class Expression>
  void set(const std::string& name, const xt::xexpression<Expression>& values) {
    using T =
        std::conditional_t<std::same_as<typename Expression::value_type, double>, double, float>;
    set_values(name, xt::xarray<T>(values.derived_cast()));
  }

  /// Whether large batches of images run in batch tiles; see `model_options::depth_first`.
  [[nodiscard]] bool depth_first() const { return core().depth_first(); }

  /// A text table of the layers: output shape, parameters, floating-point operations and memory.
  [[nodiscard]] std::string summary() const { return summary_table(plan()); }

  /// The lock between threads that predict and a thread that trains.
  [[nodiscard]] const model_access& access() const { return core().access(); }
  /// A token with which a trainer checks that the model still exists.
  [[nodiscard]] const detail::alive_token& token() const { return token_; }

  /// Runs the model on x (N, ...sample) and records the operations on x's tape, for a backward
  /// pass.
  ///
  /// Fills `slots` with one slot for each parameter. `tape::gradient(slots[i])` then returns the
  /// gradient of parameter i. `random` is the key of the random numbers of the step, for layers
  /// such as dropout. Only one thread at a time can call this.
  [[nodiscard]] variable forward(variable x, std::vector<gradient_slot>& slots, run_mode mode,
                                 const step_key& random) {
    scope s(x.owner(), parameters(), slots, mode, random);
    return core().run(s, std::move(x));
  }

  /// Runs the model on x (N, ...sample) in inference mode, and records nothing for a backward pass.
  /// Any number of threads can call this. Throws `value_error` unless x is a constant.
  [[nodiscard]] variable infer(variable x) const {
    require<value_error>(!x.needs_gradient(),
                         "model: infer expected a constant, got a variable with a gradient; for "
                         "gradients of the inputs, call forward with run_mode::inference");
    tape& owner = x.owner();
    return owner.constant(core().infer(model_part::whole, std::move(x).value()));
  }

  /// Runs the description in a scope, for example to record it.
  [[nodiscard]] variable describe(scope& s, variable x) const {
    return core().run(s, std::move(x));
  }

  /// The shape of the frozen layers' output for one sample, if the model begins with frozen layers
  /// and no other layer uses the samples. Empty otherwise. Training can compute this output once
  /// for each sample and reuse it.
  [[nodiscard]] std::optional<shape> frozen_output_shape() const {
    return core().frontier() ? std::optional(core().frontier()->output) : std::nullopt;
  }

  /// Computes the outputs (N, ...) for inputs (N, ...sample), in batches. The inputs can be any
  /// xtensor expression. predict<double> keeps all digits of a backend that computes in double.
  ///
  /// If the loss takes logits, the outputs are logits. Probabilities are
  /// glia::softmax(net.predict(x)) for softmax_cross_entropy and glia::sigmoid(net.predict(x)) for
  /// sigmoid_cross_entropy.
  ///
  /// Throws `shape_error` if the shape of the inputs does not fit, and `data_error` if a layer such
  /// as `embedding` needs integers and the inputs contain other numbers.
  template <std::floating_point T = float, class Expression>
  [[nodiscard]] xt::xarray<T> predict(const xt::xexpression<Expression>& inputs,
                                      const predict_options& options = {}) const {
    const xt::xarray<T>& x = inputs.derived_cast();
    const shape extents(x.shape().begin(), x.shape().end());
    const shape out = core().require_inputs(extents);
    xt::xarray<T> y(typename xt::xarray<T>::shape_type(out.begin(), out.end()));
    core().template predict<T>({x.data(), x.size()}, {y.data(), y.size()},
                               detail::batch_size_for(options.batch_size, sample_shape()));
    return y;
  }

  /// Makes a fast copy of the model, in its current state, for predictions with one batch size. Any
  /// number of threads can use it. Throws `value_error` if the batch size is 0.
  [[nodiscard]] prepared prepare(const prepare_options& options = {}) const {
    return core().prepare(options.batch_size);
  }

  /// Makes a fast copy of the model that computes matrix products and convolutions with 8-bit
  /// integers; see `calibrate`. Throws `value_error` if the quantization belongs to another model.
  [[nodiscard]] prepared prepare(const quantization& scales,
                                 const prepare_options& options = {}) const {
    return core().prepare(options.batch_size, scales);
  }

  /// Computes the outputs of one batch, with the inputs and outputs in plain memory, without extra
  /// copies. Throws `shape_error` if the sizes of the buffers do not fit.
  void predict_batch(std::span<const float> inputs, std::span<float> outputs) const {
    core().predict_batch(inputs, outputs);
  }
  void predict_batch(std::span<const double> inputs, std::span<double> outputs) const {
    core().predict_batch(inputs, outputs);
  }

  /// The part of the model that does not depend on the type of its description. Code that uses only
  /// this part is compiled once for all models.
  [[nodiscard]] model_core& core() {
    core_.require_parameters();
    return core_;
  }
  [[nodiscard]] const model_core& core() const {
    core_.require_parameters();
    return core_;
  }

 private:
  [[nodiscard]] static forward_pass forward_of(const Description& description) {
    return [description](scope& s, variable x) { return s.run_model(description, std::move(x)); };
  }

  template <class T>
  void set_values(const std::string& name, const xt::xarray<T>& values) {
    glia::parameter& p = core().parameter(name);
    require_same_shape(name.c_str(), p.spec.shape,
                       shape(values.shape().begin(), values.shape().end()));
    const model_access::training alone(access());
    p.value = device().from_host(std::span<const T>(values.data(), values.size()), p.spec.shape);
  }

  Description description_;
  model_core core_;
  detail::alive_token token_;
};

}  // namespace glia
