#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

namespace detail {
class plan_writer;
}  // namespace detail

/// Whether a model is trained or used for predictions; dropout and batch normalization depend on
/// it.
enum class run_mode : std::uint8_t { inference, training };

/// A layer whose output has the same kind as its input, or as the last layer that it contains.
///
/// Layers declare this with a static member `preserves_output_kind` that is true. Other layers can
/// have a member function `output_kind()`, which returns a `glia::output_kind` for losses to check.
template <class Layer>
concept preserves_output_kind = requires {
  requires Layer::preserves_output_kind;
};

/// A layer that defines the meaning of its output's axes, as `reshape` does. Layers declare this
/// with a static member `sets_axes` that is true.
template <class Layer>
concept sets_axes = requires {
  requires Layer::sets_axes;
};

/// A layer that consists of other layers. Summaries list the contained layers instead of this
/// layer. Layers declare this with a member type `contains_layers`.
template <class Layer>
concept holder = requires {
  typename Layer::contains_layers;
};

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

  /// Makes a scope for the first run of a description, which creates the parameters and collects
  /// them in `plan`.
  scope(tape& owner, parameter_list& parameters, std::vector<gradient_slot>& slots,
        detail::plan_writer& plan)
      : scope(owner, parameters, slots, run_mode::training, step_key{}) {
    plan_ = &plan;
  }

  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Returns the device on which the model runs.
  [[nodiscard]] const glia::device& device() const { return tape_->device(); }
  /// Returns whether layers run as in training; false inside of `frozen`.
  [[nodiscard]] bool is_training() const { return mode_ == run_mode::training; }
  /// Returns the mode of the run.
  [[nodiscard]] run_mode mode() const { return mode_; }
  /// Returns whether this is the first run, which creates parameters and computes only shapes.
  [[nodiscard]] bool is_planning() const { return plan_ != nullptr; }

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
    name_scope(scope& s, std::string_view called) : scope_(&s) {
      if (s.names_layers()) {
        s.names_.push_back({s.names_.back().inside(called), true, {}});
      }
    }
    name_scope(const name_scope&) = delete;
    name_scope& operator=(const name_scope&) = delete;
    ~name_scope() {
      if (scope_->names_layers()) {
        scope_->names_.pop_back();
      }
    }

   private:
    scope* scope_;
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

  /// Declares that this layer's input must hold integers from 0 to `count` - 1. The model's samples
  /// are checked if this layer reads them directly.
  void expect_integers(const shape& x, std::size_t count) const;

  /// Declares the next named input of the model. A sample is a row that holds all named inputs in
  /// this order. The layers that run next receive this input. Throws `value_error` if another input
  /// has this name.
  void add_input(std::string_view name, const shape& s) const;
  /// Declares the next named output of the model. The model's output for a sample is a row that
  /// holds all named outputs in this order. Throws `value_error` if another output has this name.
  void add_output(std::string_view name, const shape& s) const;

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
    const scope* owner;
    [[nodiscard]] std::string words() const { return owner->location_text(); }
    friend std::ostream& operator<<(std::ostream& out, const location& position) {
      return out << position.words();
    }
  };

  // The running layer and its containers, for error messages: a linked list on the stack, formatted
  // only when a message needs it.
  struct place {
    const place* outer;
    std::string_view holder_name;
    std::size_t index;
    const void* layer;
    std::string (*describe)(const void*);
    std::string name = {};          // features.conv2d_0; empty if layers are not named
    std::uint32_t recorded_in = 0;  // the place of the enclosing layer on the recorder
    std::string_view type_name = {};
    mutable std::size_t inner_layers = 0;  // number of layers run inside without an index
  };

  /// Returns whether layers have names. They have names only on recorders; training loops that run
  /// layers directly on a tape do not need them.
  [[nodiscard]] bool names_layers() const { return !names_.empty(); }

  /// A name scope: its path, and the number of layers of each type that have run in it.
  struct naming {
    std::string path;
    bool of_one_layer = false;  // the next layer gets the path as its name
    std::map<std::string, std::size_t, std::less<>> counts;

    [[nodiscard]] std::string inside(std::string_view called) const {
      return path.empty() ? std::string(called) : text(path, '.', called);
    }
    [[nodiscard]] std::string next(std::string_view type_name) {
      if (std::exchange(of_one_layer, false)) {
        return path;
      }
      return inside(text(type_name, '_', counts[std::string(type_name)]++));
    }
  };

  /// The properties of a layer that follow from its type.
  struct layer_facts {
    std::string_view type_name;
    bool arranges_others;
    bool sets_axes;
    bool preserves_output_kind;
  };

  /// A shared layer, and the range [begin, end) of the indices of its parameters.
  struct shared_layer {
    std::string name;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  scope(tape& owner, const parameter_list& parameters, std::vector<gradient_slot>& slots,
        run_mode mode)
      : tape_(&owner), parameters_(&parameters), slots_(&slots), mode_(mode) {
    slots.clear();
  }

  template <class Layer>
  [[nodiscard]] static constexpr layer_facts facts_of();
  /// Returns the kind of a layer's output if the layer declares it.
  template <class Layer>
  [[nodiscard]] static std::optional<output_kind> outputs_of(const Layer& layer);

  // `enter` and `leave` do the work before and after each layer that does not depend on the layer's
  // type.
  void enter(place& frame, const layer_facts& facts);
  void leave(const place& frame, const layer_facts& facts, const shape& y,
             std::optional<output_kind> gives);
  void note_outputs(std::optional<output_kind> kind, const place* frame) const;

  const tensor& next(std::string_view name, const shape& s, const initializer& initial,
                     bool trainable);
  [[nodiscard]] variable on_tape(const tensor& parameter);
  [[nodiscard]] bool is_called(std::string_view full, std::string_view name) const;
  [[nodiscard]] std::string asked_for(std::size_t index) const;
  [[nodiscard]] static std::string text_of(const place* innermost);
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
  std::vector<shared_layer> shared_;
  // The parameters of shared layers, with their indices among all parameters.
  std::vector<std::pair<std::size_t, variable>> shared_parameters_;
  bool sharing_ = false;   // a shared layer is running
  bool repeated_ = false;  // it runs for the second time or later
  tensor step_mask_;
  const place* place_ = nullptr;
  std::vector<naming> names_ = std::vector<naming>(device().recording() == nullptr ? 0 : 1);
  detail::plan_writer* plan_ = nullptr;
};

/// A layer: a copyable value that computes a variable from a variable.
///
/// It needs `variable operator()(scope&, variable) const` and
/// `std::string description() const`. There is no base class to inherit from. The concept checks
/// the operator for a recorder that computes only shapes, because every description must run on it.
template <class L>
concept layer = std::copy_constructible<L> && described<L> &&
    requires(const L& l, scope& s, variable x) {
  { l(s, x) } -> std::same_as<variable>;
};

/// A layer that defines the shape of the model's samples: its member function `sample_shape()`
/// returns this shape without the batch axis.
template <class L>
concept has_sample_shape = layer<L> && requires(const L& l) {
  { l.sample_shape() } -> std::convertible_to<shape>;
};

template <class Layer>
constexpr scope::layer_facts scope::facts_of() {
  std::string_view type_name = "layer";
  if constexpr (requires { Layer::type_name; }) {
    type_name = Layer::type_name;
  }
  return {type_name, holder<Layer>, sets_axes<Layer>, preserves_output_kind<Layer>};
}

template <class Layer>
std::optional<output_kind> scope::outputs_of([[maybe_unused]] const Layer& layer) {
  if constexpr (requires { layer.output_kind(); }) {
    return layer.output_kind();
  } else {
    return std::nullopt;
  }
}

template <class Layer>
variable scope::run(const Layer& layer, variable x, std::string_view holder_name,
                    std::size_t index) {
  place frame{place_, holder_name, index, &layer, [](const void* self) {
                return std::string(static_cast<const Layer*>(self)->description());
              }};
  frame.type_name = facts_of<Layer>().type_name;
  enter(frame, facts_of<Layer>());
  variable y = layer(*this, std::move(x));
  leave(frame, facts_of<Layer>(), y.shape(), outputs_of(layer));
  return y;
}

template <class Layer>
variable scope::run(const Layer& layer, variable x) {
  return place_ == nullptr ? run(layer, std::move(x), "", 0)
                           : run(layer, std::move(x), place_->type_name, place_->inner_layers++);
}

template <class Layer>
variable scope::run_shared(const std::string& name, const Layer& layer, variable x) {
  const auto known = std::find_if(shared_.begin(), shared_.end(),
                                  [&](const shared_layer& shared) { return shared.name == name; });
  const auto index = static_cast<std::size_t>(known - shared_.begin());
  const bool first = known == shared_.end();
  if (first) {
    shared_.push_back({name, parameter_count_, parameter_count_});
  }
  const std::size_t saved_count = parameter_count_;
  const bool sharing = std::exchange(sharing_, true);
  const bool repeated = std::exchange(repeated_, !first);
  parameter_count_ = shared_[index].begin;
  if (names_layers()) {
    names_.push_back({name, true, {}});
  }
  variable y = run(layer, std::move(x), name, no_index);
  if (names_layers()) {
    names_.pop_back();
  }
  sharing_ = sharing;
  repeated_ = repeated;
  if (first) {
    shared_[index].end = parameter_count_;
  } else {
    expect_value(parameter_count_ == shared_[index].end, "the first shared layer '", name, "' has ",
                 shared_[index].end - shared_[index].begin, " parameters, this one has ",
                 parameter_count_ - shared_[index].begin,
                 "; give shared layers with different parameters different names");
    // Continue with the parameter after those requested before this layer. Exception: inside
    // another shared layer that runs again, continue with the parameter after this layer's own.
    if (saved_count != shared_[index].begin) {
      parameter_count_ = saved_count;
    }
  }
  return y;
}

template <class Description>
variable scope::run_model(const Description& description, variable x) {
  if constexpr (holder<Description>) {
    variable y = description(*this, std::move(x));
    if constexpr (!preserves_output_kind<Description>) {
      const place whole{nullptr, "", 0, &description, [](const void* self) {
                          return std::string(static_cast<const Description*>(self)->description());
                        }};
      note_outputs(outputs_of(description), &whole);
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
