#pragma once

#include <glia/backends/reference.hpp>

// A backend to start from: copy it, then replace one kernel after the other. The stub passes every
// kernel to the reference backend, so it is correct from the first day. The comments say what your
// device does instead.

namespace my {

/// A backend without kernels of its own.
template <class T = float>
class stub {
 public:
  using value_type = T;

  // Handles: cheap to copy, empty by default, with shape(), type() and a conversion to bool. On a
  // device, a counted reference to a buffer, or to a node of a graph that is still being recorded.
  using tensor = typename glia::reference<T>::tensor;

  std::string_view name() const { return "stub"; }

  // --- copies: the only place where host memory and device meet ---

  // Enqueue the transfer. The caller may free `values` after the call, so copy them first.
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

  // An overload for one kernel. `result_specs` checks the shapes of the operands and returns those
  // of the results. A kernel may overwrite an operand that arrives as the last handle of its
  // buffer; std::move passes the operand on as such.
  tensor run(const glia::kernels::softmax& k, tensor x) const {
    [[maybe_unused]] const auto [y] = glia::result_specs(k, glia::spec_of(x));
    return host_.run(k, std::move(x));  // launch your kernel here: one row of y.shape at a time
  }

  // All kernels without an overload.
  template <glia::kernel K, std::same_as<tensor>... Operands>
  requires glia::runs<glia::reference<T>, K> glia::results_t<K, tensor> run(const K& k,
                                                                            Operands... operands)
  const { return host_.run(k, std::move(operands)...); }

 private:
  glia::reference<T> host_;
};

static_assert(glia::backend<stub<float>>);

}  // namespace my
