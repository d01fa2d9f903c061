#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

GLIA_INLINE const device& variable::device() const { return tape_->device(); }

GLIA_INLINE void gradients::add(gradient_slot slot, tensor gradient) {
  tensor& sum = at(slot);
  sum =
      sum ? device_.run(kernels::binary{binary_function::add}, std::move(sum), std::move(gradient))
          : std::move(gradient);
}

/// Everything lies in one block of the tape's memory: this object, the tensors of operands and
/// results, the slots of the operands, and the kernel.
class tape::kernel_adjoint {
 public:
  /// Stores the operands that the derivative reads, and the shapes of all operands. The call runs
  /// with uncounted handles of the stored operands.
  [[nodiscard]] static kernel_adjoint* make(arena& memory, const kernel_type& type,
                                            const void* kernel, std::span<tensor> operands,
                                            std::span<const gradient_slot> slots) {
    constexpr std::size_t tensors_at =
        (sizeof(kernel_adjoint) + alignof(tensor) - 1) / alignof(tensor) * alignof(tensor);
    const std::size_t slots_at = tensors_at + (type.operands + type.results) * sizeof(tensor);
    const std::size_t end = slots_at + type.operands * sizeof(gradient_slot);
    const std::size_t kernel_at = (end + type.alignment - 1) / type.alignment * type.alignment;
    const std::size_t alignment = std::max(type.alignment, alignof(kernel_adjoint));
    auto* const block = static_cast<std::byte*>(memory.allocate(kernel_at + type.bytes, alignment));
    auto* const adjoint = new (block) kernel_adjoint(type, kernel);
    adjoint->tensors_ = reinterpret_cast<tensor*>(block + tensors_at);
    adjoint->slots_ = reinterpret_cast<gradient_slot*>(block + slots_at);
    adjoint->kernel_ = block + kernel_at;
    type.copy_to(kernel, adjoint->kernel_);
    adjoint->keep_operands(operands, slots);
    std::uninitialized_default_construct_n(adjoint->tensors_ + type.operands, type.results);
    return adjoint;
  }
  static void destroy(void* self) {
    auto* const adjoint = static_cast<kernel_adjoint*>(self);
    std::destroy_n(adjoint->tensors_, adjoint->type_->operands + adjoint->type_->results);
    if (adjoint->type_->destroy != nullptr) {
      adjoint->type_->destroy(adjoint->kernel_);
    }
  }

  /// Counts the handles of results that are operands, which a backend may move out of a call.
  void count_moved_operands(std::span<tensor> results) const {
    for (tensor& result : results) {
      for (std::size_t i = 0; i < type_->operands; ++i) {
        if (result && result.shares_memory(tensors_[i])) {
          result = std::move(result).counted();
        }
      }
    }
  }
  void keep_results(std::span<const tensor> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if ((saved_.results >> i & 1U) != 0) {
        tensors_[type_->operands + i] = results[i];
      }
    }
  }

  static void run(void* self, gradients& sums, tensor dy) {
    auto* const adjoint = static_cast<kernel_adjoint*>(self);
    call derivative(*adjoint, sums, std::move(dy));
    adjoint->type_->derivative->add_gradients(adjoint->kernel_, derivative);
  }

 private:
  class call final : public gradient_call {
   public:
    call(const kernel_adjoint& adjoint, gradients& sums, tensor dy)
        : gradient_call(std::move(dy), adjoint.tensors_, adjoint.tensors_ + adjoint.type_->operands,
                        adjoint.wanted_operands_),
          slots_(adjoint.slots_),
          sums_(&sums) {}

    void add(std::size_t operand, tensor&& gradient) override {
      if (wants(operand)) {
        sums_->add(slots_[operand], std::move(gradient));
      }
    }

   private:
    void run_kernel(const kernel_type& type, const void* kernel, std::span<tensor> operands,
                    std::span<tensor> results) const override {
      sums_->device().implementation().run({type, kernel, operands, results});
    }

    const gradient_slot* slots_;
    gradients* sums_;
  };

  kernel_adjoint(const kernel_type& type, const void* kernel)
      : type_(&type), saved_(type.derivative->saved(kernel)) {}

  void keep_operands(std::span<tensor> operands, std::span<const gradient_slot> slots) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      slots_[i] = slots[i];
      wanted_operands_ |= static_cast<unsigned>(static_cast<bool>(slots[i])) << i;
      if ((saved_.operands >> i & 1U) == 0) {
        new (tensors_ + i) tensor(operands[i].without_elements());
      } else if (type_->relabels != nullptr) {
        new (tensors_ + i) tensor(operands[i]);
      } else {
        new (tensors_ + i) tensor(std::move(operands[i]));
        operands[i] = tensors_[i].borrowed();
      }
    }
  }

  const kernel_type* type_;
  saved_tensors saved_;
  tensor* tensors_ = nullptr;
  gradient_slot* slots_ = nullptr;
  void* kernel_ = nullptr;
  unsigned wanted_operands_ = 0;
};

GLIA_INLINE void tape::destroyer::operator()(kernel_adjoint* unused) const {
  kernel_adjoint::destroy(unused);
}

/// Returns null if no operand needs a gradient, or if the kernel has no derivative.
GLIA_INLINE tape::adjoint_ptr tape::adjoint_for(const kernel_type& type, const void* kernel,
                                                std::span<tensor> operands,
                                                std::span<const gradient_slot> slots) {
  const bool needs_gradient = std::any_of(
      slots.begin(), slots.end(), [](gradient_slot slot) { return static_cast<bool>(slot); });
  if (!needs_gradient || type.derivative == nullptr || !type.derivative->exists_for(kernel)) {
    return nullptr;
  }
  return adjoint_ptr(kernel_adjoint::make(memory_, type, kernel, operands, slots));
}

GLIA_INLINE gradient_slot tape::add_adjoint(adjoint_ptr adjoint, std::span<const tensor> results) {
  adjoint->keep_results(results);
  const gradient_slot slot =
      add_node(adjoint.get(), &kernel_adjoint::run, &kernel_adjoint::destroy);
  static_cast<void>(adjoint.release());
  return slot;
}

GLIA_INLINE gradient_slot tape::call(const kernel_type& type, const void* kernel,
                                     std::span<tensor> operands,
                                     std::span<const gradient_slot> slots,
                                     std::span<tensor> results) {
  adjoint_ptr adjoint = adjoint_for(type, kernel, operands, slots);
  device().implementation().run({type, kernel, operands, results});
  if (!adjoint) {
    return {};
  }
  adjoint->count_moved_operands(results);
  return add_adjoint(std::move(adjoint), results);
}

GLIA_INLINE gradient_slot tape::note(const kernel_type& type, const void* kernel,
                                     std::span<tensor> operands,
                                     std::span<const gradient_slot> slots,
                                     std::span<const tensor> results) {
  adjoint_ptr adjoint = adjoint_for(type, kernel, operands, slots);
  return adjoint ? add_adjoint(std::move(adjoint), results) : gradient_slot{};
}

GLIA_INLINE std::uint32_t tape::place_in_graph() const { return recording_->place(); }
GLIA_INLINE void tape::set_recording_place(std::uint32_t place) const {
  if (recording_ != nullptr) {
    recording_->set_place(place);
  }
}
GLIA_INLINE void tape::set_adjoint_place(std::uint32_t number) const {
  if (recording_ != nullptr) {
    recording_->set_place(graph_place{recording_->places()[number].name, step_phase::backward});
  }
}

GLIA_INLINE void tape::backward(const variable& result) {
  require<value_error>(result.needs_gradient(),
                       "tape::backward: expected a result that depends on a trainable parameter, "
                       "got one that depends only on constants; unfreeze a layer or, in your own "
                       "loop, make the parameters with tape.leaf(value)");
  require<value_error>(
      !nodes_.empty() || !used_up_,
      "tape::backward: an earlier call has consumed the recorded ops; add the results and call "
      "backward once, or compute the results again");
  add_gradient(result.slot(), device().run(kernels::full{result.shape(), 1}));
  run_adjoints();
}

GLIA_INLINE void tape::run_adjoints() {
  const at_place back_there(*this);
  used_up_ = !nodes_.empty();
  while (!nodes_.empty()) {
    const node last = nodes_.back();
    set_adjoint_place(last.place);
    tensor dy = std::exchange(gradients_.values_[last.result.index], tensor{});
    if (dy || last.of_several) {
      last.run(last.adjoint, gradients_, std::move(dy));
    }
    nodes_.pop_back();  // not earlier: if the adjoint throws, `clear` must destroy it
    last.destroy(last.adjoint);
  }
}

GLIA_INLINE void tape::clear() {
  while (!nodes_.empty()) {
    nodes_.back().destroy(nodes_.back().adjoint);
    nodes_.pop_back();
  }
  gradients_.values_.clear();
  gradients_.number_ = gradients::new_number();
  memory_.reset();
  used_up_ = false;
}

}  // namespace glia
