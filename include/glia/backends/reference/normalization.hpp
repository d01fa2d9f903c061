#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/backends/set_statistics.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia::reference_loops {

template <class T>
struct normalizing {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::normalize& k, const memory_pool&, const tensor& x,
               const tensor& gamma, const tensor& beta, const tensor& y, const tensor& mean,
               const tensor& variance) const {
    const normalized_sets sets(x.shape(), k.kind, k.groups);
    for (std::size_t set = 0; set < sets.count(); ++set) {
      const set_statistics<T> stats = statistics(k.kind, k.epsilon, sets, set, x.data());
      mean.data()[set] = stats.mean();
      variance.data()[set] = stats.variance();
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const std::size_t element = sets.element(set, i);
        const std::size_t c = sets.column(set, i);
        y.data()[element] = gamma.data()[c] * stats.normalized(x.data()[element]) + beta.data()[c];
      }
    }
  }

  // With h = (x - mean) / sqrt(variance + epsilon) and q = gamma dy, over one set: dx = (q -
  // mean(q) - h mean(q h)) / sqrt(variance + epsilon). For rms, there is no mean(q). If a set has a
  // single gamma, gamma is a common factor.
  void compute(const kernels::normalize_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& x, const tensor& gamma, const tensor& mean, const tensor& variance,
               const tensor& dx, const tensor& dgamma, const tensor& dbeta) const {
    const normalized_sets sets(x.shape(), k.kind, k.groups);
    const detail::host_tensor<T> lost(memory, {2, sets.columns});
    std::fill_n(lost.data(), lost.size(), T{0});
    std::fill_n(dgamma.data(), sets.columns, T{0});
    std::fill_n(dbeta.data(), sets.columns, T{0});
    const bool single = sets.run == 1;
    const auto inner = [&](std::size_t c) { return single ? T{1} : gamma.data()[c]; };
    for (std::size_t set = 0; set < sets.count(); ++set) {
      const normalized_numbers h(k, sets, set, x.data(), mean.data()[set], variance.data()[set]);
      detail::compensated_sum<T> q_sum;
      detail::compensated_sum<T> qh_sum;
      for (std::size_t j = 0; j < sets.run; ++j) {  // for each column of the set
        detail::compensated_sum<T> g_sum;
        detail::compensated_sum<T> gh_sum;
        for (std::size_t i = j; i < sets.length(); i += sets.run) {
          const std::size_t element = sets.element(set, i);
          g_sum.add(dy.data()[element]);
          gh_sum.add(dy.data()[element] * h(x.data()[element]));
        }
        const std::size_t c = sets.column(set, j);
        detail::compensated_sum<T>::add(gh_sum.value(), dgamma.data()[c], lost.data()[c]);
        detail::compensated_sum<T>::add(g_sum.value(), dbeta.data()[c],
                                        lost.data()[sets.columns + c]);
        q_sum.add(inner(c) * g_sum.value());
        qh_sum.add(inner(c) * gh_sum.value());
      }
      const auto count = static_cast<T>(sets.length());
      const T mean_q = k.kind == normalization::rms ? T{0} : q_sum.value() / count;
      const T mean_qh = qh_sum.value() / count;
      for (std::size_t i = 0; i < sets.length(); ++i) {
        const std::size_t element = sets.element(set, i);
        const std::size_t c = sets.column(set, i);
        const T q = inner(c) * dy.data()[element];
        const T outer = single ? gamma.data()[c] : T{1};
        dx.data()[element] = outer * h.inverse * (q - mean_q - h(x.data()[element]) * mean_qh);
      }
    }
    for (std::size_t c = 0; c < sets.columns; ++c) {
      T& to_gamma = dgamma.data()[c];
      T& to_beta = dbeta.data()[c];
      to_gamma = detail::compensated_sum<T>::value(to_gamma, lost.data()[c]);
      to_beta = detail::compensated_sum<T>::value(to_beta, lost.data()[sets.columns + c]);
    }
  }

 private:
  static set_statistics<T> statistics(normalization kind, double epsilon,
                                      const normalized_sets& sets, std::size_t set, const T* x) {
    return {sets.length(), [&](std::size_t i) { return x[sets.element(set, i)]; }, epsilon,
            kind != normalization::rms};
  }

  /// Normalizes the numbers of a set with the given statistics. If the variance does not fit T's
  /// range, computes the statistics again by set_statistics.
  struct normalized_numbers {
    normalized_numbers(const kernels::normalize_gradient& k, const normalized_sets& sets,
                       std::size_t set, const T* x, T given_mean, T variance)
        : usual(is_usual_variance(variance + static_cast<T>(k.epsilon))),
          mean(given_mean),
          stats(statistics(k.kind, k.epsilon, sets, set, x)) {
      inverse =
          usual ? 1 / std::sqrt(variance + static_cast<T>(k.epsilon)) : stats.inverse_deviation();
      if (usual && k.kind != normalization::rms) {
        detail::compensated_sum<T> offset_sum;
        for (std::size_t i = 0; i < sets.length(); ++i) {
          offset_sum.add(x[sets.element(set, i)] - mean);
        }
        rest = detail::rest_of_mean(mean, offset_sum.value() / static_cast<T>(sets.length()));
      }
    }
    [[nodiscard]] T operator()(T x) const {
      return usual ? ((x - mean) - rest) * inverse : stats.normalized(x);
    }
    bool usual;
    T mean;
    T rest = 0;
    T inverse = 0;
    set_statistics<T> stats;
  };
};

}  // namespace glia::reference_loops
