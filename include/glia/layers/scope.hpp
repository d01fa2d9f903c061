#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/contexts.hpp"
#include "glia/layers/layer_concepts.hpp"
#include "glia/layers/layer_names.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/running_layer.hpp"
#include "glia/layers/shared_layers.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

namespace detail {

struct adaptation;
class plan_writer;
class stream_recording;

/// A function that is called with the name and the output of each layer, and of each composition
/// that has a name, when it has run. It may replace the output.
using layer_probe = function_ref<void(const std::string& name, variable& y)>;

}  // namespace detail

/// Whether a model is trained or used for predictions; dropout and batch normalization depend on
/// it.
enum class run_mode : std::uint8_t { inference, training };

/// A layer's access to the model that runs it: the device, the parameters, random numbers and the
/// mode of the run.
///
/// A layer requests its parameters by name and shape each time it runs. The first run computes only
/// shapes and creates the parameters (see models/plan_model.hpp). Later runs return these
/// parameters. A layer must request the same parameters in the same order in every run.
class scope {
 public:
  /// Makes a scope for a run with `parameters`. `random` identifies the training step. In training,
  /// `slots` receives the gradient slot of each parameter.
  scope(tape& owner, parameter_list& parameters, std::vector<gradient_slot>& slots, run_mode mode,
        const step_key& random)
      : scope(owner, parameters, slots, mode) {
    changing_ = &parameters;
    random_ = random;
  }
  /// Makes a scope for training. `key` is the random key of the step, already on the device.
  scope(tape& owner, parameter_list& parameters, std::vector<gradient_slot>& slots, tensor key)
      : scope(owner, parameters, slots, run_mode::training) {
    changing_ = &parameters;
    key_ = std::move(key);
  }

  /// Makes a scope for inference, which does not change the parameters.
  scope(tape& owner, const parameter_list& parameters, std::vector<gradient_slot>& slots)
      : scope(owner, parameters, slots, run_mode::inference) {}

  /// Makes a scope for a run in which layers that preprocess data are fitted to it; see `adapt`.
  /// All other layers run as in inference.
  scope(tape& owner, parameter_list& parameters, std::vector<gradient_slot>& slots,
        detail::adaptation& collected)
      : scope(owner, parameters, slots, run_mode::inference) {
    changing_ = &parameters;
    adaptation_ = &collected;
  }

  /// Makes a scope for the first run of a description, which creates the parameters and collects
  /// them in `plan`.
  scope(tape& owner, parameter_list& parameters, std::vector<gradient_slot>& slots,
        detail::plan_writer& plan)
      : scope(owner, parameters, slots, run_mode::training, step_key{}) {
    plan_ = &plan;
  }

  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Calls `probe` after each layer of this run. Works only on recorders, because layers have no
  /// names elsewhere. The probe must exist as long as the scope.
  void set_probe(const detail::layer_probe& probe) { probe_ = &probe; }

  /// Sets the stream for the layers that run next; null if they run on whole sequences.
  void set_stream(detail::stream_recording* stream) { stream_ = stream; }
  /// Returns the stream if the model runs on blocks of sequences, or null if it runs on whole
  /// sequences; see `stream`.
  [[nodiscard]] detail::stream_recording* stream() const { return stream_; }

  /// Returns the device on which the model runs.
  [[nodiscard]] const glia::device& device() const { return tape_->device(); }
  /// Returns whether layers run as in training; false inside of `frozen`.
  [[nodiscard]] bool is_training() const { return mode_ == run_mode::training; }
  /// Returns the mode of the run.
  [[nodiscard]] run_mode mode() const { return mode_; }
  /// Returns whether this is the first run, which creates parameters and computes only shapes.
  [[nodiscard]] bool is_planning() const { return plan_ != nullptr; }

  /// Returns the statistics of a run of `adapt`, or null in all other runs. In a run of `adapt`, a
  /// layer can change its states with `mutable_state`.
  [[nodiscard]] detail::adaptation* adaptation() const { return adaptation_; }

  /// A guard: during its lifetime, layers run as in inference, and their parameters are not
  /// trained.
  class freeze {
   public:
    explicit freeze(scope& s)
        : scope_(&s),
          mode_(std::exchange(s.mode_, run_mode::inference)),
          frozen_(std::exchange(s.frozen_, true)) {}
    freeze(const freeze&) = delete;
    freeze& operator=(const freeze&) = delete;
    ~freeze() {
      scope_->mode_ = mode_;
      scope_->frozen_ = frozen_;
    }

   private:
    scope* scope_;
    run_mode mode_;
    bool frozen_;
  };

  /// A guard: during its lifetime, the names of layers begin with the name `called`, after the
  /// names of enclosing guards. With the name "features", the kernel of a single layer is called
  /// features.kernel, and the kernel of one of several layers is called features.conv2d_0.kernel.
  class name_scope {
   public:
    name_scope(scope& s, std::string_view called) : names_(&s.names_) { names_->enter(called); }
    name_scope(const name_scope&) = delete;
    name_scope& operator=(const name_scope&) = delete;
    ~name_scope() { names_->leave(); }

   private:
    detail::layer_names* names_;
  };

  /// Returns a trainable parameter of the running layer. Store the initializer as a member of the
  /// layer, because the construction of an initializer allocates memory, which a training step
  /// should avoid. Throws `value_error` if the layer requested another parameter at this position
  /// in the first run.
  [[nodiscard]] variable parameter(std::string_view name, const shape& s,
                                   const initializer& initial);

  /// Returns a tensor that the layer itself updates in training, such as a running mean. The
  /// reference is valid until the next parameter is requested.
  [[nodiscard]] const tensor& state(std::string_view name, const shape& s,
                                    const initializer& initial);
  /// Returns the same tensor as `state`, for modification. Throws `value_error` in inference,
  /// because several predictions can run at the same time.
  [[nodiscard]] tensor& mutable_state(std::string_view name, const shape& s,
                                      const initializer& initial);

  /// Returns a source of random numbers, a different one for each call in a training step.
  [[nodiscard]] random_source next_random();

  /// Returns the mask of sequences (N, T): 1 for a step, 0 for a padding step. Returns an empty
  /// tensor if there is no mask. Later layers receive the mask, up to the first layer whose output
  /// does not have T steps.
  [[nodiscard]] const tensor& step_mask() const { return step_mask_; }
  /// Sets the mask of sequences for this layer and later ones.
  void set_step_mask(tensor mask) { step_mask_ = std::move(mask); }

  /// Stores a sequence, with the current mask, for the layers that run next. A sequence of the same
  /// name is replaced.
  void store_context(std::string_view name, const variable& steps);
  /// Returns the sequence of this name. Throws `value_error` if no layer has stored it yet.
  [[nodiscard]] const context_sequence& context(std::string_view name) const;

  /// The kind of the outputs of the layer that has just run, and the path of this layer.
  using output_origin = std::pair<output_kind, std::string>;
  /// Returns the origin of the next layer's input.
  [[nodiscard]] output_origin input_origin() const;
  /// Sets the origin of the next layer's input, for compositions that give several layers the same
  /// input.
  void set_input_origin(const output_origin& origin) const;

  /// Declares that this layer's input must hold integers from 0 to `count` - 1 or, if
  /// `allows_missing` is set, NaN. The model's samples are checked if this layer reads them
  /// directly. `advice` is a literal that ends the error message: "increase input_dim".
  void expect_integers(const shape& x, std::size_t count, std::string_view advice,
                       bool allows_missing = false) const;

  /// Declares that the states of this layer mean nothing until `adapt` has computed them. A
  /// training with their initial values has a note.
  void expect_adapt() const;

  /// Declares the next named input x of the model. A sample is a row that holds all named inputs in
  /// this order. The layers that run next receive this input. Throws `value_error` if another input
  /// has this name.
  void add_input(std::string_view name, const variable& x) const;
  /// Declares the next named output y of the model. The model's output for a sample is a row that
  /// holds all named outputs in this order. Throws `value_error` if another output has this name.
  void add_output(std::string_view name, const variable& y) const;

  /// The index that `run` expects for the only layer of a container.
  static constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

  /// Runs a layer inside the running layer. Error messages number such layers from 0: unet[2]
  /// conv2d(16, 3x3). The names of parameters are counted in the whole model: conv2d_1.kernel.
  template <class Layer>
  [[nodiscard]] variable run(const Layer& layer, variable x);

  /// Runs a layer, the element `index` of the container `holder_name`. Only error messages show
  /// the index.
  template <class Layer>
  [[nodiscard]] variable run(const Layer& layer, variable x, std::string_view holder_name,
                             std::size_t index);

  /// Runs a layer with the parameters of the first shared layer named `name`.
  template <class Layer>
  [[nodiscard]] variable run_shared(const std::string& name, const Layer& layer, variable x);

  /// Throws `value_error` if a training run has requested fewer parameters than the first run.
  void expect_all_asked() const;

  /// Runs the description of a whole model.
  template <class Description>
  [[nodiscard]] variable run_model(const Description& description, variable x);

  /// Throws `shape_error` if this layer reads the model's samples directly and they look like
  /// images with channels first, (C, H, W). The check assumes this if the first axis has 1, 3 or 4
  /// elements, and the other two axes have equal numbers of elements, at least 8. If the images
  /// have their channels last nevertheless, put a `reshape` to the same shape before this layer to
  /// turn off the check.
  void expect_channels_last(const shape& x) const;

  /// Throws a `shape_error` if `condition` is false. The message names the running layer.
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<shape_error>(condition, location{this}, parts...);
  }
  /// Throws a `value_error` if `condition` is false. The message names the running layer.
  template <class... Parts>
  void expect_value(bool condition, const Parts&... parts) const {
    require<value_error>(condition, location{this}, parts...);
  }

 private:
  /// The path of the running layer, formatted only when a message needs it.
  struct location {
    const scope* running_scope;
    [[nodiscard]] std::string words() const { return running_scope->location_text(); }
    friend std::ostream& operator<<(std::ostream& out, const location& l) {
      return out << l.words();
    }
  };

  scope(tape& owner, const parameter_list& parameters, std::vector<gradient_slot>& slots,
        run_mode mode)
      : tape_(&owner), parameters_(&parameters), slots_(&slots), mode_(mode) {
    slots.clear();
  }

  // The work before and after each layer that does not depend on the layer's type.
  void enter(detail::running_layer& layer, const variable& x);
  void leave(const detail::running_layer& layer, variable& y, std::optional<output_kind> gives);
  /// Throws `value_error` if the model runs in blocks, but the layer cannot.
  void expect_stepwise(const detail::running_layer& layer) const;
  [[nodiscard]] detail::shared_layers::run enter_shared(const std::string& name);
  void leave_shared(const std::string& name, const detail::shared_layers::run& ended);
  void note_outputs(std::optional<output_kind> kind, const detail::running_layer* layer) const;

  const tensor& next(std::string_view name, const shape& s, const initializer& initial,
                     bool trainable);
  [[nodiscard]] variable on_tape(const tensor& parameter);
  [[nodiscard]] bool is_called(std::string_view full, std::string_view name) const;
  [[nodiscard]] std::string asked_for(std::size_t index) const;
  [[nodiscard]] static std::string text_of(const detail::running_layer* innermost);
  [[nodiscard]] std::string location_text() const;

  tape* tape_;
  const parameter_list* parameters_;
  parameter_list* changing_ = nullptr;  // the same parameters if the run may change them
  std::vector<gradient_slot>* slots_;
  run_mode mode_;
  bool frozen_ = false;
  step_key random_;
  tensor key_;  // random_ on the device, after its first use
  std::uint32_t random_count_ = 0;
  std::size_t parameter_count_ = 0;  // number of parameters returned so far
  detail::shared_layers shared_;
  tensor step_mask_;
  std::vector<context_sequence> contexts_;  // those that layers have stored by name
  detail::stream_recording* stream_ = nullptr;
  const detail::running_layer* innermost_ = nullptr;
  // Layers have names only on recorders; training loops that run layers directly on a tape do not
  // need them.
  detail::layer_names names_{device().recording() != nullptr};
  detail::plan_writer* plan_ = nullptr;
  detail::adaptation* adaptation_ = nullptr;
  const detail::layer_probe* probe_ = nullptr;
};

template <class Layer>
variable scope::run(const Layer& layer, variable x, std::string_view holder_name,
                    std::size_t index) {
  detail::running_layer frame = detail::make_running_layer(layer, innermost_, holder_name, index);
  enter(frame, x);
  variable y = layer(*this, std::move(x));
  leave(frame, y, detail::declared_output_kind(layer));
  return y;
}

template <class Layer>
variable scope::run(const Layer& layer, variable x) {
  return innermost_ == nullptr
             ? run(layer, std::move(x), "", 0)
             : run(layer, std::move(x), innermost_->type_name, innermost_->inner_layers++);
}

template <class Layer>
variable scope::run_shared(const std::string& name, const Layer& layer, variable x) {
  const detail::shared_layers::run shared_run = enter_shared(name);
  variable y = run(layer, std::move(x), name, no_index);
  leave_shared(name, shared_run);
  return y;
}

template <class Description>
variable scope::run_model(const Description& description, variable x) {
  if constexpr (holder<Description>) {
    const detail::running_layer whole = detail::make_running_layer(description, nullptr, "", 0);
    expect_stepwise(whole);
    variable y = description(*this, std::move(x));
    if constexpr (!preserves_output_kind<Description>) {
      note_outputs(detail::declared_output_kind(description), &whole);
    }
    return y;
  } else {
    return run(description, std::move(x), "model", 0);
  }
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/layers/scope_impl.hpp"
#endif
