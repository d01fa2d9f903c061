#pragma once

#include <cstdint>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/dropout.hpp"

namespace glia::ops {

GLIA_INLINE variable dropout(variable x, double rate, const random_source& random) {
  tape& owner = x.owner();
  const gradient_slot from = x.slot();
  const kernels::dropout kernel{rate, random.stream};
  return owner.record(owner.device().run(kernel, std::move(x).value(), random.key),
                      static_cast<bool>(from), [from, kernel, key = random.key](auto& to, auto dy) {
                        to.add(from, to.device().run(kernel, std::move(dy), key));
                      });
}

}  // namespace glia::ops
