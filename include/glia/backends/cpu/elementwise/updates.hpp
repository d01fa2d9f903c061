#pragma once

#include <cstddef>

#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/updates.hpp"

namespace glia::cpu_loops {

/// Computes optimizer steps, in blocks of elements. The steps overwrite the parameters and the
/// optimizer state.
template <class T>
class updates {
 public:
  using tensor = detail::tensor_view<T>;

  explicit updates(const workers& team) : team_(&team) {}

  void compute(const kernels::sgd& k, const memory_pool&, const tensor&, const tensor& g,
               const tensor&, const tensor& numbers, const tensor& p, const tensor& v) const {
    update(k, numbers, p, g, v);
  }
  void compute(const kernels::adam& k, const memory_pool&, const tensor&, const tensor& g,
               const tensor&, const tensor&, const tensor& numbers, const tensor& p,
               const tensor& m, const tensor& v) const {
    update(k, numbers, p, g, m, v);
  }
  void compute(const kernels::rmsprop& k, const memory_pool&, const tensor&, const tensor& g,
               const tensor&, const tensor&, const tensor& numbers, const tensor& p,
               const tensor& v, const tensor& u) const {
    update(k, numbers, p, g, v, u);
  }
  void compute(const kernels::adagrad& k, const memory_pool&, const tensor&, const tensor& g,
               const tensor&, const tensor& numbers, const tensor& p, const tensor& v) const {
    update(k, numbers, p, g, v);
  }

 private:
  template <class Kernel, class... Slots>
  void update(const Kernel& k, const tensor& numbers, const tensor& p, const tensor& g,
              const Slots&... slots) const {
    team_->for_blocks(p.size(), workers::elements_per_block,
                      [&](auto loops, std::size_t first, std::size_t count) {
                        loops.update(k, numbers.data(), p.data() + first, g.data() + first,
                                     (slots ? slots.data() + first : nullptr)..., count);
                      });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
