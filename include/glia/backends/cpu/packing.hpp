#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/vector_loops.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/packing.hpp"

namespace glia::cpu_loops {

/// Some columns of weights (depth, step) and their bias, or none, as a panel: a row of biases, then
/// one for each of `depth`, all `width` wide and 0 behind `count`.
template <class T>
void pack_panel(const T* w, std::size_t step, const T* bias, std::size_t count, std::size_t depth,
                std::size_t width, T* to) {
  if (count < width || bias == nullptr) {
    std::fill_n(to, (count < width ? 1 + depth : 1) * width, T{0});
  }
  if (bias != nullptr) {
    std::copy_n(bias, count, to);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    std::copy_n(w + k * step, count, to + (1 + k) * width);
  }
}

/// Weights (depth, outputs) and a bias in panels as wide as two registers, one after the other.
template <class T, class Loops>
void pack_panels(const Loops&, const T* w, const T* bias, std::size_t depth, std::size_t outputs,
                 T* to) {
  constexpr std::size_t width = Loops::template panel_width<T>;
  static_assert(kernels::pack_panels::outputs_at_a_time % width == 0);
  for (std::size_t first = 0; first < outputs; first += width, to += (1 + depth) * width) {
    pack_panel(w + first, outputs, bias == nullptr ? nullptr : bias + first,
               std::min(width, outputs - first), depth, width, to);
  }
}

/// Packs weights for the loops of other families, once for all their calls.
template <class T>
class packing {
 public:
  using tensor = host_tensor<T>;

  explicit packing(const workers& team) : team_(&team) {}

  void compute(const kernels::pack_panels&, const memory_pool&, const tensor& w, const tensor& bias,
               const tensor& packed) const {
    with_isa(team_->level(), [&](auto loops) {
      pack_panels(loops, w.data(), bias.data(), packed.shape()[0] - 1, w.shape().back(),
                  packed.data());
    });
  }
  void compute(const kernels::pack_transformed&, const memory_pool&, const tensor& w,
               const tensor& packed) const {
    const std::size_t inputs = w.shape()[2];
    const std::size_t outputs = w.shape()[3];
    with_isa(team_->level(), [&](auto loops) {
      constexpr std::size_t width = decltype(loops)::template panel_width<T>;
      const std::size_t columns = (outputs + width - 1) / width * width;
      loops.pack_transformed_kernel(w.data(), inputs, outputs, packed.data(),
                                    (1 + inputs) * columns);
    });
  }

 private:
  const workers* team_;
};

}  // namespace glia::cpu_loops
