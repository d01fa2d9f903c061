#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

GLIA_INLINE const device& variable::device() const { return tape_->device(); }

GLIA_INLINE void gradients::add(gradient_slot slot, tensor gradient) {
  tensor& sum = at(slot);
  sum =
      sum ? device_.run(kernels::binary{binary_function::add}, std::move(sum), std::move(gradient))
          : std::move(gradient);
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
  memory_.reset();
  used_up_ = false;
}

}  // namespace glia
