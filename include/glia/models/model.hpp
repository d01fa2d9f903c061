#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/cpu.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/layers/scope.hpp"
#include "glia/models/inference.hpp"
#include "glia/models/model_access.hpp"
#include "glia/models/plan_model.hpp"
#include "glia/models/prepared.hpp"
#include "glia/models/summary.hpp"

namespace glia {

struct model_options {
  std::uint64_t seed = 1;  ///< of the initial parameters

  /// Whether large batches of images run depth-first, a few at a time through all that treats them
  /// on their own, where the backend can. The numbers are the same up to rounding; it is here to
  /// compare.
  bool depth_first = true;
};

namespace detail {

/// What a model keeps to infer with: programs, or nothing where a backend only runs at once.
template <backend B>
struct inference_memory {};
template <placing_backend B>
struct inference_memory<B> {
  inference_cache<B> of_part[3];
};

}  // namespace detail

/// How many samples make a batch: as many as are asked for or, for 0, as many of this shape as take
/// some 32 MB, at most 256.
[[nodiscard]] constexpr std::size_t batch_size_for(std::size_t asked, const shape& sample) {
  constexpr std::size_t bytes = 32 << 20;
  constexpr std::size_t most = 256;
  const std::size_t each = std::max<std::size_t>(sample.size() * sizeof(float), 1);
  return asked > 0 ? asked : std::clamp<std::size_t>(bytes / each, 1, most);
}

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
/// share the device's threads. A prediction beside a training step of the same model waits for it.
/// What changes the model otherwise (`set`, `parameters()`, assignment) must not run beside others.
/// A model that was moved from has no parameters and no device: it can only be assigned to.
template <layer Description, backend B = cpu<float>>
class model {
 public:
  using backend_type = B;

  model(Description description, const shape& sample, B device = B(),
        const model_options& options = {})
      : description_(std::move(description)),
        sample_(sample),
        device_(std::move(device)),
        depth_first_(options.depth_first),
        plan_(plan_model<B>(description_, sample)),
        parameters_(make_parameters(plan_.parameters, device_, options.seed)) {}

  [[nodiscard]] const Description& description() const { return description_; }
  [[nodiscard]] const B& device() const { return device_; }
  [[nodiscard]] const shape& sample_shape() const { return sample_; }
  /// The shape of one sample's output.
  [[nodiscard]] shape output_shape() const { return sample_of(plan_.output); }
  [[nodiscard]] const model_plan& plan() const { return plan_; }

  /// Parameters and running statistics, by name and in the order of the layers.
  [[nodiscard]] const parameter_list<B>& parameters() const { return parameters_; }
  [[nodiscard]] parameter_list<B>& parameters() { return parameters_; }

  /// The number of elements of all parameters, running statistics included.
  [[nodiscard]] std::size_t parameter_count() const {
    std::size_t count = 0;
    for (const parameter_spec& spec : plan_.parameters) {
      count += spec.shape.size();
    }
    return count;
  }

  /// A parameter's values, and new ones for it; get<double>, and doubles given to set, keep all
  /// digits of a backend in double. Throws `value_error` for a name that the model does not have,
  /// `shape_error` for another shape.
  template <std::floating_point T = float>
  [[nodiscard]] xt::xarray<T> get(const std::string& name) const {
    const glia::parameter<B>& p = parameters_[index_of(name)];
    xt::xarray<T> values(
        typename xt::xarray<T>::shape_type(p.spec.shape.begin(), p.spec.shape.end()));
    device_.to_host(p.value, std::span<T>(values.data(), values.size()));
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
  [[nodiscard]] bool depth_first() const { return depth_first_; }

  /// A table of the layers: output shape, parameters, operations, memory.
  [[nodiscard]] std::string summary() const { return summary_table(plan_); }

  /// What keeps threads apart that predict and that train.
  [[nodiscard]] const model_access& access() const { return access_; }

  /// Runs the description on x (N, ...sample). What the backward pass needs is on x's tape; `slots`
  /// receives where each parameter's gradient is collected; `random` names the step. For one thread
  /// at a time.
  [[nodiscard]] variable<B> forward(variable<B> x, std::vector<gradient_slot>& slots, run_mode mode,
                                    const step_key& random) {
    scope<B> s(x.owner(), parameters_, slots, mode, random);
    return run_part<part::whole>(s, std::move(x));
  }

  /// The same in inference, which any number of threads may run at the same time. Nothing is kept
  /// for a backward pass: x must be a constant.
  [[nodiscard]] variable<B> infer(variable<B> x) const {
    return infer_with<part::whole>(std::move(x));
  }

  /// The description on any backend, such as a recorder: what `forward` runs.
  template <backend X>
  [[nodiscard]] variable<X> describe(scope<X>& s, variable<X> x) const {
    return run_part<part::whole>(s, std::move(x));
  }
  /// The same for what comes behind the frozen layers.
  template <backend X>
  [[nodiscard]] variable<X> describe_trained_part(scope<X>& s, variable<X> x) const {
    return run_part<part::trained>(s, std::move(x));
  }

  /// How many of the first layers need to run only once for each sample; see
  /// sequential::frozen_layers.
  [[nodiscard]] static constexpr std::size_t frozen_layers() {
    if constexpr (requires { Description::frozen_layers(); }) {
      return Description::frozen_layers();
    } else {
      return 0;
    }
  }

  /// The same as `forward` for a part of the description's layers only: with `frozen` those, with
  /// `trained` the others, on what the frozen ones gave. Neither draws the other's randomness.
  enum class part : std::uint8_t { whole, frozen, trained };
  template <part Which>
  [[nodiscard]] variable<B> forward_part(variable<B> x, std::vector<gradient_slot>& slots,
                                         run_mode mode, const step_key& random) {
    scope<B> s(x.owner(), parameters_, slots, mode, random);
    return run_part<Which>(s, std::move(x));
  }
  template <part Which>
  [[nodiscard]] variable<B> infer_part(variable<B> x) const {
    return infer_with<Which>(std::move(x));
  }

  /// The shape of what the frozen layers give for one sample.
  [[nodiscard]] shape frozen_output_shape() const {
    constexpr std::size_t border = frozen_layers();
    return border < plan_.parts.size() ? sample_of(plan_.parts[border].input) : output_shape();
  }

  /// The outputs (N, ...) for inputs (N, ...sample), an xtensor expression, computed in batches;
  /// predict<double> keeps all digits of a backend in double. Of a model that is trained with a
  /// loss which takes logits they are logits: glia::softmax(net.predict(x)) or, with
  /// binary_cross_entropy, glia::sigmoid(net.predict(x)) are probabilities.
  template <std::floating_point T = float, class Expression>
  [[nodiscard]] xt::xarray<T> predict(const xt::xexpression<Expression>& inputs,
                                      const predict_options& options = {}) const {
    const xt::xarray<T> x = inputs.derived_cast();
    const shape given(x.shape().begin(), x.shape().end());
    const std::size_t batch_size = batch_size_for(options.batch_size, sample_);
    require<shape_error>(given.rank() > 0 && given == batch_of(given[0], sample_),
                         "predict: expected inputs ", batch_text(batch_of(1, sample_)), ", got ",
                         given);
    const shape out = batch_of(given[0], output_shape());
    xt::xarray<T> y(typename xt::xarray<T>::shape_type(out.begin(), out.end()));
    for (std::size_t first = 0; first < given[0]; first += batch_size) {
      const std::size_t count = std::min(batch_size, given[0] - first);
      predict_batch(
          std::span(x.data() + first * sample_.size(), count * sample_.size()),
          std::span(y.data() + first * output_shape().size(), count * output_shape().size()));
    }
    return y;
  }

  /// The model as it is now, made ready for batches of one size: small, const, for any number of
  /// threads. Throws `value_error` for batches of no samples.
  [[nodiscard]] prepared<B> prepare(const prepare_options& options = {}) const requires
      placing_backend<B> {
    require<value_error>(options.batch > 0, "prepare: expected a batch of at least one sample");
    const model_access::reading unchanged(access_);
    const shape batch = batch_of(options.batch, sample_);
    return {inference_for<part::whole>(batch), batch, batch_of(options.batch, output_shape())};
  }

  /// The same for a batch in plain memory, without copies of its own.
  void predict_batch(std::span<const float> inputs, std::span<float> outputs) const {
    run_batch(inputs, outputs);
  }
  void predict_batch(std::span<const double> inputs, std::span<double> outputs) const {
    run_batch(inputs, outputs);
  }

 private:
  template <class T>
  void run_batch(std::span<const T> inputs, std::span<T> outputs) const {
    const shape batch = batch_of(inputs.size() / sample_.size(), sample_);
    if constexpr (placing_backend<B>) {
      const model_access::reading unchanged(access_);
      const auto ready = inference_for<part::whole>(batch);
      device_.to_host((*ready)(device_.from_host(inputs, batch)), outputs);
    } else {
      tape<B> record(device_);
      variable<B> x = record.constant(device_.from_host(inputs, batch));
      device_.to_host(infer(std::move(x)).value(), outputs);
    }
  }

  template <class T>
  void set_values(const std::string& name, const xt::xarray<T>& values) {
    glia::parameter<B>& p = parameters_[index_of(name)];
    require_same_shape(name.c_str(), p.spec.shape,
                       shape(values.shape().begin(), values.shape().end()));
    p.value = device_.from_host(std::span<const T>(values.data(), values.size()), p.spec.shape);
  }

  static void require_batch(const shape& got, const shape& sample) {
    const shape expected = batch_of(got.rank() == 0 ? 0 : got[0], sample);
    require<shape_error>(got == expected && got[0] > 0, "model: expected a batch ",
                         batch_text(expected), " of at least one sample, got ", got);
  }

  /// What the model, or a part of it, is on any backend: a function from a variable to a variable.
  template <part Which, backend X>
  [[nodiscard]] variable<X> run_part(scope<X>& s, variable<X> x) const {
    require_batch(x.shape(), Which == part::trained ? frozen_output_shape() : sample_);
    if constexpr (Which == part::whole) {
      variable<X> y = s.run_model(description_, std::move(x));
      s.expect_all_asked();
      return y;
    } else {
      constexpr std::size_t border = frozen_layers();
      if constexpr (Which == part::frozen) {
        return description_.template run_part<0, border>(s, std::move(x));
      } else {
        s.skip_parameters(border < plan_.parts.size() ? plan_.parts[border].parameters
                                                      : parameters_.size());
        return description_.template run_part<border, Description::size()>(s, std::move(x));
      }
    }
  }

  template <part Which>
  [[nodiscard]] variable<B> infer_with(variable<B> x) const {
    require_constant(x);
    const model_access::reading unchanged(access_);
    tape<B>& owner = x.owner();
    if constexpr (placing_backend<B>) {
      const auto ready = inference_for<Which>(x.shape());
      return owner.constant((*ready)(std::move(x).value()));
    } else {
      std::vector<gradient_slot> slots;
      scope<B> s(owner, parameters_, slots);
      return kept(run_part<Which>(s, std::move(x)));
    }
  }

  template <part Which>
  [[nodiscard]] std::shared_ptr<const inference<B>> inference_for(const shape& batch) const {
    require_batch(batch, Which == part::trained ? frozen_output_shape() : sample_);
    return inference_.of_part[static_cast<std::size_t>(Which)].get(batch[0], parameters_, [&] {
      return inference_programs<B>::make(record<Which>(batch), device_, batch[0], depth_first_);
    });
  }

  /// Runs the description in inference on a recorder.
  template <part Which>
  [[nodiscard]] recorder<B> record(const shape& batch) const {
    using R = recorder<B>;
    R result;
    tape<R> at(result);
    variable<R> x = at.constant(result.input("inputs", real_of(batch)));
    const parameter_list<R> parameters = as_inputs(result, parameters_);
    std::vector<gradient_slot> slots;
    scope<R> s(at, parameters, slots);
    result.output("outputs", run_part<Which>(s, std::move(x)).value());
    return result;
  }

  // Adjoints would hold parameters that are only borrowed.
  static void require_constant(const variable<B>& x) {
    require<value_error>(!x.needs_gradient(),
                         "model: infer takes constants; for gradients to the inputs call forward "
                         "with run_mode::inference");
  }

  /// Parameters are only borrowed while a description runs; an output that is one must last.
  [[nodiscard]] static variable<B> kept(variable<B> y) {
    if constexpr (requires(typename B::tensor t) { std::move(t).counted(); }) {
      tape<B>& owner = y.owner();
      return owner.constant(std::move(y).value().counted());
    } else {
      return y;
    }
  }

  [[nodiscard]] std::size_t index_of(const std::string& name) const {
    std::string known;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].spec.name == name) {
        return i;
      }
      known += (known.empty() ? "" : ", ") + parameters_[i].spec.name;
    }
    throw value_error(text("model: no parameter is called '", name, "'; there are: ", known));
  }

  Description description_;
  shape sample_;
  B device_;
  bool depth_first_;
  model_plan plan_;
  parameter_list<B> parameters_;
  model_access access_;
  detail::inference_memory<B> inference_;
};

}  // namespace glia
