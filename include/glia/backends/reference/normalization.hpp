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
    const normalized_sets over(x.shape(), k.kind, k.groups);
    for (std::size_t set = 0; set < over.count(); ++set) {
      const set_statistics<T> of = statistics(k.kind, k.epsilon, over, set, x.data());
      mean.data()[set] = of.mean();
      variance.data()[set] = of.variance();
      for (std::size_t i = 0; i < over.length(); ++i) {
        const std::size_t at = over.element(set, i);
        const std::size_t c = over.column(set, i);
        y.data()[at] = gamma.data()[c] * of.normalized(x.data()[at]) + beta.data()[c];
      }
    }
  }

  // With h = (x - mean) / sqrt(variance + epsilon) and q = gamma dy, over one set: dx = (q -
  // mean(q) - h mean(q h)) / sqrt(variance + epsilon). For rms, there is no mean(q). If a set has a
  // single gamma, gamma is a common factor.
  void compute(const kernels::normalize_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& x, const tensor& gamma, const tensor& mean, const tensor& variance,
               const tensor& dx, const tensor& dgamma, const tensor& dbeta) const {
    const normalized_sets over(x.shape(), k.kind, k.groups);
    const detail::host_tensor<T> lost(memory, {2, over.columns});
    std::fill_n(lost.data(), lost.size(), T{0});
    std::fill_n(dgamma.data(), over.columns, T{0});
    std::fill_n(dbeta.data(), over.columns, T{0});
    const bool single = over.run == 1;
    const auto inner = [&](std::size_t c) { return single ? T{1} : gamma.data()[c]; };
    for (std::size_t set = 0; set < over.count(); ++set) {
      const normalized_numbers h(k, over, set, x.data(), mean.data()[set], variance.data()[set]);
      detail::compensated_sum<T> q_sum;
      detail::compensated_sum<T> qh_sum;
      for (std::size_t j = 0; j < over.run; ++j) {  // for each column of the set
        detail::compensated_sum<T> g_sum;
        detail::compensated_sum<T> gh_sum;
        for (std::size_t i = j; i < over.length(); i += over.run) {
          const std::size_t at = over.element(set, i);
          g_sum.add(dy.data()[at]);
          gh_sum.add(dy.data()[at] * h(x.data()[at]));
        }
        const std::size_t c = over.column(set, j);
        detail::compensated_sum<T>::add(gh_sum.value(), dgamma.data()[c], lost.data()[c]);
        detail::compensated_sum<T>::add(g_sum.value(), dbeta.data()[c],
                                        lost.data()[over.columns + c]);
        q_sum.add(inner(c) * g_sum.value());
        qh_sum.add(inner(c) * gh_sum.value());
      }
      const auto count = static_cast<T>(over.length());
      const T mean_q = k.kind == normalization::rms ? T{0} : q_sum.value() / count;
      const T mean_qh = qh_sum.value() / count;
      for (std::size_t i = 0; i < over.length(); ++i) {
        const std::size_t at = over.element(set, i);
        const std::size_t c = over.column(set, i);
        const T q = inner(c) * dy.data()[at];
        const T outer = single ? gamma.data()[c] : T{1};
        dx.data()[at] = outer * h.inverse * (q - mean_q - h(x.data()[at]) * mean_qh);
      }
    }
    for (std::size_t c = 0; c < over.columns; ++c) {
      T& to_gamma = dgamma.data()[c];
      T& to_beta = dbeta.data()[c];
      to_gamma = detail::compensated_sum<T>::value(to_gamma, lost.data()[c]);
      to_beta = detail::compensated_sum<T>::value(to_beta, lost.data()[over.columns + c]);
    }
  }

 private:
  static set_statistics<T> statistics(normalization kind, double epsilon,
                                      const normalized_sets& over, std::size_t set, const T* x) {
    return {over.length(), [&](std::size_t i) { return x[over.element(set, i)]; }, epsilon,
            kind != normalization::rms};
  }

  /// Normalizes the numbers of a set with the given statistics. If the variance does not fit T's
  /// range, computes the statistics again by set_statistics.
  struct normalized_numbers {
    normalized_numbers(const kernels::normalize_gradient& k, const normalized_sets& over,
                       std::size_t set, const T* x, T given_mean, T variance)
        : usual(is_usual_variance(variance + static_cast<T>(k.epsilon))),
          mean(given_mean),
          of(statistics(k.kind, k.epsilon, over, set, x)) {
      inverse =
          usual ? 1 / std::sqrt(variance + static_cast<T>(k.epsilon)) : of.inverse_deviation();
      if (usual && k.kind != normalization::rms) {
        detail::compensated_sum<T> off;
        for (std::size_t i = 0; i < over.length(); ++i) {
          off.add(x[over.element(set, i)] - mean);
        }
        rest = detail::rest_of_mean(mean, off.value() / static_cast<T>(over.length()));
      }
    }
    [[nodiscard]] T operator()(T x) const {
      return usual ? ((x - mean) - rest) * inverse : of.normalized(x);
    }
    bool usual;
    T mean;
    T rest = 0;
    T inverse = 0;
    set_statistics<T> of;
  };
};

}  // namespace glia::reference_loops
