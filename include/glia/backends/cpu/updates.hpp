#pragma once

#include <cstddef>

#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/kernel_arguments.hpp"

namespace glia::cpu_loops {

/// Optimizer steps, in blocks of elements. Optional slots may be null.
template <class T>
class updates {
 public:
  explicit updates(const workers& team) : team_(&team) {}

  template <class Rule>
  void update(const Rule& rule, T* p, const T* g, T* slot, std::size_t n) const {
    for_blocks(n, [&](auto kernels, std::size_t first, std::size_t count) {
      kernels.update(rule, p + first, g + first, at(slot, first), count);
    });
  }

  template <class Rule>
  void update(const Rule& rule, T* p, const T* g, T* slot, T* second, std::size_t n) const {
    for_blocks(n, [&](auto kernels, std::size_t first, std::size_t count) {
      kernels.update(rule, p + first, g + first, at(slot, first), at(second, first), count);
    });
  }

 private:
  static T* at(T* slot, std::size_t first) { return slot == nullptr ? nullptr : slot + first; }

  template <class Body>
  void for_blocks(std::size_t n, const Body& body) const {
    team_->for_blocks(n, workers::elements_per_block, body);
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
