#pragma once

#include <cmath>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/updates.hpp"

namespace glia::reference_loops {

/// The steps of optimizers; see kernels/updates.hpp for the formulas. Parameters and optimizer
/// states are overwritten.
template <class T>
struct updates {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::sgd& k, const memory_pool&, const tensor&, const tensor& gradient,
               const tensor&, const tensor& numbers, const tensor& parameter,
               const tensor& velocity) const {
    const T rate = numbers.data()[0];
    const T momentum = static_cast<T>(k.momentum);
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      T& p = parameter.data()[i];
      const T g = gradient.data()[i] + static_cast<T>(k.decay) * p;
      if (!velocity) {
        p -= rate * g;
        continue;
      }
      T& v = velocity.data()[i];
      v = momentum * v + g;
      p -= rate * (k.nesterov ? g + momentum * v : v);
    }
  }

  void compute(const kernels::adam& k, const memory_pool&, const tensor&, const tensor& gradient,
               const tensor&, const tensor&, const tensor& numbers, const tensor& parameter,
               const tensor& first, const tensor& second) const {
    const T rate = numbers.data()[0];
    const T epsilon = numbers.data()[1];
    const T decay_factor = numbers.data()[2];
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      T& p = parameter.data()[i];
      T& m = first.data()[i];
      T& v = second.data()[i];
      const T g = gradient.data()[i] + static_cast<T>(k.coupled_decay) * p;
      m += static_cast<T>(1 - k.beta1) * (g - m);
      v += static_cast<T>(1 - k.beta2) * (g * g - v);
      p = decay_factor * p - rate * m / (std::sqrt(v) + epsilon);
    }
  }

  void compute(const kernels::rmsprop& k, const memory_pool&, const tensor&, const tensor& gradient,
               const tensor&, const tensor&, const tensor& numbers, const tensor& parameter,
               const tensor& square, const tensor& velocity) const {
    const T rate = numbers.data()[0];
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      T& p = parameter.data()[i];
      T& v = square.data()[i];
      const T g = gradient.data()[i] + static_cast<T>(k.decay) * p;
      v += static_cast<T>(1 - k.rho) * (g * g - v);
      T change = rate * g / std::sqrt(v + static_cast<T>(k.epsilon));
      if (velocity) {
        T& u = velocity.data()[i];
        u = static_cast<T>(k.momentum) * u + change;
        change = u;
      }
      p -= change;
    }
  }

  void compute(const kernels::adagrad& k, const memory_pool&, const tensor&, const tensor& gradient,
               const tensor&, const tensor& numbers, const tensor& parameter,
               const tensor& squares) const {
    const T rate = numbers.data()[0];
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      T& p = parameter.data()[i];
      T& v = squares.data()[i];
      const T g = gradient.data()[i] + static_cast<T>(k.decay) * p;
      v += g * g;
      p -= rate * g / std::sqrt(v + static_cast<T>(k.epsilon));
    }
  }
};

}  // namespace glia::reference_loops
