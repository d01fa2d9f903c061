#pragma once

#include <cstddef>

#include "glia/backends/cpu/normalization/column_normalization.hpp"
#include "glia/backends/cpu/normalization/column_statistics.hpp"
#include "glia/backends/cpu/normalization/column_strips.hpp"
#include "glia/backends/cpu/normalization/row_normalization.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::cpu_loops {

/// Computes normalizations and their gradients. If several rows share their statistics, each chunk
/// of rows has its own statistics, and the chunks are combined in order. Rows with separate
/// statistics are processed in blocks. So the result does not depend on the number of threads.
///
/// The first sums add the distances of all elements to one of them, to compute the mean. The next
/// sums add the distances to this mean. The mean is rounded once, and its rounding error is
/// corrected for. Sets whose squares leave the range of T are handled separately, by
/// set_statistics.
template <class T>
class normalizing {
 public:
  using tensor = detail::tensor_view<T>;

  explicit normalizing(const workers& team) : team_(&team) {}

  void compute(const kernels::normalize& k, const memory_pool& memory, const tensor& x,
               const tensor& gamma, const tensor& beta, const tensor& y, const tensor& mean,
               const tensor& variance) const {
    const normalized_sets sets(x.shape(), k.kind, k.groups);
    if (kernels::is_by_rows(k.kind)) {
      row_normalization<T>(*team_).normalize(k, sets, x.data(), gamma.data(), beta.data(), y.data(),
                                             mean.data(), variance.data());
      return;
    }
    const strips cut(sets.rows, sets.columns);
    for_samples(sets, cut, memory,
                [&](std::size_t sample, const auto& scratch, const auto& for_tasks, auto loops) {
                  const std::size_t start = sample * sets.rows * sets.columns;
                  const std::size_t first = sample * sets.per_sample;
                  column_normalization<T>::normalize(loops, k.epsilon, sets, cut, scratch,
                                                     for_tasks, x.data() + start, gamma.data(),
                                                     beta.data(), y.data() + start,
                                                     mean.data() + first, variance.data() + first);
                });
  }

  void compute(const kernels::normalize_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& x, const tensor& gamma, const tensor& mean, const tensor& variance,
               const tensor& dx, const tensor& dgamma, const tensor& dbeta) const {
    const normalized_sets sets(x.shape(), k.kind, k.groups);
    if (kernels::is_by_rows(k.kind)) {
      row_normalization<T>(*team_).gradient(k, sets, dy.data(), x.data(), gamma.data(), mean.data(),
                                            variance.data(), dx.data(), dgamma.data(), dbeta.data(),
                                            memory);
      return;
    }
    const strips cut(sets.rows, sets.columns);
    // The sums for gamma and for beta, separately for each sample.
    const std::size_t columns = sets.columns;
    const detail::host_tensor<T> sums(memory, {sets.samples, 2, columns});
    for_samples(sets, cut, memory,
                [&](std::size_t sample, const auto& scratch, const auto& for_tasks, auto loops) {
                  const std::size_t start = sample * sets.rows * columns;
                  const std::size_t first = sample * sets.per_sample;
                  T* const mine = sums.data() + sample * 2 * columns;
                  column_normalization<T>::gradient(
                      loops, k.epsilon, sets, cut, scratch, for_tasks, dy.data() + start,
                      x.data() + start, gamma.data(), mean.data() + first, variance.data() + first,
                      dx.data() + start, mine, mine + columns);
                });
    with_isa(team_->level(), [&](auto loops) {
      loops.sum_rows(sums.data(), 2 * columns, sets.samples, dgamma.data(), columns);
      loops.sum_rows(sums.data() + columns, 2 * columns, sets.samples, dbeta.data(), columns);
    });
  }

 private:
  using strips = column_strips<T>;

  /// Calls body(sample, its column_memory, for_tasks, loops) for each sample. In this body,
  /// for_tasks(f) calls f(loops, task) for the tasks of the sample's rows. A single sample uses all
  /// threads; otherwise each sample uses one thread.
  template <class Body>
  void for_samples(const normalized_sets& sets, const strips& cut, const memory_pool& memory,
                   const Body& body) const {
    const bool alone = sets.samples == 1;
    const std::size_t threads = alone ? team_->threads() : 1;
    const std::size_t size = column_memory<T>::size(cut, sets.columns, threads);
    const detail::host_tensor<T> scratch(memory, {alone ? 1 : team_->threads(), size});
    with_isa(team_->level(), [&](auto loops) {
      if (alone) {
        body(
            std::size_t{0}, column_memory<T>(scratch.data(), cut, sets.columns),
            [&](const auto& f) {
              team_->run(cut.tasks(), [&](std::size_t i, std::size_t thread) {
                f(loops, cut.task_of(i, thread));
              });
            },
            loops);
        return;
      }
      team_->run(sets.samples, [&](std::size_t sample, std::size_t thread) {
        body(
            sample, column_memory<T>(scratch.data() + thread * size, cut, sets.columns),
            [&](const auto& f) {
              for (std::size_t i = 0; i < cut.tasks(); ++i) {
                f(loops, cut.task_of(i, 0));
              }
            },
            loops);
      });
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
