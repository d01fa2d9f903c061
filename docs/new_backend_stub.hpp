#pragma once

#include <glia/backends/reference.hpp>

// A backend to start from: copy it, then replace kernel after kernel. Each one here is handed to
// the reference backend, so the stub is right from the first day and stays right as it gets fast;
// the comments say what a device of your own does instead.

namespace my {

/// A backend that has no kernels yet.
template <class T = float>
class stub {
 public:
  using value_type = T;

  // Handles: cheap to copy, empty by default, with shape(), type() and a conversion to bool. On a
  // device, a counted reference to a buffer, or to a node of a graph that is still being recorded.
  using tensor = typename glia::reference<T>::tensor;

  std::string_view name() const { return "stub"; }

  // --- copies: the only place where host memory and device meet ---

  // Enqueue the transfer; `values` need not live on after the call, so stage them.
  template <class Number>
  tensor from_host(std::span<const Number> values, const glia::shape& s) const {
    return host_.from_host(values, s);
  }
  // The only function that waits for results. All others may return before their work is done.
  template <class Number>
  void to_host(const tensor& x, std::span<Number> out) const {
    host_.to_host(x, out);
  }

  // --- kernels ---

  // An overload for one kernel: the shapes have been checked and the result's are known once
  // `result_specs` has been called. An operand that arrives as the last handle to its buffer may be
  // overwritten; std::move below is what passes that on.
  tensor run(const glia::kernels::softmax& k, tensor x) const {
    [[maybe_unused]] const auto [y] = glia::result_specs(k, glia::spec_of(x));
    return host_.run(k, std::move(x));  // your launch: rows of y.shape, their maximum first
  }

  // All others, until they have one.
  template <glia::kernel K, std::same_as<tensor>... Operands>
  requires glia::runs<glia::reference<T>, K> glia::results_t<K, tensor> run(const K& k,
                                                                            Operands... operands)
  const { return host_.run(k, std::move(operands)...); }

 private:
  glia::reference<T> host_;
};

static_assert(glia::backend<stub<float>>);

}  // namespace my
