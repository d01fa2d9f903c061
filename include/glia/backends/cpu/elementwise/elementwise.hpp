#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "glia/backends/broadcast_plan.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/reduction_plan.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/noise.hpp"

namespace glia::cpu_loops {

template <class T>
class elementwise {
 public:
  using tensor = detail::tensor_view<T>;

  explicit elementwise(const workers& team) : team_(&team) {}

  void compute(const kernels::unary& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    for_blocks(x.size(), [&](auto loops, std::size_t first, std::size_t count) {
      loops.unary(k.map, x.data() + first, y.data() + first, count);
    });
  }

  void compute(const kernels::unary_gradient& k, const memory_pool&, const tensor& dy,
               const tensor& saved, const tensor& dx) const {
    const T* const source = k.needs_saved() ? saved.data() : nullptr;
    for_blocks(dy.size(), [&](auto loops, std::size_t first, std::size_t count) {
      loops.unary_gradient(k.map, dy.data() + first, source == nullptr ? nullptr : source + first,
                           dx.data() + first, count);
    });
  }

  void compute(const kernels::binary& k, const memory_pool&, const tensor& left,
               const tensor& right, const tensor& result) const {
    const detail::broadcast_plan plan(result.shape(), left.shape(), right.shape());
    for_stretches(plan, [&](auto loops, const auto& offsets, std::size_t target,
                            std::size_t count) {
      loops.binary(k.function, left.data() + offsets[0], plan.inner_step(0),
                   right.data() + offsets[1], plan.inner_step(1), result.data() + target, count);
    });
  }

  void compute(const kernels::select&, const memory_pool&, const tensor& condition, const tensor& a,
               const tensor& b, const tensor& result) const {
    const detail::broadcast_plan plan(result.shape(), condition.shape(), a.shape(), b.shape());
    for_stretches(plan,
                  [&](auto loops, const auto& offsets, std::size_t target, std::size_t count) {
                    loops.select(condition.data() + offsets[0], plan.inner_step(0),
                                 a.data() + offsets[1], plan.inner_step(1), b.data() + offsets[2],
                                 plan.inner_step(2), result.data() + target, count);
                  });
  }

  void compute(const kernels::broadcast_to& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    const detail::broadcast_plan plan(k.target_shape, x.shape());
    for_stretches(plan, [&](auto, const auto& offsets, std::size_t target, std::size_t count) {
      if (plan.inner_step(0) == 0) {
        std::fill_n(y.data() + target, count, x.data()[offsets[0]]);
      } else {
        std::copy_n(x.data() + offsets[0], count, y.data() + target);
      }
    });
  }

  void compute(const kernels::sum_to& k, const memory_pool&, const tensor& terms,
               const tensor& y) const {
    const detail::reduction_plan plan(terms.shape(), k.target_shape);
    with_isa(team_->level(), [&](auto loops) {
      plan.for_results(
          [&](std::size_t term, std::size_t step, std::size_t target, std::size_t count) {
            if (plan.by_columns()) {
              sum_columns(loops, plan, terms.data() + term, y.data() + target, count);
            } else {
              for (std::size_t i = 0; i < count; ++i) {
                y.data()[target + i] = sum_of_runs(loops, plan, terms.data() + term + i * step);
              }
            }
          });
    });
  }

  void compute(const kernels::norm&, const memory_pool&, const tensor& x, const tensor& y) const {
    // The number of blocks is limited and does not depend on the number of threads.
    constexpr std::size_t max_blocks = 256;
    const std::size_t size = x.size();
    const std::size_t block =
        std::max(workers::elements_per_block, (size + max_blocks - 1) / max_blocks);
    double partial[max_blocks] = {};
    const auto sum_of_squares = [&](T scale) {
      team_->for_blocks(size, block, [&](auto loops, std::size_t first, std::size_t count) {
        partial[first / block] = loops.sum_of_squares(x.data() + first, scale, count);
      });
      return std::accumulate(partial, partial + max_blocks, 0.0);
    };
    double scale = 1;
    double squares = sum_of_squares(1);
    if constexpr (std::is_same_v<T, double>) {  // float needs no scale: double holds its squares
      scale = squares > 0x1p1000 ? 0x1p-600 : squares < 0x1p-900 ? 0x1p600 : 1;
      squares = scale == 1 ? squares : sum_of_squares(scale);
    }
    *y.data() = static_cast<T>(std::sqrt(squares) / scale);
  }

  void compute(const kernels::dropout& k, const memory_pool&, const tensor& x, const tensor& words,
               const tensor& y) const {
    const step_key key = step_key::from_words(words.integers());
    const std::uint64_t offset = key.first_element(x.shape());
    for_blocks(x.size(), [&](auto loops, std::size_t first, std::size_t count) {
      loops.dropout(x.data() + first, y.data() + first, count, k.rate, key.stream(k.stream),
                    offset + first);
    });
  }

  void compute(const kernels::gaussian_noise& k, const memory_pool&, const tensor& x,
               const tensor& words, const tensor& y) const {
    const step_key key = step_key::from_words(words.integers());
    const std::uint64_t offset = key.first_element(x.shape());
    for_blocks(x.size(), [&](auto loops, std::size_t first, std::size_t count) {
      loops.gaussian_noise(x.data() + first, y.data() + first, count, k.deviation,
                           key.stream(k.stream), offset + first);
    });
  }

 private:
  /// Computes `count` neighboring results. Their terms are the columns of a matrix.
  template <class Loops>
  static void sum_columns(const Loops& loops, const detail::reduction_plan& plan, const T* terms,
                          T* y, std::size_t count) {
    if (plan.one_run() && plan.run_length() <= detail::sum_chain) {
      std::fill_n(y, count, T{0});
      loops.add_rows(terms, plan.run_step(), plan.run_length(), y, count);
      return;
    }
    using sums_of_columns = typename Loops::template column_sums<T>;
    for (std::size_t first = 0; first < count; first += sums_of_columns::most_columns) {
      sums_of_columns sums(y + first, std::min(sums_of_columns::most_columns, count - first));
      plan.for_terms([&](std::size_t start, std::size_t step, std::size_t rows) {
        sums.add(terms + first + start, step, rows);
      });
      sums.end();
    }
  }
  /// Computes one result whose terms are in contiguous runs.
  template <class Loops>
  static T sum_of_runs(const Loops& loops, const detail::reduction_plan& plan, const T* terms) {
    if (plan.one_run()) {
      return loops.sum(terms, plan.run_length());
    }
    T sum = 0;
    T lost = 0;
    T total = 0;
    std::size_t runs = 0;
    const std::size_t most_runs =
        plan.run_length() < few_terms ? detail::sum_chain / few_terms : detail::chains_in_total;
    plan.for_terms([&](std::size_t start, std::size_t, std::size_t length) {
      if (++runs > most_runs) {
        detail::compensated_sum<T>::add(sum, total, lost);
        sum = 0;
        runs = 1;
      }
      if (length < few_terms) {
        for (std::size_t i = 0; i < length; ++i) {
          sum += terms[start + i];
        }
      } else {
        sum += loops.sum(terms + start, length);
      }
    });
    detail::compensated_sum<T>::add(sum, total, lost);
    return detail::compensated_sum<T>::value(total, lost);
  }

  // For fewer terms, adding them one by one is faster.
  static constexpr std::size_t few_terms = 8;

  template <class Body>
  void for_blocks(std::size_t n, const Body& body) const {
    team_->for_blocks(n, workers::elements_per_block, body);
  }

  /// Calls body(loops, offsets, target, count) for runs of a plan. A run begins at offsets[i] in
  /// operand i and at `target` in the result.
  template <std::size_t Operands, class Body>
  void for_stretches(const detail::broadcast_plan<Operands>& plan, const Body& body) const {
    team_->for_stretches(plan.rows(), plan.inner(),
                         [&](auto loops, std::size_t row, std::size_t first, std::size_t count) {
                           auto offsets = plan.row_offsets(row);
                           for (std::size_t i = 0; i < Operands; ++i) {
                             offsets[i] += first * plan.inner_step(i);
                           }
                           body(loops, offsets, row * plan.inner() + first, count);
                         });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
