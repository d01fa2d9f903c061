#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/cpu/arrangement.hpp"
#include "glia/backends/cpu/classification.hpp"
#include "glia/backends/cpu/convolution.hpp"
#include "glia/backends/cpu/convolution_chain.hpp"
#include "glia/backends/cpu/elementwise.hpp"
#include "glia/backends/cpu/indexing.hpp"
#include "glia/backends/cpu/normalization.hpp"
#include "glia/backends/cpu/pooled_convolution.hpp"
#include "glia/backends/cpu/pooling.hpp"
#include "glia/backends/cpu/products.hpp"
#include "glia/backends/cpu/updates.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_backend.hpp"
#include "glia/backends/host_loops.hpp"

namespace glia {

/// How the cpu backend runs.
struct cpu_options {
  std::size_t threads = 0;                     ///< counting the caller's; 0: one per core
  cpu_loops::isa isa = cpu_loops::best_isa();  ///< instruction set of glia's own loops
};

// The threads come first among the bases: the families of loops refer to them.
template <class T>
class cpu_kernels : private cpu_loops::workers,
                    public host_loops<T>,
                    public cpu_loops::arrangement<T>,
                    public cpu_loops::indexing<T>,
                    public cpu_loops::elementwise<T>,
                    public cpu_loops::products<T>,
                    public cpu_loops::convolution<T>,
                    public cpu_loops::convolution_chain<T>,
                    public cpu_loops::pooled_convolution<T>,
                    public cpu_loops::pooling<T>,
                    public cpu_loops::normalizing<T>,
                    public cpu_loops::classification<T>,
                    public cpu_loops::updates<T> {
 public:
  using value_type = T;
  static constexpr std::string_view name = "cpu";

  explicit cpu_kernels(const cpu_options& options)
      : cpu_loops::workers(options.threads, options.isa),
        cpu_loops::arrangement<T>(team()),
        cpu_loops::indexing<T>(team()),
        cpu_loops::elementwise<T>(team()),
        cpu_loops::products<T>(team()),
        cpu_loops::convolution<T>(team()),
        cpu_loops::convolution_chain<T>(team()),
        cpu_loops::pooled_convolution<T>(team()),
        cpu_loops::pooling<T>(team()),
        cpu_loops::normalizing<T>(team()),
        cpu_loops::classification<T>(team()),
        cpu_loops::updates<T>(team()) {}
  cpu_kernels(const cpu_kernels&) = delete;
  cpu_kernels& operator=(const cpu_kernels&) = delete;

  using cpu_loops::workers::run;
  using cpu_loops::workers::threads;

  using host_loops<T>::compute;
  using cpu_loops::arrangement<T>::compute;
  using cpu_loops::indexing<T>::compute;
  using cpu_loops::elementwise<T>::compute;
  using cpu_loops::products<T>::compute;
  using cpu_loops::convolution<T>::compute;
  using cpu_loops::convolution_chain<T>::compute;
  using cpu_loops::pooled_convolution<T>::compute;
  using cpu_loops::pooling<T>::compute;
  using cpu_loops::normalizing<T>::compute;
  using cpu_loops::classification<T>::compute;
  using cpu_loops::updates<T>::compute;

 private:
  [[nodiscard]] const cpu_loops::workers& team() const { return *this; }
};

/// The fast backend: OpenBLAS for matrix products, glia's own vectorised loops for the rest, glia's
/// own threads for both, in `float` or `double`. One seed gives the same bits for any number of
/// threads.
template <class T = float>
class cpu : public host_backend<cpu_kernels<T>> {
 public:
  explicit cpu(const cpu_options& options = {})
      : host_backend<cpu_kernels<T>>(std::in_place, options),
        lanes_(std::make_shared<std::vector<cpu>>()) {
    for (std::size_t i = 0; i < lanes; ++i) {
      lanes_->push_back(cpu(lane_tag{}, options.isa));
    }
  }

  [[nodiscard]] std::size_t threads() const { return this->loops().threads(); }

  // See lane_backend. Lanes have memory of their own, so that what a step asks of it does not
  // depend on how threads overlap.
  [[nodiscard]] std::size_t lane_count() const { return lanes_ ? lanes_->size() : 0; }
  [[nodiscard]] const cpu& lane(std::size_t i) const { return (*lanes_)[i]; }
  template <class Body>
  void for_each_lane(const Body& body) const {
    const cpu_loops::single_threaded_blas one_thread_each;
    this->loops().run(lane_count(), [&](std::size_t i, std::size_t) { body(i); });
  }

 private:
  struct lane_tag {};
  explicit cpu(lane_tag, cpu_loops::isa level)
      : host_backend<cpu_kernels<T>>(std::in_place, cpu_options{.threads = 1, .isa = level}) {}

  // Enough for the threads of a large machine to share out, few enough that summing the gradients
  // of a step over them costs little.
  static constexpr std::size_t lanes = 16;
  std::shared_ptr<std::vector<cpu>> lanes_;
};

static_assert(lane_backend<cpu<float>> && lane_backend<cpu<double>>);

}  // namespace glia
