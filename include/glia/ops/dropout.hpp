#pragma once

#include <cstdint>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Sets each element to 0 with probability `rate` and divides the others by 1 - rate. Which ones go
/// is a function of the key and the element's number alone, counted from `offset`.
template <backend B>
[[nodiscard]] variable<B> dropout(variable<B> x, double rate, const random_key& key,
                                  std::uint64_t offset = 0) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  return owner.record(owner.device().dropout(std::move(x).value(), rate, key, offset),
                      static_cast<bool>(from), [from, rate, key, offset](auto& to, auto dy) {
                        to.add(from, to.device().dropout(std::move(dy), rate, key, offset));
                      });
}

}  // namespace glia::ops
