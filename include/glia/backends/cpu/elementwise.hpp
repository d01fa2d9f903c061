#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "glia/backends/broadcast_plan.hpp"
#include "glia/backends/cpu/workers.hpp"

namespace glia::cpu_loops {

template <class T>
class elementwise {
 public:
  explicit elementwise(const workers& team) : team_(&team) {}

  void unary(const unary_map& map, const T* x, T* y, std::size_t n) const {
    team_->for_blocks(n, workers::elements_per_block,
                      [&](auto kernels, std::size_t first, std::size_t count) {
                        kernels.unary(map, x + first, y + first, count);
                      });
  }

  void unary_gradient(const unary_map& map, const T* dy, const T* saved, T* dx,
                      std::size_t n) const {
    team_->for_blocks(
        n, workers::elements_per_block, [&](auto kernels, std::size_t first, std::size_t count) {
          kernels.unary_gradient(map, dy + first, saved == nullptr ? nullptr : saved + first,
                                 dx + first, count);
        });
  }

  void binary(binary_function function, const T* a, const T* b, T* y,
              const broadcast_plan& plan) const {
    if (plan.rows() == 1) {
      team_->for_blocks(plan.inner(), workers::elements_per_block,
                        [&](auto kernels, std::size_t first, std::size_t count) {
                          kernels.binary(function, a + first * plan.inner_step_a(),
                                         plan.inner_step_a(), b + first * plan.inner_step_b(),
                                         plan.inner_step_b(), y + first, count);
                        });
      return;
    }
    for_plan_rows(plan, [&](auto kernels, std::size_t row, const broadcast_plan::offsets& at) {
      kernels.binary(function, a + at.a, plan.inner_step_a(), b + at.b, plan.inner_step_b(),
                     y + row * plan.inner(), plan.inner());
    });
  }

  void broadcast_to(const T* x, T* y, const broadcast_plan& plan) const {
    for_plan_rows(plan, [&](auto, std::size_t row, const broadcast_plan::offsets& at) {
      T* to = y + row * plan.inner();
      if (plan.inner_step_a() == 0) {
        std::fill_n(to, plan.inner(), x[at.a]);
      } else {
        std::copy_n(x + at.a, plan.inner(), to);
      }
    });
  }

  void sum_to(const T* x, T* y, std::size_t outputs, const broadcast_plan& plan) const {
    std::fill_n(y, outputs, T{0});
    with_isa(team_->level(), [&](auto kernels) {
      for (std::size_t row = 0; row < plan.rows(); ++row, x += plan.inner()) {
        T* to = y + plan.row_offsets(row).a;
        if (plan.inner_step_a() == 0) {
          *to += kernels.sum(x, plan.inner());
        } else {
          kernels.add(x, to, plan.inner());
        }
      }
    });
  }

  void dropout(const T* x, T* y, std::size_t n, double rate, const random_key& key,
               std::uint64_t offset) const {
    team_->for_blocks(n, workers::elements_per_block,
                      [&](auto kernels, std::size_t first, std::size_t count) {
                        kernels.dropout(x + first, y + first, count, rate, key, offset + first);
                      });
  }

 private:
  template <class Body>
  void for_plan_rows(const broadcast_plan& plan, const Body& body) const {
    team_->for_rows(plan.rows(), plan.inner(),
                    [&](auto kernels, std::size_t first, std::size_t count) {
                      for (std::size_t row = first; row < first + count; ++row) {
                        body(kernels, row, plan.row_offsets(row));
                      }
                    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
