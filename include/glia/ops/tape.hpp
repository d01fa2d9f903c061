#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/arena.hpp"
#include "glia/core/error.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

class graph;
class tape;

/// The position of a variable's gradient on its tape. It converts to false for a variable without a
/// gradient.
struct gradient_slot {
  static constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index = no_index;  ///< Index on the tape; `no_index` without a gradient.
  /// Number of the tape, from 1. Each tape of a program has its own number, and `clear` gives the
  /// tape a new number.
  std::uint64_t tape_number = 0;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return index != no_index; }
};

/// A tensor on a tape. Ops take and return variables.
///
/// Ops on variables are recorded for automatic differentiation. A variable is cheap to copy. Its
/// tape must exist as long as ops use the variable; this is not checked. Only `value`, `shape` and
/// `slot` work without the tape.
class variable {
 public:
  variable(tape& owner, tensor value, gradient_slot slot)
      : tape_(&owner), value_(std::move(value)), slot_(slot) {}

  /// Returns the shape of the tensor.
  [[nodiscard]] const glia::shape& shape() const { return value_.shape(); }
  /// Returns the tensor.
  [[nodiscard]] const tensor& value() const& { return value_; }
  /// Moves the tensor out. A kernel can then reuse its memory, if no other variable refers to it.
  [[nodiscard]] tensor value() && { return std::move(value_); }
  /// Returns the position of the gradient on the tape.
  [[nodiscard]] gradient_slot slot() const { return slot_; }
  /// Returns whether a gradient is computed for this variable.
  [[nodiscard]] bool needs_gradient() const { return static_cast<bool>(slot_); }
  /// Returns the tape of the variable.
  [[nodiscard]] tape& owner() const { return *tape_; }
  /// Returns the device of the tape.
  [[nodiscard]] const glia::device& device() const;

 private:
  tape* tape_;
  tensor value_;
  gradient_slot slot_;
};

/// Collects gradients in the backward pass of a tape. Adjoints add gradients to it.
class gradients {
 public:
  /// Returns the device of the tape.
  [[nodiscard]] const glia::device& device() const { return device_; }

  /// Adds a gradient to the gradient in the slot. Throws `value_error` if the slot is empty or
  /// belongs to another tape.
  void add(gradient_slot slot, tensor gradient);

 private:
  friend class tape;
  explicit gradients(glia::device device) : device_(std::move(device)) {}
  [[nodiscard]] tensor& at(gradient_slot slot) {
    require<value_error>(
        slot.tape_number == number_ && slot.index < values_.size(),
        slot ? "tape: expected a variable of this tape, got a variable of another tape, such as "
               "that of an earlier step, or one from before this tape was cleared; use only "
               "variables of one tape, and take over the value of another with "
               "tape.constant(x.value())"
             : "tape: expected a variable with a gradient, got a constant, or the result of ops on "
               "constants; make the variable with tape.leaf(value), and run a model with "
               "run_mode::training for the gradients of its parameters");
    return values_[slot.index];
  }
  /// Returns a number that no tape had before.
  [[nodiscard]] static std::uint64_t new_number() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  glia::device device_;
  std::uint64_t number_ = new_number();
  std::vector<tensor> values_;
};

/// Records ops on variables and computes gradients (reverse-mode automatic differentiation).
///
/// For each op the tape stores an adjoint, a function that computes the gradients of the operands
/// from the gradient of the result. `backward` runs the adjoints in reverse order. An adjoint is a
/// callable `(gradients& sums, tensor dy)` that adds to the slots of the operands that need
/// a gradient. The tape destroys an adjoint and the tensors in it after the adjoint has run. The
/// memory of adjoints and of the tape is reused in the next step.
class tape {
 public:
  /// Makes an empty tape for a device.
  explicit tape(glia::device device)
      : gradients_(std::move(device)), recording_(gradients_.device().recording()) {
    constexpr std::size_t small_step = 32;  // ops of a step for which nothing has to grow
    gradients_.values_.reserve(small_step);
    nodes_.reserve(small_step);
  }
  tape(const tape&) = delete;
  tape& operator=(const tape&) = delete;
  ~tape() { clear(); }

  /// Returns the device of the tape.
  [[nodiscard]] const glia::device& device() const { return gradients_.device(); }

  /// Makes a variable without a gradient, for inputs and targets.
  [[nodiscard]] variable constant(tensor value) { return {*this, std::move(value), {}}; }

  /// Makes a variable with a gradient, for parameters and for inputs whose gradient is needed.
  [[nodiscard]] variable leaf(tensor value) { return {*this, std::move(value), new_slot()}; }

  /// Records an op with the result `value`. `needs_gradient` tells whether any operand needs a
  /// gradient. If it is false, the result is a constant.
  template <class Adjoint>
  [[nodiscard]] variable record(tensor value, bool needs_gradient, Adjoint&& adjoint) {
    using adjoint_type = std::decay_t<Adjoint>;
    if (!needs_gradient) {
      return constant(std::move(value));
    }
    void* const memory = memory_.allocate(sizeof(adjoint_type), alignof(adjoint_type));
    const gradient_slot slot = add_node(
        new (memory) adjoint_type(std::forward<Adjoint>(adjoint)),
        [](void* self, gradients& sums, tensor dy) {
          (*static_cast<adjoint_type*>(self))(sums, std::move(dy));
        },
        [](void* self) { static_cast<adjoint_type*>(self)->~adjoint_type(); });
    return {*this, std::move(value), slot};
  }

  /// Runs a kernel, or records it, and notes the call for the backward pass if an operand needs a
  /// gradient and the kernel has a derivative. Operands whose slots are empty get no gradient.
  /// Returns the slot of the first result. See ops::call.
  [[nodiscard]] gradient_slot call(const kernel_type& type, const void* kernel,
                                   std::span<tensor> operands, std::span<const gradient_slot> slots,
                                   std::span<tensor> results);

  /// Notes a call that has already been recorded, without running or recording it again.
  gradient_slot note(const kernel_type& type, const void* kernel, std::span<tensor> operands,
                     std::span<const gradient_slot> slots, std::span<const tensor> results);

  /// Records an op with one or more results. The adjoint, `(gradients& sums, std::vector<tensor>
  /// dy)`, receives the gradients of all results. The gradient of an unused result is an empty
  /// tensor. If all results are unused, the adjoint does not run.
  template <class Adjoint>
  [[nodiscard]] std::vector<variable> record_all(std::vector<tensor> values, bool needs_gradient,
                                                 Adjoint&& adjoint) {
    std::vector<variable> results;
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
    std::vector<gradient_slot> slots;
    slots.reserve(results.size());
    for (const variable& result : results) {
      slots.push_back(result.slot());
    }
    results.insert(results.begin(),
                   record(std::move(values[0]), true,
                          [slots = std::move(slots), adjoint = std::forward<Adjoint>(adjoint)](
                              gradients& sums, tensor first) {
                            std::vector<tensor> dy{std::move(first)};
                            for (const gradient_slot slot : slots) {
                              dy.push_back(std::exchange(sums.at(slot), tensor{}));
                            }
                            const auto asked_for = [](const tensor& gradient) {
                              return static_cast<bool>(gradient);
                            };
                            if (std::any_of(dy.begin(), dy.end(), asked_for)) {
                              adjoint(sums, std::move(dy));
                            }
                          }));
    nodes_.back().of_several = true;
    return results;
  }

  /// Computes the gradients of the sum of all elements of `result`. Usually, `result` is a loss
  /// with shape ().
  ///
  /// Afterwards `gradient` and `take_gradient` return the gradients of the leaves. The recorded ops
  /// are consumed. Throws `value_error` if the result belongs to another tape or depends on no
  /// leaf, and if an earlier call has consumed the recorded ops.
  void backward(const variable& result);

  /// Sets the gradient of a result, for a backward pass with known gradients of several results.
  /// Call `run_adjoints` afterwards.
  void add_gradient(gradient_slot result, tensor gradient) {
    gradients_.add(result, std::move(gradient));
  }
  /// Runs all adjoints in reverse order.
  void run_adjoints();

  /// Returns the gradient in a slot. It is an empty tensor if the result of `backward` does not
  /// depend on the variable of the slot. Throws `value_error` if the slot is empty or belongs to
  /// another tape.
  [[nodiscard]] const tensor& gradient(gradient_slot slot) { return gradients_.at(slot); }
  /// Moves the gradient out of a slot. Throws the errors of `gradient`.
  [[nodiscard]] tensor take_gradient(gradient_slot slot) {
    return std::exchange(gradients_.at(slot), tensor{});
  }

  /// Removes all recorded ops and gradients. Variables of this tape must not be used afterwards.
  void clear();

 private:
  using run_function = void (*)(void* adjoint, gradients& sums, tensor dy);
  using destroy_function = void (*)(void* adjoint);

  struct node {
    void* adjoint;
    run_function run;
    destroy_function destroy;
    gradient_slot result;
    std::uint32_t place;      // the layer of the op, as the recorder numbers it
    bool of_several = false;  // the op has several results
  };

  /// A noted kernel call: the derivative's operands and results, and where gradients are added.
  class kernel_adjoint;
  struct destroyer {
    void operator()(kernel_adjoint* unused) const;
  };
  using adjoint_ptr = std::unique_ptr<kernel_adjoint, destroyer>;
  [[nodiscard]] adjoint_ptr adjoint_for(const kernel_type& type, const void* kernel,
                                        std::span<tensor> operands,
                                        std::span<const gradient_slot> slots);
  [[nodiscard]] gradient_slot add_adjoint(adjoint_ptr adjoint, std::span<const tensor> results);

  /// Notes an adjoint, and returns the slot of the result.
  gradient_slot add_node(void* adjoint, run_function run, destroy_function destroy) {
    const gradient_slot slot = new_slot();
    nodes_.push_back({adjoint, run, destroy, slot, recording_place()});
    return slot;
  }

  [[nodiscard]] std::uint32_t recording_place() const {
    return recording_ == nullptr ? 0 : place_in_graph();
  }
  [[nodiscard]] std::uint32_t place_in_graph() const;
  void set_recording_place(std::uint32_t place) const;
  /// Sets the place of gradient nodes: the layer of place `number`, and the backward phase.
  void set_adjoint_place(std::uint32_t number) const;
  /// A guard that restores the current layer of the recorder.
  class at_place {
   public:
    explicit at_place(const tape& owner) : tape_(&owner), saved_place_(owner.recording_place()) {}
    at_place(const at_place&) = delete;
    at_place& operator=(const at_place&) = delete;
    ~at_place() { tape_->set_recording_place(saved_place_); }

   private:
    const tape* tape_;
    std::uint32_t saved_place_;
  };

  [[nodiscard]] gradient_slot new_slot() {
    gradients_.values_.emplace_back();
    return {static_cast<std::uint32_t>(gradients_.values_.size() - 1), gradients_.number_};
  }

  gradients gradients_;
  graph* recording_;  // null if ops run immediately
  std::vector<node> nodes_;
  arena memory_;
  bool used_up_ = false;  // a backward pass has consumed the ops, and none were recorded since
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/ops/tape_impl.hpp"
#endif
