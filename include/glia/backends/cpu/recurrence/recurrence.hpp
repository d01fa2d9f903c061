#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/products/dense_product.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/recurrence.hpp"

namespace glia::cpu_loops {

/// Sizes of a recurrent layer, and the order of its steps.
struct recurrent_sizes {
  recurrent_cell cell;
  bool backwards;
  std::size_t samples, steps, units;

  [[nodiscard]] std::size_t products() const { return kernels::products_of(cell) * units; }
  [[nodiscard]] std::size_t saved() const { return kernels::saved_count(cell) * units; }
  [[nodiscard]] std::size_t memory() const { return kernels::memory_count(cell) * units; }
  /// Returns the row of a sample's i-th step, counted over the steps of all samples.
  [[nodiscard]] std::size_t row(std::size_t sample, std::size_t i) const {
    return sample * steps + (backwards ? steps - 1 - i : i);
  }
};

/// The weights of a recurrent layer (depth, outputs) in panels, for products on one thread.
template <class T, class Loops>
class recurrent_product {
 public:
  /// Packs the weights or, if `packed` is true, uses weights from `pack_panels`.
  recurrent_product(const Loops& loops, const workers& team, const memory_pool& memory,
                    const matrix<T>& w, std::size_t depth, std::size_t outputs, bool packed)
      : team_(&team), depth_(depth), outputs_(outputs), packed_(w.data) {
    if (packed) {
      return;
    }
    if (team.rounded<T>() != nullptr) {
      const std::size_t panels = (outputs + width - 1) / width;
      owned_ = detail::host_tensor<T>(memory, {panels, 1 + depth, width});
      team.rounded<T>()->pack(w, depth, outputs, owned_.data() + width, (1 + depth) * width);
      packed_ = owned_.data();
      return;
    }
    owned_ = packed_matrix(loops, team, memory, w, depth, outputs);
    packed_ = owned_.data();
  }

  /// Returns the number of scratch elements for each row.
  [[nodiscard]] static std::size_t scratch_size(const workers& team, std::size_t depth) {
    return team.rounded<T>() == nullptr ? 0 : std::min(depth, detail::product_chain);
  }

  /// Computes `count` rows of products from `count` input rows, which are `step` apart. `scratch`
  /// has `scratch_size` elements for each row.
  void operator()(const Loops& loops, const T* rows, std::size_t step, std::size_t count, T* target,
                  T* scratch) const {
    if (team_->rounded<T>() != nullptr) {
      team_->rounded<T>()->multiply_packed({rows, step}, packed_ + width, (1 + depth_) * width,
                                           target, outputs_, {count, outputs_, depth_}, scratch,
                                           false);
      return;
    }
    dense_product<T, Loops>::multiply_here(loops, {rows, step}, {}, target, outputs_,
                                           {count, outputs_, depth_}, packed_);
  }

 private:
  static constexpr std::size_t width = Loops::template panel_width<T>;

  const workers* team_;
  std::size_t depth_, outputs_;
  detail::host_tensor<T> owned_;
  const T* packed_;
};

/// Computes recurrent layers. Each thread runs some samples through all steps, so the threads wait
/// for each other once and not at each step.
template <class T>
class recurrence {
 public:
  using tensor = detail::tensor_view<T>;

  explicit recurrence(const workers& team) : team_(&team) {}

  void compute(const kernels::recurrence& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& scale, const tensor& counts,
               const tensor& start, const tensor& states, const tensor& saved,
               const tensor& end) const {
    const recurrent_sizes s = sizes(k.cell, k.backwards, states);
    with_isa(team_->level(), [&](auto loops) {
      using product = recurrent_product<T, decltype(loops)>;
      const std::size_t scratch_size =
          s.products() + s.saved() + 3 * s.units + product::scratch_size(*team_, s.units);
      const product multiply(loops, *team_, memory, {w.data(), s.products()}, s.units, s.products(),
                             k.packed);
      for_samples(s, scratch_size, memory, [&](std::size_t first, std::size_t count, T* mine) {
        T* const sums = mine;
        T* const unkept = sums + count * s.products();
        T* const c = unkept + count * s.saved();
        T* const h = c + count * s.units;
        T* const scaled = h + count * s.units;
        T* const of_product = scaled + count * s.units;
        std::fill_n(mine, count * scratch_size, T{0});
        if (start) {
          for (std::size_t n = 0; n < count; ++n) {
            const T* const source = start.data() + (first + n) * s.memory();
            std::copy_n(source, s.units, h + n * s.units);
            std::copy_n(source + s.units, s.memory() - s.units, c + n * s.units);
          }
        }
        for (std::size_t i = 0; i < s.steps; ++i) {
          if (scale) {
            loops.binary(binary_function::multiply, scale.data() + first * s.units, 1, h, 1, scaled,
                         count * s.units);
          }
          multiply(loops, scale ? scaled : h, s.units, count, sums, of_product);
          for (std::size_t n = 0; n < count; ++n) {
            const std::size_t row = s.row(first + n, i);
            T* const state = h + n * s.units;
            T* const sum = sums + n * s.products();
            T* const keep = saved ? saved.data() + row * s.saved() : unkept + n * s.saved();
            if (bias) {
              loops.add(bias.data(), sum, s.products());
            }
            if (!counts || counts.data()[row] != 0) {
              step(loops, s, x.data() + row * s.products(), sum, keep, c + n * s.units, state);
            } else {
              std::fill_n(keep, s.saved(), T{0});
            }
            if (s.cell == recurrent_cell::lstm) {
              std::copy_n(c + n * s.units, s.units, keep + 4 * s.units);
            }
            std::copy_n(state, s.units, states.data() + row * s.units);
          }
        }
        for (std::size_t n = 0; end && n < count; ++n) {
          T* const target = end.data() + (first + n) * s.memory();
          std::copy_n(h + n * s.units, s.units, target);
          std::copy_n(c + n * s.units, s.memory() - s.units, target + s.units);
        }
      });
    });
  }

  void compute(const kernels::recurrence_gradient& k, const memory_pool& memory,
               const tensor& dstates, const tensor& states, const tensor& saved, const tensor& w,
               const tensor& scale, const tensor& counts, const tensor& dx,
               const tensor& dproducts) const {
    const recurrent_sizes s = sizes(k.cell, k.backwards, states);
    const T* const da = dproducts ? dproducts.data() : dx.data();
    with_isa(team_->level(), [&](auto loops) {
      using product = recurrent_product<T, decltype(loops)>;
      const std::size_t scratch_size = 4 * s.units + product::scratch_size(*team_, s.products());
      const product multiply(loops, *team_, memory, {w.data(), s.products(), true}, s.products(),
                             s.units, false);
      for_samples(s, scratch_size, memory, [&](std::size_t first, std::size_t count, T* mine) {
        T* const dh = mine;
        T* const dc = dh + count * s.units;
        T* const of_products = dc + count * s.units;
        T* const zeros = of_products + count * s.units;
        T* const scratch = zeros + count * s.units;
        std::fill_n(mine, count * 4 * s.units, T{0});
        for (std::size_t i = s.steps; i-- > 0;) {
          for (std::size_t n = 0; n < count; ++n) {
            const std::size_t row = s.row(first + n, i);
            T* const target = dx.data() + row * s.products();
            T* const to_products = dproducts ? dproducts.data() + row * s.products() : target;
            loops.add(dstates.data() + row * s.units, dh + n * s.units, s.units);
            if (counts && counts.data()[row] == 0) {
              std::fill_n(target, s.products(), T{0});
              std::fill_n(to_products, s.products(), T{0});
              continue;
            }
            const std::size_t previous = i > 0 ? s.row(first + n, i - 1) : row;
            const T* const h_before = i > 0 ? states.data() + previous * s.units : zeros;
            const T* const c_before =
                i > 0 && saved ? saved.data() + previous * s.saved() + 4 * s.units : zeros;
            step_gradient(loops, s, states.data() + row * s.units,
                          saved ? saved.data() + row * s.saved() : nullptr, h_before, c_before,
                          dh + n * s.units, dc + n * s.units, target, to_products);
          }
          if (i > 0) {
            multiply(loops, da + s.row(first, i) * s.products(), s.steps * s.products(), count,
                     of_products, scratch);
            if (scale) {
              loops.add_product(scale.data() + first * s.units, of_products, dh, count * s.units);
            } else {
              loops.add(of_products, dh, count * s.units);
            }
          }
        }
      });
    });
  }

 private:
  // This number of samples shares a panel of weights in a first-level cache. More samples gain
  // little.
  static constexpr std::size_t most_at_once = 64;

  [[nodiscard]] static recurrent_sizes sizes(recurrent_cell cell, bool backwards,
                                             const tensor& states) {
    const shape& s = states.shape();
    return {cell, backwards, s[0], s[1], s[2]};
  }

  /// Calls body(first, count, memory with `scratch_size` elements per sample). The results of a
  /// sample do not depend on the other samples of the block.
  template <class Body>
  void for_samples(const recurrent_sizes& s, std::size_t scratch_size, const memory_pool& memory,
                   const Body& body) const {
    const std::size_t samples_per_thread = (s.samples + team_->threads() - 1) / team_->threads();
    const std::size_t block = std::clamp<std::size_t>(samples_per_thread, 1, most_at_once);
    const std::size_t spare = team_->rounded<T>() == nullptr ? 0 : rounded_loops<T>::spare_rows;
    const detail::host_tensor<T> scratch(memory, {s.samples + spare, scratch_size});
    team_->run((s.samples + block - 1) / block, [&](std::size_t task, std::size_t) {
      const std::size_t first = task * block;
      body(first, std::min(block, s.samples - first), scratch.data() + first * scratch_size);
    });
  }

  template <class Loops>
  static void step(const Loops& loops, const recurrent_sizes& s, const T* x, const T* sum, T* keep,
                   T* c, T* h) {
    switch (s.cell) {
      case recurrent_cell::simple:
        loops.simple_step(x, sum, h, s.units);
        break;
      case recurrent_cell::gru:
        loops.gru_step(x, sum, keep, h, s.units);
        break;
      case recurrent_cell::lstm:
        loops.lstm_step(x, sum, keep, c, h, s.units);
        break;
    }
  }

  /// Replaces dh, the gradient of the state after the step. The new dh is the part of the gradient
  /// that reaches the previous state without a product.
  template <class Loops>
  static void step_gradient(const Loops& loops, const recurrent_sizes& s, const T* state,
                            const T* keep, const T* h_before, const T* c_before, T* dh, T* dc,
                            T* dx, T* dproducts) {
    switch (s.cell) {
      case recurrent_cell::simple:
        loops.simple_step_gradient(state, dh, dx, s.units);
        break;
      case recurrent_cell::gru:
        loops.gru_step_gradient(keep, h_before, dh, dx, dproducts, s.units);
        break;
      case recurrent_cell::lstm:
        loops.lstm_step_gradient(keep, c_before, dh, dc, dx, s.units);
        break;
    }
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
