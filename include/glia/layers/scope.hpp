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
#include "glia/graph/recorder.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/layers/plan.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// Whether a network is trained or asked: dropout, normalisation and the like differ.
enum class run_mode : std::uint8_t { inference, training };

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
  scope(tape<B>& on, parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        run_mode mode, const step_key& random)
      : scope(on, parameters, slots, mode) {
    changing_ = &parameters;
    random_ = random;
  }
  /// The same in training, the step's key being on the device already.
  scope(tape<B>& on, parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        typename B::tensor key)
      : scope(on, parameters, slots, run_mode::training) {
    changing_ = &parameters;
    key_ = std::move(key);
  }

  /// Runs in inference, which leaves the parameters as they are.
  scope(tape<B>& on, const parameter_list<B>& parameters, std::vector<gradient_slot>& slots)
      : scope(on, parameters, slots, run_mode::inference) {}

  /// Runs a description for the first time: parameters are created and written down in `plan`.
  scope(tape<B>& on, parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        plan_writer& plan)
      : scope(on, parameters, slots, run_mode::training, step_key{}) {
    plan_ = &plan;
  }

  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  [[nodiscard]] const B& device() const { return tape_->device(); }
  [[nodiscard]] bool training() const { return mode_ == run_mode::training; }
  [[nodiscard]] run_mode mode() const { return mode_; }
  /// Whether this run makes a model's parameters known, and its numbers do not matter.
  [[nodiscard]] bool planning() const { return plan_ != nullptr; }

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

  /// While it lives, the layers that run are called by this name, inside the names around it: the
  /// parameters of one that runs alone features.kernel, those of several features.conv2d_0.kernel.
  class under_name {
   public:
    under_name(scope& s, std::string_view called) : scope_(&s) {
      if constexpr (names_layers) {
        s.names_.push_back({s.names_.back().inside(called), true, {}});
      }
    }
    under_name(const under_name&) = delete;
    under_name& operator=(const under_name&) = delete;
    ~under_name() {
      if constexpr (names_layers) {
        scope_->names_.pop_back();
      }
    }

   private:
    scope* scope_;
  };

  /// A trainable parameter of the layer that is running. Initialisers are best members of the
  /// layer: making one allocates, which a training step should not.
  [[nodiscard]] variable<B> parameter(std::string_view name, const shape& s,
                                      const initializer& initial);

  /// A tensor that the layer itself updates while training, such as a running mean. The reference
  /// is good until the next parameter is asked for.
  [[nodiscard]] const typename B::tensor& state(std::string_view name, const shape& s,
                                                const initializer& initial);
  /// The same to be changed, which layers do in training only: predictions may run side by side.
  [[nodiscard]] typename B::tensor& changing_state(std::string_view name, const shape& s,
                                                   const initializer& initial);

  /// Random numbers of their own for every call within a step.
  [[nodiscard]] random_source<B> next_random();

  /// (N, T): 1 for the steps of sequences, 0 for what only fills them up to the length of others;
  /// nothing where all are steps. What a layer says is handed on, as long as there are T steps.
  [[nodiscard]] const typename B::tensor& step_mask() const { return step_mask_; }
  void set_step_mask(typename B::tensor mask) { step_mask_ = std::move(mask); }

  /// Says that samples which come to this layer as they are hold whole numbers below `count`.
  void expect_integers(const shape& x, std::size_t count) const;

  /// Says which tensor lies next in the rows that are the model's samples, or its outputs. What
  /// runs from then on is given that input.
  void add_input(std::string_view name, const shape& s) const;
  void add_output(std::string_view name, const shape& s) const;

  /// The position of a layer that is its holder's only one.
  static constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

  /// Runs a layer that a `holder` of the given name holds at position `index`.
  template <class Layer>
  [[nodiscard]] variable<B> run(const Layer& layer, variable<B> x, std::string_view holder_name,
                                std::size_t index);

  /// Runs a layer with the parameters that the first one of this name asked for.
  template <class Layer>
  [[nodiscard]] variable<B> run_shared(const std::string& name, const Layer& layer, variable<B> x);

  /// Throws a `value_error` where a training run has asked for fewer parameters than were planned.
  void expect_all_asked() const;

  /// Runs a whole description, which is usually a holder and then needs no place of its own.
  template <class Description>
  [[nodiscard]] variable<B> run_model(const Description& description, variable<B> x);

  /// Throws a `shape_error` if a model's samples, which come to this layer as they are, look like
  /// images with their channels first: 1, 3 or 4 rows, and as many columns as channels, 8 or more.
  /// Samples that are so indeed say it by a reshape to their own shape before this layer.
  void expect_channels_last(const shape& x) const;

  /// Throws a `shape_error` that names the running layer, unless `condition` holds.
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<shape_error>(condition, location{this}, parts...);
  }
  /// Throws a `value_error` that names the running layer, unless `condition` holds.
  template <class... Parts>
  void expect_value(bool condition, const Parts&... parts) const {
    require<value_error>(condition, location{this}, parts...);
  }

 private:
  /// The running layer, put into words only where a message needs them.
  struct location {
    const scope* of;
    [[nodiscard]] std::string words() const { return of->where(); }
    friend std::ostream& operator<<(std::ostream& out, const location& here) {
      return out << here.words();
    }
  };

  // Which layer is running, for errors: a chain of the holders around it, kept on the stack and put
  // into words only when something is wrong.
  struct place {
    const place* outer;
    std::string_view holder_name;
    std::size_t index;
    const void* layer;
    std::string (*describe)(const void*);
    std::string name = {};          // features.conv2d_0; empty where layers are not named
    std::uint32_t recorded_in = 0;  // the place of the layer around it
  };

  /// Names are for what is recorded; hand-written loops run at once without.
  static constexpr bool names_layers = requires(const B& b, std::string_view s) { b.set_place(s); };

  /// A name that layers have around them, and how many of each type have run inside it.
  struct naming {
    std::string path;
    bool of_one_layer = false;  // whose name it is then
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

  /// What a layer's type says of it.
  struct layer_facts {
    std::string_view type_name;
    bool arranges_others;
    bool arranges_axes;
    bool hands_on;
  };

  /// A layer that runs in several places: its first parameter and the one behind its last.
  struct shared_layer {
    std::string name;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  scope(tape<B>& on, const parameter_list<B>& parameters, std::vector<gradient_slot>& slots,
        run_mode mode)
      : tape_(&on), parameters_(&parameters), slots_(&slots), mode_(mode) {
    slots.clear();
  }

  template <class Layer>
  [[nodiscard]] static constexpr layer_facts facts_of();
  /// What a layer says that its outputs are, if it does.
  template <class Layer>
  [[nodiscard]] static std::optional<output_kind> outputs_of(const Layer& layer);

  // What is done before and after a layer runs that is the same for all.
  void enter(place& here, const layer_facts& facts);
  void leave(const place& here, const layer_facts& facts, const shape& y,
             std::optional<output_kind> gives);
  void note_outputs(std::optional<output_kind> kind, const place* of) const;

  const typename B::tensor& next(std::string_view name, const shape& s, const initializer& initial,
                                 bool trainable);
  [[nodiscard]] variable<B> on_tape(const typename B::tensor& parameter);
  [[nodiscard]] bool is_called(std::string_view full, std::string_view own) const;
  [[nodiscard]] std::string asked_for(std::size_t index) const;
  [[nodiscard]] static std::string text_of(const place* innermost);
  [[nodiscard]] std::string where() const;

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
  std::vector<shared_layer> shared_;
  // Those that were handed out to be shared, by their numbers among all.
  std::vector<std::pair<std::size_t, variable<B>>> shared_parameters_;
  bool sharing_ = false;  // a shared layer is running
  bool again_ = false;    // and not for the first time
  typename B::tensor step_mask_;
  const place* place_ = nullptr;
  std::vector<naming> names_ = std::vector<naming>(names_layers ? 1 : 0);
  plan_writer* plan_ = nullptr;
};

/// What can stand in a description: a copyable value that turns a variable into another. It is
/// checked on a recorder, which every description must run on.
template <class L>
concept layer = std::copy_constructible<L> && described<L> &&
    requires(const L& l, scope<recorder<shapes_only>>& s, variable<recorder<shapes_only>> x) {
  { l(s, x) } -> std::same_as<variable<recorder<shapes_only>>>;
};

/// A description that says which samples it is for: `sample_shape()`, without the batch axis.
template <class L>
concept knows_samples = layer<L> && requires(const L& l) {
  { l.sample_shape() } -> std::convertible_to<shape>;
};

}  // namespace glia

// With the compiled target, too: layers of a program's own ask on recorders of any backend.
#include "glia/layers/scope_impl.hpp"
