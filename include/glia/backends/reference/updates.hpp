#pragma once

#include <cmath>
#include <cstddef>

#include "glia/backends/kernel_arguments.hpp"

namespace glia::reference_loops {

/// The optimizer steps; the formulas stand with the rules in kernel_arguments.hpp.
template <class T>
struct updates {
  void update(const sgd_rule& rule, T* p, const T* g, T* v, std::size_t n) const {
    const T rate = static_cast<T>(rule.rate);
    const T momentum = static_cast<T>(rule.momentum);
    for (std::size_t i = 0; i < n; ++i) {
      const T gradient = g[i] + static_cast<T>(rule.decay) * p[i];
      if (v == nullptr) {
        p[i] -= rate * gradient;
        continue;
      }
      v[i] = momentum * v[i] + gradient;
      p[i] -= rate * (rule.nesterov ? gradient + momentum * v[i] : v[i]);
    }
  }

  void update(const adam_rule& rule, T* p, const T* g, T* m, T* v, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      const T gradient = g[i] + static_cast<T>(rule.coupled_decay) * p[i];
      m[i] += static_cast<T>(1 - rule.beta1) * (gradient - m[i]);
      v[i] += static_cast<T>(1 - rule.beta2) * (gradient * gradient - v[i]);
      p[i] -= static_cast<T>(rule.rate) * m[i] / (std::sqrt(v[i]) + static_cast<T>(rule.epsilon)) +
              static_cast<T>(rule.decoupled_decay) * p[i];
    }
  }

  void update(const rmsprop_rule& rule, T* p, const T* g, T* v, T* u, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      const T gradient = g[i] + static_cast<T>(rule.decay) * p[i];
      v[i] += static_cast<T>(1 - rule.rho) * (gradient * gradient - v[i]);
      T change =
          static_cast<T>(rule.rate) * gradient / std::sqrt(v[i] + static_cast<T>(rule.epsilon));
      if (u != nullptr) {
        u[i] = static_cast<T>(rule.momentum) * u[i] + change;
        change = u[i];
      }
      p[i] -= change;
    }
  }

  void update(const adagrad_rule& rule, T* p, const T* g, T* v, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) {
      const T gradient = g[i] + static_cast<T>(rule.decay) * p[i];
      v[i] += gradient * gradient;
      p[i] -= static_cast<T>(rule.rate) * gradient / std::sqrt(v[i] + static_cast<T>(rule.epsilon));
    }
  }
};

}  // namespace glia::reference_loops
