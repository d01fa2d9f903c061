#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/graph/recorder.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/plan.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

enum class run_mode : std::uint8_t { inference, training };

/// A layer without parameters and randomness, which gives the same outputs for the same inputs in
/// training and in inference. Layers say so in a static member `stateless`.
template <class Layer>
concept stateless_layer = requires {
  requires Layer::stateless;
};

/// A layer whose outputs are, as far as losses have to know, what its inputs are or what the last
/// of the layers that it holds gives. Layers say so in a static member `hands_on`. Others may say
/// what they give in a member function `gives`, which returns an `output_kind`.
template <class Layer>
concept hands_on = requires {
  requires Layer::hands_on;
};

/// A layer that says what its outputs' axes are, as `reshape` does. Layers say so in a static
/// member `arranges_axes`.
template <class Layer>
concept arranges_axes = requires {
  requires Layer::arranges_axes;
};

/// A layer that only arranges others: summaries list what it holds and not itself.
template <class Layer>
concept holder = requires {
  typename Layer::holds_layers;
};

/// What a layer sees of the model that runs it: the device, its parameters, randomness, and whether
/// this is training.
///
/// A layer asks for its parameters by name and shape each time it runs. The first run, on shapes
/// alone, is what makes them known (see models/plan_model.hpp); afterwards the scope hands them out
/// in the same order.
template <backend B>
class scope {
 public:
  /// Runs with `parameters`; `random` names the training step. In training, `slots` receives where
  /// the gradient of each parameter is collected.
  scope(tape<B>& record, parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        run_mode mode, const step_key& random)
      : scope(record, parameters, slots, mode) {
    changing_ = &parameters;
    random_ = random;
  }
  /// The same in training, the step's key being on the device already.
  scope(tape<B>& record, parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        typename B::tensor key)
      : scope(record, parameters, slots, run_mode::training) {
    changing_ = &parameters;
    key_ = std::move(key);
  }

  /// Runs in inference, which leaves the parameters as they are.
  scope(tape<B>& record, const parameter_list<B>& parameters, std::vector<gradient_slot>& slots)
      : scope(record, parameters, slots, run_mode::inference) {}

  /// Runs a description for the first time: parameters are created and written down in `plan`.
  scope(tape<B>& record, parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        plan_writer& plan)
      : scope(record, parameters, slots, run_mode::training, step_key{}) {
    plan_ = &plan;
  }

  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  [[nodiscard]] const B& device() const { return tape_->device(); }
  [[nodiscard]] bool training() const { return mode_ == run_mode::training; }
  [[nodiscard]] run_mode mode() const { return mode_; }

  /// Goes on behind the first `count` parameters, for a part of a description.
  void skip_parameters(std::size_t count) {
    parameter_count_ = count;
    slots_->resize(count);
  }

  /// While it lives, layers run as in inference and their parameters are not trained.
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

  /// A trainable parameter of the layer that is running. Initialisers are best members of the
  /// layer: making one allocates, which a training step should not.
  [[nodiscard]] variable<B> parameter(std::string_view name, const shape& s,
                                      const initializer& initial) {
    const auto& value = next(name, s, initial, true);
    if (changing_ == nullptr) {
      // The model outlives what runs here: see model::infer.
      slots_->emplace_back();
      return tape_->constant(borrowed(value));
    }
    variable<B> result = training() ? tape_->leaf(value) : tape_->constant(value);
    slots_->push_back(result.slot());
    return result;
  }

  /// A tensor that the layer itself updates while training, such as a running mean. The reference
  /// is good until the next parameter is asked for.
  [[nodiscard]] const typename B::tensor& state(std::string_view name, const shape& s,
                                                const initializer& initial) {
    slots_->emplace_back();
    return next(name, s, initial, false);
  }
  /// The same to be changed, which layers do in training only: predictions may run side by side.
  [[nodiscard]] typename B::tensor& changing_state(std::string_view name, const shape& s,
                                                   const initializer& initial) {
    static_cast<void>(state(name, s, initial));
    expect_value(changing_ != nullptr && training(), "changes '", name,
                 "' in inference; do so only where training() is true");
    return (*changing_)[parameter_count_ - 1].value;
  }

  /// Random numbers of their own for every call within a step.
  [[nodiscard]] random_source<B> next_random() {
    if (!key_) {
      key_ =
          device().from_host(std::span<const std::int32_t>(random_.to_words()), {step_key::words});
    }
    return {key_, layer_streams + random_count_++};
  }

  /// Runs a layer that a `holder` of the given name holds at position `index`.
  template <class Layer>
  [[nodiscard]] variable<B> run(const Layer& layer, variable<B> x, std::string_view holder_name,
                                std::size_t index) {
    const place here{place_, holder_name, index, &layer, [](const void* self) {
                       return std::string(static_cast<const Layer*>(self)->description());
                     }};
    place_ = &here;
    const bool listed = plan_ != nullptr && !holder<Layer>;
    if (plan_ != nullptr && here.outer == nullptr) {
      plan_->start_part(x.shape());
    }
    if (listed) {
      plan_->start_layer(name_of_type<Layer>(), layer.description(), frozen_);
    }
    variable<B> y = layer(*this, std::move(x));
    if (listed) {
      plan_->finish_layer(y.shape(), arranges_axes<Layer>);
    }
    note_outputs(layer);
    place_ = here.outer;
    return y;
  }

  /// Throws a `value_error` where a training run has asked for fewer parameters than were planned.
  void expect_all_asked() const {
    expect_value(!training() || parameter_count_ == parameters_->size(), "the model asked for ",
                 asked_for(parameter_count_),
                 " when it was built, but not now; ask for the same parameters each time");
  }

  /// Runs a whole description, which is usually a holder and then needs no place of its own.
  template <class Description>
  [[nodiscard]] variable<B> run_model(const Description& description, variable<B> x) {
    if constexpr (holder<Description>) {
      variable<B> y = description(*this, std::move(x));
      note_outputs(description);
      return y;
    } else {
      return run(description, std::move(x), "model", 0);
    }
  }

  /// Throws a `shape_error` if a model's samples, which come to this layer as they are, look like
  /// images with their channels first: 1, 3 or 4 rows, and as many columns as channels, 8 or more.
  /// Samples that are so indeed say it by a reshape to their own shape before this layer.
  void expect_channels_last(const shape& x) const {
    if (plan_ == nullptr || x.rank() != 4 || !plan_->as_given(x)) {
      return;
    }
    const bool rows_of_channels = x[1] == 1 || x[1] == 3 || x[1] == 4;
    expect(!rows_of_channels || x[2] != x[3] || x[3] < 8, "samples of shape ", sample_of(x),
           " look like images (C, H, W); glia's are (N, H, W, C), channels last: give the model ",
           shape{x[2], x[3], x[1]}, " and transpose the samples or, if they do have ", x[3],
           " channels, say so by reshape{{", x[1], ", ", x[2], ", ", x[3], "}} before it");
  }

  /// Throws a `shape_error` that names the running layer, unless `condition` holds.
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) {
      throw shape_error(text(where(), parts...));
    }
  }
  /// Throws a `value_error` that names the running layer, unless `condition` holds.
  template <class... Parts>
  void expect_value(bool condition, const Parts&... parts) const {
    if (!condition) {
      throw value_error(text(where(), parts...));
    }
  }

 private:
  // Which layer is running, for errors: a chain of the holders around it, kept on the stack and put
  // into words only when something is wrong.
  struct place {
    const place* outer;
    std::string_view holder_name;
    std::size_t index;
    const void* layer;
    std::string (*describe)(const void*);
  };

  template <class Layer>
  static constexpr std::string_view name_of_type() {
    if constexpr (requires { Layer::type_name; }) {
      return Layer::type_name;
    } else {
      return "layer";
    }
  }

  scope(tape<B>& record, const parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        run_mode mode)
      : tape_(&record), parameters_(&parameters), slots_(&slots), mode_(mode) {
    slots.clear();
  }

  /// Writes into the plan what the outputs of a layer that has just run are.
  template <class Layer>
  void note_outputs(const Layer& layer) const {
    if constexpr (!hands_on<Layer>) {
      if (plan_ == nullptr) {
        return;
      }
      if constexpr (requires { layer.gives(); }) {
        plan_->gives(layer.gives(), place_ == nullptr ? layer.description() : place_text());
      } else {
        plan_->gives(output_kind::other, "");
      }
    }
  }

  static typename B::tensor borrowed(const typename B::tensor& value) {
    if constexpr (requires { value.borrowed(); }) {
      return value.borrowed();
    } else {
      return value;
    }
  }

  const typename B::tensor& next(std::string_view name, const shape& s, const initializer& initial,
                                 bool trainable) {
    trainable = trainable && !frozen_;
    const std::size_t index = parameter_count_++;
    if (plan_ != nullptr) {
      expect_value(fits_memory(s, sizeof(float)), "parameter '", name, "' of shape ", s,
                   " is larger than any machine's memory; check the layer's units or filters");
      plan_->add_parameter(name, s, initial, trainable);
      changing_->push_back(
          {{std::string(name), s, initial, trainable}, device().run(kernels::full{s, 0})});
    }
    const bool planned = index < parameters_->size();
    expect_value(
        planned && (*parameters_)[index].spec.shape == s &&
            is_called((*parameters_)[index].spec.name, name),
        "asks for parameter '", name, "' of shape ", s, ", where it asked for ", asked_for(index),
        " when the model was built; ask for the same parameters in the same order each time");
    return (*parameters_)[index].value;
  }

  /// Whether the parameter of this name is one that its layer calls `own`: dense_0.kernel.
  static bool is_called(std::string_view full, std::string_view own) {
    return full == own || (full.size() > own.size() && full.ends_with(own) &&
                           full[full.size() - own.size() - 1] == '.');
  }
  /// What was planned, in words.
  [[nodiscard]] std::string asked_for(std::size_t index) const {
    if (index >= parameters_->size()) {
      return "no more";
    }
    const parameter_spec& spec = (*parameters_)[index].spec;
    return text('\'', spec.name, "' of shape ", spec.shape);
  }

  /// The running layer: sequential[3] dense(256).
  [[nodiscard]] std::string place_text() const {
    std::string result;
    for (const place* at = place_; at != nullptr; at = at->outer) {
      const std::string step = text(at->holder_name, '[', at->index, "] ");
      result.insert(0, at == place_ ? step + at->describe(at->layer) : step);
    }
    return result;
  }
  [[nodiscard]] std::string where() const { return place_ == nullptr ? "" : place_text() + ": "; }

  tape<B>* tape_;
  const parameter_list<B>* parameters_;
  parameter_list<B>* changing_ = nullptr;  // the same, where they may be changed
  std::vector<gradient_slot>* slots_;
  run_mode mode_;
  bool frozen_ = false;
  step_key random_;
  typename B::tensor key_;  // random_ on the device, once it is asked for
  std::uint32_t random_count_ = 0;
  std::size_t parameter_count_ = 0;  // handed out so far
  const place* place_ = nullptr;
  plan_writer* plan_ = nullptr;
};

/// What can stand in a description: a copyable value that turns a variable into another. It is
/// checked on a recorder, which every description must run on.
template <class L>
concept layer = std::copy_constructible<L> && described<L> &&
    requires(const L& l, scope<recorder<shapes_only>>& s, variable<recorder<shapes_only>> x) {
  { l(s, x) } -> std::same_as<variable<recorder<shapes_only>>>;
};

}  // namespace glia
