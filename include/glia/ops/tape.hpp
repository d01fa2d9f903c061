#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/arena.hpp"
#include "glia/core/error.hpp"
#include "glia/distributed/rank_group.hpp"

namespace glia {

template <backend B>
class tape;

/// Where the gradient of a variable is collected; `none` for those that need no gradient.
struct gradient_slot {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index = none;
  const void* collector = nullptr;  ///< that of the variable's tape

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return index != none; }
};

/// A tensor on a tape: what ops take and return. Cheap to copy; the tape must outlive it.
template <backend B>
class variable {
 public:
  using tensor = typename B::tensor;

  variable(tape<B>& owner, tensor value, gradient_slot slot)
      : tape_(&owner), value_(std::move(value)), slot_(slot) {}

  [[nodiscard]] const glia::shape& shape() const { return value_.shape(); }
  [[nodiscard]] const tensor& value() const& { return value_; }
  /// Gives the handle up, so that a kernel may reuse the storage if it was the last one.
  [[nodiscard]] tensor value() && { return std::move(value_); }
  [[nodiscard]] gradient_slot slot() const { return slot_; }
  [[nodiscard]] bool needs_gradient() const { return static_cast<bool>(slot_); }
  [[nodiscard]] tape<B>& owner() const { return *tape_; }
  [[nodiscard]] const B& device() const { return tape_->device(); }

 private:
  tape<B>* tape_;
  tensor value_;
  gradient_slot slot_;
};

/// Collects gradients while the tape runs backwards; what an adjoint writes to.
template <backend B>
class gradients {
 public:
  using tensor = typename B::tensor;

  [[nodiscard]] const B& device() const { return device_; }

  /// Adds `gradient` to what the slot has received so far. Throws `value_error` for the slot of
  /// another tape.
  void add(gradient_slot slot, tensor gradient);

 private:
  friend class tape<B>;
  explicit gradients(B device) : device_(std::move(device)) {}
  [[nodiscard]] tensor& at(gradient_slot slot) {
    require<value_error>(
        slot.collector == this && slot.index < values_.size(),
        "tape: a gradient is asked for or given for a variable of another tape, or "
        "of this one before it was cleared; operands of an op, results and slots "
        "must be of one tape, on which constant(x.value()) takes a value over");
    return values_[slot.index];
  }
  B device_;
  std::vector<tensor> values_;
};

/// Records, op by op, how to get from the gradient of a result back to those of its operands, and
/// then runs these adjoints in reverse.
///
/// An adjoint is any callable `(gradients<B>& to, tensor dy)` that adds to the slots of the
/// operands that need it. It is destroyed as soon as it has run, which frees what it kept alive.
/// Its memory, and the tape's, is reused from step to step.
template <backend B>
class tape {
 public:
  using tensor = typename B::tensor;

  explicit tape(B device) : gradients_(std::move(device)) {}
  tape(const tape&) = delete;
  tape& operator=(const tape&) = delete;
  ~tape() { clear(); }

  [[nodiscard]] const B& device() const { return gradients_.device(); }

  /// Ranks whose batches are pieces of one, and this one's share of it (): what is normalised over
  /// a batch is then normalised over all of them.
  struct joined_batch {
    rank_group* ranks = nullptr;
    tensor share{};
  };
  void join_batch(joined_batch all) { joined_ = std::move(all); }
  [[nodiscard]] const joined_batch& joined() const { return joined_; }

  /// A tensor whose gradient nobody asks for: inputs, targets.
  [[nodiscard]] variable<B> constant(tensor value) { return {*this, std::move(value), {}}; }

  /// A tensor whose gradient is wanted: parameters, in gradient checks also inputs.
  [[nodiscard]] variable<B> leaf(tensor value) { return {*this, std::move(value), new_slot()}; }

  /// The result `value` of an op on operands of which `needs_gradient` says whether any needs one.
  template <class Adjoint>
  [[nodiscard]] variable<B> record(tensor value, bool needs_gradient, Adjoint&& adjoint) {
    if (!needs_gradient) {
      return constant(std::move(value));
    }
    using stored = std::decay_t<Adjoint>;
    const gradient_slot slot = new_slot();
    void* at = memory_.allocate(sizeof(stored), alignof(stored));
    nodes_.push_back({new (at) stored(std::forward<Adjoint>(adjoint)),
                      [](void* self, gradients<B>& to, tensor dy) {
                        (*static_cast<stored*>(self))(to, std::move(dy));
                      },
                      [](void* self) { static_cast<stored*>(self)->~stored(); }, slot,
                      recording_place()});
    return {*this, std::move(value), slot};
  }

  /// The same for several results, one or more, of one op. The adjoint, `(gradients<B>& to,
  /// std::vector<tensor> dy)`, gets the gradients of all of them at once: no tensor for one that
  /// nothing depended on. Where that holds for all it does not run.
  template <class Adjoint>
  [[nodiscard]] std::vector<variable<B>> record_all(std::vector<tensor> values, bool needs_gradient,
                                                    Adjoint&& adjoint) {
    std::vector<variable<B>> results;
    results.reserve(values.size());
    if (!needs_gradient) {
      for (tensor& value : values) {
        results.push_back(constant(std::move(value)));
      }
      return results;
    }
    for (std::size_t i = 1; i < values.size(); ++i) {
      results.push_back(leaf(std::move(values[i])));
    }
    std::vector<gradient_slot> others;
    others.reserve(results.size());
    for (const variable<B>& one : results) {
      others.push_back(one.slot());
    }
    results.insert(results.begin(),
                   record(std::move(values[0]), true,
                          [others = std::move(others), all = std::forward<Adjoint>(adjoint)](
                              gradients<B>& to, tensor first) {
                            std::vector<tensor> dy{std::move(first)};
                            for (const gradient_slot slot : others) {
                              dy.push_back(std::exchange(to.at(slot), tensor{}));
                            }
                            const auto asked_for = [](const tensor& one) {
                              return static_cast<bool>(one);
                            };
                            if (std::any_of(dy.begin(), dy.end(), asked_for)) {
                              all(to, std::move(dy));
                            }
                          }));
    nodes_.back().of_several = true;
    return results;
  }

  /// Runs all adjoints, the gradient of `result` being 1 in every element. `result` is usually a
  /// loss of shape (). Afterwards `take_gradient` gives those of the leaves. Throws `value_error`
  /// for a result of another tape, and where a backward has used up what was recorded.
  void backward(const variable<B>& result);

  /// The same in two steps, for several results whose gradients are known: first each of these,
  /// then all adjoints.
  void add_gradient(gradient_slot result, tensor gradient) {
    gradients_.add(result, std::move(gradient));
  }
  void run_adjoints();

  /// The gradient in a slot; no tensor if the result did not depend on it.
  [[nodiscard]] const tensor& gradient(gradient_slot slot) { return gradients_.at(slot); }
  /// Moves it out.
  [[nodiscard]] tensor take_gradient(gradient_slot slot) {
    return std::exchange(gradients_.at(slot), tensor{});
  }

  /// Forgets everything recorded. Variables of this tape must not be used afterwards.
  void clear();

 private:
  struct node {
    void* adjoint;
    void (*run)(void*, gradients<B>&, tensor);
    void (*destroy)(void*);
    gradient_slot result;
    std::uint32_t place;      // of what it is the adjoint of; see recorder
    bool of_several = false;  // results, of which others may have a gradient
  };

  [[nodiscard]] std::uint32_t recording_place() const {
    if constexpr (requires { device().place(); }) {
      return device().place();
    } else {
      return 0;
    }
  }
  void set_recording_place([[maybe_unused]] std::uint32_t place) const {
    if constexpr (requires { device().set_place(place); }) {
      device().set_place(place);
    }
  }
  void set_adjoint_place([[maybe_unused]] std::uint32_t of) const {
    if constexpr (requires { device().set_adjoint_place(of); }) {
      device().set_adjoint_place(of);
    }
  }
  /// Puts the place back that was before.
  class at_place {
   public:
    explicit at_place(const tape& of) : tape_(&of), before_(of.recording_place()) {}
    at_place(const at_place&) = delete;
    at_place& operator=(const at_place&) = delete;
    ~at_place() { tape_->set_recording_place(before_); }

   private:
    const tape* tape_;
    std::uint32_t before_;
  };

  [[nodiscard]] gradient_slot new_slot() {
    gradients_.values_.emplace_back();
    return {static_cast<std::uint32_t>(gradients_.values_.size() - 1), &gradients_};
  }

  gradients<B> gradients_;
  std::vector<node> nodes_;
  arena memory_;
  joined_batch joined_;
  bool used_up_ = false;  // by a backward, and nothing recorded since
};

template <backend B>
void gradients<B>::add(gradient_slot slot, tensor gradient) {
  tensor& sum = at(slot);
  sum =
      sum ? device_.run(kernels::binary{binary_function::add}, std::move(sum), std::move(gradient))
          : std::move(gradient);
}

template <backend B>
void tape<B>::backward(const variable<B>& result) {
  require<value_error>(result.needs_gradient(),
                       "tape::backward: the result depends on no parameter, so there is nothing "
                       "to differentiate");
  require<value_error>(
      !nodes_.empty() || !used_up_,
      "tape::backward: a backward before has used up what was recorded; add up the "
      "results and call it once, or record them again");
  add_gradient(result.slot(), device().run(kernels::full{result.shape(), 1}));
  run_adjoints();
}

template <backend B>
void tape<B>::run_adjoints() {
  const at_place back_there(*this);
  used_up_ = !nodes_.empty();
  while (!nodes_.empty()) {
    const node last = nodes_.back();
    set_adjoint_place(last.place);
    tensor dy = std::exchange(gradients_.values_[last.result.index], tensor{});
    if (dy || last.of_several) {
      last.run(last.adjoint, gradients_, std::move(dy));
    }
    nodes_.pop_back();  // only now: had the adjoint thrown, `clear` would still destroy it
    last.destroy(last.adjoint);
  }
}

template <backend B>
void tape<B>::clear() {
  while (!nodes_.empty()) {
    nodes_.back().destroy(nodes_.back().adjoint);
    nodes_.pop_back();
  }
  gradients_.values_.clear();
  memory_.reset();
  used_up_ = false;
}

}  // namespace glia
