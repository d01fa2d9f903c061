#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/layers/shared_layers.hpp"

namespace glia::detail {

GLIA_INLINE shared_layers::run shared_layers::enter(const std::string& name, std::size_t& next) {
  const auto known = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const shared_layer& layer) { return layer.name == name; });
  const auto index = static_cast<std::size_t>(known - layers_.begin());
  const bool repeated = known != layers_.end();
  if (!repeated) {
    layers_.push_back({name, next, next});
  }
  return {.layer = index,
          .repeated = repeated,
          .next = std::exchange(next, layers_[index].begin),
          .inside_shared = std::exchange(running_, true),
          .inside_repeated = std::exchange(repeated_, repeated)};
}

GLIA_INLINE void shared_layers::leave(const run& ended, std::size_t& next) {
  running_ = ended.inside_shared;
  repeated_ = ended.inside_repeated;
  shared_layer& layer = layers_[ended.layer];
  if (!ended.repeated) {
    layer.end = next;
  } else if (ended.next != layer.begin) {
    // Continue with the parameter after those requested before this layer. Exception: inside
    // another shared layer that runs again, continue with the parameter after this layer's own.
    next = ended.next;
  }
}

GLIA_INLINE void shared_layers::store(std::size_t index, const variable& parameter) {
  if (running_) {
    parameters_.emplace_back(index, parameter);
  }
}

GLIA_INLINE const variable& shared_layers::stored(std::size_t index) const {
  return std::find_if(parameters_.begin(), parameters_.end(),
                      [&](const auto& entry) { return entry.first == index; })
      ->second;
}

}  // namespace glia::detail
